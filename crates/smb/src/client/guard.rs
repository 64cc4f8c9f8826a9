//! What protects a connection's messages: nothing, signatures or encryption.

use sharebench_model::{ErrorClass, OpError};

use crate::client::receiver::lost;
use crate::crypto::{SealingKey, SigningKey};
use crate::status::NtStatus;
use crate::wire::header::{Header, SIGNATURE, flags};
use crate::wire::transform::{self, TransformHeader};

/// Keys of both directions.
#[derive(Debug)]
pub(crate) struct Seal {
    pub(crate) session_id: u64,
    pub(crate) to_server: SealingKey,
    pub(crate) to_client: SealingKey,
}

/// The protection in force.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    /// The session's key, once it has one.
    pub(crate) signing: Option<SigningKey>,
    /// Every request is signed, not only those that always are.
    pub(crate) sign_all: bool,
    /// Every message is encrypted; signatures are of no use then.
    pub(crate) seal: Option<Seal>,
}

impl Guard {
    /// True when a request has to be signed; `always` marks those that are whenever there is a key.
    #[inline]
    pub(crate) fn signs(&self, always: bool) -> bool {
        (self.sign_all || always) && self.signing.is_some() && self.seal.is_none()
    }

    /// Signs a message whose signature field holds zeros.
    #[inline]
    pub(crate) fn sign(&self, message: &mut [u8]) {
        if let Some(key) = &self.signing {
            let signature = key.signature(&[message]);
            message[SIGNATURE].copy_from_slice(&signature);
        }
    }

    /// Lets a reply in that came in plain, if the protection agreed on allows it; `signed` tells that its
    /// request was signed. The signature field of a verified message holds zeros afterwards.
    #[inline]
    pub(crate) fn admit(&self, header: &Header, signed: bool, message: &mut [u8]) -> Result<(), OpError> {
        let status = NtStatus(header.status);
        if !header.is(flags::SIGNED) && session_ended(status) {
            // A server without the session has no key to protect these.
            return Err(lost(ErrorClass::Disconnected, status.to_string()));
        }
        if self.seal.is_some() {
            return Err(unprotected(header, "not encrypted"));
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

    /// Decrypts a frame in place; the message starts behind the transform header.
    pub(crate) fn open(&self, frame: &mut [u8]) -> Result<(), OpError> {
        let broken = |detail: String| lost(ErrorClass::Protocol, detail);
        let Some(seal) = &self.seal else {
            return Err(broken("an encrypted message, which was not agreed on".into()));
        };
        let header = TransformHeader::decode(frame).map_err(|error| broken(error.to_string()))?;
        let len = frame.len().saturating_sub(transform::LEN);
        if header.session_id != seal.session_id || header.original_len as usize != len {
            return Err(broken(format!(
                "an encrypted message of {len} bytes claims session {:#x} and {} bytes",
                header.session_id, header.original_len
            )));
        }
        let Some((head, message)) = frame.split_first_chunk_mut::<{ transform::LEN }>() else {
            return Err(broken("an encrypted message without header".into()));
        };
        seal.to_client.open(head, message).map_err(|error| broken(error.to_string()))
    }
}

impl Seal {
    /// Encrypts a message in place and fills the transform header before it.
    pub(crate) fn close(&self, frame: &mut [u8]) {
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

const fn session_ended(status: NtStatus) -> bool {
    matches!(status, NtStatus::USER_SESSION_DELETED | NtStatus::NETWORK_SESSION_EXPIRED)
}

#[cold]
fn unprotected(header: &Header, what: &str) -> OpError {
    let name = crate::wire::header::command::name(header.command);
    lost(ErrorClass::Protocol, format!("a reply to {name} that is {what}"))
}
