//! The output of `FSCTL_QUERY_NETWORK_INTERFACE_INFO` (MS-SMB2 2.2.32.5): the addresses for further channels.

use std::net::IpAddr;

use super::{Field, Reader, WireError};

/// `FSCTL_QUERY_NETWORK_INTERFACE_INFO`.
pub const QUERY_NETWORK_INTERFACE_INFO: u32 = 0x0014_01FC;
/// Capability: receive-side scaling.
pub const RSS_CAPABLE: u32 = 1;
/// Capability: RDMA.
pub const RDMA_CAPABLE: u32 = 2;

/// Maximum number of entries.
const MAX_ENTRIES: usize = 64;
/// Bytes of an entry, with an address of 128 bytes.
const ENTRY_LEN: usize = 152;
const FAMILY_IPV4: u16 = 0x0002;
const FAMILY_IPV6: u16 = 0x0017;

/// One address of a network interface (MS-SMB2 2.2.32.5: `NETWORK_INTERFACE_INFO`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkInterface {
    /// Number of the interface at the server.
    pub index: u32,
    /// See [`RSS_CAPABLE`] and [`RDMA_CAPABLE`].
    pub capability: u32,
    /// Bits per second.
    pub link_speed: u64,
    /// Its address; none of another family than IPv4 and IPv6.
    pub address: Option<IpAddr>,
}

/// Encodes the list and appends it.
pub fn put_interfaces(listed: &[NetworkInterface], out: &mut Vec<u8>) {
    for (index, interface) in listed.iter().enumerate() {
        let start = out.len();
        (if index + 1 == listed.len() { 0 } else { ENTRY_LEN as u32 }).put(out);
        interface.index.put(out);
        interface.capability.put(out);
        0u32.put(out);
        interface.link_speed.put(out);
        match interface.address {
            Some(IpAddr::V4(address)) => {
                FAMILY_IPV4.put(out);
                0u16.put(out);
                address.octets().put(out);
            }
            Some(IpAddr::V6(address)) => {
                FAMILY_IPV6.put(out);
                0u16.put(out);
                0u32.put(out);
                address.octets().put(out);
            }
            None => {}
        }
        out.resize(start + ENTRY_LEN, 0);
    }
}

/// Decodes the list. More than [`MAX_ENTRIES`] entries are an error.
pub fn interfaces(output: &[u8]) -> Result<Vec<NetworkInterface>, WireError> {
    let mut found = Vec::new();
    let mut rest = output;
    while !rest.is_empty() {
        let mut reader = Reader::new(rest, "NETWORK_INTERFACE_INFO");
        if found.len() == MAX_ENTRIES {
            return Err(reader.bad("entries", MAX_ENTRIES as u64 + 1));
        }
        let next: u32 = reader.get()?;
        let index = reader.get()?;
        let capability = reader.get()?;
        let _reserved: u32 = reader.get()?;
        let link_speed = reader.get()?;
        found.push(NetworkInterface { index, capability, link_speed, address: address(&mut reader)? });
        if next == 0 {
            break;
        }
        rest = rest.get(next as usize..).ok_or_else(|| reader.bad("Next", u64::from(next)))?;
    }
    Ok(found)
}

/// Decodes `SockAddr_Storage` (MS-SMB2 2.2.32.5.1), whose addresses are big-endian.
fn address(reader: &mut Reader<'_>) -> Result<Option<IpAddr>, WireError> {
    let family: u16 = reader.get()?;
    let _port: u16 = reader.get()?;
    Ok(match family {
        FAMILY_IPV4 => Some(IpAddr::from(reader.get::<[u8; 4]>()?)),
        FAMILY_IPV6 => {
            let _flow: u32 = reader.get()?;
            Some(IpAddr::from(reader.get::<[u8; 16]>()?))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(next: u32, index: u32, address: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for word in [next, index, RSS_CAPABLE, 0] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&10_000_000_000u64.to_le_bytes());
        out.extend_from_slice(address);
        out.resize(152, 0);
        out
    }

    #[test]
    fn interfaces_have_addresses_of_both_families() {
        let four = entry(152, 3, &[2, 0, 0, 0, 192, 0, 2, 1]);
        let six =
            entry(0, 4, &[0x17, 0, 0, 0, 0, 0, 0, 0, 0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
        let list = [four, six].concat();
        let found = interfaces(&list).unwrap();
        assert_eq!((found.len(), found[0].index, found[1].index), (2, 3, 4));
        assert_eq!(found[0].link_speed, 10_000_000_000);
        assert_eq!(found[0].address.unwrap().to_string(), "192.0.2.1");
        assert_eq!(found[1].address.unwrap().to_string(), "fe80::7");
        let mut again = Vec::new();
        put_interfaces(&found, &mut again);
        assert_eq!(again, list);
    }

    #[test]
    fn an_endless_list_is_an_error() {
        // Each entry overlaps the one before it.
        let mut list = vec![0; 4096];
        for at in (0..4096).step_by(32) {
            list[at] = 32;
        }
        assert!(interfaces(&list).is_err());
        assert!(interfaces(&entry(9999, 1, &[2, 0])).is_err());
        assert_eq!(interfaces(&[]), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn garbage_causes_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = interfaces(&bytes);
        }
    }
}
