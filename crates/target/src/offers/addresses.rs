//! The addresses of a host.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::{OfferReport, Usability};

/// Maximum number of addresses in a report.
const MAX_ADDRESSES: usize = 16;
/// Time that an address has to accept a connection before the next one is tried (RFC 8305, 5).
const ATTEMPT_LIMIT: Duration = Duration::from_millis(250);

/// An address with its family.
pub fn address_text(address: IpAddr) -> String {
    format!("{address} ({})", if address.is_ipv4() { "IPv4" } else { "IPv6" })
}

/// Resolves a host, adds its addresses to the report, and returns the one to which a run connects: the first one that
/// accepts connections at `port`. Without a port (0) it is the first one.
///
/// # Errors
/// The reason if the host has no address, or the resolver does not answer in time.
pub async fn add_addresses(
    report: &mut OfferReport,
    host: &str,
    port: u16,
    deadline: Instant,
) -> Result<SocketAddr, String> {
    let found = match host.parse() {
        // A literal needs no resolver, which may be slow or absent.
        Ok(address) => vec![address],
        Err(_) => match timeout_at(deadline, tokio::net::lookup_host((host, port))).await {
            Ok(Ok(found)) => distinct(found.map(|address| address.ip())),
            Ok(Err(error)) => return Err(error.to_string()),
            Err(_) => return Err("the resolver does not answer".to_owned()),
        },
    };
    let preferred = found.first().copied().ok_or("the name has no address")?;
    let chosen = accepting(&found, port, deadline).await.unwrap_or(preferred);
    for address in &found {
        let used = *address == chosen;
        let usability = if used { Usability::Used } else { Usability::With("the address in the URL".into()) };
        report.add("host", "address", address_text(*address), usability);
    }
    Ok(SocketAddr::new(chosen, port))
}

/// The first of several addresses that accepts a connection; none if there is no choice to make.
async fn accepting(found: &[IpAddr], port: u16, deadline: Instant) -> Option<IpAddr> {
    if found.len() < 2 || port == 0 {
        return None;
    }
    for address in found {
        let until = deadline.min(Instant::now() + ATTEMPT_LIMIT);
        if let Ok(Ok(_)) = timeout_at(until, TcpStream::connect((*address, port))).await {
            return Some(*address);
        }
    }
    None
}

fn distinct(found: impl Iterator<Item = IpAddr>) -> Vec<IpAddr> {
    let mut addresses = Vec::new();
    for address in found {
        if !addresses.contains(&address) && addresses.len() < MAX_ADDRESSES {
            addresses.push(address);
        }
    }
    addresses
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    async fn addresses(host: &str) -> (Result<SocketAddr, String>, OfferReport) {
        let mut report = OfferReport::new("nfs://host/", "nfs");
        let deadline = Instant::now() + Duration::from_secs(60);
        let found = add_addresses(&mut report, host, 2049, deadline).await;
        (found, report)
    }

    #[tokio::test]
    async fn an_address_literal_is_reported_with_its_family() {
        let (found, report) = addresses("127.0.0.1").await;
        assert_eq!(found, Ok((Ipv4Addr::LOCALHOST, 2049).into()));
        assert_eq!(report.row("host", "address").unwrap().value, "127.0.0.1 (IPv4)");
        let (found, report) = addresses("::1").await;
        assert!(found.unwrap().is_ipv6());
        assert_eq!(report.row("host", "address").unwrap().value, "::1 (IPv6)");
    }

    #[test]
    fn an_address_is_reported_once_and_their_number_is_limited() {
        let address = |last: u32| IpAddr::from(last.to_be_bytes());
        assert_eq!(distinct([1, 1, 2, 1].into_iter().map(address)), [address(1), address(2)]);
        assert_eq!(distinct((0..100).map(address)).len(), MAX_ADDRESSES);
    }
}
