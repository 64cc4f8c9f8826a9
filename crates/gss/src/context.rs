//! An established security context.

use crate::error::GssError;
use crate::library::RawContext;
use crate::protection::Protection;

/// A context that both sides share (RFC 2743 1.1.3).
///
/// It signs and encrypts with the library, one message at a time. A data path takes the keys out instead, with
/// [`Self::into_protection`].
pub struct SecurityContext {
    raw: RawContext,
    client: String,
}

impl SecurityContext {
    pub(crate) const fn new(raw: RawContext, client: String) -> Self {
        Self { raw, client }
    }

    /// The client's principal with its realm.
    pub fn client(&self) -> &str {
        &self.client
    }

    /// Remaining lifetime in seconds.
    pub fn lifetime_s(&self) -> Result<u32, GssError> {
        self.raw.lifetime()
    }

    /// The key that both sides share: the acceptor's subkey if there is one (MS-KILE 3.1.1.2). SMB derives its keys from it.
    pub fn session_key(&self) -> Result<Vec<u8>, GssError> {
        self.raw.session_key()
    }

    /// Signs a message.
    pub fn mic(&self, message: &[u8]) -> Result<Vec<u8>, GssError> {
        self.raw.mic(message)
    }

    /// Verifies the peer's signature of a message.
    pub fn verify_mic(&self, message: &[u8], mic: &[u8]) -> Result<(), GssError> {
        self.raw.verify_mic(message, mic)
    }

    /// Encrypts and signs a message.
    pub fn wrap(&self, message: &[u8]) -> Result<Vec<u8>, GssError> {
        self.raw.wrap(message)
    }

    /// Decrypts and verifies a message of the peer.
    pub fn unwrap(&self, wrapped: &[u8]) -> Result<Vec<u8>, GssError> {
        self.raw.unwrap(wrapped)
    }

    /// Takes the keys out of the library, for messages that are signed and encrypted without it. Only MIT Kerberos
    /// exports them, and only keys for AES.
    pub fn into_protection(self) -> Result<Protection, GssError> {
        self.raw.into_keys().map(Protection::new)
    }
}

impl std::fmt::Debug for SecurityContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecurityContext({})", self.client)
    }
}
