//! Arguments and results as each service protects them (RFC 2203 5.3.2).

use std::ops::Range;

use sharebench_gss::{Protection, ProtectionError, WRAP_HEADER_LEN};

use super::Service;
use crate::xdr::{Reader, Writer, XdrError};

/// Largest signature.
const MAX_MIC_BYTES: usize = 400;
const LENGTH: usize = 4;
const SEQUENCE: usize = 4;

/// Why a protected message of the peer is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecurityError {
    /// The message cannot be decoded.
    #[error("RPCSEC_GSS: {0}")]
    Xdr(#[from] XdrError),
    /// A token is wrong.
    #[error("RPCSEC_GSS: {0}")]
    Protection(#[from] ProtectionError),
    /// The protected part belongs to another call.
    #[error("RPCSEC_GSS: sequence number {found} instead of {expected}")]
    Sequence {
        /// In the message.
        found: u32,
        /// Of the call.
        expected: u32,
    },
    /// The reply answers a call that was not sent on this connection.
    #[error("RPCSEC_GSS: a reply to a call that was not sent")]
    NotSent,
    /// The verifier has another flavor.
    #[error("RPCSEC_GSS: a verifier of flavor {flavor}")]
    Verifier {
        /// Its flavor.
        flavor: u32,
    },
}

/// Appends arguments or results, which `encode` encodes, as the service protects them.
pub fn put_body(
    writer: &mut Writer,
    protection: &Protection,
    service: Service,
    sequence: u32,
    encode: impl FnOnce(&mut Writer),
) -> Result<(), ProtectionError> {
    if service == Service::None {
        encode(writer);
        return Ok(());
    }
    let at = writer.len();
    writer.u32(0);
    let start = writer.len();
    if service == Service::Privacy {
        writer.raw(&[0; WRAP_HEADER_LEN]);
    }
    writer.u32(sequence);
    encode(writer);
    if service == Service::Integrity {
        let len = writer.len() - start;
        writer.patch(at, len as u32);
        let mut mic = Vec::with_capacity(protection.mic_len());
        protection.mic(&[&writer.as_slice()[start..]], &mut mic);
        writer.pad(len);
        writer.opaque(&mic);
        return Ok(());
    }
    let trailer = protection.wrap_trailer_len();
    writer.spare(trailer);
    writer.advance(trailer);
    protection.wrap_in_place(writer.written_mut(start))?;
    let len = writer.len() - start;
    writer.patch(at, len as u32);
    writer.pad(len);
    Ok(())
}

/// Verifies and decrypts arguments or results in place, and returns where they are.
pub fn open_body(
    bytes: &mut [u8],
    protection: &Protection,
    service: Service,
    sequence: u32,
) -> Result<Range<usize>, SecurityError> {
    let max = bytes.len();
    let place = match service {
        Service::None => return Ok(0..max),
        Service::Integrity => {
            let mut reader = Reader::new(bytes);
            let body = reader.opaque("signed body", max)?;
            let mic = reader.opaque("signature", MAX_MIC_BYTES)?;
            protection.verify_mic(&[body], mic)?;
            LENGTH..LENGTH + body.len()
        }
        Service::Privacy => {
            let len = Reader::new(bytes).opaque("encrypted body", max)?.len();
            let token = bytes.get_mut(LENGTH..LENGTH + len).unwrap_or_default();
            let place = protection.unwrap_in_place(token)?.place;
            LENGTH + place.start..LENGTH + place.end
        }
    };
    let body = bytes.get(place.clone()).unwrap_or_default();
    let found = Reader::new(body).u32()?;
    if found != sequence {
        return Err(SecurityError::Sequence { found, expected: sequence });
    }
    Ok(place.start + SEQUENCE..place.end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sharebench_gss::{Encryption, Role, TokenKeys};

    use super::*;
    use crate::xdr::padding;

    /// Bytes that protection adds to arguments or results of `len` bytes.
    fn overhead(protection: &Protection, service: Service, len: usize) -> usize {
        let mic = protection.mic_len();
        match service {
            Service::None => 0,
            Service::Integrity => LENGTH + SEQUENCE + padding(len) + LENGTH + mic + padding(mic),
            Service::Privacy => {
                let added = WRAP_HEADER_LEN + SEQUENCE + protection.wrap_trailer_len();
                LENGTH + added + padding(added + len)
            }
        }
    }

    fn side(encryption: Encryption, role: Role) -> Protection {
        let key = vec![3; encryption.key_len()];
        Protection::new(TokenKeys::new(encryption, &key, role, true, 0).unwrap())
    }

    #[test]
    fn every_service_round_trips_in_every_encryption_type() {
        for encryption in Encryption::ALL {
            let client = side(encryption, Role::Initiator);
            let server = side(encryption, Role::Acceptor);
            for service in Service::ALL {
                for len in [0, 4, 6, 4096] {
                    let mut writer = Writer::default();
                    writer.u32(7);
                    put_body(&mut writer, &client, service, 42, |writer| writer.raw(&vec![5; len])).unwrap();
                    let added = overhead(&client, service, len);
                    assert_eq!(writer.len(), 4 + len + added);
                    let mut bytes = writer.as_slice()[4..].to_vec();
                    let place = open_body(&mut bytes, &server, service, 42).unwrap();
                    assert_eq!(&bytes[place], vec![5; len]);
                }
            }
        }
    }

    #[test]
    fn a_body_of_another_call_is_rejected() {
        let client = side(Encryption::Aes128Sha1, Role::Initiator);
        let server = side(Encryption::Aes128Sha1, Role::Acceptor);
        for service in [Service::Integrity, Service::Privacy] {
            let mut writer = Writer::default();
            put_body(&mut writer, &client, service, 42, |writer| writer.u32(1)).unwrap();
            let opened = open_body(&mut writer.as_slice().to_vec(), &server, service, 43);
            assert_eq!(opened, Err(SecurityError::Sequence { found: 42, expected: 43 }));
        }
    }

    proptest! {
        #[test]
        fn bytes_of_a_malicious_peer_are_errors(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), private in any::<bool>()) {
            let server = side(Encryption::Aes256Sha1, Role::Acceptor);
            let service = if private { Service::Privacy } else { Service::Integrity };
            prop_assert!(open_body(&mut bytes, &server, service, 1).is_err());
        }
    }
}
