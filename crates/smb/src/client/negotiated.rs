//! The parameters that client and server negotiated.

use sharebench_model::{Fact, TargetFacts};

use crate::auth::{Mechanism, listed_mechanisms};
use crate::client::options::dialect_name;
use crate::crypto::{Cipher, SigningAlgorithm};
use crate::wire::negotiate::NegotiateResponse;
use crate::wire::session_setup::flags;

/// Server capability `SMB2_GLOBAL_CAP_LARGE_MTU`: a request may cost several credits (MS-SMB2 2.2.4).
pub(crate) const LARGE_MTU: u32 = 0x04;
/// Capability `SMB2_GLOBAL_CAP_LEASING` (MS-SMB2 2.2.4).
pub(crate) const LEASING: u32 = 0x02;
/// Capability `SMB2_GLOBAL_CAP_DIRECTORY_LEASING` (MS-SMB2 2.2.4).
pub(crate) const DIRECTORY_LEASING: u32 = 0x20;
/// Capability `SMB2_GLOBAL_CAP_MULTI_CHANNEL`: several connections per session (MS-SMB2 2.2.4).
pub(crate) const MULTI_CHANNEL: u32 = 0x08;
/// Capability `SMB2_GLOBAL_CAP_ENCRYPTION`: encryption in dialects 3.0 and 3.0.2 (MS-SMB2 2.2.4).
pub(crate) const ENCRYPTION: u32 = 0x40;
/// Security mode: signing is supported.
pub(crate) const SIGNING_ENABLED: u16 = 1;
/// Security mode: signing is required.
pub(crate) const SIGNING_REQUIRED: u16 = 2;

/// What this client offered. `FSCTL_VALIDATE_NEGOTIATE_INFO` repeats it after the login (MS-SMB2 2.2.31.4).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Offer {
    pub(crate) guid: [u8; 16],
    pub(crate) capabilities: u32,
    pub(crate) security_mode: u16,
    pub(crate) dialects: Vec<u16>,
    /// Signing algorithms that dialect 3.1.1 offers.
    pub(crate) signing: Vec<SigningAlgorithm>,
    /// Ciphers that dialect 3.1.1 offers.
    pub(crate) ciphers: Vec<Cipher>,
}

/// The parameters that hold for the life of a session.
///
/// NEGOTIATE sets the dialect, the limits and the algorithms. `SESSION_SETUP` and `TREE_CONNECT` add the session's
/// flags and decide whether messages are signed or encrypted. Afterwards nothing changes, so that the facts of a stored
/// run describe every request of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Negotiated {
    pub(crate) offer: Offer,
    pub(crate) dialect: u16,
    pub(crate) capabilities: u32,
    pub(crate) security_mode: u16,
    pub(crate) server_guid: [u8; 16],
    pub(crate) max_transact: u32,
    pub(crate) max_read: u32,
    pub(crate) max_write: u32,
    /// The server's clock: 100 ns since 1601; 0 if it does not send it.
    pub(crate) system_time: u64,
    /// The login mechanisms that the server lists; empty if it lists none.
    pub(crate) mechanisms: Vec<Mechanism>,
    pub(crate) signing: SigningAlgorithm,
    pub(crate) cipher: Option<Cipher>,
    /// The mechanism of the login.
    pub(crate) mechanism: Option<Mechanism>,
    /// Flags of the session.
    pub(crate) session_flags: u16,
    /// Every message is signed.
    pub(crate) signed: bool,
    /// Every message is encrypted.
    pub(crate) encrypted: bool,
}

