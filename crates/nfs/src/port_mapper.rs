//! The list of the port mapper (RFC 1833, 3.2: `PMAPPROC_DUMP`).

use crate::mount::TCP;
use crate::xdr::{Reader, XdrError};

/// `PMAPPROC_DUMP`.
pub const DUMP: u32 = 4;
/// UDP, as the port mapper names it.
pub const UDP: u32 = 17;

/// Maximum number of registrations in a list.
const MAX_REGISTRATIONS: usize = 1024;

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
    use crate::xdr::Writer;

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
