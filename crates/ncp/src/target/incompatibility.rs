//! What a server and this client do not have in common, in the words of `probe` and of failed connections.

use sharebench_target::UrlPart;
use sharebench_target::offers::PeerProtocol;

/// Why this client cannot use a server. Its text names what the server offers and what this client needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Incompatibility {
    /// The server has directory services, and no bindery for this login.
    NdsLoginOnly,
    /// The port belongs to a server of another protocol.
    OtherProtocol(PeerProtocol),
    /// The server answers over TCP, and not over the datagrams of the URL.
    TcpOnly,
}

impl Incompatibility {
    /// What the protocol of a peer at the TCP port means for this client; `over_tcp` states that the URL selects TCP.
    pub(crate) fn of_peer(peer: PeerProtocol, over_tcp: bool) -> Option<Self> {
        match (peer, over_tcp) {
            (PeerProtocol::Ncp, true) => None,
            (PeerProtocol::Ncp, false) => Some(Self::TcpOnly),
            (other, _) => Some(Self::OtherProtocol(other)),
        }
    }

    /// The part of the URL to check.
    pub(crate) const fn part(self) -> UrlPart {
        match self {
            Self::NdsLoginOnly => UrlPart::Credentials,
            Self::OtherProtocol(_) => UrlPart::Port,
            Self::TcpOnly => UrlPart::Option("transport"),
        }
    }
}

impl std::fmt::Display for Incompatibility {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NdsLoginOnly => f.write_str(
                "NDS login only: bindery login needs a bindery context with this account (SET BINDERY CONTEXT at the \
                 server), and sharebench logs in to the bindery only",
            ),
            Self::OtherProtocol(peer) => write!(f, "the server speaks {peer}, not NCP"),
            Self::TcpOnly => {
                f.write_str("the server speaks NCP over TCP at this port, and does not answer datagrams; use transport=tcp")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_what_the_server_offers() {
        let nds = Incompatibility::NdsLoginOnly.to_string();
        assert!(nds.starts_with("NDS login only: bindery login needs a bindery context"), "{nds}");
        let http = Incompatibility::of_peer(PeerProtocol::Http, true).unwrap();
        assert_eq!(http.to_string(), "the server speaks HTTP, not NCP");
        assert_eq!(Incompatibility::of_peer(PeerProtocol::Ncp, true), None);
        let tcp = Incompatibility::of_peer(PeerProtocol::Ncp, false).unwrap();
        assert!(tcp.to_string().contains("use transport=tcp"), "{tcp}");
    }
}
