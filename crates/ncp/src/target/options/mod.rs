//! The checked options of an `ncp://` URL.

pub(crate) mod ether;
pub(crate) mod profile;
mod values;

use std::sync::Arc;
use std::time::Duration;

use sharebench_client_core::TcpRoute;
use sharebench_target::{Secret, TargetUrl, UrlError};

use crate::client::{BurstOptions, MAX_BUFFER, MIN_BUFFER, Negotiation};
use crate::security::level::Level;
use crate::target::losses::LossTotals;
use crate::target::options::ether::EtherOptions;
use crate::target::options::profile::Profile;
use crate::target::options::values::{burst, level, retry, split_path};
use crate::target::short_names::ShortNames;
use crate::wire::TransportKind;

const DEFAULT_PORT: u16 = 524;
/// UDP port of IPX in UDP (RFC 1234).
const IPX_PORT: u16 = 213;
/// The account when the URL names no user, as on bindery servers.
const GUEST: &str = "GUEST";
/// Default data bytes of a call over UDP. NFS over UDP uses the same size, in several IP fragments.
const UDP_BUFFER: u16 = 32_768;
/// Default data bytes of a call on IPX and with bursts: one Ethernet packet, as the kernel's client uses.
const PACKET_BUFFER: u16 = 1024;
/// Bytes of a packet in a frame in addition to its data: headers and a signature.
const PACKET_OVERHEAD: u16 = 64 + 8;
/// The largest number of connections per session.
const MAX_CONNECTIONS: u32 = 64;
/// The largest number of cache buffers per file.
const MAX_CACHE: u32 = 1024;
/// The first retransmission pause of the kernel's client.
const RETRY: Duration = Duration::from_millis(600);
/// The largest burst packet on transports other than Ethernet frames.
const MAX_PACKET: u32 = 9000;

/// The name space to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameChoice {
    /// Long names if the volume supports them, else DOS names.
    Auto,
    Long,
    Dos,
}

impl NameChoice {
    /// The value of the option.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Long => "long",
            Self::Dos => "dos",
        }
    }
}

/// The checked options of an `ncp://` URL, with the password.
#[derive(Debug, Clone)]
pub(crate) struct NcpOptions {
    /// Host address; on Ethernet, the name of the server.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: Secret,
    pub(crate) volume: String,
    /// Components below the volume.
    pub(crate) directory: Vec<String>,
    pub(crate) transport: TransportKind,
    /// How a server on TCP is reached.
    pub(crate) tcp: TcpRoute,
    /// Interface and framing of `transport=ether`.
    pub(crate) ether: Option<EtherOptions>,
    pub(crate) profile: Option<&'static Profile>,
    pub(crate) negotiation: Negotiation,
    pub(crate) signatures: Level,
    pub(crate) checksums: Level,
    pub(crate) buffer: u16,
    /// Large internet packets: whether to probe the path.
    pub(crate) lip: bool,
    /// Whether records above the negotiated buffer are split into several requests.
    pub(crate) splits: bool,
    pub(crate) retry: Duration,
    pub(crate) burst: Option<BurstOptions>,
    pub(crate) names: NameChoice,
    /// Connections of a session; none for as many as the queue depth.
    pub(crate) connections: Option<u32>,
    /// Cache buffers per file.
    pub(crate) cache: Option<u32>,
    /// True commit: files that may have been written are committed when they are closed.
    pub(crate) commits: bool,
    /// Retransmissions and bursts of all closed sessions.
    pub(crate) totals: Arc<LossTotals>,
    /// The names of all sessions on a volume with DOS names only.
    pub(crate) short_names: Arc<ShortNames>,
}

impl NcpOptions {
    /// The most connections of a session.
    pub(crate) fn max_connections(&self) -> u32 {
        self.connections.unwrap_or(MAX_CONNECTIONS)
    }

    pub(crate) fn from_url(url: TargetUrl, password: Secret) -> Result<Self, UrlError> {
        let missing = url.error("missing volume: ncp://host/VOLUME");
        let options = Self::with_optional_volume(url, password)?;
        if options.volume.is_empty() { Err(missing) } else { Ok(options) }
    }

