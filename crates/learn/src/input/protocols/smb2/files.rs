//! The open files and the trees of a connection.

use std::collections::HashMap;
use std::net::SocketAddr;

use sharebench_smb::wire::FileId;

use crate::input::protocols::smb;
use crate::input::recorder::Recorder;

/// Most opens and trees of a connection; more are those of a capture without closes.
const MAX_OPENS: usize = 1 << 16;

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
    pub(super) fn path(&self, session: u64, tree: u32, name: &str) -> Vec<u8> {
        match self.trees.get(&(session, tree)) {
            Some(share) => smb::path(share, name),
            None => smb::path(&tree.to_le_bytes(), name),
        }
    }

    /// A tree, by the path of its share.
    pub(super) fn connect(&mut self, session: u64, tree: u32, share: &str) {
        if self.trees.len() < MAX_OPENS {
            self.trees.insert((session, tree), smb::share(share));
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
            file: recorder.file(server, &[id.persistent.to_le_bytes(), id.volatile.to_le_bytes()].concat()),
            path: Vec::new(),
            delete: false,
            listed: false,
        })
    }

    pub(super) fn close(&mut self, id: FileId) -> Option<Open> {
        self.opens.remove(&id)
    }
}
