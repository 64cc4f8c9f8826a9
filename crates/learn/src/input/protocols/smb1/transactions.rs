//! Transactions of SMB 1: TRANSACTION2 (MS-CIFS 2.2.4.46, 2.2.6) and `NT_TRANSACT` (2.2.4.62, 2.2.7).

use sharebench_smb::nt1::command::{NT_TRANSACT, TRANSACTION, TRANSACTION2};
use sharebench_smb::nt1::trans2::{self, subcommand};

use super::attributes::{Attributes, Change};
use super::bytes::{long, part, short, word};
use super::entry::EntryRequest;
use super::header;
use super::listing::Listing;
use super::names::{Strings, is_pattern, within_share};
use super::numbers::{Fid, Sid};
use super::open::Opening;
use super::request::Request;
use super::target::Target;

/// Levels from here on are classes of MS-FSCC 2.4 (MS-SMB 2.2.2.3.5).
const PASS_THROUGH: u16 = 1000;
const POSIX_OPEN: u16 = 0x0209;
const POSIX_UNLINK: u16 = 0x020A;
/// What the UNIX extensions write for a length that does not change.
const NO_CHANGE: u64 = u64::MAX;

/// A command whose requests and replies may have several messages.
pub(super) const fn is_transaction(command: u8) -> bool {
    matches!(command, TRANSACTION | TRANSACTION2 | NT_TRANSACT)
}

/// What a reply of a transaction has (2.2.4.46.2, 2.2.4.62.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Part<'a> {
    pub(super) parameters: &'a [u8],
    pub(super) data: &'a [u8],
    /// Bytes of parameters and data of all replies together, and of this one.
    pub(super) total: u64,
    pub(super) here: u64,
}

impl<'a> Part<'a> {
    /// Decodes a reply of TRANSACTION and TRANSACTION2, or of `NT_TRANSACT`; none if it ends too early.
    pub(super) fn decode(is_nt: bool, words: &[u8], message: &'a [u8]) -> Option<Self> {
        let field = |number: usize| {
            if is_nt { word(words, 3 + number * 4) } else { short(words, number * 2).map(u32::from) }
        };
        // The third field of the first kind is reserved.
        let after = usize::from(!is_nt);
        let total = u64::from(field(0)?) + u64::from(field(1)?);
        let parameters = field(2 + after)?;
        let data = field(5 + after)?;
        Some(Self {
            parameters: available(message, field(3 + after)? as usize, parameters as usize),
            data: available(message, field(6 + after)? as usize, data as usize),
            total,
            here: u64::from(parameters) + u64::from(data),
        })
    }
}

/// As much of a part as the message has.
fn available(message: &[u8], at: usize, len: usize) -> &[u8] {
    let rest = message.get(at..).unwrap_or_default();
    rest.get(..len).unwrap_or(rest)
}

/// Parameters of a request: the bytes, and the strings in them, which are aligned in the message.
fn parameters(message: &[u8], at: usize, len: usize, unicode: bool) -> Option<(&[u8], Strings<'_>)> {
    let bytes = available(message, at, len);
    Some((bytes, Strings { message, at, end: at.checked_add(len)?, unicode }))
}

