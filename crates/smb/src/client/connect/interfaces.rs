//! The addresses that a server names for further channels.

use std::net::IpAddr;

use crate::client::channels::channel::Channel;
use crate::client::exchange::Exchange;
use crate::client::negotiated::Negotiated;
use crate::status::NtStatus;
use crate::wire::FileId;
use crate::wire::header::command;
use crate::wire::ioctl::{IoctlRequest, output};
use crate::wire::network_interface::{NetworkInterface, QUERY_NETWORK_INTERFACE_INFO, interfaces};

/// Largest output of the IOCTL: what one credit pays for.
const MAX_OUTPUT: u32 = 64 << 10;

/// The addresses of the server for further channels (MS-SMB2 3.2.4.20.10), or why they are not known.
pub(crate) async fn query_interfaces(
    channel: &mut Channel,
    negotiated: &Negotiated,
) -> Result<Vec<NetworkInterface>, String> {
    if !negotiated.offers_channels() {
        return Err("the server announces no multichannel".to_owned());
    }
    let request = IoctlRequest {
        code: QUERY_NETWORK_INTERFACE_INFO,
        file: FileId::PREVIOUS,
        input: Vec::new(),
        max_output: MAX_OUTPUT,
    };
    let header = channel.exchange_sized(command::IOCTL, MAX_OUTPUT, |body| request.encode(body)).await;
    match header.map(|header| NtStatus(header.status)) {
        Ok(NtStatus::SUCCESS) => {}
        Ok(status) => return Err(status.to_string()),
        Err(error) => return Err(error.to_string()),
    }
    output(&channel.exchange.reply).and_then(interfaces).map_err(|error| error.to_string())
}

/// The addresses for channels: that of the first channel, then the others by the speed of their links, the fastest first.
///
/// An address that is valid on one machine only is left out, unless the first channel uses loopback as well: a link-local
/// address needs the name of a local interface, and loopback would be this machine.
pub(crate) fn channel_addresses(first: IpAddr, listed: &[NetworkInterface]) -> Vec<IpAddr> {
    let mut by_speed: Vec<&NetworkInterface> = listed.iter().collect();
    by_speed.sort_by_key(|interface| std::cmp::Reverse(interface.link_speed));
    let mut addresses = vec![first];
    for address in by_speed.into_iter().filter_map(|interface| interface.address) {
        let usable = !address.is_unspecified()
            && !address.is_multicast()
            && !is_link_local(address)
            && address.is_loopback() == first.is_loopback();
        if usable && !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    addresses
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.segments()[0] & 0xFFC0 == 0xFE80,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(address: &str, link_speed: u64) -> NetworkInterface {
        NetworkInterface { index: 1, capability: 0, link_speed, address: address.parse().ok() }
    }

    #[test]
    fn the_first_address_is_followed_by_the_usable_ones_by_speed() {
        let listed = [
            interface("192.0.2.1", 10),
            interface("fe80::1", 50),
            interface("169.254.3.4", 50),
            interface("127.0.0.1", 50),
            interface("::", 50),
            interface("2001:db8::1", 25),
            interface("192.0.2.2", 40),
            interface("none", 60),
        ];
        let text = |first: &str| {
            let found = channel_addresses(first.parse().unwrap(), &listed);
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(text("192.0.2.1"), ["192.0.2.1", "192.0.2.2", "2001:db8::1"]);
        assert_eq!(text("127.0.0.2"), ["127.0.0.2", "127.0.0.1"]);
    }
}
