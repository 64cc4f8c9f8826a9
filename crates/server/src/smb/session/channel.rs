//! A connection of a session, with the key that signs its messages (MS-SMB2 3.3.1.14).

use std::sync::Arc;

use sharebench_smb::crypto::SigningKey;
use sharebench_smb::wire::header::{SIGNATURE, flags};

use crate::smb::session::established::Session;

/// Position of the flags in a header.
const FLAGS: std::ops::Range<usize> = 16..20;

/// A session on one connection.
///
/// The first channel signs with the key of the session. Every further one has a key of its own, which only somebody who
/// knows the password of the account can derive.
pub(crate) struct Channel {
    pub(crate) session: Arc<Session>,
    /// None for guests and anonymous users.
    signing: Option<Arc<SigningKey>>,
}

impl Channel {
    /// A channel that signs with `signing`.
    pub(crate) fn new(session: Arc<Session>, signing: Option<Arc<SigningKey>>) -> Self {
        Self { session, signing }
    }

    /// A channel that signs with the key of the session, for messages before a binding is complete.
    pub(crate) fn of_session(session: &Arc<Session>) -> Arc<Self> {
        Arc::new(Self { session: Arc::clone(session), signing: session.signing.clone() })
    }

    /// True if the channel can sign.
    pub(crate) fn can_sign(&self) -> bool {
        self.signing.is_some()
    }

    /// True if a message has a valid signature, which is overwritten.
    pub(crate) fn verify(&self, message: &mut [u8]) -> bool {
        self.signing.as_ref().is_some_and(|key| key.verify(message))
    }

    /// Signs a response whose signature field holds zeros, if there is a key.
    pub(crate) fn sign(&self, message: &mut [u8]) {
        let Some(key) = &self.signing else { return };
        if let Some(field) = message.get_mut(FLAGS) {
            let set = field.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)) | flags::SIGNED;
            field.copy_from_slice(&set.to_le_bytes());
        }
        let signature = key.signature(&[message]);
        if let Some(field) = message.get_mut(SIGNATURE) {
            field.copy_from_slice(&signature);
        }
    }
}
