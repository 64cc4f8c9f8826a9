//! Where programs listen: rpcbind versions 3 and 4 (RFC 1833, 2), and the port mapper, which is version 2 (RFC 1833, 3).

use std::net::IpAddr;

use crate::xdr::{Reader, Writer, XdrError};

/// `PMAPPROC_GETPORT` (RFC 1833, 3.2).
pub const GETPORT: u32 = 3;
/// `RPCBPROC_GETADDR` (RFC 1833, 2.2.1), with the number of [`GETPORT`].
pub const GETADDR: u32 = 3;
/// `PMAPPROC_DUMP`.
pub const DUMP: u32 = 4;
/// TCP, as the port mapper names it.
pub const TCP: u32 = 6;
/// UDP, as the port mapper names it.
pub const UDP: u32 = 17;

/// Maximum number of registrations in a list.
const MAX_REGISTRATIONS: usize = 1024;
/// Longest universal address that is accepted: an IPv6 address with a zone, and a port.
const MAX_ADDRESS_BYTES: usize = 128;

/// How a program is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
}

impl Transport {
    /// Its name in mount options and facts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }

    /// The network identifier of rpcbind for this transport to a host (RFC 5665, 5.2.3).
    pub fn netid(self, host: IpAddr) -> &'static str {
        match (self, host.to_canonical()) {
            (Self::Tcp, IpAddr::V4(_)) => "tcp",
            (Self::Tcp, IpAddr::V6(_)) => "tcp6",
            (Self::Udp, IpAddr::V4(_)) => "udp",
            (Self::Udp, IpAddr::V6(_)) => "udp6",
        }
    }

    const fn number(self) -> u32 {
        match self {
            Self::Tcp => TCP,
            Self::Udp => UDP,
        }
    }
}

/// Encodes the argument of [`GETPORT`] (RFC 1833, 3.1: `mapping`).
pub fn put_mapping(writer: &mut Writer, program: u32, version: u32, transport: Transport) {
    writer.words(&[program, version, transport.number(), 0]);
}

/// Decodes the result of [`GETPORT`] (RFC 1833, 3.2); none if the program is not registered.
pub fn get_port(reader: &mut Reader<'_>) -> Result<Option<u16>, XdrError> {
    let value = reader.u32()?;
    let port = u16::try_from(value).map_err(|_| XdrError::BadValue { field: "port", value })?;
    Ok((port != 0).then_some(port))
}

/// Encodes the argument of [`GETADDR`] (RFC 1833, 2.1: `rpcb`), with empty address and owner, which are no part of the
/// question.
pub fn put_address_query(writer: &mut Writer, program: u32, version: u32, netid: &str) {
    writer.words(&[program, version]);
    writer.opaque(netid.as_bytes());
    writer.opaque(b"");
    writer.opaque(b"");
}

/// Decodes the result of [`GETADDR`] (RFC 1833, 2.2.1): the port of a universal address; none if the program is not
/// registered. The host in it is that of the server's own view, often `0.0.0.0`.
pub fn get_universal_port(reader: &mut Reader<'_>) -> Result<Option<u16>, XdrError> {
    let address = reader.opaque("universal address", MAX_ADDRESS_BYTES)?;
    if address.is_empty() {
        return Ok(None);
    }
    let malformed =
        XdrError::BadValue { field: "length of a malformed universal address", value: address.len() as u32 };
    let port = std::str::from_utf8(address).ok().and_then(universal_port).ok_or(malformed)?;
    Ok((port != 0).then_some(port))
}

/// The port of a universal address (RFC 5665, 5.2.3.3 and 5.2.3.4): its last two numbers.
fn universal_port(address: &str) -> Option<u16> {
    let mut parts = address.rsplitn(3, '.');
    let low: u8 = parts.next()?.parse().ok()?;
    let high: u8 = parts.next()?.parse().ok()?;
    let host = parts.next()?.split('%').next()?;
    host.parse::<IpAddr>().ok()?;
    Some(u16::from_be_bytes([high, low]))
}

