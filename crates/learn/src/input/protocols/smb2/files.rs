//! The open files and the trees of a connection.

use std::collections::HashMap;
use std::net::SocketAddr;

use crate::input::recorder::Recorder;

/// Most opens and trees of a connection; more are those of a capture without closes.
const MAX_OPENS: usize = 1 << 16;

/// An identifier of an open (MS-SMB2 2.2.14.1).
pub(super) type FileId = [u8; 16];

/// An open file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) file: u32,
    /// Share and path; empty for a file that was open before the capture.
    pub(super) path: Vec<u8>,
    /// It is removed when it is closed.
    pub(super) delete: bool,
    /// A part of the directory was read.
    pub(super) listed: bool,
}

#[derive(Default)]
pub(super) struct Files {
    opens: HashMap<FileId, Open>,
    /// Names of the shares by session and tree.
    trees: HashMap<(u64, u32), Vec<u8>>,
}

impl Files {
    /// The path within the server of a name in a tree, without regard to case.
    pub(super) fn path(&self, session: u64, tree: u32, name: &[u8]) -> Vec<u8> {
        let mut path =
            self.trees.get(&(session, tree)).cloned().unwrap_or_else(|| tree.to_le_bytes().to_vec());
        path.push(b'\\');
        path.extend(lower(name));
        path
    }

    /// A tree, by the path of its share.
    pub(super) fn connect(&mut self, session: u64, tree: u32, share: &[u8]) {
        if self.trees.len() < MAX_OPENS {
            // Without the server, which clients call by several names.
            self.trees.insert((session, tree), lower(&last_component(share)).collect());
        }
    }

    pub(super) fn open(&mut self, id: FileId, open: Open) {
        if self.opens.len() >= MAX_OPENS {
            self.opens.clear();
        }
        self.opens.insert(id, open);
    }

    /// The open with this identifier; one that was opened before the capture is a file without a name.
    pub(super) fn get(&mut self, id: FileId, server: SocketAddr, recorder: &mut Recorder) -> &mut Open {
        self.opens.entry(id).or_insert_with(|| Open {
            file: recorder.file(server, &id),
            path: Vec::new(),
            delete: false,
            listed: false,
        })
    }

    pub(super) fn close(&mut self, id: FileId) -> Option<Open> {
        self.opens.remove(&id)
    }
}

/// Bytes of a name in UTF-16LE, with its letters of ASCII in lower case.
pub(in crate::input::protocols) fn lower(name: &[u8]) -> impl Iterator<Item = u8> + '_ {
    name.chunks(2).flat_map(|unit| match unit {
        [letter, 0] => [letter.to_ascii_lowercase(), 0],
        [low, high] => [*low, *high],
        _ => [0, 0],
    })
}

/// Where a name in UTF-16LE begins its last component, in bytes, with the separator before it.
pub(in crate::input::protocols) fn separator(name: &[u8]) -> Option<usize> {
    let units = name.chunks_exact(2);
    units.enumerate().rfind(|(_, unit)| *unit == [b'\\', 0]).map(|(at, _)| at * 2)
}

/// The last component of a name in UTF-16LE.
pub(in crate::input::protocols) fn last_component(name: &[u8]) -> Vec<u8> {
    separator(name).and_then(|at| name.get(at + 2..)).unwrap_or(name).to_vec()
}

/// A name in UTF-16LE as bytes of ASCII; other letters have no part in an extension that is known.
pub(in crate::input::protocols) fn ascii(name: &[u8]) -> Vec<u8> {
    name.chunks_exact(2).map(|unit| if unit[1] == 0 { unit[0] } else { b'?' }).collect()
}
