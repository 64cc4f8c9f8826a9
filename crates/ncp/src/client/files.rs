//! Calls on open files: each read or write is one request.

use super::ClientError;
use super::bursts::Direction;
use super::exchange::{Client, wire};
use super::transport::Transport;
use crate::wire::file::{CloseFile, CommitFile, ReadFile, WriteFile};
use crate::wire::large::{GetLargeSize, LargeSize, ReadLarge, WriteLarge};
use crate::wire::{FileHandle, Payload, ReadReply, ShortHandle, WireError};

/// An open file of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File(pub(super) ShortHandle);

const READ: &str = "read";
const WRITE: &str = "write";

impl<C: Transport> Client<C> {
    /// Reads with one request. A short count means the end of the file, or the limit of one request.
    pub async fn read(&mut self, file: File, offset: u64, buffer: &mut [u8]) -> Result<usize, ClientError> {
        let count = self.next_read(offset, buffer.len());
        self.begin_read(file, offset, count)?;
        self.finish().await?;
        let data = self.read_data(offset, count)?;
        buffer[..data.len()].copy_from_slice(data);
        Ok(data.len())
    }

    /// Begins a read; `count` is at most [`Self::max_transfer`], and [`Self::next_read`] if the burst window adapts.
    pub fn begin_read(&mut self, file: File, offset: u64, count: usize) -> Result<(), ClientError> {
        let range = count;
        let count = self.checked(Direction::Read, offset, count)?;
        if self.suits_burst(Direction::Read, offset, range) {
            self.begin_burst_read(READ, file.0, offset as u32, u32::from(count));
            return Ok(());
        }
        let call = if self.large {
            ReadLarge { file: file.0, offset, count }.into()
        } else {
            ReadFile { file: FileHandle::of_name_space(file.0), offset: near(READ, offset)?, count }.into()
        };
        self.begin(READ, &call);
        Ok(())
    }

    /// The data of a finished read of `count` bytes at `offset`.
    pub fn read_data(&self, offset: u64, count: usize) -> Result<&[u8], ClientError> {
        let data = match self.burst_data() {
            Some(data) => data,
            None => ReadReply::decode(offset, self.reply()).map_err(wire(READ))?.data.bytes(),
        };
        let too_long = WireError::TooLong { field: "data", len: data.len(), max: count };
        if data.len() <= count { Ok(data) } else { Err(wire(READ)(too_long)) }
    }

    /// Writes with one request; returns how many bytes it carried.
    pub async fn write(&mut self, file: File, offset: u64, data: &[u8]) -> Result<usize, ClientError> {
        let count = self.next_write(offset, data.len());
        // On the wire, a write of 0 bytes would set the file size.
        if count > 0 {
            self.begin_write(file, offset, &data[..count])?;
            self.finish().await?;
        }
        Ok(count)
    }

    /// Begins a write of at most [`Self::max_transfer`], or [`Self::next_write`] if the burst window adapts, and of at
    /// least one byte.
    pub fn begin_write(&mut self, file: File, offset: u64, data: &[u8]) -> Result<(), ClientError> {
        self.checked(Direction::Write, offset, data.len())?;
        if self.suits_burst(Direction::Write, offset, data.len()) {
            self.begin_burst_write(WRITE, file.0, offset as u32, data);
            return Ok(());
        }
        self.begin_put(WRITE, file, offset, data)
    }

    /// Sets the size of a file.
    pub async fn resize(&mut self, file: File, size: u64) -> Result<(), ClientError> {
        self.begin_put("set size", file, size, &[])?;
        self.finish().await.map(|_| ())
    }

    /// Size of an open file; needs a server with 64-bit calls.
    pub async fn size(&mut self, file: File) -> Result<u64, ClientError> {
        let LargeSize { size } = self.ask("size", &GetLargeSize { file: file.0 }.into()).await?;
        Ok(size)
    }

    /// Returns when the data of the file is on disk.
    pub async fn commit(&mut self, file: File) -> Result<(), ClientError> {
        self.begin_commit(file);
        self.finish().await.map(|_| ())
    }

    /// Begins a commit.
    pub fn begin_commit(&mut self, file: File) {
        self.begin("commit", &CommitFile { file: FileHandle::of_name_space(file.0) }.into());
    }

    /// Closes a file.
    pub async fn close(&mut self, file: File) -> Result<(), ClientError> {
        self.call("close", &CloseFile { file: FileHandle::of_name_space(file.0) }.into()).await.map(|_| ())
    }

    /// Data bytes that one request can carry at an offset. Calls with 32-bit offsets must not cross a multiple of the
    /// buffer size (docs/protocols/ncp.md 2.2); a burst carries its largest window.
    pub fn max_transfer(&self, direction: Direction, offset: u64, len: usize) -> usize {
        if self.suits_burst(direction, offset, len) {
            return len.min(self.window(direction));
        }
        let buffer = u64::from(self.buffer);
        let limit = if self.large { buffer } else { buffer - offset % buffer };
        len.min(limit as usize)
    }

    fn checked(&self, direction: Direction, offset: u64, count: usize) -> Result<u16, ClientError> {
        let step = if direction == Direction::Read { READ } else { WRITE };
        let max = self.max_transfer(direction, offset, count);
        let too_long = WireError::TooLong { field: "data", len: count, max };
        if count > max { Err(wire(step)(too_long)) } else { Ok(count as u16) }
    }

    fn begin_put(
        &mut self,
        step: &'static str,
        file: File,
        offset: u64,
        data: &[u8],
    ) -> Result<(), ClientError> {
        let data = Payload::new(data).map_err(wire(step))?;
        let call = if self.large {
            WriteLarge { file: file.0, offset, data }.into()
        } else {
            let file = FileHandle::of_name_space(file.0);
            let offset = near(step, offset)?;
            WriteFile { file, offset, data }.into()
        };
        self.begin(step, &call);
        Ok(())
    }
}

pub(super) fn near(step: &'static str, offset: u64) -> Result<u32, ClientError> {
    u32::try_from(offset).map_err(|_| ClientError::OffsetTooLarge { step, offset })
}
