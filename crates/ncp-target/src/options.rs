//! What an `ncp://` URL says, checked.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use sharebench_model::units::parse_duration;
use sharebench_ncp::client::{BurstOptions, LEAST_BUFFER, MOST_BUFFER};
use sharebench_ncp::security::level::Level;
use sharebench_target::{Secret, TargetUrl, UrlError};

const KNOWN: &str = "transport, sign, buffer, split, retry, burst, window, gap, packet, names, connections";
const DEFAULT_PORT: u16 = 524;
/// Where IPX in UDP is spoken (RFC 1234).
const IPX_PORT: u16 = 213;
/// Who logs in where the URL names nobody, as bindery servers have it.
const GUEST: &str = "GUEST";
/// Data bytes of a call over UDP, unless asked otherwise: what NFS came to use there, in fragments of IP.
const UDP_BUFFER: u16 = 32_768;
/// The same beside bursts and on IPX, as the kernel's client has it: one packet of an Ethernet.
const PACKET_BUFFER: u16 = 1024;
/// Most connections of one session.
const MOST_CONNECTIONS: u32 = 64;

/// What carries the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carriage {
    Tcp,
    Udp,
    /// IPX in UDP.
    Ipx,
}

impl Carriage {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Ipx => "ipx",
        }
    }
}

/// Which names are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// Long ones, on volumes that have them.
    Auto,
    Long,
    Dos,
}

/// A checked `ncp://` URL and the password for it.
#[derive(Debug, Clone)]
pub(crate) struct NcpOptions {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: Secret,
    pub(crate) volume: String,
    /// Components below the volume.
    pub(crate) directory: Vec<String>,
    pub(crate) carriage: Carriage,
    pub(crate) signatures: Level,
    pub(crate) buffer: u16,
    /// Records above the negotiated buffer take several requests.
    pub(crate) splits: bool,
    pub(crate) retry: Duration,
    pub(crate) burst: Option<BurstOptions>,
    pub(crate) names: Names,
    pub(crate) connections: u32,
}

impl NcpOptions {
    pub(crate) fn from_url(mut url: TargetUrl, password: Secret) -> Result<Self, UrlError> {
        if url.scheme != "ncp" {
            return Err(url.error("not an ncp:// URL"));
        }
        let (volume, directory) = split_path(&url)?;
        let carriage = match url.take("transport").as_deref() {
            None | Some("tcp") => Carriage::Tcp,
            Some("udp") => Carriage::Udp,
            Some("ipx") => Carriage::Ipx,
            Some(other) => {
                return Err(url.error(format!("transport={other}: the choices are tcp, udp and ipx")));
            }
        };
        let sign = number(&mut url, "sign", 0..=3)?.unwrap_or(1);
        let bursts = url.options.get("burst").is_some_and(|burst| burst == "on");
        let usual = match carriage {
            Carriage::Tcp => MOST_BUFFER,
            // What a packet does not carry is a burst's.
            Carriage::Ipx => PACKET_BUFFER,
            Carriage::Udp if bursts => PACKET_BUFFER,
            Carriage::Udp => UDP_BUFFER,
        };
        let buffer = number(&mut url, "buffer", LEAST_BUFFER..=MOST_BUFFER)?.unwrap_or(usual);
        let burst = burst(&mut url, carriage)?;
        let splits = match url.take("split").as_deref() {
            None | Some("off") => false,
            Some("on") => true,
            Some(other) => return Err(url.error(format!("split={other}: the choices are on and off"))),
        };
        let retry = retry(&mut url, carriage)?;
        let names = match url.take("names").as_deref() {
            None | Some("auto") => Names::Auto,
            Some("long") => Names::Long,
            Some("dos") => Names::Dos,
            Some(other) => {
                return Err(url.error(format!("names={other}: the choices are auto, long and dos")));
            }
        };
        let connections = number(&mut url, "connections", 1..=MOST_CONNECTIONS)?.unwrap_or(1);
        url.refuse_leftovers(KNOWN)?;
        Ok(Self {
            host: url.host,
            port: url.port.unwrap_or(if carriage == Carriage::Ipx { IPX_PORT } else { DEFAULT_PORT }),
            user: url.user.unwrap_or_else(|| GUEST.to_owned()),
            password,
            volume,
            directory,
            carriage,
            signatures: Level::from_number(sign).unwrap_or_default(),
            buffer,
            splits,
            retry,
            burst,
            names,
            connections,
        })
    }
}

impl NcpOptions {
    /// Data bytes of the largest transfer: a request or a burst.
    pub(crate) fn most_record(&self) -> u32 {
        u32::from(self.buffer).max(self.burst.map_or(0, |burst| burst.window))
    }
}

fn split_path(url: &TargetUrl) -> Result<(String, Vec<String>), UrlError> {
    let mut names = url.path.split('/').filter(|name| !name.is_empty()).map(str::to_owned);
    let Some(volume) = names.next() else {
        return Err(url.error("name a volume: ncp://host/VOLUME"));
    };
    let directory: Vec<String> = names.collect();
    let bad = |name: &String| matches!(name.as_str(), "." | "..") || name.contains(['\\', '\0']);
    if directory.iter().any(bad) || bad(&volume) || volume.contains(':') {
        return Err(url.error("the path must not hold '.', '..' or '\\', and the volume no ':'"));
    }
    Ok((volume, directory))
}

