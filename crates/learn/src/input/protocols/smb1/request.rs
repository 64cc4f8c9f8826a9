//! Requests of SMB 1 as far as their operations need them, and their operations (MS-CIFS 2.2.4, MS-SMB 2.2.4).

use super::attributes::{Attributes, Change};
use sharebench_smb::nt1::command;
use sharebench_smb::nt1::file::{LockRequest, OPLOCK_RELEASE};

use super::bytes::short;
use super::data::DataRequest;
use super::entry::EntryRequest;
use super::header::{self, Block};
use super::listing::Listing;
use super::names::Strings;
use super::numbers::{Fid, Searches, Sid, Smb1Scope};
use super::open::Opening;
use super::reply::Reply;
use super::target::Target;
use super::transactions;
use crate::input::performed::Performed;
use crate::input::protocols::file_request::FileRequest;
use crate::operation::{Action, Outcome};

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
    Data(DataRequest),
    List(Listing),
    Entry(EntryRequest),
    Space,
    Other(&'static str),
}

impl Request {
    /// Decodes a command of a message; none if the message ends too early.
    pub(super) fn decode(block: &Block<'_>, message: &[u8], unicode: bool) -> Option<Self> {
        let words = block.words;
        let mut strings = Strings { message, at: block.data.0, end: block.data.1, unicode };
        let fid = |at: usize| short(words, at).map(Fid);
        Some(match block.command {
            0x00 => Self::Entry(EntryRequest::MakeDirectory { name: strings.formatted_name()? }),
            0x01 | 0x06 => Self::Entry(EntryRequest::Remove { name: strings.formatted_name()? }),
            0x02 | 0x03 | 0x0E | 0x0F | 0x2D | 0xA2 => {
                Self::Open(Opening::decode(block.command, words, &mut strings)?)
            }
            0x04 => Self::Data(DataRequest::plain(fid(0)?, FileRequest::Close)),
            // All files of the process.
            0x05 if fid(0)? == Fid(0xFFFF) => Self::Other("FLUSH"),
            0x05 => Self::Data(DataRequest::plain(fid(0)?, FileRequest::Flush)),
            0x07 => {
                let from = strings.formatted_name()?;
                Self::Entry(EntryRequest::Rename { from, to: strings.formatted_name()? })
            }
            0x08 => Self::query(Target::Name(strings.formatted_name()?), Attributes::Core),
            0x09 => Self::set(Target::Name(strings.formatted_name()?)),
            command::LOCKING_ANDX => Self::locking(words)?,
            0x0A..=0x0D | 0x13 | 0x14 | 0x1A | 0x1D | 0x2C | 0x2E | 0x2F => {
                Self::Data(DataRequest::decode(block.command, words)?)
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
            0x34 => Self::List(Listing::Close { sid: Sid(short(words, 0)?) }),
            0x70 => Self::Tree { share: strings.formatted()? },
            0x73 => Self::Setup,
            0x74 => Self::Logoff,
            0x75 => {
                // The password precedes the path.
                strings.at += usize::from(short(words, 6)?);
                Self::Tree { share: strings.next()? }
            }
            0x80 => Self::Space,
            0x81..=0x83 => Self::List(Listing::Search { name: strings.formatted_name()? }),
            0xA0 => transactions::decode_nt(words, message, unicode)?,
            0xA5 => {
                let from = strings.formatted_name()?;
                let to = strings.formatted_name()?;
                // SMB_NT_RENAME_RENAME_FILE is 0x104.
                let links = short(words, 2)? == 0x0103;
                let request =
                    if links { EntryRequest::Link { from, to } } else { EntryRequest::Rename { from, to } };
                Self::Entry(request)
            }
            // PROCESS_EXIT, TREE_DISCONNECT, NEGOTIATE, FIND_CLOSE.
            0x11 | 0x71 | 0x72 | 0x84 => Self::Nothing,
            _ => Self::Unknown,
        })
    }

    fn locking(words: &[u8]) -> Option<Self> {
        let LockRequest { fid, kind, locks, unlocks, .. } = header::words(words, 16)?;
        Some(match (unlocks > 0, locks > 0) {
            // The client gives an oplock up: without a reply.
            (false, false) if kind & OPLOCK_RELEASE != 0 => Self::Unanswered,
            (false, false) => Self::Nothing,
            (unlocks, locks) => Self::Data(DataRequest::locking(fid, unlocks, locks)),
        })
    }

    const fn query(target: Target, attributes: Attributes) -> Self {
        Self::Entry(EntryRequest::Query { target, attributes })
    }

    const fn set(target: Target) -> Self {
        Self::Entry(EntryRequest::Set { target, change: Change::Attributes })
    }

    /// Replaces the FID of a command that follows an open in its chain: the server uses the new one (MS-CIFS
    /// 3.3.5.2.4).
    pub(super) const fn use_fid(&mut self, opened: Option<Fid>) {
        if let (Self::Data(request), Some(opened)) = (self, opened) {
            request.fid = opened;
        }
    }

    /// The operations of a request that failed, or has no reply.
    pub(super) fn attempted(
        &self,
        searches: &mut Searches,
        scope: &mut Smb1Scope<'_, '_>,
    ) -> [Option<Action>; 2] {
        let action = match self {
            Self::Nothing
            | Self::Unanswered
            | Self::Unknown
            | Self::Setup
            | Self::Logoff
            | Self::Tree { .. } => None,
            Self::Open(opening) => Some(opening.attempted(scope)),
            Self::Data(request) => return request.attempted(scope),
            Self::List(listing) => listing.attempted(searches, scope),
            Self::Entry(request) => Some(request.attempted(scope)),
            Self::Space => Some(Action::Space),
            Self::Echo(_) => Some(Action::Other("ECHO")),
            Self::Other(name) => Some(Action::Other(name)),
        };
        [action, None]
    }

    /// The operations of a request with its reply. An open gives its FID to the commands that follow in its chain.
    pub(super) fn finish(
        &self,
        reply: &Reply<'_>,
        opened: &mut Option<Fid>,
        searches: &mut Searches,
        scope: &mut Smb1Scope<'_, '_>,
    ) -> Performed {
        let outcome = reply.outcome;
        let actions = match self {
            request if outcome != Outcome::Done => request.attempted(searches, scope),
            Self::Open(opening) => [Some(opening.succeeded(reply, opened, scope)), None],
            Self::Data(request) => request.succeeded(reply, scope),
            Self::List(listing) => [listing.succeeded(reply, searches, scope), None],
            Self::Entry(request) => [request.succeeded(reply, scope), None],
            request => request.attempted(searches, scope),
        };
        Performed { actions, outcome }
    }
}
