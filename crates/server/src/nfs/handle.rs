//! File handles: a node, its server instance, and an authentication code against guessed handles.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use sharebench_nfs::protocol::MAX_HANDLE_BYTES;
use sharebench_nfs::status::NfsStatus;
use sharebench_nfs::xdr::{Reader, Writer, XdrError};

use crate::nfs::siphash::SipKey;
use crate::{NodeId, PersistentId, ROOT, Volume, VolumeError};

/// Magic of a handle with the number of a node: "shb" and the version of the layout.
const NUMBERED: [u8; 4] = *b"shb1";
/// Magic of a handle with an identity that outlives the process.
const PERSISTENT: [u8; 4] = *b"shb2";
/// Magic of a directory above the volume.
const PSEUDO: [u8; 4] = *b"shbp";
/// Magic, instance, persistent identity, authentication code.
const PERSISTENT_BYTES: usize = 48;
/// Longest handle of this server.
pub(super) const HANDLE_BYTES: usize = PERSISTENT_BYTES;

/// Secrets of a server from which its handles are made. With the same secret, handles survive a restart.
#[derive(Clone, Copy)]
pub(super) struct HandleSecret {
    /// Number of the instance, which is also the file system's number in attributes.
    pub(super) instance: u64,
    pub(super) key: SipKey,
}

impl HandleSecret {
    /// A random secret.
    pub(super) fn random() -> Self {
        let random = RandomState::new();
        let word = |name| random.hash_one(name);
        Self { instance: word("instance"), key: SipKey([word("low"), word("high")]) }
    }
}

/// What a handle refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileObject {
    /// A directory above the volume, by its depth; NFSv4 only.
    Pseudo(u32),
    /// A node of the volume.
    Node(NodeId),
}

impl FileObject {
    /// The node, if it is one of the volume.
    #[inline]
    pub(super) const fn node(self) -> Option<NodeId> {
        match self {
            Self::Node(node) => Some(node),
            Self::Pseudo(_) => None,
        }
    }
}

/// Makes and checks the handles of one server.
pub(super) struct HandleKey {
    secret: HandleSecret,
    /// The volume, if its nodes have identities that outlive the process, and the secret does too.
    persistent: Option<Arc<dyn Volume>>,
}

impl HandleKey {
    /// Handles of this process only.
    pub(super) fn new() -> Self {
        Self { secret: HandleSecret::random(), persistent: None }
    }

    /// Handles that survive a restart if the volume does.
    pub(super) fn kept(secret: HandleSecret, volume: &Arc<dyn Volume>) -> Self {
        let persistent = volume.persistent_id(ROOT).map(|_| Arc::clone(volume));
        Self { secret, persistent }
    }

    pub(super) fn instance(&self) -> u64 {
        self.secret.instance
    }

    /// What handles of a node contain, if they survive a restart.
    pub(super) fn persistent_id(&self, node: NodeId) -> Option<PersistentId> {
        self.persistent.as_ref()?.persistent_id(node)
    }

    /// What a handle of this instance contains, if it survives a restart.
    pub(super) fn identity_of(&self, bytes: &[u8]) -> Option<PersistentId> {
        let (signed, code) = bytes.split_last_chunk::<8>()?;
        let (magic, rest) = signed.split_first_chunk::<4>()?;
        let (_, identity) = rest.split_first_chunk::<8>()?;
        let genuine = *magic == PERSISTENT && u64::from_be_bytes(*code) == self.secret.key.code(signed);
        PersistentId::try_from(identity).ok().filter(|_| genuine)
    }

    /// Encodes a node's handle with its length.
    pub(super) fn put(&self, writer: &mut Writer, node: NodeId) {
        self.put_object(writer, FileObject::Node(node));
    }