fn number<T: FromStr + PartialOrd + Display>(
    url: &mut TargetUrl,
    key: &str,
    range: RangeInclusive<T>,
) -> Result<Option<T>, UrlError> {
    let Some(text) = url.take(key) else { return Ok(None) };
    match text.parse() {
        Ok(number) if range.contains(&number) => Ok(Some(number)),
        _ => {
            Err(url.error(format!("{key}={text} is not a number from {} to {}", range.start(), range.end())))
        }
    }
}

/// Packet burst and what it is sent by, each of which means nothing without it.
fn burst(url: &mut TargetUrl, carriage: Carriage) -> Result<Option<BurstOptions>, UrlError> {
    let usual = BurstOptions::default();
    let on = match url.take("burst").as_deref() {
        None | Some("off") => false,
        Some("on") if carriage != Carriage::Tcp => true,
        Some("on") => {
            return Err(url.error("burst=on is for transport=udp and ipx: TCP has windows of its own"));
        }
        Some(other) => return Err(url.error(format!("burst={other}: the choices are on and off"))),
    };
    for key in ["window", "gap", "packet"] {
        if !on && url.options.contains_key(key) {
            return Err(url.error(format!("{key}= means nothing without burst=on")));
        }
    }
    let window = number(url, "window", 1024..=u32::from(MOST_BUFFER))?.unwrap_or(usual.window);
    let packet = number(url, "packet", 576..=9000)?.unwrap_or(usual.packet);
    let gap = match url.take("gap") {
        None => usual.gap,
        Some(text) => match parse_duration(&text) {
            Ok(gap) if (Duration::from_millis(1)..=Duration::from_millis(100)).contains(&gap) => gap,
            _ => return Err(url.error(format!("gap={text} is not a time from 1ms to 100ms"))),
        },
    };
    Ok(on.then_some(BurstOptions { packet, window, gap }))
}

/// The first pause before a datagram is sent again.
fn retry(url: &mut TargetUrl, carriage: Carriage) -> Result<Duration, UrlError> {
    const USUAL: Duration = Duration::from_millis(600);
    const RANGE: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(60);
    match url.take("retry") {
        None => Ok(USUAL),
        Some(_) if carriage == Carriage::Tcp => {
            Err(url.error("retry= is for transport=udp and ipx: TCP repeats nothing"))
        }
        Some(text) => match parse_duration(&text) {
            Ok(pause) if RANGE.contains(&pause) => Ok(pause),
            _ => Err(url.error(format!("retry={text} is not a time from 1ms to 60s"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Result<NcpOptions, UrlError> {
        NcpOptions::from_url(TargetUrl::parse(text).unwrap(), Secret::new("hunter2"))
    }

    #[test]
    fn a_full_url_is_understood() {
        let text = "ncp://alice@nas:5240/SYS/a/b?transport=udp&sign=3&buffer=1024&retry=50ms&names=dos&connections=4";
        let options = options(text).unwrap();
        assert_eq!((options.host.as_str(), options.port, options.user.as_str()), ("nas", 5240, "alice"));
        assert_eq!((options.volume.as_str(), options.directory.join("/")), ("SYS", "a/b".to_owned()));
        assert_eq!((options.carriage, options.signatures), (Carriage::Udp, Level::Always));
        assert_eq!((options.buffer, options.retry), (1024, Duration::from_millis(50)));
        assert_eq!((options.names, options.connections), (Names::Dos, 4));
        assert!(!format!("{options:?}").contains("hunter2"));
        let text = "ncp://nas/SYS?transport=udp&burst=on&window=24576&gap=2ms&packet=1024";
        let bursts = self::options(text).unwrap();
        let gap = Duration::from_millis(2);
        assert_eq!(bursts.burst, Some(BurstOptions { packet: 1024, window: 24_576, gap }));
        assert_eq!(bursts.buffer, 1024);
    }

    #[test]
    fn a_short_url_means_tcp_the_largest_buffer_and_a_guest() {
        let options = options("ncp://nas/SYS").unwrap();
        assert_eq!((options.port, options.user.as_str(), options.buffer), (524, "GUEST", 61_440));
        assert_eq!((options.carriage, options.signatures), (Carriage::Tcp, Level::IfAsked));
        assert_eq!((options.names, options.connections), (Names::Auto, 1));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, word) in [
            ("nfs://nas/x", "ncp://"),
            ("ncp://nas", "volume"),
            ("ncp://nas/", "volume"),
            ("ncp://nas/SYS/../y", ".."),
            ("ncp://nas/SYS?transport=spx", "tcp, udp and ipx"),
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
            ("ncp://nas/SYS?profile=vlm", "transport, sign, buffer"),
        ] {
            let error = options(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
