//! The checked options of an `nfs://` URL.

use std::sync::Arc;
use std::time::Duration;

use sharebench_client_core::TcpRoute;
use sharebench_gss::{Identity, SharedCredential, TicketPool};
use sharebench_target::{TargetUrl, UrlError};

use crate::client::rpc::transport::TlsRoute;
use crate::client::v4::DelegationCounts;
use crate::exports::AUTH_SYS;
use crate::port_mapper::Transport;
use crate::rpc::{AuthSys, MAX_GROUPS};
use crate::rpcsec::Service;

/// Tenths of a second until a call over UDP is sent again, as of Linux (nfs(5)).
const DEFAULT_TIMEO: u32 = 11;

/// The version of NFS that a URL requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Version {
    /// Version 3, the default.
    #[default]
    V3,
    /// Version 4 with this minor version.
    V4(u32),
    /// The highest version that the server offers.
    Auto,
}

impl Version {
    fn from_option(text: Option<&str>) -> Option<Self> {
        Some(match text {
            None | Some("3") => Self::V3,
            Some("4.0") => Self::V4(0),
            Some("4.1") => Self::V4(1),
            Some("4.2") => Self::V4(2),
            Some("auto") => Self::Auto,
            Some(_) => return None,
        })
    }

    /// The version of the program to begin with.
    const fn number(self) -> u32 {
        match self {
            Self::V3 => 3,
            Self::V4(_) | Self::Auto => 4,
        }
    }
}

/// What protects the connections, by the values of the mount option of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Xprtsec {
    /// Nothing: plain TCP.
    #[default]
    None,
    /// TLS with the certificate of the server (RFC 9289).
    Tls,
    /// TLS with certificates of both sides.
    Mtls,
}

impl Xprtsec {
    /// Name of the value.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Tls => "tls",
            Self::Mtls => "mtls",
        }
    }
}

/// A checked `nfs://` URL.
#[derive(Debug, Clone)]
pub(crate) struct NfsOptions {
    pub(crate) host: String,
    pub(crate) port: Option<u16>,
    pub(crate) mount_port: Option<u16>,
    pub(crate) path: String,
    pub(crate) version: Version,
    pub(crate) auth: AuthSys,
    /// What protects the calls: Kerberos, or none for `sec=sys`.
    pub(crate) security: Option<Service>,
    /// Principal of the server, if it is not `nfs/` with the host of the URL.
    pub(crate) spn: Option<String>,
    /// Kerberos tickets, which the sessions of this URL share.
    pub(crate) tickets: TicketPool,
    pub(crate) route: Route,
    /// Connections of a session.
    pub(crate) connections: u32,
    /// A small file is opened, read and closed by one call.
    pub(crate) compound: bool,
    /// What became of wishes for delegations, of all sessions of this URL.
    pub(crate) delegations: Arc<DelegationCounts>,
}

/// How connections to the server are opened; by default directly and from any port.
#[derive(Debug, Clone, Default)]
pub(crate) struct Route {
    /// Connect from a port below 1024, as exports without `insecure` require.
    pub(crate) reserved_port: bool,
    pub(crate) tcp: TcpRoute,
    /// Protect the connections by TLS.
    pub(crate) tls: Option<TlsRoute>,
    /// Use UDP, and send a call again after this time without a reply; none for TCP.
    pub(crate) datagrams: Option<Duration>,
}

impl Route {
    /// The transport of NFS and MOUNT.
    pub(crate) fn transport(&self) -> Transport {
        if self.datagrams.is_some() { Transport::Udp } else { Transport::Tcp }
    }
}

