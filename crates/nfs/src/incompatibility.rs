//! What a server and this client do not have in common, in the words of `probe` and of failed connections.

use sharebench_client_core::DialError;
use sharebench_model::ErrorClass;
use sharebench_target::UrlPart;
use sharebench_target::offers::PeerProtocol;

use crate::exports::{flavor_name, is_kerberos};

/// Why this client cannot use a server. Its text names what the server offers and what this client needs. Rejected
/// credentials have their text in [`Rejection`](crate::rpc::Rejection).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Incompatibility {
    /// The server serves other versions of NFS only.
    #[error("the server offers {offered} only, and the URL requests NFSv{requested}; set vers=")]
    OtherVersions {
        /// The versions that it serves, such as `NFSv4`.
        offered: String,
        /// The version that the URL requests.
        requested: u32,
    },
    /// An RPC server without NFS.
    #[error("the server at port {0} speaks ONC RPC, but does not serve NFS; give the port of NFS in the URL")]
    NoNfs(u16),
    /// An NFS server without MOUNT at the port where the client looks for it.
    #[error("no MOUNT version 3 at port {0}, which NFSv3 needs; give its port with mountport=")]
    NoMount(u16),
    /// An NFS server that answers over TCP only.
    #[error("the server at port {0} answers over TCP, but not over UDP; use proto=tcp")]
    NoUdp(u16),
    /// The port belongs to a server of another protocol.
    #[error("the server speaks {0}, not NFS")]
    OtherProtocol(PeerProtocol),
    /// The export accepts the credentials of this client, but not without TLS, or a certificate of the client.
    #[error("{export} does not accept these credentials over this connection; set xprtsec={xprtsec}")]
    NeedsTls {
        /// The export.
        export: String,
        /// What the URL has to request.
        xprtsec: &'static str,
    },
    /// The export does not accept the credentials of this client.
    #[error(
        "{}: {export} accepts sec={}, and the URL selects sec={}",
        flavors_title(.flavors), flavor_names(.flavors), flavor_name(*.selected)
    )]
    Flavors {
        /// The export.
        export: String,
        /// The flavor of the URL.
        selected: u32,
        /// The flavors that it accepts.
        flavors: Vec<u32>,
    },
}

/// The names of flavors, separated by colons as in the options of exports.
pub fn flavor_names(flavors: &[u32]) -> String {
    flavors.iter().copied().map(flavor_name).collect::<Vec<_>>().join(":")
}

fn flavors_title(flavors: &[u32]) -> &'static str {
    if flavors.iter().copied().all(is_kerberos) { "Kerberos only" } else { "no common security flavor" }
}

impl Incompatibility {
    /// What the protocol of a peer means for this client; none if it is the right one.
    pub fn of_peer(peer: PeerProtocol) -> Option<Self> {
        (peer != PeerProtocol::OncRpc).then_some(Self::OtherProtocol(peer))
    }

    /// The part of the URL to check.
    pub const fn part(&self) -> UrlPart {
        match self {
            Self::OtherVersions { .. } => UrlPart::Option("vers"),
            Self::NoNfs(_) | Self::OtherProtocol(_) => UrlPart::Port,
            Self::NoUdp(_) => UrlPart::Option("proto"),
            Self::NeedsTls { .. } => UrlPart::Option("xprtsec"),
            Self::NoMount(_) => UrlPart::Option("mountport"),
            Self::Flavors { .. } => UrlPart::Share,
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
        let four = Incompatibility::OtherVersions { offered: "NFSv4".into(), requested: 3 };
        assert_eq!(four.to_string(), "the server offers NFSv4 only, and the URL requests NFSv3; set vers=");
        let flavors = |flavors: &[u32]| {
            Incompatibility::Flavors { export: "/srv".into(), selected: 1, flavors: flavors.to_vec() }
                .to_string()
        };
        assert_eq!(
            flavors(&[390_003, 390_004]),
            "Kerberos only: /srv accepts sec=krb5:krb5i, and the URL selects sec=sys"
        );
        assert!(flavors(&[0]).starts_with("no common security flavor: /srv accepts sec=none"));
        let tls = Incompatibility::NeedsTls { export: "/srv".into(), xprtsec: "tls" };
        assert!(tls.to_string().ends_with("over this connection; set xprtsec=tls"));
        assert_eq!(Incompatibility::of_peer(PeerProtocol::OncRpc), None);
        let smb = Incompatibility::of_peer(PeerProtocol::Smb).unwrap();
        assert_eq!(smb.to_string(), "the server speaks SMB, not NFS");
    }
}
