//! The execution of calls: each family of calls has its functions in a file of its own.

use std::sync::Mutex;

use super::connection::Connection;
use super::connection_table::ConnectionTable;
use super::names::NameSpace;
use super::options::Environment;
use super::paths::ResolvedPath;
use super::shared::Shared;
use super::volume::{Volume, VolumeNode, VolumeResult};
use crate::wire::{Codec, Completion, HandlePath, Request, TransportKind};

/// A call in execution: the server, the connection that makes the call, and the reply.
///
/// [`Self::execute`] passes the call to the function of its family, which has an arm for each call of the family: a
/// new call without implementation does not compile. What a function appends to `out` before it fails is no part of the
/// reply.
pub struct Execution<'s, V> {
    /// The state of the server.
    pub shared: &'s Shared<V>,
    /// Clock and randomness.
    pub environment: &'s dyn Environment,
    /// All connections.
    pub connections: &'s Mutex<ConnectionTable>,
    /// The connection that makes the call.
    pub connection: &'s mut Connection,
    /// Transport of the packets.
    pub transport: TransportKind,
    /// Task that makes the call.
    pub task: u8,
    /// The reply, to which its data is appended.
    pub out: &'s mut Vec<u8>,
}

impl<V: Volume> Execution<'_, V> {
    /// Executes a call and appends the data of its reply.
    pub fn execute(&mut self, request: &Request<'_>) -> VolumeResult<()> {
        match request {
            Request::Connection(call) => self.connection_call(call),
            // The bindery decides itself what a client may read before the login.
            Request::Bindery(call) => self.bindery_call(call),
            Request::Volume(call) => self.volume_call(call),
            Request::Directory(call) => self.after_login()?.directory_call(call),
            Request::Path(call) => self.after_login()?.path_call(call),
            Request::File(call) => self.after_login()?.file_call(call),
            Request::Lock(call) => self.after_login()?.lock_call(call),
            Request::Semaphore(call) => self.after_login()?.semaphore_call(call),
            Request::NameSpace(call) => self.after_login()?.name_space_call(call),
            Request::Unknown(..) => Err(Completion::UnknownFunction),
        }
    }

    /// Fails before the login.
    fn after_login(&mut self) -> VolumeResult<&mut Self> {
        if self.connection.user.is_some() { Ok(self) } else { Err(Completion::NoOpenRights) }
    }

    /// Appends a message as the data of the reply, with which the function of a call ends.
    #[expect(clippy::unnecessary_wraps, reason = "it is the result of the functions of calls")]
    pub fn reply<'m, M: Codec<'m, Value = M>>(&mut self, message: &M) -> VolumeResult<()> {
        M::put(message, self.out);
        Ok(())
    }

    /// Resolves a classic path.
    pub fn path(&self, handle: u8, path: &[u8]) -> VolumeResult<ResolvedPath> {
        self.shared.resolve_path(self.connection, handle, path)
    }

    /// The directory of a classic path.
    pub fn directory(&self, handle: u8, path: &[u8]) -> VolumeResult<VolumeNode> {
        self.shared.directory(&self.path(handle, path)?)
    }

    /// Resolves a path in the name space with an id.
    pub fn path_in(&self, space: u8, path: &HandlePath<'_>) -> VolumeResult<ResolvedPath> {
        self.shared.resolve_handle_path(self.connection, NameSpace::from_id(space)?, path)
    }
}
