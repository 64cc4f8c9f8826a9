//! Runs calls and replies of `RPCSEC_GSS` in both directions: arbitrary bytes, and protected ones that were changed. What was not
//! changed is accepted as it was, and nothing else is.

use sharebench_gss::{Encryption, Protection, Role, TokenKeys};
use sharebench_nfs::rpcsec::{Service, open_body, put_body};
use sharebench_nfs::xdr::Writer;

const SEQUENCE: u32 = 7;

/// The first five bytes select the direction, the encryption type, the service and a change; the rest are arguments or results.
pub fn run(input: &[u8]) {
    let [choice, service, at, xor, cut, rest @ ..] = input else { return };
    let encryption = Encryption::ALL[usize::from(choice >> 1) % Encryption::ALL.len()];
    let key = vec![0x5A; encryption.key_len()];
    let side = |role| TokenKeys::new(encryption, &key, role, true, 3).map(Protection::new);
    let (Some(client), Some(server)) = (side(Role::Initiator), side(Role::Acceptor)) else { return };
    let (sender, receiver) = if choice & 1 == 0 { (client, server) } else { (server, client) };
    let service = [Service::Integrity, Service::Privacy][usize::from(service & 1)];
    assert!(open_body(&mut rest.to_vec(), &receiver, service, SEQUENCE).is_err(), "nobody else has the key");

    let mut writer = Writer::default();
    assert!(put_body(&mut writer, &sender, service, SEQUENCE, |writer| writer.raw(rest)).is_ok());
    let sent = writer.as_slice();
    // Neither another number nor another service opens it.
    assert!(open_body(&mut sent.to_vec(), &receiver, service, SEQUENCE + 1).is_err());
    let mut received = sent.to_vec();
    let at = usize::from(*at) % received.len();
    received[at] ^= xor;
    if cut & 1 == 1 {
        received.truncate(at);
    }
    let opened = open_body(&mut received, &receiver, service, SEQUENCE);
    let intact = *xor == 0 && cut & 1 == 0;
    match opened {
        // Padding is not signed.
        Ok(place) => assert_eq!(received.get(place), Some(rest)),
        Err(error) => assert!(!intact, "{error}"),
    }
}
