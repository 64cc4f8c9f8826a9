//! Calls on open files, and the data of open files (docs/protocols/ncp.md 3.2, 3.5).

use super::connection::{Connection, OpenFile};
use super::execute::Execution;
use super::open_files::ByteRange;
use super::shared::Shared;
use super::volume::{Change, Volume, VolumeResult};
use crate::wire::dos::{access, attribute};
use crate::wire::file::{CommitFile, CommitFileOld, CopiedBytes, FileSize, SetFileTime};
use crate::wire::large::{CopiedLarge, LargeSize};
use crate::wire::{Be16, Be32, Codec, Completion, FileCall, ShortHandle};

/// The largest number of bytes that one copy call copies, and the size of its chunks. The bound limits the duration
/// of a call.
const MAX_COPY: u64 = 16 << 20;
const COPY_CHUNK: u64 = 64 << 10;

/// A position in an open file.
#[derive(Debug, Clone, Copy)]
struct FilePosition {
    file: ShortHandle,
    offset: u64,
}

impl<V: Volume> Execution<'_, V> {
    /// Calls on open files.
    pub fn file_call(&mut self, call: &FileCall<'_>) -> VolumeResult<()> {
        match call {
            FileCall::ReadFile(call) => self.read(call.file.short(), call.offset.into(), call.count),
            FileCall::ReadLarge(call) => self.read(call.file, call.offset, call.count),
            FileCall::ReadLong(call) => self.read_long(call.file, call.offset, call.count),
            FileCall::WriteFile(call) => self.write(call.file.short(), call.offset.into(), call.data.bytes()),
            FileCall::WriteLarge(call) => self.write(call.file, call.offset, call.data.bytes()),
            // Unlike in 0x49, a write of 0 bytes does not set the size here: no document says that it does.
            FileCall::WriteLong(call) if call.data.0.is_empty() => self.connection.file(call.file).map(drop),
            FileCall::WriteLong(call) => self.write(call.file, call.offset, call.data.0),
            FileCall::GetFileSize(call) => {
                // A size above 32 bits is an error rather than a smaller number (docs/protocols/ncp.md 3.2).
                let size = u32::try_from(self.size(call.file.short())?).map_err(|_| Completion::Failure)?;
                self.reply(&FileSize { size })
            }
            FileCall::GetLargeSize(call) => {
                let size = self.size(call.file)?;
                self.reply(&LargeSize { size })
            }
            FileCall::CopyFile(call) => {
                let source = FilePosition { file: call.source.short(), offset: call.source_offset.into() };
                let target = FilePosition { file: call.target.short(), offset: call.target_offset.into() };
                // The count is bounded by the 32 bits of the request.
                let count = self.copy(source, target, call.count.into())? as u32;
                self.reply(&CopiedBytes { count })
            }
            FileCall::CopyLarge(call) => {
                let source = FilePosition { file: call.source.short(), offset: call.source_offset };
                let target = FilePosition { file: call.target.short(), offset: call.target_offset };
                let count = self.copy(source, target, call.count)?;
                self.reply(&CopiedLarge { count })
            }
            FileCall::SetFileTime(call) => self.set_time(call),
            FileCall::CommitFile(CommitFile { file }) | FileCall::CommitFileOld(CommitFileOld { file }) => {
                let place = self.connection.file(file.short())?.place;
                self.shared.volume(place.volume)?.commit(place.node)
            }
            FileCall::CloseFile(call) => self.connection.close(call.file.short()),
        }
    }

    /// 0x48 and 87/64 (docs/protocols/ncp.md 3.2, 3.5): count, filler and data. The volume reads directly into the reply.
    fn read(&mut self, file: ShortHandle, offset: u64, count: u16) -> VolumeResult<()> {
        let start = self.out.len();
        Be16::put(&0, self.out);
        // One filler byte before data at an odd offset (docs/protocols/ncp.md 3.2).
        if offset % 2 == 1 {
            self.out.push(0);
        }
        let len = self.shared.read_into(self.connection, file, offset, count.into(), self.out)?;
        self.out[start..start + 2].copy_from_slice(&(len as u16).to_be_bytes());
        Ok(())
    }

    /// 87/72 (docs/protocols/ncp.md 3.5): a count of four bytes and data, bounded by the length of a message.
    fn read_long(&mut self, file: ShortHandle, offset: u64, count: u32) -> VolumeResult<()> {
        let start = self.out.len();
        Be32::put(&0, self.out);
        // The count is the client's word and sizes the buffer below; no reply carries more than 64 KiB.
        let count = count.min(u16::MAX.into()) as usize;
        let len = self.shared.read_into(self.connection, file, offset, count, self.out)?;
        self.out[start..start + 4].copy_from_slice(&(len as u32).to_be_bytes());
        Ok(())
    }

    /// 0x49, 87/65 and 87/73 (docs/protocols/ncp.md 3.2, 3.5).
    fn write(&self, file: ShortHandle, offset: u64, data: &[u8]) -> VolumeResult<()> {
        self.shared.write(self.connection, file, offset, data)
    }

    /// Size of an open file.
    fn size(&self, file: ShortHandle) -> VolumeResult<u64> {
        let place = self.connection.file(file)?.place;
        self.shared.volume(place.volume)?.entry(place.node).map(|entry| entry.size)
    }

    /// 0x4A and 87/70 (docs/protocols/ncp.md 3.2, 3.5): copies up to [`MAX_COPY`] bytes or up to the end of the source;
    /// returns the number of bytes copied.
    fn copy(&self, source: FilePosition, target: FilePosition, count: u64) -> VolumeResult<u64> {
        let reads = self.connection.file(source.file)?;
        let writes = self.connection.file(target.file)?;
        if !reads.has(access::READ) {
            return Err(Completion::NoReadRights);
        }
        // The connection is locked while the copy runs; a client that wants more repeats the call.
        let count = count.min(MAX_COPY);
        if reads.place == writes.place && source.offset.abs_diff(target.offset) < count {
            // Overlapping source and target would have no defined result.
            return Err(Completion::Failure);
        }
        if self.shared.volume(reads.place.volume)?.entry(reads.place.node)?.has(attribute::EXECUTE_ONLY) {
            return Err(Completion::NoReadRights);
        }
        let mut copied = 0;
        let mut chunk = Vec::new();
        while copied < count {
            chunk.clear();
            let wanted = (count - copied).min(COPY_CHUNK) as usize;
            let offset = source.offset.saturating_add(copied);
            self.shared.read_into(self.connection, source.file, offset, wanted, &mut chunk)?;
            if chunk.is_empty() {
                break;
            }
            self.write(target.file, target.offset.saturating_add(copied), &chunk)?;
            copied += chunk.len() as u64;
        }
        Ok(copied)
    }

    /// 0x4B (docs/protocols/ncp.md 3.2).
    fn set_time(&self, call: &SetFileTime) -> VolumeResult<()> {
        let place = self.connection.file(call.file.short())?.place;
        let modified = Some(call.modified.to_unix().ok_or(Completion::Failure)?);
        self.shared.volume(place.volume)?.change(place.node, &Change { modified, ..Change::default() })
    }
}