/// Decodes a request of TRANSACTION2; none if it ends too early.
pub(super) fn decode(words: &[u8], message: &[u8], unicode: bool) -> Option<Request> {
    let fields: trans2::Request = header::words(words, 30)?;
    let [at, len] = [fields.parameters_offset, fields.parameters].map(usize::from);
    let (bytes, mut strings) = parameters(message, at, len, unicode)?;
    let data = available(message, fields.data_offset.into(), fields.data.into());
    let mut name_at = |at: usize| {
        strings.at += at;
        strings.name()
    };
    Some(match fields.subcommand {
        0x00 => Request::Open(Opening::open2(bytes, &mut strings)?),
        subcommand::FIND_FIRST2 => {
            let name = name_at(12)?;
            if is_pattern(&name) {
                Request::List(Listing::First { name })
            } else {
                // Clients query the attributes of a name in this way.
                query(Target::Name(name), Attributes::Other)
            }
        }
        subcommand::FIND_NEXT2 => Request::List(Listing::Next { sid: Sid(short(bytes, 0)?) }),
        subcommand::QUERY_FS_INFORMATION => Request::Space,
        subcommand::QUERY_PATH_INFORMATION => {
            query(Target::Name(name_at(6)?), Attributes::Level(short(bytes, 0)?))
        }
        subcommand::SET_PATH_INFORMATION => set(short(bytes, 0)?, Target::Name(name_at(6)?), data, unicode),
        subcommand::QUERY_FILE_INFORMATION => {
            query(Target::Fid(Fid(short(bytes, 0)?)), Attributes::Level(short(bytes, 2)?))
        }
        subcommand::SET_FILE_INFORMATION => {
            set(short(bytes, 2)?, Target::Fid(Fid(short(bytes, 0)?)), data, unicode)
        }
        0x0D => Request::Entry(EntryRequest::MakeDirectory { name: name_at(4)? }),
        0x10 => Request::Other("TRANS2_GET_DFS_REFERRAL"),
        _ => Request::Other("TRANSACTION2"),
    })
}

fn query(target: Target, attributes: Attributes) -> Request {
    Request::Entry(EntryRequest::Query { target, attributes })
}

/// `SET_PATH_INFORMATION` and `SET_FILE_INFORMATION` (2.2.6.7, 2.2.6.9, 2.2.8.4).
fn set(level: u16, target: Target, data: &[u8], unicode: bool) -> Request {
    // Classes of MS-FSCC as the levels that they are alike.
    let level = match level.checked_sub(PASS_THROUGH) {
        Some(13) => 0x0102,
        Some(20) => 0x0104,
        _ => level,
    };
    let change = match level {
        0x0102 => data.first().map(|flag| Change::Disposition(flag & 1 != 0)),
        0x0104 => long(data, 0).map(Change::Size),
        // FileRenameInformation as SMB 1 has it (MS-FSCC 2.4.42.1).
        0x03F2 => word(data, 8).and_then(|len| part(data, 12, len as usize)).map(|name| {
            let mut strings = Strings { message: name, at: 0, end: name.len(), unicode };
            let name = strings.next().unwrap_or_default();
            let same_directory = !name.starts_with('\\');
            Change::Name { name: within_share(&name), same_directory }
        }),
        // The file is as long as its first field states.
        0x0200 => long(data, 0).filter(|size| *size != NO_CHANGE).map(Change::Size),
        POSIX_UNLINK => Some(Change::Removal),
        POSIX_OPEN => {
            if let Target::Name(name) = &target
                && let Some(opening) = Opening::posix(name.clone(), data)
            {
                return Request::Open(opening);
            }
            None
        }
        _ => None,
    };
    Request::Entry(EntryRequest::Set { target, change: change.unwrap_or(Change::Attributes) })
}

/// Decodes a request of `NT_TRANSACT`; none if it ends too early.
pub(super) fn decode_nt(words: &[u8], message: &[u8], unicode: bool) -> Option<Request> {
    let [len, at] = [word(words, 19)?, word(words, 23)?].map(|field| field as usize);
    Some(match short(words, 36)? {
        1 => {
            let (bytes, mut strings) = parameters(message, at, len, unicode)?;
            Request::Open(Opening::nt_transact(bytes, &mut strings)?)
        }
        2 => Request::Other("NT_TRANSACT_IOCTL"),
        3 => Request::Other("NT_TRANSACT_SET_SECURITY_DESC"),
        4 => Request::Other("NT_TRANSACT_NOTIFY_CHANGE"),
        5 => Request::Other("NT_TRANSACT_RENAME"),
        6 => Request::Other("NT_TRANSACT_QUERY_SECURITY_DESC"),
        _ => Request::Other("NT_TRANSACT"),
    })
}
