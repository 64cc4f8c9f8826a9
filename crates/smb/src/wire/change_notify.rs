//! `CHANGE_NOTIFY` (MS-SMB2 2.2.35, 2.2.36) and `FILE_NOTIFY_INFORMATION` (MS-FSCC 2.7.1).

use super::bytes::body;
use super::{Field, FileId, Reader, WireError, from_utf16, utf16};

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

impl Action {
    const ALL: [Self; 8] = [
        Self::Added,
        Self::Removed,
        Self::Modified,
        Self::RenamedOldName,
        Self::RenamedNewName,
        Self::AddedStream,
        Self::RemovedStream,
        Self::ModifiedStream,
    ];

    /// The action of a number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|action| *action as u32 == number)
    }
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

/// Decodes a list of changes: the number of the action, and the name relative to the directory.
///
/// Entries neither overlap nor precede their predecessor, so that the list holds no more than the bytes do.
pub fn changes(information: &[u8]) -> Result<Vec<(u32, String)>, WireError> {
    const FIXED_BYTES: u64 = 12;
    let mut found = Vec::new();
    let mut rest = information;
    loop {
        let mut reader = Reader::new(rest, "FILE_NOTIFY_INFORMATION");
        let next: u32 = reader.get()?;
        let action: u32 = reader.get()?;
        let len: u32 = reader.get()?;
        found.push((action, from_utf16(reader.take(len as usize)?)));
        if next == 0 {
            return Ok(found);
        }
        if u64::from(next) < FIXED_BYTES + u64::from(len) {
            return Err(reader.bad("NextEntryOffset", next.into()));
        }
        rest = rest.get(next as usize..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_client_decodes_what_the_server_encodes(names in prop::collection::vec("\\PC{0,20}", 1..20)) {
            let all = |name: &String| (Action::RenamedNewName, name.clone());
            let sent: Vec<_> = names.iter().map(all).collect();
            let mut out = Vec::new();
            put_changes(sent.iter().map(|(action, name)| (*action, &**name)), &mut out);
            let found: Vec<_> = changes(&out).unwrap();
            let sent: Vec<_> = sent.into_iter().map(|(action, name)| (action as u32, name)).collect();
            prop_assert_eq!(found, sent);
        }

        #[test]
        fn no_bytes_are_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(found) = changes(&bytes) {
                prop_assert!(found.len() <= bytes.len() / 12);
            }
        }
    }

    #[test]
    fn entries_that_overlap_are_rejected() {
        let mut out = Vec::new();
        put_changes([(Action::Added, "ab"), (Action::Removed, "c")].into_iter(), &mut out);
        out[0] = 12;
        assert!(changes(&out).unwrap_err().to_string().contains("NextEntryOffset is 0xc"));
        out[0] = 200;
        assert!(changes(&out).is_err() && changes(&[]).is_err());
    }

    #[test]
    fn changes_are_linked_and_aligned() {
        let mut out = Vec::new();
        put_changes([(Action::Added, "a"), (Action::Removed, "bc")].into_iter(), &mut out);
        assert_eq!(out[..16], [16, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, b'a', 0, 0, 0]);
        assert_eq!(out[16..], [0, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, b'b', 0, b'c', 0]);
    }
}
