//! File handles: a node, its server instance, and an authentication code against guessed handles.

use std::hash::{BuildHasher, RandomState};

use sharebench_nfs::protocol::MAX_HANDLE_BYTES;
use sharebench_nfs::status::NfsStatus;
use sharebench_nfs::xdr::{Reader, Writer, XdrError};

use crate::NodeId;

/// Magic of these handles: "shb" and the version of the layout.
const MAGIC: [u8; 4] = *b"shb1";
/// Magic, instance, node, authentication code.
pub(super) const HANDLE_BYTES: usize = 28;

/// The key of the handles of one server instance.
#[derive(Debug)]
pub(super) struct HandleKey {
    /// Number of the instance, which is also the file system's number in attributes.
    instance: u64,
    key: RandomState,
}

impl HandleKey {
    /// Creates a random key.
    pub(super) fn new() -> Self {
        let key = RandomState::new();
        Self { instance: key.hash_one("instance"), key }
    }

    pub(super) fn instance(&self) -> u64 {
        self.instance
    }

    /// Encodes a node's handle with its length.
    pub(super) fn put(&self, writer: &mut Writer, node: NodeId) {
        writer.u32(HANDLE_BYTES as u32);
        writer.raw(&MAGIC);
        writer.u64(self.instance);
        writer.u64(node.0);
        writer.u64(self.key.hash_one(node.0));
    }

    /// Decodes a handle: `STALE` if another instance created it, `BADHANDLE` if none did.
    #[inline]
    pub(super) fn get(&self, reader: &mut Reader<'_>) -> Result<Result<NodeId, NfsStatus>, XdrError> {
        let bytes = reader.opaque("file handle", MAX_HANDLE_BYTES)?;
        if bytes.len() != HANDLE_BYTES {
            return Ok(Err(NfsStatus::BadHandle));
        }
        let mut fields = Reader::new(bytes);
        let magic: [u8; 4] = fields.array()?;
        let instance = fields.u64()?;
        let node = fields.u64()?;
        let authenticator = fields.u64()?;
        Ok(if magic != MAGIC {
            Err(NfsStatus::BadHandle)
        // A handle of an earlier instance: STALE makes the client look the name up again, BADHANDLE would not.
        } else if instance != self.instance {
            Err(NfsStatus::Stale)
        } else if authenticator != self.key.hash_one(node) {
            Err(NfsStatus::BadHandle)
        } else {
            Ok(NodeId(node))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_instance_that_created_a_handle_accepts_it() {
        let key = HandleKey::new();
        let other = HandleKey::new();
        let mut writer = Writer::default();
        key.put(&mut writer, NodeId(7));
        let handle = writer.as_slice().to_vec();
        assert_eq!(key.get(&mut Reader::new(&handle)), Ok(Ok(NodeId(7))));
        assert_eq!(other.get(&mut Reader::new(&handle)), Ok(Err(NfsStatus::Stale)));
        let mut guessed = handle.clone();
        guessed[23] ^= 1;
        assert_eq!(key.get(&mut Reader::new(&guessed)), Ok(Err(NfsStatus::BadHandle)));
        assert_eq!(key.get(&mut Reader::new(&[0, 0, 0, 4, 1, 2, 3, 4])), Ok(Err(NfsStatus::BadHandle)));
    }
}
