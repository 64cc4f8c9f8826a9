//! Commands of SMB 1 on the data of open files: reads, writes, locks, flushes and closes (MS-CIFS 2.2.4, MS-SMB 2.2.4).

use sharebench_smb::nt1::command;
use sharebench_smb::nt1::file::{
    ByteRange, LockRequest, OPLOCK_RELEASE, ReadRequest, ReadResponse, WRITE_THROUGH, WriteRequest,
};

use super::bytes::{short, word};
use super::files::Files;
use super::header;
use super::reply::{Actions, Reply, one};
use crate::input::recorder::Recorder;
use crate::operation::Action;

/// How the reply of a read states the bytes that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadReply {
    /// READ.
    Core,
    /// `READ_ANDX`.
    AndX,
    /// `READ_RAW`: the reply is data alone.
    Raw,
    /// `LOCK_AND_READ`.
    Locked,
}

/// What a write does besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterWrite {
    Nothing,
    /// `WRITE_AND_CLOSE`.
    Close,
    /// `WRITE_AND_UNLOCK`.
    Unlock,
    /// `WRITE_RAW`: data follow in a message without a header.
    Raw,
}

/// A command on an open file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DataRequest {
    Close {
        fid: u16,
    },
    Flush {
        fid: u16,
    },
    /// A write of no bytes sets the length (2.2.4.12).
    Resize {
        fid: u16,
        size: u64,
    },
    Read {
        fid: u16,
        offset: u64,
        asked: u32,
        reply: ReadReply,
    },
    Write {
        fid: u16,
        offset: u64,
        bytes: u32,
        stable: bool,
        after: AfterWrite,
    },
    Lock {
        fid: u16,
        locks: bool,
        unlocks: bool,
    },
}

impl DataRequest {
    /// Decodes a command that reads, writes or locks; none if its words are too few.
    pub(super) fn decode(command: u8, words: &[u8]) -> Option<Self> {
        let write = |at: usize, offset, bytes, stable, after| {
            Some(Self::Write { fid: short(words, at)?, offset, bytes, stable, after })
        };
        let low_offset = |at: usize| word(words, at).map(u64::from);
        // FID, count and offset of the core commands.
        let core = |reply| {
            let asked = u32::from(short(words, 2)?);
            Some(Self::Read { fid: short(words, 0)?, offset: low_offset(4)?, asked, reply })
        };
        Some(match command {
            0x0A => core(ReadReply::Core)?,
            0x0B if short(words, 2)? == 0 => Self::Resize { fid: short(words, 0)?, size: low_offset(4)? },
            0x0B => write(0, low_offset(4)?, u32::from(short(words, 2)?), false, AfterWrite::Nothing)?,
            command::LOCK_BYTE_RANGE | command::UNLOCK_BYTE_RANGE => {
                let ByteRange { fid, .. } = header::words(words, 2)?;
                let locks = command == command::LOCK_BYTE_RANGE;
                Self::Lock { fid, locks, unlocks: !locks }
            }
            0x13 => core(ReadReply::Locked)?,
            0x14 => write(0, low_offset(4)?, u32::from(short(words, 2)?), false, AfterWrite::Unlock)?,
            0x1A => Self::Read {
                fid: short(words, 0)?,
                offset: offset(word(words, 2)?, high_offset(words, 16)),
                asked: u32::from(short(words, 6)?),
                reply: ReadReply::Raw,
            },
            0x1D => {
                let offset = offset(word(words, 6)?, high_offset(words, 24));
                let stable = short(words, 14)? & WRITE_THROUGH != 0;
                write(0, offset, u32::from(short(words, 2)?), stable, AfterWrite::Raw)?
            }
            0x2C => write(0, low_offset(4)?, u32::from(short(words, 2)?), false, AfterWrite::Close)?,
            command::READ_ANDX => {
                let read: ReadRequest = header::words(words, 18)?;
                // The field may be the timeout of a pipe instead (MS-SMB 2.2.4.2.1).
                let high = if read.count_high == u32::MAX { 0 } else { read.count_high & 0xFFFF };
                Self::Read {
                    fid: read.fid,
                    offset: offset(read.offset_low, read.offset_high),
                    asked: u32::from(read.count_low) | high << 16,
                    reply: ReadReply::AndX,
                }
            }
            command::WRITE_ANDX => {
                let write: WriteRequest = header::words(words, 22)?;
                Self::Write {
                    fid: write.fid,
                    offset: offset(write.offset_low, write.offset_high),
                    bytes: u32::from(write.len_low) | u32::from(write.len_high) << 16,
                    stable: write.mode & WRITE_THROUGH != 0,
                    after: AfterWrite::Nothing,
                }
            }
            _ => {
                let LockRequest { fid, locks, unlocks, .. } = header::words(words, 16)?;
                Self::Lock { fid, locks: locks > 0, unlocks: unlocks > 0 }
            }
        })
    }

