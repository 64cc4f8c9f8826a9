//! The network link to a target, and its rate.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::Path;

use sharebench_model::units::BitRate;
use sharebench_target::TargetUrl;

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
        let speed = std::fs::read_to_string(format!("/sys/class/net/{device}/speed"));
        of_speed(device, speed.ok().as_deref())
    }
}

/// `speed` is in Mbit/s; virtual devices give -1, an error or a fancy.
fn of_speed(device: &str, speed: Option<&str>) -> Link {
    // A rate of loopback would be one of the processor, not of a link.
    if device == "lo" {
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
    let path = std::fs::canonicalize(&parsed.path).ok()?;
    server_of(&path, &std::fs::read_to_string("/proc/self/mountinfo").ok()?)
}

/// The server of the mount that holds `path`: `addr=` of NFS and CIFS.
fn server_of(path: &Path, mountinfo: &str) -> Option<String> {
    let mounts = mountinfo.lines().filter_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let point = left.split(' ').nth(4)?;
        path.starts_with(point.replace("\\040", " ")).then_some((point.len(), right))
    });
    // Of equal mount points the last lies on top.
    let (_, right) = mounts.max_by_key(|(len, _)| *len)?;
    if !["nfs", "nfs4", "cifs", "smb3"].contains(&right.split(' ').next()?) {
        return None;
    }
    right.split([' ', ',']).find_map(|option| option.strip_prefix("addr=")).map(str::to_owned)
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
    device_with(own).ok_or_else(|| format!("no device has the address {own}"))
}

/// The device that has an address.
fn device_with(own: IpAddr) -> Option<String> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: getifaddrs fills in a list that is freed below, once, after its last use.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return None;
    }
    let mut next = first;
    let mut found = None;
    while !next.is_null() && found.is_none() {
        // SAFETY: `next` is an element of the list: a valid struct with a terminated name.
        let entry = unsafe { &*next };
        if address(entry.ifa_addr) == Some(own) {
            // SAFETY: as above.
            let name = unsafe { std::ffi::CStr::from_ptr(entry.ifa_name) };
            found = Some(name.to_string_lossy().into_owned());
        }
        next = entry.ifa_next;
    }
    // SAFETY: the list of getifaddrs, not used any more.
    unsafe { libc::freeifaddrs(first) };
    found
}

fn address(from: *const libc::sockaddr) -> Option<IpAddr> {
    if from.is_null() {
        return None;
    }
    // SAFETY: the family says which struct it is; both are read without assuming their alignment.
    unsafe {
        match i32::from((*from).sa_family) {
            libc::AF_INET => {
                let inet = from.cast::<libc::sockaddr_in>().read_unaligned();
                Some(IpAddr::from(inet.sin_addr.s_addr.to_ne_bytes()))
            }
            libc::AF_INET6 => {
                let inet = from.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(IpAddr::from(inet.sin6_addr.s6_addr))
            }
            _ => None,
        }
    }
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
    fn hosts_come_from_urls_and_from_mounts() {
        assert_eq!(host_of("nfs://10.0.0.7:2050/x").as_deref(), Some("10.0.0.7"));
        assert_eq!(host_of("null://"), None);
        let info = "22 1 254:0 / / rw - ext4 /dev/vda rw\n\
                    32 31 0:42 / /mnt/a\\040b rw - nfs nas:/export rw,vers=3,addr=10.0.0.1\n";
        assert_eq!(server_of(Path::new("/mnt/a b/dir"), info).as_deref(), Some("10.0.0.1"));
        assert_eq!(server_of(Path::new("/mnt"), info), None);
    }

    #[test]
    fn loopback_is_known_to_be_unknown_and_the_user_knows_better() {
        assert_eq!(Link::to("nfs://127.0.0.1/x", None), Link::NotKnown("loopback has no rate".into()));
        let said = Link::to("nfs://127.0.0.1/x", Some(BitRate(10_000_000)));
        assert_eq!(said, Link::Rate { rate: BitRate(10_000_000), source: "--link".into() });
        assert_eq!(Link::to("/", None), Link::None);
    }
}
