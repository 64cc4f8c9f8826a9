//! What the numbers of SMB 2 and 3 identify.

use std::net::SocketAddr;

use sharebench_smb::wire::FileId;

use crate::input::protocols::smb::shares::{Number, Scope, Shares};

/// A tree of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Tree {
    pub(super) session: u64,
    pub(super) id: u32,
}

pub(super) type Smb2Shares = Shares<Tree, FileId>;
pub(super) type Smb2Scope<'s, 'r> = Scope<'s, 'r, Tree, FileId>;

impl Number for Tree {
    const IS_REUSED: bool = false;

    fn identity(self, _client: SocketAddr) -> Vec<u8> {
        self.id.to_le_bytes().into()
    }
}

impl Number for FileId {
    const IS_REUSED: bool = false;

    fn identity(self, _client: SocketAddr) -> Vec<u8> {
        [self.persistent.to_le_bytes(), self.volatile.to_le_bytes()].concat()
    }
}
