//! Headers of SMB 1 (MS-CIFS 2.2.3.1), their status, and the blocks of an `AndX` chain.

use super::bytes::{short, word};
use crate::input::protocols::Side;
use crate::operation::Outcome;

/// Bytes of a header.
const HEADER_BYTES: usize = 32;
/// Bit of Flags: this is a reply.
const REPLY: u8 = 0x80;
/// Bits of Flags2: the status is one of NT, and strings are in UTF-16LE.
const NT_STATUS: u16 = 0x4000;
const UNICODE: u16 = 0x8000;
pub(super) const LOCKING_ANDX: u8 = 0x24;
/// MID of the request with which a server breaks an oplock (2.2.4.32).
const OPLOCK_BREAK: u16 = 0xFFFF;
/// `AndXCommand` of the last block.
const NO_ANDX: u8 = 0xFF;
/// Most commands of a chain: log-on, tree, open, and what is done with the file. Blocks may share bytes, so that those of a
/// longer one could need a multiple of the memory of their message.
const MAX_CHAIN: usize = 6;

/// PID and MID of a request, which are those of its reply (2.2.1.6.2). UID and TID are not part of it: the replies
/// of `SESSION_SETUP_ANDX` and `TREE_CONNECT_ANDX` have new ones.
pub(super) type RequestId = (u32, u16);

/// A header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) command: u8,
    pub(super) status: Status,
    pub(super) is_reply: bool,
    pub(super) unicode: bool,
    pub(super) tid: u16,
    pub(super) uid: u16,
    pub(super) id: RequestId,
}

/// The status of a reply (2.2.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// A number of MS-ERREF 2.3.
    Nt(u32),
    /// Class and code of DOS (2.2.2.4).
    Dos(u8, u16),
}

impl Status {
    /// The log-on continues with another request.
    pub(super) const MORE_PROCESSING_REQUIRED: Self = Self::Nt(0xC000_0016);

    /// How an operation with this status ended.
    pub(super) fn outcome(self) -> Outcome {
        match self {
            // Also: what does not fit is left out, no more files, end of file; of class ERRDOS ERRnofiles, the end of a
            // file and more data.
            Self::Nt(0 | 0x8000_0005 | 0x8000_0006 | 0xC000_0011)
            | Self::Dos(0, _)
            | Self::Dos(1, 18 | 38 | 234) => Outcome::Done,
            // No such file, object name and object path not found; ERRbadfile and ERRbadpath.
            Self::Nt(0xC000_000F | 0xC000_0034 | 0xC000_003A) | Self::Dos(1, 2 | 3) => Outcome::NotFound,
            Self::Nt(status) => Outcome::Failed(status),
            Self::Dos(class, code) => Outcome::Failed(u32::from(class) << 16 | u32::from(code)),
        }
    }

    /// Success without reservation.
    pub(super) const fn is_success(self) -> bool {
        matches!(self, Self::Nt(0) | Self::Dos(0, _))
    }
}

/// Who sends a message that begins like this.
pub(in crate::input::protocols) fn sender(head: &[u8]) -> Option<Side> {
    let [0xFF, b'S', b'M', b'B', command, _, _, _, _, flags, ..] = head else { return None };
    let breaks_oplock = *command == LOCKING_ANDX && short(head, 30) == Some(OPLOCK_BREAK);
    Some(if flags & REPLY != 0 || breaks_oplock { Side::Server } else { Side::Client })
}

impl Header {
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        if !bytes.starts_with(b"\xFFSMB") {
            return None;
        }
        let flags2 = short(bytes, 10)?;
        let status = if flags2 & NT_STATUS == 0 {
            Status::Dos(*bytes.get(5)?, short(bytes, 7)?)
        } else {
            Status::Nt(word(bytes, 5)?)
        };
        let pid = u32::from(short(bytes, 12)?) << 16 | u32::from(short(bytes, 26)?);
        Some(Self {
            command: *bytes.get(4)?,
            status,
            is_reply: *bytes.get(9)? & REPLY != 0,
            unicode: flags2 & UNICODE != 0,
            tid: short(bytes, 24)?,
            uid: short(bytes, 28)?,
            id: (pid, short(bytes, 30)?),
        })
    }
}

/// One command of a message: its words (2.2.3.2), and where its data bytes (2.2.3.3) begin and end in the message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Block<'a> {
    pub(super) command: u8,
    pub(super) words: &'a [u8],
    pub(super) data: (usize, usize),
}

/// The commands of a message: one, or those of an `AndX` chain (2.2.3.4).
#[derive(Debug, Clone)]
pub(super) struct Blocks<'a> {
    message: &'a [u8],
    /// Command and place of the next block.
    next: Option<(u8, usize)>,
    left: usize,
    /// A block was not in the bytes, or pointed backwards.
    pub(super) broken: bool,
}

impl<'a> Blocks<'a> {
    pub(super) const fn new(message: &'a [u8], command: u8) -> Self {
        Self { message, next: Some((command, HEADER_BYTES)), left: MAX_CHAIN, broken: false }
    }

    fn block(&self, command: u8, at: usize) -> Option<Block<'a>> {
        let words = usize::from(*self.message.get(at)?) * 2;
        let words = self.message.get(at + 1..at + 1 + words)?;
        let start = at + 3 + words.len();
        // A cut message may end within the count.
        let count = short(self.message, start - 2).map_or(0, usize::from);
        Some(Block { command, words, data: (start, start + count) })
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Block<'a>;

    fn next(&mut self) -> Option<Block<'a>> {
        let (command, at) = self.next.take()?;
        self.left = self.left.saturating_sub(1);
        let block = self.block(command, at);
        self.broken = block.is_none();
        let block = block?;
        if has_andx(command)
            && let (Some(follows), Some(next)) = (block.words.first(), short(block.words, 2))
            && *follows != NO_ANDX
        {
            let next = usize::from(next);
            // A block within this one would make the walk endless.
            if next > at + block.words.len() && self.left > 0 {
                self.next = Some((*follows, next));
            } else {
                self.broken = true;
            }
        }
        Some(block)
    }
}

const fn has_andx(command: u8) -> bool {
    matches!(command, LOCKING_ANDX | 0x2D..=0x2F | 0x73..=0x75 | 0xA2)
}
