//! Numbers of SMB 1, which are those of a connection, and what they identify.

use std::collections::HashMap;
use std::net::SocketAddr;

use crate::input::protocols::smb::shares::{Number, Scope, Shares};
use crate::input::recorder::Recording;

/// An open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Fid(pub(super) u16);

/// A tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Tid(pub(super) u16);

/// A search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Sid(pub(super) u16);

pub(super) type Smb1Shares = Shares<Tid, Fid>;
pub(super) type Smb1Scope<'s, 'r> = Scope<'s, 'r, Tid, Fid>;

impl Number for Fid {
    const IS_REUSED: bool = true;

    fn identity(self, client: SocketAddr) -> Vec<u8> {
        of_connection(client, b'f', self.0)
    }
}

impl Number for Tid {
    const IS_REUSED: bool = true;

    fn identity(self, client: SocketAddr) -> Vec<u8> {
        of_connection(client, b't', self.0)
    }
}

/// What no other connection has.
fn of_connection(client: SocketAddr, kind: u8, number: u16) -> Vec<u8> {
    let mut identity = client.to_string().into_bytes();
    identity.extend([0, kind]);
    identity.extend(number.to_le_bytes());
    identity
}

/// The directories of searches.
#[derive(Debug, Default)]
pub(super) struct Searches {
    directories: HashMap<Sid, u32>,
    /// Of the last SEARCH, whose continuations do not name it.
    pub(super) last: Option<u32>,
}

impl Searches {
    pub(super) fn begin(&mut self, sid: Sid, directory: u32) {
        self.directories.insert(sid, directory);
    }

    /// The directory of a search; that of one from before the capture has no name.
    pub(super) fn directory(&mut self, sid: Sid, recorder: &mut Recording<'_>) -> u32 {
        let client = recorder.ends.client;
        *self.directories.entry(sid).or_insert_with(|| recorder.file(&of_connection(client, b's', sid.0)))
    }

    pub(super) fn end(&mut self, sid: Sid, recorder: &mut Recording<'_>) {
        self.directories.remove(&sid);
        recorder.forget(&of_connection(recorder.ends.client, b's', sid.0));
    }
}