impl NfsOptions {
    /// What to try where a server refuses a client that may be right: many serve ports below 1024 only.
    pub(crate) fn port_hint(&self) -> &'static str {
        if self.route.reserved_port {
            ""
        } else {
            "; if the server serves ports below 1024 only, as many do, set resvport=1"
        }
    }

    /// True if a name is the first one of the path.
    pub(crate) fn is_first_name(&self, name: &str) -> bool {
        self.path.split('/').find(|known| !known.is_empty()) == Some(name)
    }

    pub(crate) fn from_url(mut url: TargetUrl) -> Result<Self, UrlError> {
        if url.scheme != "nfs" {
            return Err(url.error("not an nfs:// URL"));
        }
        let security = url.take_choice("sec")?.and_then(Service::of_name);
        if url.user.is_some() && security.is_none() {
            return Err(url.error("NFS has no user names without Kerberos (sec=krb5); use uid= and gid="));
        }
        let spn = url.take("spn");
        if spn.is_some() && security.is_none() {
            return Err(url.error("spn= needs sec=krb5, krb5i or krb5p"));
        }
        let identity = url.user.as_deref().map_or_else(Identity::ticket_cache, Identity::cached);
        if url.path.split('/').any(|name| name == "." || name == "..") || url.path.contains('\0') {
            return Err(url.error("the path must not contain '.' or '..'"));
        }
        let vers = url.take("vers");
        let Some(version) = Version::from_option(vers.as_deref()) else {
            let vers = vers.unwrap_or_default();
            return Err(url.error(format!("vers={vers}: the versions are 3, 4.0, 4.1, 4.2 and auto")));
        };
        let mount_port = url.take_number("mountport")?;
        if mount_port.is_some() && matches!(version, Version::V4(_)) {
            return Err(url.error("mountport=: NFS version 4 has no MOUNT protocol"));
        }
        let tls = match xprtsec(&mut url)? {
            Xprtsec::None => None,
            requested => Some(TlsRoute::of_nfs(requested, &url.host, version.number())),
        };
        let connections = url.take_number("nconnect")?.unwrap_or(1);
        let compound = compound(&mut url, version)?;
        let datagrams = datagrams(&mut url)?;
        let own = own_ids();
        let uid = url.take_number("uid")?.unwrap_or(own.0);
        let gid = url.take_number("gid")?.unwrap_or(own.1);
        let groups = groups(&mut url)?;
        let reserved_port = url.take_number("resvport")? == Some(1);
        let tcp = TcpRoute::take(&mut url)?;
        if reserved_port && tcp.far.is_simulated() {
            return Err(url.error("resvport=1: the relay of far= connects from any port; use one of the two"));
        }
        url.refuse_leftovers()?;
        if datagrams.is_some() {
            let wrong = [
                (version != Version::V3, "vers=3: NFS version 4 has no UDP (RFC 7530, 3.1)"),
                (
                    security.is_some(),
                    "sec=sys: a repeated call of Kerberos would be discarded (RFC 2203, 5.3.3.1)",
                ),
                (tls.is_some(), "xprtsec=none: there is no TLS of datagrams here"),
                (connections > 1, "nconnect=1: there are no connections"),
            ];
            if let Some((_, needs)) = wrong.into_iter().find(|(is_wrong, _)| *is_wrong) {
                return Err(url.error(format!("proto=udp needs {needs}")));
            }
            if let Some((option, reason)) = tcp.without_datagrams() {
                return Err(url.error(format!("proto=udp needs no {option}=: {reason}")));
            }
        }
        Ok(Self {
            host: url.host,
            port: url.port,
            mount_port,
            path: url.path,
            version,
            security,
            spn,
            tickets: SharedCredential::new(identity).into(),
            auth: AuthSys { machine: "sharebench".into(), uid, gid, groups },
            route: Route { reserved_port, tcp, tls, datagrams },
            connections,
            compound,
            delegations: Arc::default(),
        })
    }
}

impl NfsOptions {
    /// The route to a mount service; `is_nfs_server` if it has the port of NFS.
    pub(crate) fn mount_route(&self, is_nfs_server: bool) -> Route {
        let tls = self.route.tls.clone().map(|tls| tls.of_mount(is_nfs_server));
        Route { tls, ..self.route.clone() }
    }

    /// The flavor that the calls have, as MOUNT lists it.
    pub(crate) fn flavor(&self) -> u32 {
        self.security.map_or(AUTH_SYS, Service::flavor)
    }
}

/// The time of `timeo=` for `proto=udp`; none for TCP. Both are mount options of Linux, with its default and its tenths of a
/// second.
fn datagrams(url: &mut TargetUrl) -> Result<Option<Duration>, UrlError> {
    let proto = url.take_choice("proto")?;
    match (proto, url.take_number("timeo")?) {
        (Some("udp"), tenths) => Ok(Some(Duration::from_millis(100) * tenths.unwrap_or(DEFAULT_TIMEO))),
        (_, None) => Ok(None),
        (_, Some(_)) => Err(url.error("timeo= needs proto=udp: TCP repeats by itself")),
    }
}

fn xprtsec(url: &mut TargetUrl) -> Result<Xprtsec, UrlError> {
    Ok(match url.take_choice("xprtsec")? {
        Some("tls") => Xprtsec::Tls,
        Some("mtls") => Xprtsec::Mtls,
        _ => Xprtsec::None,
    })
}

/// True for `compound=on`, which needs the current state of a COMPOUND (RFC 8881, 16.2.3.1.2).
fn compound(url: &mut TargetUrl, version: Version) -> Result<bool, UrlError> {
    match url.take_switch("compound")? {
        Some(true) if !matches!(version, Version::V4(1..)) => {
            Err(url.error("compound=on needs vers=4.1 or vers=4.2"))
        }
        compound => Ok(compound.unwrap_or(false)),
    }
}

