//! What protects the messages of a connection: nothing, signatures or encryption.

use std::sync::Arc;

use sharebench_client_core::connection_error::{disconnected, protocol_violation};
use sharebench_model::OpError;

use crate::crypto::{SealingKey, SigningKey};
use crate::status::NtStatus;
use crate::wire::header::{Header, SIGNATURE, command, flags};
use crate::wire::transform::{self, TransformHeader};

/// The keys of both directions, which encrypt the messages of one session (MS-SMB2 3.1.4.3).
#[derive(Debug)]
pub(crate) struct MessageEncryption {
    pub(crate) session_id: u64,
    pub(crate) to_server: SealingKey,
    pub(crate) to_client: SealingKey,
}

/// The protection in force on a connection.
///
/// It starts empty. The login stores the signing key once the server has proved that it knows the session key, then
/// decides whether every request is signed, or every message is encrypted, as server and user require. From
/// then on a reply that is less protected than its request ends the connection: a benchmark must not measure a session
/// that was downgraded, and must not count forged replies.
#[derive(Debug, Default)]
pub(crate) struct MessageSecurity {
    /// The session's signing key, if it has one.
    pub(crate) signing: Option<SigningKey>,
    /// Every request is signed, not only those that the protocol always signs.
    pub(crate) sign_all: bool,
    /// If set, every message is encrypted and none is signed: the ciphers authenticate as well.
    /// All channels of a session share the keys, and with them the counter of the nonces.
    pub(crate) encryption: Option<Arc<MessageEncryption>>,
    /// The channel is being bound. Its login verifies the replies itself, because the last one is signed with the key that
    /// it completes.
    pub(crate) binding: bool,
}

impl MessageSecurity {
    /// The protection of a further channel of the session, which has a signing key of its own.
    pub(crate) fn without_signing(&self) -> Self {
        Self { signing: None, sign_all: self.sign_all, encryption: self.encryption.clone(), binding: false }
    }

    /// True if a request is to be signed; `always` marks requests that are signed whenever there is a key.
    #[inline]
    pub(crate) fn signs(&self, always: bool) -> bool {
        (self.sign_all || always) && self.signing.is_some() && self.encryption.is_none()
    }

    /// Signs a message whose signature field holds zeros.
    #[inline]
    pub(crate) fn sign(&self, message: &mut [u8]) {
        if let Some(key) = &self.signing {
            let signature = key.signature(&[message]);
            message[SIGNATURE].copy_from_slice(&signature);
        }
    }

    /// Checks that a reply that arrived unencrypted is protected as negotiated; `signed` states that its request was
    /// signed. The signature field of a verified message holds zeros afterwards.
    #[inline]
    pub(crate) fn verify(&self, header: &Header, signed: bool, message: &mut [u8]) -> Result<(), OpError> {
        let status = NtStatus(header.status);
        // A server that no longer has the session has no key to protect this status. One that has it protects the status of
        // an expired session like every other reply, and an unprotected one must not make this client repeat a request that
        // was performed.
        let protected = signed || self.encryption.is_some();
        let lost = status == NtStatus::USER_SESSION_DELETED
            || (status == NtStatus::NETWORK_SESSION_EXPIRED && protected);
        if !header.is(flags::SIGNED) && lost {
            return Err(disconnected(status.to_string()));
        }
        if self.encryption.is_some() {
            return Err(unprotected(header, "not encrypted"));
        }
        if self.binding {
            return Ok(());
        }
        match &self.signing {
            Some(key) if signed && header.is(flags::SIGNED) => {
                if key.verify(message) {
                    Ok(())
                } else {
                    Err(unprotected(header, "signed wrongly"))
                }
            }
            // Interim responses need no signature (MS-SMB2 3.2.5.1.3).
            Some(_) if signed && status != NtStatus::PENDING => Err(unprotected(header, "not signed")),
            _ => Ok(()),
        }
    }

    /// Decrypts a frame in place; the message starts after the transform header.
    pub(crate) fn decrypt(&self, frame: &mut [u8]) -> Result<(), OpError> {
        let Some(encryption) = &self.encryption else {
            return Err(protocol_violation("an encrypted message, which was not negotiated"));
        };
        let header = TransformHeader::decode(frame).map_err(protocol_violation)?;
        let len = frame.len().saturating_sub(transform::LEN);
        // One connection carries one session here, so any other id belongs to no key of this client.
        if header.session_id != encryption.session_id || header.original_len as usize != len {
            return Err(protocol_violation(format!(
                "an encrypted message of {len} bytes claims session {:#x} and {} bytes",
                header.session_id, header.original_len
            )));
        }
        let Some((head, message)) = frame.split_first_chunk_mut::<{ transform::LEN }>() else {
            return Err(protocol_violation("an encrypted message without header"));
        };
        encryption.to_client.open(head, message).map_err(protocol_violation)
    }
}

impl MessageEncryption {
    /// Encrypts a message in place and fills the transform header before it.
    pub(crate) fn encrypt(&self, frame: &mut [u8]) {
        if let Some((head, message)) = frame.split_first_chunk_mut::<{ transform::LEN }>() {
            let header = TransformHeader {
                original_len: message.len() as u32,
                flags: 1,
                session_id: self.session_id,
                ..TransformHeader::default()
            };
            header.write(head);
            self.to_server.seal(head, message);
        }
    }
}

#[cold]
fn unprotected(header: &Header, what: &str) -> OpError {
    protocol_violation(format!("a reply to {} that is {what}", command::name(header.command)))
}
