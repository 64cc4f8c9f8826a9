//! What a server and this client do not have in common, in the words of `probe` and of failed connections.

use sharebench_client_core::DialError;
use sharebench_model::ErrorClass;
use sharebench_target::UrlPart;
use sharebench_target::offers::PeerProtocol;

/// Why this client cannot use a server. Its text names what the server offers and what this client needs. Statuses that
/// explain themselves have their text in [`NtStatus::incompatibility`](crate::NtStatus::incompatibility).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Incompatibility {
    /// The server speaks no version of SMB that this client speaks.
    #[error("the server offers SMB1 only, which is unsafe and selected by dialect=nt1 alone")]
    Smb1Only,
    /// The port belongs to a server of another protocol.
    #[error("the server speaks {0}, not SMB")]
    OtherProtocol(PeerProtocol),
    /// The server offers none of the dialects that the URL selects.
    #[error("the server offers {offered}, but the URL selects dialect={selected}")]
    DialectNotOffered {
        /// Names of the dialects that it offers.
        offered: String,
        /// The dialect of the URL.
        selected: String,
    },
    /// The server lists login mechanisms without NTLM.
    #[error(
        "{mechanisms} only: the server does not list NTLM, and there is no Kerberos ticket for it (run kinit, or give auth=kerberos)"
    )]
    NoNtlm {
        /// The mechanisms that the server lists.
        mechanisms: String,
    },
    /// The server chooses another mechanism than NTLM.
    #[error("Kerberos only: the server does not accept NTLM (run kinit, or give auth=kerberos)")]
    NtlmNotAccepted,
}

impl Incompatibility {
    /// What the protocol of a peer means for this client; none if it is the right one.
    pub fn of_peer(peer: PeerProtocol) -> Option<Self> {
        match peer {
            PeerProtocol::Smb => None,
            PeerProtocol::Smb1 => Some(Self::Smb1Only),
            other => Some(Self::OtherProtocol(other)),
        }
    }

    /// The part of the URL to check.
    pub const fn part(&self) -> UrlPart {
        match self {
            Self::Smb1Only | Self::OtherProtocol(_) => UrlPart::Port,
            Self::DialectNotOffered { .. } => UrlPart::Option("dialect"),
            Self::NoNtlm { .. } | Self::NtlmNotAccepted => UrlPart::Credentials,
        }
    }
}

impl From<Incompatibility> for DialError {
    fn from(incompatibility: Incompatibility) -> Self {
        Self::new(incompatibility.part(), ErrorClass::Unsupported, incompatibility.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_what_the_server_offers() {
        let text = |peer| Incompatibility::of_peer(peer).map(|found| found.to_string()).unwrap_or_default();
        assert!(text(PeerProtocol::Smb1).contains("offers SMB1 only"));
        assert_eq!(text(PeerProtocol::Http), "the server speaks HTTP, not SMB");
        assert_eq!(text(PeerProtocol::Smb), "");
        let kerberos = Incompatibility::NoNtlm { mechanisms: "Kerberos".into() };
        assert!(kerberos.to_string().starts_with("Kerberos only: "), "{kerberos}");
    }
}