    /// Checks a URL that may have no volume: then the volume is empty.
    pub(crate) fn with_optional_volume(mut url: TargetUrl, password: Secret) -> Result<Self, UrlError> {
        if url.scheme != "ncp" {
            return Err(url.error("not an ncp:// URL"));
        }
        let (volume, directory) = split_path(&url)?;
        let transport = transport(&mut url)?;
        let ether = EtherOptions::take(&mut url, transport)?;
        let profile = profile(&mut url, transport)?;
        let negotiation = profile.map_or(Negotiation::Full, |profile| profile.negotiation);
        let signatures = signatures(&mut url, profile)?;
        let checksums = checksums(&mut url, ether.as_ref(), profile)?;
        let lip = lip(&mut url, transport, profile)?;
        let largest = ether.as_ref().map_or(MAX_PACKET, |ether| ether.framing.max_packet() as u32);
        let usual = profile.and_then(Profile::burst);
        let burst = burst(&mut url, transport, largest, usual)?;
        let buffer = buffer(&mut url, transport, ether.as_ref(), profile, burst.is_some())?;
        let splits = url.take_switch("split")?.unwrap_or(false);
        let pause = profile.map_or(RETRY, |profile| profile.retry);
        let retry = retry(&mut url, transport, pause)?;
        let names = match url.take("names").as_deref() {
            None | Some("auto") => NameChoice::Auto,
            Some("long" | "os2") => NameChoice::Long,
            Some("dos") => NameChoice::Dos,
            Some(other) => {
                return Err(url.error(format!("names={other}: the choices are auto, long and dos")));
            }
        };
        let connections = url.take_number("connections")?;
        let cache = cache(&mut url, profile)?;
        let commits = url.take_switch("commit")?.unwrap_or(false);
        let tcp = tcp(&mut url, transport)?;
        url.refuse_leftovers()?;
        Ok(Self {
            host: url.host,
            port: url.port.unwrap_or(if transport == TransportKind::IpxInUdp {
                IPX_PORT
            } else {
                DEFAULT_PORT
            }),
            user: url.user.unwrap_or_else(|| GUEST.to_owned()),
            password,
            volume,
            directory,
            transport,
            tcp,
            ether,
            profile,
            negotiation,
            signatures,
            checksums,
            buffer,
            lip,
            splits,
            retry,
            burst,
            names,
            connections,
            cache,
            commits,
            totals: Arc::default(),
            short_names: Arc::default(),
        })
    }

    /// Data bytes of the largest transfer: of a request or a burst.
    pub(crate) fn max_record(&self) -> u32 {
        u32::from(self.buffer).max(self.burst.map_or(0, |burst| burst.window))
    }
}

fn transport(url: &mut TargetUrl) -> Result<TransportKind, UrlError> {
    let name = url.take_choice("transport")?;
    let kind = name.and_then(|name| TransportKind::ALL.into_iter().find(|kind| kind.name() == name));
    Ok(kind.unwrap_or(TransportKind::Tcp))
}

fn tcp(url: &mut TargetUrl, transport: TransportKind) -> Result<TcpRoute, UrlError> {
    let tcp = TcpRoute::take(url)?;
    match tcp.without_datagrams() {
        Some((option, reason)) if transport != TransportKind::Tcp => {
            Err(url.error(format!("{option}= requires transport=tcp; {reason}")))
        }
        _ => Ok(tcp),
    }
}

fn profile(url: &mut TargetUrl, transport: TransportKind) -> Result<Option<&'static Profile>, UrlError> {
    let Some(name) = url.take("profile") else { return Ok(None) };
    let Some(profile) = Profile::from_name(&name) else {
        return Err(url.error(format!("profile={name}: the choices are {}", Profile::names())));
    };
    if !profile.transports.contains(&transport) {
        let names: Vec<_> = profile.transports.iter().map(|transport| transport.name()).collect();
        let detail = format!(
            "profile={name} does not support transport={}; use transport= {}",
            transport.name(),
            names.join(" or ")
        );
        return Err(url.error(detail));
    }
    Ok(Some(profile))
}

