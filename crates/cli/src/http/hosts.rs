//! The host names under which clients may address a listener.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, header};

use crate::system::host_name;

/// The names that requests may have in their `Host` header.
///
/// A web page of another host whose name resolves to the address of a listener (DNS rebinding) makes a browser send its
/// requests to the listener. Such a request contains the name of that page, so rejecting foreign names keeps the page from
/// reading the answers. Addresses are safe on every listener, because no DNS resolves them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hosts {
    /// `localhost` and loopback addresses, for a listener on one of them.
    Loopback,
    /// `localhost`, all addresses, and the name of this machine, for a listener that other machines can reach.
    ThisMachine(String),
}

impl Hosts {
    /// The names for a listener at this address.
    pub fn from_address(address: SocketAddr) -> Self {
        if address.ip().to_canonical().is_loopback() {
            return Self::Loopback;
        }
        Self::ThisMachine(host_name())
    }

    /// True if there is exactly one `Host` header, and it contains an accepted name.
    pub fn accept(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        host.is_some_and(|host| self.contain(host)) && hosts.next().is_none()
    }

    fn contain(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        let address = name.parse::<IpAddr>();
        name.eq_ignore_ascii_case("localhost")
            || match self {
                Self::Loopback => address.is_ok_and(|address| address.is_loopback()),
                Self::ThisMachine(own) => address.is_ok() || name.eq_ignore_ascii_case(own),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(hosts: &Hosts, names: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for name in names {
            headers.append(header::HOST, name.parse().unwrap());
        }
        hosts.accept(&headers)
    }

    #[test]
    fn names_of_other_machines_are_rejected() {
        let loopback = Hosts::from_address("127.0.0.1:9100".parse().unwrap());
        assert_eq!(loopback, Hosts::from_address("[::1]:9100".parse().unwrap()));
        let reachable = Hosts::ThisMachine("bench".to_owned());
        for host in ["localhost", "LOCALHOST:9100", "127.0.0.1:81", "[::1]:80"] {
            assert!(accepted(&loopback, &[host]) && accepted(&reachable, &[host]), "{host}");
        }
        for host in ["192.0.2.7:9100", "[2001:db8::7]", "bench:9100", "Bench"] {
            assert!(!accepted(&loopback, &[host]) && accepted(&reachable, &[host]), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "bench.evil.example:9100", ""] {
            assert!(!accepted(&loopback, &[host]) && !accepted(&reachable, &[host]), "{host}");
        }
        assert!(!accepted(&loopback, &[]) && !accepted(&loopback, &["localhost", "localhost"]));
    }
}
