//! Headers of SMB 1 (MS-CIFS 2.2.3.1), their status, and the blocks of an `AndX` chain.

use sharebench_smb::NtStatus;
use sharebench_smb::nt1::command;
use sharebench_smb::nt1::file::UNSOLICITED;
use sharebench_smb::nt1::message::{self, HEADER_LEN, REPLY, Words, flags2};

use super::bytes::short;
use crate::input::message::Side;
use crate::input::protocols::smb::codes::outcome_of;
use crate::operation::Outcome;

/// Most commands of a chain: log-on, tree, open, and what is done with the file. Blocks may share bytes, so that those of a
/// longer one could need a multiple of the memory of their message.
const MAX_CHAIN: usize = 6;

/// Bytes of the words of a command, whose number is a byte.
const MAX_WORDS: usize = 2 * u8::MAX as usize;

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
    Nt(NtStatus),
    /// Class and code of DOS (2.2.2.4).
    Dos(u8, u16),
}

impl Status {
    /// The log-on continues with another request.
    pub(super) const MORE_PROCESSING_REQUIRED: Self = Self::Nt(NtStatus::MORE_PROCESSING_REQUIRED);

    /// How an operation with this status ended.
    pub(super) fn outcome(self) -> Outcome {
        match self {
            Self::Nt(status) => outcome_of(status),
            // Also: ERRnofiles of class ERRDOS, the end of a file, and more data.
            Self::Dos(0, _) | Self::Dos(1, 18 | 38 | 234) => Outcome::Done,
            // ERRbadfile and ERRbadpath.
            Self::Dos(1, 2 | 3) => Outcome::NotFound,
            Self::Dos(class, code) => Outcome::Failed(u32::from(class) << 16 | u32::from(code)),
        }
    }

    /// Success without reservation.
    pub(super) const fn is_success(self) -> bool {
        matches!(self, Self::Nt(NtStatus::SUCCESS) | Self::Dos(0, _))
    }
}

/// Who sends a message that begins like this.
pub(in crate::input::protocols) fn sender(head: &[u8]) -> Option<Side> {
    let [0xFF, b'S', b'M', b'B', command, _, _, _, _, flags, ..] = head else { return None };
    // With a request to lock nothing, a server breaks an oplock (2.2.4.32).
    let breaks_oplock = *command == command::LOCKING_ANDX && short(head, 30) == Some(UNSOLICITED);
    Some(if flags & REPLY != 0 || breaks_oplock { Side::Server } else { Side::Client })
}

impl Header {
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let header = message::Header::decode(bytes).ok()?;
        let status = if header.flags2 & flags2::NT_STATUS == 0 {
            Status::Dos(header.status as u8, (header.status >> 16) as u16)
        } else {
            Status::Nt(NtStatus(header.status))
        };
        let pid = u32::from(header.pid_high) << 16 | u32::from(header.pid_low);
        Some(Self {
            command: header.command,
            status,
            is_reply: header.flags & REPLY != 0,
            unicode: header.flags2 & flags2::UNICODE != 0,
            tid: header.tid,
            uid: header.uid,
            id: (pid, header.mid),
        })
    }
}

/// Decodes the words of a command. Those that its sender left out at the end are zeros; none if not even the first `needed`
/// bytes are there.
pub(super) fn words<W: Words>(words: &[u8], needed: usize) -> Option<W> {
    let mut whole = [0; MAX_WORDS];
    whole.get_mut(..words.len())?.copy_from_slice(words);
    let len = words.len().max(usize::from(W::COUNT) * 2);
    W::get(whole.get(..len)?).ok().filter(|_| words.len() >= needed)
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
        Self { message, next: Some((command, HEADER_LEN)), left: MAX_CHAIN, broken: false }
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
        if command::is_andx(command)
            && let (Some(follows), Some(next)) = (block.words.first(), short(block.words, 2))
            && *follows != command::NONE
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
