//! What a connection has negotiated.

use sharebench_smb::crypto::{Cipher, SigningAlgorithm};
use sharebench_smb::wire::validation::{ValidateNegotiateRequest, ValidateNegotiateResponse};

/// The session signs every message.
pub(crate) const SIGNING_REQUIRED: u16 = 2;

/// The parameters of a connection, from NEGOTIATE to its end.
pub(crate) struct Negotiated {
    pub(crate) dialect: u16,
    pub(crate) signing: SigningAlgorithm,
    pub(crate) cipher: Option<Cipher>,
    pub(crate) max_transfer: u32,
    /// Clients may cache what they read.
    pub(crate) leases: bool,
    /// Clients may cache listings.
    pub(crate) directory_leases: bool,
    /// What the client sent, which it may repeat under the protection of a session.
    pub(crate) offer: ValidateNegotiateRequest,
    pub(crate) answer: ValidateNegotiateResponse,
}

impl Negotiated {
    /// True if requests may cost several credits.
    pub(crate) fn multi_credit(&self) -> bool {
        self.dialect > 0x0202
    }

    /// True if the client signs every message.
    pub(crate) fn client_requires_signing(&self) -> bool {
        self.offer.security_mode & SIGNING_REQUIRED != 0
    }

    /// Identity of the client.
    pub(crate) fn client_guid(&self) -> [u8; 16] {
        self.offer.client_guid
    }

    /// The answer to a client that verifies the negotiation; none if a message was changed on its way.
    pub(crate) fn validate(&self, repeated: &ValidateNegotiateRequest) -> Option<ValidateNegotiateResponse> {
        (*repeated == self.offer).then_some(self.answer)
    }
}
