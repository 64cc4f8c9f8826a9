//! Requests of SMB 1 as far as their operations need them (MS-CIFS 2.2.4, MS-SMB 2.2.4).

use super::bytes::{short, word};
use super::header::Block;
use super::names::Strings;
use super::open::Opening;
use super::target::Target;
use super::transactions::{self, Attributes, Change};

/// Bit of `WriteMode`: reply when the data are on stable storage (MS-CIFS 2.2.4.43.1).
const WRITE_THROUGH: u16 = 0x0001;
/// Bit of `TypeOfLock`: the client gives an oplock up (2.2.4.32.1).
const OPLOCK_RELEASE: u8 = 0x02;

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

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    /// NEGOTIATE and others that are no operation on a file.
    Nothing,
    /// A request that never has a reply.
    Unanswered,
    /// No command of the specification.
    Unknown,
    /// ECHO, with the number of its replies.
    Echo(u16),
    Setup,
    Logoff,
    /// `TREE_CONNECT_ANDX` and `TREE_CONNECT`.
    Tree {
        share: String,
    },
    Open(Opening),
    Close {
        fid: u16,
    },
    Flush {
        fid: u16,
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
    /// `FIND_FIRST2`.
    Find {
        name: String,
    },
    /// `FIND_NEXT2`.
    FindNext {
        sid: u16,
    },
    FindClose {
        sid: u16,
    },
    /// SEARCH and FIND; without a name where they continue.
    Search {
        name: String,
    },
    Query {
        target: Target,
        attributes: Attributes,
    },
    Set {
        target: Target,
        change: Change,
    },
    Remove {
        name: String,
    },
    Rename {
        from: String,
        to: String,
    },
    /// `NT_RENAME` that makes a hard link.
    Link {
        from: String,
        to: String,
    },
    MakeDirectory {
        name: String,
    },
    Space,
    Other(&'static str),
}

impl Request {
    /// Decodes a command of a message; none if the message ends too early.
    pub(super) fn decode(block: &Block<'_>, message: &[u8], unicode: bool) -> Option<Self> {
        let words = block.words;
        let mut strings = Strings { message, at: block.data.0, end: block.data.1, unicode };
        let fid = |at: usize| short(words, at);
        Some(match block.command {
            0x00 => Self::MakeDirectory { name: strings.formatted_name()? },
            0x01 | 0x06 => Self::Remove { name: strings.formatted_name()? },
            0x02 | 0x03 | 0x0E | 0x0F | 0x2D | 0xA2 => {
                Self::Open(Opening::decode(block.command, words, &mut strings)?)
            }
            0x04 => Self::Close { fid: fid(0)? },
            // All files of the process.
            0x05 if fid(0)? == 0xFFFF => Self::Other("FLUSH"),
            0x05 => Self::Flush { fid: fid(0)? },
            0x07 => Self::Rename { from: strings.formatted_name()?, to: strings.formatted_name()? },
            0x08 => Self::query(Target::Name(strings.formatted_name()?), Attributes::Core),
            0x09 => Self::set(Target::Name(strings.formatted_name()?)),
            0x0A..=0x0D | 0x13 | 0x14 | 0x1A | 0x1D | 0x24 | 0x2C | 0x2E | 0x2F => {
                Self::decode_data(block.command, words)?
            }
            0x10 => Self::query(Target::Name(strings.formatted_name()?), Attributes::Directory),
            0x12 => Self::Other("SEEK"),
            0x22 => Self::set(Target::Fid(fid(0)?)),
            0x23 => Self::query(Target::Fid(fid(0)?), Attributes::CoreOfOpen),
            0x25 => Self::Other("TRANSACTION"),
            // Parts of a transaction whose first part is decoded, and NT_CANCEL: none has a reply of its own.
            0x26 | 0x33 | 0xA1 | 0xA4 => Self::Unanswered,
            0x27 => Self::Other("IOCTL"),
            0x29 => Self::Other("COPY"),
            0x2A => Self::Other("MOVE"),
            0x2B => Self::Echo(short(words, 0)?),
            0x32 => transactions::decode(words, message, unicode)?,
            0x34 => Self::FindClose { sid: fid(0)? },
            0x70 => Self::Tree { share: strings.formatted()? },
            0x73 => Self::Setup,
            0x74 => Self::Logoff,
            0x75 => {
                // The password precedes the path.
                strings.at += usize::from(short(words, 6)?);
                Self::Tree { share: strings.next()? }
            }
            0x80 => Self::Space,
            0x81..=0x83 => Self::Search { name: strings.formatted_name()? },
            0xA0 => transactions::decode_nt(words, message, unicode)?,
            0xA5 => {
                let from = strings.formatted_name()?;
                let to = strings.formatted_name()?;
                // SMB_NT_RENAME_RENAME_FILE is 0x104.
                let links = short(words, 2)? == 0x0103;
                if links { Self::Link { from, to } } else { Self::Rename { from, to } }
            }
            // PROCESS_EXIT, TREE_DISCONNECT, NEGOTIATE, FIND_CLOSE.
            0x11 | 0x71 | 0x72 | 0x84 => Self::Nothing,
            _ => Self::Unknown,
        })
    }

    const fn query(target: Target, attributes: Attributes) -> Self {
        Self::Query { target, attributes }
    }

    const fn set(target: Target) -> Self {
        Self::Set { target, change: Change::Attributes }
    }

    /// Reads, writes and locks.
    fn decode_data(command: u8, words: &[u8]) -> Option<Self> {
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
            // Without bytes it sets the length (2.2.4.12).
            0x0B if short(words, 2)? == 0 => {
                let change = Change::Size(low_offset(4)?);
                Self::Set { target: Target::Fid(short(words, 0)?), change }
            }
            0x0B => write(0, low_offset(4)?, u32::from(short(words, 2)?), false, AfterWrite::Nothing)?,
            0x0C => Self::Lock { fid: short(words, 0)?, locks: true, unlocks: false },
            0x0D => Self::Lock { fid: short(words, 0)?, locks: false, unlocks: true },
            0x13 => core(ReadReply::Locked)?,
            0x14 => write(0, low_offset(4)?, u32::from(short(words, 2)?), false, AfterWrite::Unlock)?,
            0x1A => Self::Read {
                fid: short(words, 0)?,
                offset: low_offset(2)? | high_offset(words, 16),
                asked: u32::from(short(words, 6)?),
                reply: ReadReply::Raw,
            },
            0x1D => {
                let offset = low_offset(6)? | high_offset(words, 24);
                let stable = short(words, 14)? & WRITE_THROUGH != 0;
                write(0, offset, u32::from(short(words, 2)?), stable, AfterWrite::Raw)?
            }
            0x2C => write(0, low_offset(4)?, u32::from(short(words, 2)?), false, AfterWrite::Close)?,
            0x2E => {
                // MaxCountHigh, where the field is not the timeout of a pipe (MS-SMB 2.2.4.2.1).
                let high = match word(words, 14)? {
                    u32::MAX => 0,
                    high => high & 0xFFFF,
                };
                Self::Read {
                    fid: short(words, 4)?,
                    offset: low_offset(6)? | high_offset(words, 20),
                    asked: u32::from(short(words, 10)?) | high << 16,
                    reply: ReadReply::AndX,
                }
            }
            0x2F => {
                let bytes = u32::from(short(words, 20)?) | u32::from(short(words, 18)?) << 16;
                let stable = short(words, 14)? & WRITE_THROUGH != 0;
                write(4, low_offset(6)? | high_offset(words, 24), bytes, stable, AfterWrite::Nothing)?
            }
            _ => {
                let unlocks = short(words, 12)? > 0;
                let locks = short(words, 14)? > 0;
                if *words.get(6)? & OPLOCK_RELEASE != 0 && !unlocks && !locks {
                    return Some(Self::Unanswered);
                }
                Self::Lock { fid: short(words, 4)?, locks, unlocks }
            }
        })
    }
}

/// `OffsetHigh`, which is there if the request has as many words.
fn high_offset(words: &[u8], at: usize) -> u64 {
    word(words, at).map_or(0, |high| u64::from(high) << 32)
}