fn groups(url: &mut TargetUrl) -> Result<Vec<u32>, UrlError> {
    let Some(text) = url.take("gids") else { return Ok(Vec::new()) };
    let groups: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
    match groups {
        Ok(groups) if groups.len() <= MAX_GROUPS => Ok(groups),
        _ => Err(url.error(format!("gids={text} is not a list of at most {MAX_GROUPS} numbers"))),
    }
}

/// User and group of this process; 0 on a system that does not report them.
fn own_ids() -> (u32, u32) {
    #[cfg(target_os = "linux")]
    if let Ok(own) = std::fs::metadata("/proc/self") {
        use std::os::unix::fs::MetadataExt;
        return (own.uid(), own.gid());
    }
    (0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Result<NfsOptions, UrlError> {
        NfsOptions::from_url(TargetUrl::parse(text).unwrap())
    }

    #[test]
    fn a_url_with_all_options_is_parsed() {
        let text = "nfs://nas:2050/srv/data?vers=3&mountport=999&uid=5&gid=6&gids=7,8&resvport=1";
        let options = options(text).unwrap();
        assert_eq!((options.port, options.mount_port), (Some(2050), Some(999)));
        assert_eq!((options.host.as_str(), options.path.as_str()), ("nas", "/srv/data"));
        assert_eq!((options.auth.uid, options.auth.gid), (5, 6));
        assert_eq!(options.auth.groups, [7, 8]);
        assert!(options.route.reserved_port);
    }

    #[test]
    fn every_version_has_a_name_and_version_3_is_the_default() {
        let version = |vers: &str| options(&format!("nfs://nas/x{vers}")).unwrap().version;
        assert_eq!(
            (version(""), version("?vers=3"), version("?vers=auto")),
            (Version::V3, Version::V3, Version::Auto)
        );
        assert_eq!([0, 1, 2].map(|minor| version(&format!("?vers=4.{minor}"))), [0, 1, 2].map(Version::V4));
    }

    #[test]
    fn udp_has_the_timeout_of_linux_unless_the_url_has_another() {
        let datagrams = |text: &str| options(&format!("nfs://nas/x?{text}")).unwrap().route.datagrams;
        assert_eq!((datagrams("vers=3"), datagrams("proto=tcp")), (None, None));
        assert_eq!(datagrams("proto=udp&nconnect=1"), Some(Duration::from_millis(1100)));
        assert_eq!(datagrams("proto=udp&timeo=2"), Some(Duration::from_millis(200)));
    }

    #[test]
    fn errors_name_the_mistake() {
        for (text, word) in [
            ("smb://nas/x", "nfs://"),
            ("nfs://me@nas/x", "uid="),
            ("nfs://nas/a/../b", ".."),
            ("nfs://nas/x?vers=4", "4.0, 4.1, 4.2"),
            ("nfs://nas/x?vers=4.1&mountport=1", "no MOUNT"),
            ("nfs://nas/x?mountport=0", "mountport=0"),
            ("nfs://nas/x?compound=on", "vers=4.1 or vers=4.2"),
            ("nfs://nas/x?vers=4.0&compound=on", "vers=4.1 or vers=4.2"),
            ("nfs://nas/x?vers=4.1&compound=yes", "off and on"),
            ("nfs://nas/x?nconnect=0", "nconnect=0"),
            ("nfs://nas/x?nconnect=17", "16"),
            ("nfs://nas/x?mountport=70000", "65535"),
            ("nfs://nas/x?uid=-1", "uid=-1"),
            ("nfs://nas/x?gids=1,x", "gids"),
            ("nfs://nas/x?resvport=yes", "resvport"),
            ("nfs://nas/x?sec=ntlm", "sys, krb5, krb5i and krb5p"),
            ("nfs://nas/x?spn=nfs/nas", "sec=krb5"),
            ("nfs://nas/x?xprtsec=ssl", "none, tls and mtls"),
            ("nfs://nas/x?rsize=1", "rsize"),
            ("nfs://nas/x?proto=rdma", "tcp and udp"),
            ("nfs://nas/x?vers=4.1&proto=udp", "proto=udp needs vers=3"),
            ("nfs://nas/x?vers=auto&proto=udp", "proto=udp needs vers=3"),
            ("nfs://nas/x?proto=udp&sec=krb5", "proto=udp needs sec=sys"),
            ("nfs://nas/x?proto=udp&xprtsec=tls", "proto=udp needs xprtsec=none"),
            ("nfs://nas/x?proto=udp&nconnect=2", "proto=udp needs nconnect=1"),
            ("nfs://nas/x?proto=udp&far=20ms", "proto=udp needs no far="),
            ("nfs://nas/x?timeo=11", "timeo= needs proto=udp"),
            ("nfs://nas/x?proto=udp&timeo=0", "timeo=0"),
            ("nfs://nas/x?far=1h", "longest round trip"),
            ("nfs://nas/x?far=20ms&resvport=1", "one of the two"),
        ] {
            let error = options(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