/// Fails if an option needs function 0x61 and the profile does not use it.
fn full(url: &TargetUrl, profile: Option<&Profile>, option: &str) -> Result<(), UrlError> {
    match profile.filter(|profile| profile.negotiation == Negotiation::BufferOnly) {
        None => Ok(()),
        Some(Profile { name, .. }) => {
            Err(url
                .error(format!("{option} is negotiated by function 0x61, which profile={name} does not use")))
        }
    }
}

fn signatures(url: &mut TargetUrl, profile: Option<&Profile>) -> Result<Level, UrlError> {
    let given = level(url, "sign")?;
    if given.is_some_and(|given| given > Level::IfRequested) {
        full(url, profile, "sign=")?;
    }
    Ok(given.or(profile.map(|profile| profile.signatures)).unwrap_or(Level::IfRequested))
}

/// Level of checksums, which three of the four framings support.
fn checksums(
    url: &mut TargetUrl,
    ether: Option<&EtherOptions>,
    profile: Option<&Profile>,
) -> Result<Level, UrlError> {
    let able = ether.is_some_and(|ether| ether.framing.has_checksums());
    let usual = profile.map_or(Level::Never, |profile| profile.checksums);
    let Some(given) = level(url, "checksum")? else {
        return Ok(if able { usual } else { Level::Never });
    };
    if given > Level::Never {
        full(url, profile, "checksum=")?;
    }
    match (given, ether) {
        (Level::Never, _) => Ok(given),
        (_, Some(_)) if able => Ok(given),
        (_, Some(_)) => Err(url.error(
            "checksum= is not possible with frame=raw: FF FF in the checksum field identifies its packets",
        )),
        (_, None) => Err(url.error(
            "checksum= requires transport=ether: RFC 1234 forbids IPX checksums in UDP, and TCP and UDP have \
             their own",
        )),
    }
}

fn lip(url: &mut TargetUrl, transport: TransportKind, profile: Option<&Profile>) -> Result<bool, UrlError> {
    let datagrams = transport.is_datagram();
    match url.take_switch("lip")? {
        Some(_) if !datagrams => {
            Err(url.error("lip= requires transport=udp, ipx or ether; TCP determines the packet size itself"))
        }
        Some(true) => full(url, profile, "lip=").map(|()| true),
        Some(false) => Ok(false),
        None => Ok(datagrams && profile.is_none_or(|profile| profile.lip)),
    }
}

/// Cache buffers per file.
fn cache(url: &mut TargetUrl, profile: Option<&Profile>) -> Result<Option<u32>, UrlError> {
    if url.options.get("cache").is_some_and(|cache| cache == "off") {
        url.take("cache");
        return Ok(None);
    }
    let given = url.take_number_within("cache", 1..=MAX_CACHE)?;
    let usual = profile.map(|profile| profile.cache).filter(|buffers| *buffers > 0);
    Ok(given.or(usual))
}

fn buffer(
    url: &mut TargetUrl,
    transport: TransportKind,
    ether: Option<&EtherOptions>,
    profile: Option<&Profile>,
    bursts: bool,
) -> Result<u16, UrlError> {
    let usual = match (profile, transport) {
        (Some(profile), TransportKind::Tcp) => profile.buffers.0,
        (Some(profile), _) => profile.buffers.1,
        (None, TransportKind::Tcp) => MAX_BUFFER,
        // Larger transfers use bursts.
        (None, TransportKind::Udp) if !bursts => UDP_BUFFER,
        (None, _) => PACKET_BUFFER,
    };
    let limit = ether.map_or(MAX_BUFFER, |ether| ether.framing.max_packet() as u16 - PACKET_OVERHEAD);
    let range = u32::from(MIN_BUFFER)..=u32::from(limit);
    Ok(url.take_number_within("buffer", range)?.unwrap_or(usual.min(limit)))
}

#[cfg(test)]
mod tests {
    use crate::wire::ethernet::Framing;

    use super::*;