impl<V: Volume> Shared<V> {
    /// Appends up to `count` bytes of an open file; returns their number.
    pub fn read_into(
        &self,
        connection: &Connection,
        file: ShortHandle,
        offset: u64,
        count: usize,
        out: &mut Vec<u8>,
    ) -> VolumeResult<usize> {
        let file = connection.file(file)?;
        if !file.has(access::READ) {
            return Err(Completion::NoReadRights);
        }
        may_access(connection, file, ByteRange::new(offset, count as u64), false)?;
        let start = out.len();
        out.resize(start + count, 0);
        let read =
            self.volume(file.place.volume)?.read(file.place.node, offset, &mut out[start..])?.min(count);
        out.truncate(start + read);
        Ok(read)
    }

    /// Writes to an open file; a write of 0 bytes sets the size.
    pub fn write(
        &self,
        connection: &Connection,
        file: ShortHandle,
        offset: u64,
        data: &[u8],
    ) -> VolumeResult<()> {
        let file = connection.file(file)?;
        if !file.has(access::WRITE) {
            return Err(Completion::NoWriteRights);
        }
        let volume = self.volume(file.place.volume)?;
        if data.is_empty() {
            // Bytes that truncating or extending adds or removes count as written.
            let size = volume.entry(file.place.node)?.size;
            may_access(connection, file, ByteRange::new(size.min(offset), size.abs_diff(offset)), true)?;
            volume.resize(file.place.node, offset)
        } else {
            may_access(connection, file, ByteRange::new(offset, data.len() as u64), true)?;
            volume.write(file.place.node, offset, data, file.is_through())
        }
    }
}

/// Fails when another connection has locked some of these bytes.
fn may_access(
    connection: &Connection,
    file: OpenFile,
    bytes: Option<ByteRange>,
    write: bool,
) -> VolumeResult<()> {
    let Some(bytes) = bytes else { return Ok(()) };
    let records = &connection.records;
    records.open_files().may_access(file.place, records.owner(), bytes, write)
}
