//! Tokens between two sides with the same key, and tokens that were changed.

use proptest::prelude::*;

use super::*;

fn sides(encryption: Encryption, subkey: bool) -> (Protection, Protection) {
    let key = vec![0x5A; encryption.key_len()];
    let side = |role, first| Protection::new(TokenKeys::new(encryption, &key, role, subkey, first).unwrap());
    (side(Role::Initiator, 7), side(Role::Acceptor, 1 << 40))
}

#[test]
fn both_directions_of_every_type_round_trip() {
    for encryption in Encryption::ALL {
        for subkey in [false, true] {
            let (client, server) = sides(encryption, subkey);
            for (sender, receiver, first) in [(&client, &server, 7), (&server, &client, 1 << 40)] {
                let mut mic = Vec::new();
                sender.mic(&[b"in ", b"pieces"], &mut mic);
                assert_eq!(mic.len(), sender.mic_len());
                receiver.verify_mic(&[b"in pieces"], &mic).unwrap();
                for message in [&b""[..], b"x", &[7; 4096]] {
                    let mut token = sender.wrap(message).unwrap();
                    let found = receiver.unwrap_in_place(&mut token).unwrap();
                    assert_eq!(&token[found.place], message);
                    assert!(found.sequence > first);
                }
            }
        }
    }
}

#[test]
fn a_token_that_was_rotated_is_accepted() {
    let (client, server) = sides(Encryption::Aes256Sha1, true);
    for rotation in [1, 28, 200, 40_000u16] {
        let mut token = server.wrap(b"rotated").unwrap();
        let (header, body) = token.split_at_mut(16);
        header[6..8].copy_from_slice(&rotation.to_be_bytes());
        let count = usize::from(rotation) % body.len();
        body.rotate_right(count);
        let found = client.unwrap_in_place(&mut token).unwrap();
        assert_eq!(&token[found.place], b"rotated");
    }
}

#[test]
fn a_token_that_returns_to_its_sender_is_rejected() {
    let (client, _) = sides(Encryption::Aes128Sha256, true);
    let mut mic = Vec::new();
    client.mic(&[b"echo"], &mut mic);
    let direction = |token| Err(ProtectionError::Field { token, field: "direction" });
    assert_eq!(client.verify_mic(&[b"echo"], &mic), direction("MIC"));
    let mut token = client.wrap(b"echo").unwrap();
    assert_eq!(client.unwrap_in_place(&mut token).map(drop), direction("wrap"));
}

#[test]
fn every_changed_bit_and_every_truncation_is_detected() {
    for encryption in Encryption::ALL {
        let (client, server) = sides(encryption, true);
        let token = server.wrap(b"sixteen bytes or so").unwrap();
        let mut mic = Vec::new();
        server.mic(&[b"signed"], &mut mic);
        for at in 0..token.len() {
            let mut changed = token.clone();
            changed[at] ^= 1;
            assert!(client.unwrap_in_place(&mut changed).is_err(), "byte {at}");
            assert!(client.unwrap_in_place(&mut token[..at].to_vec()).is_err(), "first {at} bytes");
        }
        for at in 0..mic.len() {
            let mut changed = mic.clone();
            changed[at] ^= 1;
            assert!(client.verify_mic(&[b"signed"], &changed).is_err(), "byte {at}");
            assert!(client.verify_mic(&[b"signed"], &mic[..at]).is_err(), "first {at} bytes");
        }
        assert!(client.verify_mic(&[b"Signed"], &mic).is_err());
    }
}

proptest! {
    #[test]
    fn bytes_of_a_malicious_peer_are_errors(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), with_header in any::<bool>()) {
        let (client, _) = sides(Encryption::Aes256Sha384, false);
        if with_header && bytes.len() >= 4 {
            bytes[..4].copy_from_slice(&[5, 4, 3, 0xFF]);
        }
        prop_assert!(client.verify_mic(&[b"x"], &bytes).is_err());
        prop_assert!(client.unwrap_in_place(&mut bytes).is_err());
    }
}