    fn options(text: &str) -> Result<NcpOptions, UrlError> {
        NcpOptions::from_url(TargetUrl::parse(text).unwrap(), Secret::new("hunter2"))
    }

    #[test]
    fn full_url_sets_all_options() {
        let text = "ncp://alice@nas:5240/SYS/a/b?transport=udp&sign=3&buffer=1024&retry=50ms&names=dos&connections=4";
        let options = options(text).unwrap();
        assert_eq!((options.host.as_str(), options.port, options.user.as_str()), ("nas", 5240, "alice"));
        assert_eq!((options.volume.as_str(), options.directory.join("/")), ("SYS", "a/b".to_owned()));
        assert_eq!((options.transport, options.signatures), (TransportKind::Udp, Level::Always));
        assert_eq!((options.buffer, options.retry), (1024, Duration::from_millis(50)));
        assert_eq!((options.names, options.connections), (NameChoice::Dos, Some(4)));
        assert!(!format!("{options:?}").contains("hunter2"));
        let text = "ncp://nas/SYS?transport=udp&burst=on&window=24576&gap=2ms&packet=1024";
        let bursts = self::options(text).unwrap();
        let gap = Duration::from_millis(2);
        let fixed = BurstOptions { packet: 1024, window: 24_576, gap, ..BurstOptions::default() };
        assert_eq!((bursts.burst, bursts.buffer), (Some(fixed), 1024));
        let text = "ncp://nas/SYS?transport=udp&burst=on&window=auto&gap=auto&cache=4&connections=3";
        let adaptive = self::options(text).unwrap();
        let auto = BurstOptions { adapts_window: true, adapts_gap: true, ..BurstOptions::default() };
        assert_eq!((adaptive.burst, adaptive.cache, adaptive.max_connections()), (Some(auto), Some(4), 3));
    }

    #[test]
    fn short_url_means_tcp_largest_buffer_and_guest() {
        let options = options("ncp://nas/SYS").unwrap();
        assert_eq!((options.port, options.user.as_str(), options.buffer), (524, "GUEST", 61_440));
        assert_eq!((options.transport, options.signatures), (TransportKind::Tcp, Level::IfRequested));
        assert_eq!((options.names, options.connections), (NameChoice::Auto, None));
    }

    #[test]
    fn ethernet_options_are_parsed() {
        let text = "ncp://alice@NAS/SYS?transport=ether&iface=veth0&frame=snap&network=c0ffee&checksum=2";
        let options = options(text).unwrap();
        let place =
            EtherOptions { interface: "veth0".into(), framing: Framing::Snap, network: Some(0x00C0_FFEE) };
        assert_eq!((options.ether, options.host.as_str()), (Some(place), "NAS"));
        assert_eq!((options.checksums, options.lip, options.buffer), (Level::IfPossible, true, 1024));
    }

    #[test]
    fn profile_sets_the_defaults_of_the_url() {
        let vlm = options("ncp://nas/SYS?transport=ipx&profile=vlm-1.20").unwrap();
        assert_eq!((vlm.buffer, vlm.lip, vlm.signatures), (1420, true, Level::IfRequested));
        assert_eq!((vlm.checksums, vlm.burst.unwrap().window), (Level::Never, 16 * 1434));
        assert_eq!((vlm.cache, vlm.commits), (Some(5), false));
        let burst = vlm.burst.unwrap();
        assert!(burst.adapts_window && burst.adapts_gap);
        let fixed = options("ncp://nas/SYS?transport=ipx&profile=vlm-1.20&window=8192&gap=2ms").unwrap();
        let burst = fixed.burst.unwrap();
        assert!(!burst.adapts_window && !burst.adapts_gap && burst.window == 8192);
        let vlm = options(
            "ncp://NAS/SYS?transport=ether&iface=e&frame=ii&profile=vlm-1.20&burst=off&buffer=1024&cache=off&commit=on",
        );
        let vlm = vlm.unwrap();
        assert_eq!((vlm.buffer, vlm.burst, vlm.checksums), (1024, None, Level::IfRequested));
        assert_eq!((vlm.cache, vlm.commits), (None, true));
        let netx = options("ncp://nas/SYS?transport=ipx&profile=netx&sign=0").unwrap();
        assert_eq!((netx.negotiation, netx.lip, netx.buffer), (Negotiation::BufferOnly, false, 1024));
        let ncpfs = options("ncp://nas/SYS?profile=ncpfs&sign=3").unwrap();
        assert_eq!((ncpfs.buffer, ncpfs.signatures), (61_440, Level::Always));
        let client32 = options("ncp://nas/SYS?profile=client32").unwrap();
        assert_eq!((client32.burst, client32.lip, client32.buffer), (None, false, 61_440));
    }