    /// True for a `LOCKING_ANDX` with which the client gives an oplock up, and locks nothing.
    pub(super) fn releases_oplock(words: &[u8]) -> Option<bool> {
        let LockRequest { kind, locks, unlocks, .. } = header::words(words, 16)?;
        Some(kind & OPLOCK_RELEASE != 0 && locks == 0 && unlocks == 0)
    }

    /// Its file.
    pub(super) const fn fid(&mut self) -> &mut u16 {
        match self {
            Self::Close { fid }
            | Self::Flush { fid }
            | Self::Resize { fid, .. }
            | Self::Read { fid, .. }
            | Self::Write { fid, .. }
            | Self::Lock { fid, .. } => fid,
        }
    }

    /// The operations of a command that failed, or has no reply.
    pub(super) fn attempted(&self, files: &mut Files, recorder: &mut Recorder) -> Actions {
        let mut file = |fid: u16| files.get(fid, recorder).file;
        match *self {
            Self::Close { fid } => one(Action::Close { file: file(fid) }),
            Self::Flush { fid } => one(Action::Flush { file: file(fid) }),
            Self::Resize { fid, size } => one(Action::SetSize { file: file(fid), size }),
            Self::Read { fid, offset, asked, reply } => {
                let file = file(fid);
                after_lock(file, Action::Read { file, offset, asked, bytes: asked }, reply)
            }
            Self::Write { fid, offset, bytes, stable, after } => {
                let file = file(fid);
                let then = match after {
                    AfterWrite::Nothing | AfterWrite::Raw => None,
                    // smbd keeps a file open that nothing was written to.
                    AfterWrite::Close => (bytes > 0).then_some(Action::Close { file }),
                    AfterWrite::Unlock => Some(Action::Lock { file, release: true }),
                };
                [Some(Action::Write { file, offset, bytes, stable }), then]
            }
            Self::Lock { fid, locks, unlocks } => {
                let file = file(fid);
                let lock = |release| Action::Lock { file, release };
                [unlocks.then(|| lock(true)), locks.then(|| lock(false))]
            }
        }
    }

    /// The operations of a command that succeeded.
    pub(super) fn succeeded(&self, reply: &Reply<'_>, files: &mut Files, recorder: &mut Recorder) -> Actions {
        match *self {
            Self::Close { fid } => close(fid, files, recorder),
            Self::Read { fid, offset, asked, reply: kind } => {
                let file = files.get(fid, recorder).file;
                // A reply without words is one at the end of the file, unless the capture cut it.
                let is_empty = reply.words.is_empty() && reply.bytes.0 > 0;
                let bytes = if is_empty { 0 } else { kind.delivered(reply.words).unwrap_or(asked) };
                after_lock(file, Action::Read { file, offset, asked, bytes }, kind)
            }
            Self::Write { fid, .. } => {
                let file = files.get(fid, recorder).file;
                recorder.changed(file);
                let actions = self.attempted(files, recorder);
                if matches!(actions, [_, Some(Action::Close { .. })]) {
                    files.close(fid, recorder);
                }
                actions
            }
            Self::Resize { fid, .. } => {
                let file = files.get(fid, recorder).file;
                recorder.changed(file);
                self.attempted(files, recorder)
            }
            Self::Flush { .. } | Self::Lock { .. } => self.attempted(files, recorder),
        }
    }
}

/// A read, after a lock where it makes one.
fn after_lock(file: u32, read: Action, reply: ReadReply) -> Actions {
    if reply == ReadReply::Locked {
        return [Some(Action::Lock { file, release: false }), Some(read)];
    }
    one(read)
}

impl ReadReply {
    /// Bytes of a reply.
    fn delivered(self, words: &[u8]) -> Option<u32> {
        match self {
            Self::Core | Self::Locked => short(words, 0).map(u32::from),
            Self::AndX => header::words(words, 12).map(|read: ReadResponse| read.len() as u32),
            Self::Raw => None,
        }
    }
}

/// A close removes the file if that was requested before.
fn close(fid: u16, files: &mut Files, recorder: &mut Recorder) -> Actions {
    let file = files.get(fid, recorder).file;
    let open = files.close(fid, recorder);
    let removed = open.filter(|open| open.delete).map(|open| {
        recorder.forget(files.ends.server, &open.identity);
        Action::Remove { file: Some(open.file) }
    });
    [Some(Action::Close { file }), removed]
}

/// `OffsetHigh`, which is there if the request has as many words.
fn high_offset(words: &[u8], at: usize) -> u32 {
    word(words, at).unwrap_or(0)
}

const fn offset(low: u32, high: u32) -> u64 {
    (high as u64) << 32 | low as u64
}
