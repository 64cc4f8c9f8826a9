//! The network link to a target, and its rate.

use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};

use sharebench_model::units::BitRate;
use sharebench_target::TargetUrl;

use crate::system::{device_speed, device_with, server_of_path};

/// The device of loopback, by its name on Linux.
const LOOPBACK: &str = "lo";

/// The link between this machine and a target, as far as it is known. The check `link` compares measured rates with
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// No link: a local path.
    None,
    /// A known rate and its source.
    Rate {
        /// Bits per second.
        rate: BitRate,
        /// Such as `--link` or `eth0`.
        source: String,
    },
    /// There is a link, but its rate is not known; the text states why.
    NotKnown(String),
}

impl Link {
    /// The link to a target: the rate that the user stated, otherwise that of the device of the route.
    ///
    /// `url` is the target's; a local path on a network file system leads to its server.
    pub fn to(url: &str, said: Option<BitRate>) -> Self {
        let Some(host) = host_of(url) else { return Self::None };
        if let Some(rate) = said {
            return Self::Rate { rate, source: "--link".into() };
        }
        match device_to(&host) {
            Ok(device) => Self::of_device(&device),
            Err(why) => Self::NotKnown(format!("{why}; name it by --link")),
        }
    }

    /// The link of a network device, as the kernel reports it.
    pub fn of_device(device: &str) -> Self {
        of_speed(device, device_speed(device).as_deref())
    }
}

/// `speed` is in Mbit/s; virtual devices give -1, an error or a fancy.
fn of_speed(device: &str, speed: Option<&str>) -> Link {
    // A rate of loopback would be one of the processor, not of a link.
    if device == LOOPBACK {
        return Link::NotKnown("loopback has no rate".into());
    }
    match speed.and_then(|text| text.trim().parse::<u64>().ok()).filter(|mbit| (1..1_000_000).contains(mbit))
    {
        Some(mbit) => Link::Rate { rate: BitRate(mbit * 1_000_000), source: device.to_owned() },
        None => Link::NotKnown(format!("{device} does not report its rate; set it with --link")),
    }
}

fn host_of(url: &str) -> Option<String> {
    let parsed = TargetUrl::parse(url).ok()?;
    if parsed.scheme != "file" {
        return (!parsed.host.is_empty()
            && !["null", "memory", "scripted"].contains(&parsed.scheme.as_str()))
        .then_some(parsed.host);
    }
    let path = parsed.local_path().canonicalize().ok()?;
    server_of_path(&path)
}

/// The device that packets to `host` leave by; nothing is sent.
fn device_to(host: &str) -> Result<String, String> {
    let not_known = |error: std::io::Error| format!("no route to {host} ({error})");
    let to = (host, 9).to_socket_addrs().map_err(not_known)?.next().ok_or_else(|| format!("no {host}"))?;
    let any: SocketAddr = if to.is_ipv4() { ([0u8; 4], 0).into() } else { ([0u16; 8], 0).into() };
    let socket = UdpSocket::bind(any).map_err(not_known)?;
    // Connecting a UDP socket only looks up the route and selects the source address.
    socket.connect(to).map_err(not_known)?;
    let own = socket.local_addr().map_err(not_known)?.ip();
    if own.is_loopback() {
        return Ok(LOOPBACK.to_owned());
    }
    device_with(own).ok_or_else(|| format!("no device has the address {own}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_device_says_counts_if_it_can_be_true() {
        let rate = |mbit: u64| Link::Rate { rate: BitRate(mbit * 1_000_000), source: "eth0".into() };
        assert_eq!(of_speed("eth0", Some("1000\n")), rate(1000));
        for nonsense in [Some("-1\n"), Some("4294967295"), Some("0"), Some(""), None] {
            assert!(matches!(of_speed("eth0", nonsense), Link::NotKnown(_)), "{nonsense:?}");
        }
        assert!(matches!(of_speed("lo", Some("1000")), Link::NotKnown(_)));
    }

    #[test]
    fn hosts_come_from_urls() {
        assert_eq!(host_of("nfs://10.0.0.7:2050/x").as_deref(), Some("10.0.0.7"));
        assert_eq!(host_of("null://"), None);
    }

    #[test]
    fn loopback_is_known_to_be_unknown_and_the_user_knows_better() {
        assert_eq!(Link::to("nfs://127.0.0.1/x", None), Link::NotKnown("loopback has no rate".into()));
        let said = Link::to("nfs://127.0.0.1/x", Some(BitRate(10_000_000)));
        assert_eq!(said, Link::Rate { rate: BitRate(10_000_000), source: "--link".into() });
        assert_eq!(Link::to("/", None), Link::None);
    }
}