    #[test]
    fn invalid_options_are_named() {
        for (text, word) in [
            ("nfs://nas/x", "ncp://"),
            ("ncp://nas", "volume"),
            ("ncp://nas/", "volume"),
            ("ncp://nas/SYS/../y", ".."),
            ("ncp://nas/SYS?transport=spx", "tcp, udp, ipx and ether"),
            ("ncp://NAS/SYS?transport=ether", "iface="),
            ("ncp://NAS:524/SYS?transport=ether&iface=eth0", "no ports"),
            ("ncp://NAS/SYS?transport=ether&iface=eth0&frame=iii", "ii, raw, 802.2 and snap"),
            ("ncp://NAS/SYS?transport=ether&iface=eth0&network=xyz", "hex digits"),
            ("ncp://NAS/SYS?transport=ether&iface=eth0&buffer=1426", "512 to 1425"),
            ("ncp://NAS/SYS?transport=ether&iface=eth0&burst=on&packet=1500", "576 to 1497"),
            ("ncp://nas/SYS?iface=eth0", "transport=ether"),
            ("ncp://nas/SYS?checksum=4", "0 to 3"),
            ("ncp://nas/SYS?transport=ipx&checksum=2", "RFC 1234"),
            ("ncp://nas/SYS?checksum=1", "transport=ether"),
            ("ncp://NAS/SYS?transport=ether&iface=eth0&frame=raw&checksum=1", "FF FF"),
            ("ncp://nas/SYS?lip=on", "transport=udp"),
            ("ncp://nas/SYS?transport=udp&lip=1", "on and off"),
            ("ncp://nas/SYS?profile=vlm", "transport= ipx or ether"),
            ("ncp://nas/SYS?profile=dos", "netx, netx-3.32, bnetx"),
            ("ncp://nas/SYS?transport=ipx&profile=netx&sign=2", "sign= is negotiated by function 0x61"),
            ("ncp://nas/SYS?transport=ipx&profile=bnetx&lip=on", "lip="),
            ("ncp://NAS/SYS?transport=ether&iface=e&profile=netx&checksum=1", "checksum="),
            ("ncp://nas/SYS?sign=4", "0 to 3"),
            ("ncp://nas/SYS?buffer=100", "512 to 61440"),
            ("ncp://nas/SYS?retry=1s", "transport=udp"),
            ("ncp://nas/SYS?transport=udp&retry=5", "retry=5"),
            ("ncp://nas/SYS?split=yes", "on and off"),
            ("ncp://nas/SYS?names=mac", "auto, long and dos"),
            ("ncp://nas/SYS?connections=0", "1 to 64"),
            ("ncp://nas/SYS?burst=1", "on and off"),
            ("ncp://nas/SYS?burst=on", "transport=udp"),
            ("ncp://nas/SYS?transport=udp&window=8192", "burst=on"),
            ("ncp://nas/SYS?transport=udp&burst=on&window=100", "1024 to 61440"),
            ("ncp://nas/SYS?transport=udp&burst=on&gap=1us", "1ms to 100ms"),
            ("ncp://nas/SYS?transport=udp&burst=on&packet=100", "576 to 9000"),
            ("ncp://nas/SYS?cache=0", "1 to 1024"),
            ("ncp://nas/SYS?commit=yes", "on and off"),
            ("ncp://nas/SYS?cached=1", "transport, profile, sign"),
        ] {
            let error = options(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