/// A program at a port (RFC 1833, 3.1: `mapping`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registration {
    /// Program number.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// [`TCP`] or [`UDP`].
    pub protocol: u32,
    /// Its port.
    pub port: u32,
}

impl Registration {
    /// Name of the protocol.
    pub const fn protocol_name(&self) -> &'static str {
        match self.protocol {
            TCP => "tcp",
            UDP => "udp",
            _ => "other",
        }
    }
}

/// Decodes the list.
pub fn get_registrations(reader: &mut Reader<'_>) -> Result<Vec<Registration>, XdrError> {
    let mut found = Vec::new();
    while reader.boolean("registration follows")? {
        if found.len() == MAX_REGISTRATIONS {
            let len = MAX_REGISTRATIONS as u32 + 1;
            return Err(XdrError::TooLong { field: "registrations", len, max: MAX_REGISTRATIONS });
        }
        found.push(Registration {
            program: reader.u32()?,
            version: reader.u32()?,
            protocol: reader.u32()?,
            port: reader.u32()?,
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_universal_address_ends_with_its_port() {
        for (address, port) in [
            ("127.0.0.1.8.1", Some(2049)),
            ("0.0.0.0.0.111", Some(111)),
            ("::.8.1", Some(2049)),
            ("fe80::1%eth0.78.80", Some(20_048)),
            ("::ffff:10.0.0.1.8.1", Some(2049)),
            ("127.0.0.1", None),
            ("127.0.0.1.256.1", None),
            ("127.0.0.1.8.-1", None),
            ("nas.8.1", None),
            ("8.1", None),
            ("..", None),
        ] {
            assert_eq!(universal_port(address), port, "{address}");
        }
        let decoded = |address: &[u8]| {
            let mut writer = Writer::default();
            writer.opaque(address);
            get_universal_port(&mut Reader::new(writer.as_slice()))
        };
        assert_eq!((decoded(b""), decoded(b"::.8.1")), (Ok(None), Ok(Some(2049))));
        assert!(
            decoded(b"nonsense").is_err() && decoded(&[b'1'; 200]).is_err() && decoded(&[0xff; 4]).is_err()
        );
    }

    #[test]
    fn a_query_names_the_network_by_the_family_of_the_address() {
        let netids = |transport: Transport| {
            ["10.0.0.1", "2001:db8::1", "::ffff:10.0.0.1"].map(|host| transport.netid(host.parse().unwrap()))
        };
        assert_eq!(netids(Transport::Tcp), ["tcp", "tcp6", "tcp"]);
        assert_eq!(netids(Transport::Udp), ["udp", "udp6", "udp"]);
        let mut writer = Writer::default();
        put_address_query(&mut writer, 100_003, 3, "udp6");
        // RFC 1833, 2.1: program, version, netid, address, owner.
        let bytes = [&[0, 1, 0x86, 0xa3, 0, 0, 0, 3, 0, 0, 0, 4][..], b"udp6", &[0; 8]].concat();
        assert_eq!(writer.as_slice(), bytes);
    }

    #[test]
    fn registrations_are_a_list_with_an_end() {
        let mut writer = Writer::default();
        writer.words(&[1, 100_003, 3, TCP, 2049, 1, 100_005, 3, UDP, 20_048, 0]);
        let found = get_registrations(&mut Reader::new(writer.as_slice())).unwrap();
        assert_eq!((found.len(), found[0].port, found[1].protocol_name()), (2, 2049, "udp"));
        writer.truncate(8);
        assert!(get_registrations(&mut Reader::new(writer.as_slice())).is_err());
    }

    #[test]
    fn an_endless_list_is_an_error() {
        let mut writer = Writer::default();
        (0..2000).for_each(|_| writer.words(&[1, 0, 0, 0, 0]));
        assert!(get_registrations(&mut Reader::new(writer.as_slice())).is_err());
    }
}
