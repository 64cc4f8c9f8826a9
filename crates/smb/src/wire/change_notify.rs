//! `CHANGE_NOTIFY` (MS-SMB2 2.2.35, 2.2.36) and `FILE_NOTIFY_INFORMATION` (MS-FSCC 2.7.1).

use super::bytes::body;
use super::{Field, FileId, utf16};

/// Flag of a request: also changes in the directories below.
pub const WATCH_TREE: u16 = 1;

/// Bits of `CompletionFilter` (MS-SMB2 2.2.35).
#[expect(missing_docs, reason = "the names are the specification's")]
pub mod filter {
    pub const FILE_NAME: u32 = 0x1;
    pub const DIR_NAME: u32 = 0x2;
    pub const ATTRIBUTES: u32 = 0x4;
    pub const SIZE: u32 = 0x8;
    pub const LAST_WRITE: u32 = 0x10;
    pub const LAST_ACCESS: u32 = 0x20;
    pub const CREATION: u32 = 0x40;
    pub const EA: u32 = 0x80;
    pub const SECURITY: u32 = 0x100;
    pub const STREAM_NAME: u32 = 0x200;
    pub const STREAM_SIZE: u32 = 0x400;
    pub const STREAM_WRITE: u32 = 0x800;
}

/// What happened to a name (MS-FSCC 2.7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the specification's")]
pub enum Action {
    Added = 1,
    Removed = 2,
    Modified = 3,
    RenamedOldName = 4,
    RenamedNewName = 5,
    AddedStream = 6,
    RemovedStream = 7,
    ModifiedStream = 8,
}

body! {
    /// SMB2 `CHANGE_NOTIFY` request (MS-SMB2 2.2.35); the response is an [`super::info::InfoResponse`].
    ChangeNotifyRequest, 32 {
        /// [`WATCH_TREE`] or 0.
        flags: u16,
        /// Maximum size of the response's information, in bytes.
        output_len: u32,
        /// The directory.
        file: FileId,
        /// See [`filter`].
        filter: u32,
        /// Zero.
        reserved: u32,
    }
}

/// Encodes a list of changes and appends it. Names are relative to the directory.
pub fn put_changes<'a>(changes: impl Iterator<Item = (Action, &'a str)>, out: &mut Vec<u8>) {
    let mut last = None;
    for (action, name) in changes {
        let start = out.len().next_multiple_of(4);
        if let Some(last) = last
            && let Some(distance) = out.get_mut(last..last + 4)
        {
            distance.copy_from_slice(&((start - last) as u32).to_le_bytes());
        }
        last = Some(start);
        out.resize(start, 0);
        let name = utf16(name);
        0u32.put(out);
        (action as u32).put(out);
        (name.len() as u32).put(out);
        out.extend_from_slice(&name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_linked_and_aligned() {
        let mut out = Vec::new();
        put_changes([(Action::Added, "a"), (Action::Removed, "bc")].into_iter(), &mut out);
        assert_eq!(out[..16], [16, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, b'a', 0, 0, 0]);
        assert_eq!(out[16..], [0, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, b'b', 0, b'c', 0]);
    }
}