impl Negotiated {
    pub(crate) fn new(offer: Offer, response: &NegotiateResponse) -> Self {
        // Without multi-credit requests a message carries at most what one credit pays for.
        let max = if response.capabilities & LARGE_MTU == 0 { 64 << 10 } else { u32::MAX };
        let signing =
            if response.dialect < 0x0300 { SigningAlgorithm::HmacSha256 } else { SigningAlgorithm::AesCmac };
        let encrypts =
            (0x0300..0x0311).contains(&response.dialect) && response.capabilities & ENCRYPTION != 0;
        Self {
            offer,
            dialect: response.dialect,
            capabilities: response.capabilities,
            security_mode: response.security_mode,
            server_guid: response.server_guid,
            max_transact: response.max_transact.min(max),
            max_read: response.max_read.min(max),
            max_write: response.max_write.min(max),
            system_time: response.system_time,
            // The list is advice only: the login itself shows which mechanism the server accepts.
            mechanisms: listed_mechanisms(&response.token).unwrap_or_default(),
            signing,
            cipher: encrypts.then_some(Cipher::Aes128Ccm),
            mechanism: None,
            session_flags: 0,
            signed: false,
            encrypted: false,
        }
    }

    /// The offer of a further channel: it must have the dialect and the algorithms of the first one (MS-SMB2 3.3.5.5).
    pub(crate) fn offer_of_channel(&self) -> Offer {
        Offer {
            dialects: vec![self.dialect],
            signing: vec![self.signing],
            ciphers: self.cipher.into_iter().collect(),
            ..self.offer.clone()
        }
    }

    /// True if the server accepts further channels of a session.
    pub(crate) fn offers_channels(&self) -> bool {
        self.dialect >= 0x0300 && self.capabilities & MULTI_CHANNEL != 0
    }

    /// True if a request can cost more than one credit.
    pub(crate) fn multi_credit(&self) -> bool {
        self.dialect > 0x0202 && self.capabilities & LARGE_MTU != 0
    }

    /// True if the server lists login mechanisms, and NTLM is not among them.
    pub(crate) fn lists_no_ntlm(&self) -> bool {
        !self.mechanisms.is_empty() && !self.mechanisms.contains(&Mechanism::Ntlm)
    }

    /// True if the server lists login mechanisms, and Kerberos is not among them.
    pub(crate) fn lists_no_kerberos(&self) -> bool {
        !self.mechanisms.is_empty() && !self.mechanisms.contains(&Mechanism::Kerberos)
    }

    /// The login mechanisms that the server lists.
    pub(crate) fn mechanism_names(&self) -> String {
        self.mechanisms.iter().map(|mechanism| mechanism.name()).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn dialect_name(&self) -> String {
        dialect_name(self.dialect)
    }

    /// The facts that reports show.
    pub(crate) fn facts(&self) -> TargetFacts {
        let session = match self.session_flags {
            bits if bits & flags::IS_NULL != 0 => "anonymous",
            bits if bits & flags::IS_GUEST != 0 => "guest",
            _ => "user",
        };
        TargetFacts::from([
            (Fact::Dialect, self.dialect_name()),
            (Fact::Signing, if self.signed { self.signing.name() } else { "off" }.into()),
            (
                Fact::Encryption,
                self.cipher.filter(|_| self.encrypted).map_or("off", crate::crypto::Cipher::name).into(),
            ),
            (Fact::MaxRead, self.max_read.to_string()),
            (Fact::MaxWrite, self.max_write.to_string()),
            (Fact::ServerGuid, guid_text(&self.server_guid)),
            (Fact::Session, session.into()),
            (Fact::Login, self.mechanism.map_or("none", Mechanism::name).into()),
        ])
    }
}

/// A GUID in its usual notation. Its first three fields are little-endian on the wire.
pub(crate) fn guid_text(guid: &[u8; 16]) -> String {
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let dash = |place| if matches!(place, 4 | 6 | 8 | 10) { "-" } else { "" };
    let digits = ORDER.iter().enumerate().map(|(place, at)| format!("{}{:02x}", dash(place), guid[*at]));
    digits.collect()
}

#[cfg(test)]
mod tests {
    use super::guid_text;

    #[test]
    fn guid_text_uses_the_usual_byte_order() {
        let guid =
            [0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff];
        assert_eq!(guid_text(&guid), "00112233-4455-6677-8899-aabbccddeeff");
    }
}