    /// Encodes a handle with its length.
    pub(super) fn put_object(&self, writer: &mut Writer, object: FileObject) {
        let persistent = match (object, &self.persistent) {
            (FileObject::Node(node), Some(volume)) => volume.persistent_id(node),
            _ => None,
        };
        let number;
        let (magic, identity): ([u8; 4], &[u8]) = match (object, &persistent) {
            (_, Some(identity)) => (PERSISTENT, identity),
            (FileObject::Node(node), None) => {
                number = node.0.to_be_bytes();
                (NUMBERED, &number)
            }
            (FileObject::Pseudo(depth), None) => {
                number = u64::from(depth).to_be_bytes();
                (PSEUDO, &number)
            }
        };
        writer.u32((20 + identity.len()) as u32);
        let at = writer.len();
        writer.raw(&magic);
        writer.u64(self.secret.instance);
        writer.raw(identity);
        let code = self.secret.key.code(&writer.as_slice()[at..]);
        writer.u64(code);
    }

    /// Decodes a handle of NFSv3: `STALE` if another instance created it, `BADHANDLE` if none did.
    #[inline]
    pub(super) fn get(&self, reader: &mut Reader<'_>) -> Result<Result<NodeId, NfsStatus>, XdrError> {
        let bytes = reader.opaque("file handle", MAX_HANDLE_BYTES)?;
        Ok(match self.find(bytes) {
            Ok(FileObject::Node(node)) => Ok(node),
            Err(VolumeError::Stale) => Err(NfsStatus::Stale),
            Ok(FileObject::Pseudo(_)) | Err(_) => Err(NfsStatus::BadHandle),
        })
    }

    /// What a handle refers to: [`VolumeError::Stale`] if another instance created it or the node no longer exists,
    /// [`VolumeError::BadName`] if no instance did.
    #[inline]
    pub(super) fn find(&self, bytes: &[u8]) -> Result<FileObject, VolumeError> {
        let bad = VolumeError::BadName;
        let (signed, code) = bytes.split_last_chunk::<8>().ok_or(bad)?;
        let (magic, rest) = signed.split_first_chunk::<4>().ok_or(bad)?;
        let (instance, identity) = rest.split_first_chunk::<8>().ok_or(bad)?;
        let known = match *magic {
            NUMBERED | PSEUDO => identity.len() == 8,
            PERSISTENT => identity.len() == size_of::<PersistentId>(),
            _ => false,
        };
        if !known {
            return Err(bad);
        }
        // A handle of an earlier instance: STALE makes the client look the name up again, BADHANDLE would not.
        if u64::from_be_bytes(*instance) != self.secret.instance {
            return Err(VolumeError::Stale);
        }
        if u64::from_be_bytes(*code) != self.secret.key.code(signed) {
            return Err(bad);
        }
        match (<[u8; 8]>::try_from(identity), PersistentId::try_from(identity), &self.persistent) {
            (Ok(number), _, _) if *magic == PSEUDO => {
                Ok(FileObject::Pseudo(u32::try_from(u64::from_be_bytes(number)).map_err(|_| bad)?))
            }
            (Ok(number), _, _) => Ok(FileObject::Node(NodeId(u64::from_be_bytes(number)))),
            (_, Ok(identity), Some(volume)) => volume.find_persistent(&identity).map(FileObject::Node),
            _ => Err(VolumeError::Stale),
        }
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
        assert_eq!(handle.len(), 4 + 28);
        assert_eq!(key.get(&mut Reader::new(&handle)), Ok(Ok(NodeId(7))));
        assert_eq!(other.get(&mut Reader::new(&handle)), Ok(Err(NfsStatus::Stale)));
        let mut guessed = handle.clone();
        guessed[23] ^= 1;
        assert_eq!(key.get(&mut Reader::new(&guessed)), Ok(Err(NfsStatus::BadHandle)));
        assert_eq!(key.get(&mut Reader::new(&[0, 0, 0, 4, 1, 2, 3, 4])), Ok(Err(NfsStatus::BadHandle)));
    }

    #[test]
    fn a_directory_above_the_volume_is_no_node() {
        let key = HandleKey::new();
        let mut writer = Writer::default();
        key.put_object(&mut writer, FileObject::Pseudo(1));
        assert_eq!(key.find(&writer.as_slice()[4..]), Ok(FileObject::Pseudo(1)));
        assert_eq!(key.get(&mut Reader::new(writer.as_slice())), Ok(Err(NfsStatus::BadHandle)));
    }
}
