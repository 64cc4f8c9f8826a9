//! Options of `transport=ether`.

use sharebench_target::{TargetUrl, UrlError};

use crate::wire::TransportKind;
use crate::wire::ethernet::Framing;

/// The Ethernet segment of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EtherOptions {
    /// Name of the interface.
    pub(crate) interface: String,
    /// Framing of IPX packets.
    pub(crate) framing: Framing,
    /// Network number of the segment; none if it is learned from the server.
    pub(crate) network: Option<u32>,
}

impl EtherOptions {
    /// Takes the options from the URL; they are errors with other transports.
    pub(crate) fn take(url: &mut TargetUrl, transport: TransportKind) -> Result<Option<Self>, UrlError> {
        if transport != TransportKind::IpxOnEthernet {
            for key in ["iface", "frame", "network"] {
                if url.options.contains_key(key) {
                    return Err(url.error(format!("{key}= requires transport=ether")));
                }
            }
            return Ok(None);
        }
        if url.port.is_some() {
            return Err(url.error("transport=ether has no ports: the host is the name of the server"));
        }
        let Some(interface) = url.take("iface").filter(|name| !name.is_empty()) else {
            return Err(url.error("transport=ether requires iface=, the network interface"));
        };
        // The default is that of NetWare 3.12 and later.
        let framing = url.take_choice("frame")?.and_then(Framing::from_name).unwrap_or(Framing::Llc8022);
        let network = match url.take("network") {
            None => None,
            Some(digits) => match u32::from_str_radix(&digits, 16) {
                Ok(network) if !matches!(network, 0 | u32::MAX) => Some(network),
                _ => {
                    let detail = format!("network={digits}: give up to eight hex digits, not 0 or FFFFFFFF");
                    return Err(url.error(detail));
                }
            },
        };
        Ok(Some(Self { interface, framing, network }))
    }
}
