//! Commands of SMB 1 on the data of open files: reads, writes, locks, flushes and closes (MS-CIFS 2.2.4, MS-SMB 2.2.4).

use sharebench_smb::nt1::command;
use sharebench_smb::nt1::file::{ByteRange, ReadRequest, ReadResponse, WRITE_THROUGH, WriteRequest};

use super::bytes::{short, word};
use super::header;
use super::numbers::{Fid, Smb1Scope};
use super::reply::Reply;
use crate::input::protocols::file_request::FileRequest;
use crate::operation::Action;

/// What the command of a request does besides, and how its reply is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataForm {
    Plain,
    ReadAndX,
    /// `READ_RAW`: the reply is data alone.
    ReadRaw,
    LockAndRead,
    WriteAndClose,
    WriteAndUnlock,
    /// `WRITE_RAW`: data follow in a message without a header.
    WriteRaw,
    /// A `LOCKING_ANDX` that unlocks, and locks.
    UnlockAndLock,
}

/// A command on an open file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DataRequest {
    pub(super) fid: Fid,
    pub(super) request: FileRequest,
    pub(super) form: DataForm,
}

impl DataRequest {
    /// Without another operation.
    pub(super) const fn plain(fid: Fid, request: FileRequest) -> Self {
        Self { fid, request, form: DataForm::Plain }
    }

    /// A `LOCKING_ANDX` that locks, unlocks, or does both.
    pub(super) const fn locking(fid: u16, unlocks: bool, locks: bool) -> Self {
        let form = if unlocks && locks { DataForm::UnlockAndLock } else { DataForm::Plain };
        Self { fid: Fid(fid), request: FileRequest::Lock { release: unlocks }, form }
    }

    /// Decodes a command that reads, writes or locks; none if its words are too few.
    pub(super) fn decode(command: u8, words: &[u8]) -> Option<Self> {
        let fid = Fid(short(words, 0)?);
        let request = |request, form| Self { fid, request, form };
        // Count and offset of the core commands.
        let core = || Some((u32::from(short(words, 2)?), u64::from(word(words, 4)?)));
        let core_read = |form| {
            let (asked, offset) = core()?;
            Some(request(FileRequest::Read { offset, asked }, form))
        };
        let core_write = |form| {
            let (bytes, offset) = core()?;
            Some(request(FileRequest::Write { offset, bytes, stable: false }, form))
        };
        Some(match command {
            0x0A => core_read(DataForm::Plain)?,
            // A write of no bytes sets the length (2.2.4.12).
            0x0B if short(words, 2)? == 0 => {
                let (_, size) = core()?;
                request(FileRequest::SetSize(size), DataForm::Plain)
            }
            0x0B => core_write(DataForm::Plain)?,
            0x13 => core_read(DataForm::LockAndRead)?,
            0x14 => core_write(DataForm::WriteAndUnlock)?,
            0x1A => {
                let offset = offset(word(words, 2)?, high_offset(words, 16));
                let asked = u32::from(short(words, 6)?);
                request(FileRequest::Read { offset, asked }, DataForm::ReadRaw)
            }
            0x1D => {
                let offset = offset(word(words, 6)?, high_offset(words, 24));
                let stable = short(words, 14)? & WRITE_THROUGH != 0;
                let bytes = u32::from(short(words, 2)?);
                request(FileRequest::Write { offset, bytes, stable }, DataForm::WriteRaw)
            }
            0x2C => core_write(DataForm::WriteAndClose)?,
            command::READ_ANDX => {
                let read: ReadRequest = header::words(words, 18)?;
                // The field may be the timeout of a pipe instead (MS-SMB 2.2.4.2.1).
                let high = if read.count_high == u32::MAX { 0 } else { read.count_high & 0xFFFF };
                let asked = u32::from(read.count_low) | high << 16;
                let offset = offset(read.offset_low, read.offset_high);
                let request = FileRequest::Read { offset, asked };
                Self { fid: Fid(read.fid), request, form: DataForm::ReadAndX }
            }
            command::WRITE_ANDX => {
                let write: WriteRequest = header::words(words, 22)?;
                let request = FileRequest::Write {
                    offset: offset(write.offset_low, write.offset_high),
                    bytes: u32::from(write.len_low) | u32::from(write.len_high) << 16,
                    stable: write.mode & WRITE_THROUGH != 0,
                };
                Self::plain(Fid(write.fid), request)
            }
            _ => {
                let ByteRange { fid, .. } = header::words(words, 2)?;
                Self::plain(Fid(fid), FileRequest::Lock { release: command == command::UNLOCK_BYTE_RANGE })
            }
        })
    }

    /// The operations of a command that failed, or has no reply.
    pub(super) fn attempted(&self, scope: &mut Smb1Scope<'_, '_>) -> [Option<Action>; 2] {
        let file = scope.get(self.fid).file;
        self.actions(file, self.request.action(file))
    }

    /// The operations of a command that succeeded.
    pub(super) fn succeeded(&self, reply: &Reply<'_>, scope: &mut Smb1Scope<'_, '_>) -> [Option<Action>; 2] {
        let file = scope.get(self.fid).file;
        match self.request {
            FileRequest::Close => return scope.close(self.fid),
            FileRequest::Read { .. } => {
                // A reply without words is one at the end of the file, unless the capture cut it.
                let is_empty = reply.words.is_empty() && reply.bytes.0 > 0;
                let bytes = if is_empty { Some(0) } else { self.delivered(reply.words) };
                return self.actions(file, self.request.answered(file, bytes));
            }
            request if request.changes_size() => scope.recorder.changed(file),
            _ => {}
        }
        let actions = self.actions(file, self.request.action(file));
        if matches!(actions, [_, Some(Action::Close { .. })]) {
            scope.close(self.fid);
        }
        actions
    }

    /// The operation on the file, with the other one that its command makes.
    fn actions(&self, file: u32, action: Action) -> [Option<Action>; 2] {
        let lock = |release| Some(Action::Lock { file, release });
        match (self.form, self.request) {
            (DataForm::LockAndRead, _) => [lock(false), Some(action)],
            (DataForm::WriteAndUnlock, _) => [Some(action), lock(true)],
            (DataForm::UnlockAndLock, _) => [Some(action), lock(false)],
            // smbd keeps a file open that nothing was written to.
            (DataForm::WriteAndClose, FileRequest::Write { bytes: 1.., .. }) => {
                [Some(action), Some(Action::Close { file })]
            }
            _ => [Some(action), None],
        }
    }

    /// Bytes that the reply to a read states.
    fn delivered(&self, words: &[u8]) -> Option<u32> {
        match self.form {
            DataForm::ReadAndX => header::words(words, 12).map(|read: ReadResponse| read.len() as u32),
            DataForm::ReadRaw => None,
            _ => short(words, 0).map(u32::from),
        }
    }
}

/// `OffsetHigh`, which is there if the request has as many words.
fn high_offset(words: &[u8], at: usize) -> u32 {
    word(words, at).unwrap_or(0)
}

const fn offset(low: u32, high: u32) -> u64 {
    (high as u64) << 32 | low as u64
}
