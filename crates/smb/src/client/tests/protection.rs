//! Signatures and encryption.

use super::*;

#[test]
fn requests_are_signed_and_replies_are_verified() {
    for algorithm in [SigningAlgorithm::HmacSha256, SigningAlgorithm::AesCmac, SigningAlgorithm::AesGmac] {
        let key = || SigningKey::new(algorithm, &KEY).unwrap();
        let protect = |session: &mut TestSession| {
            session.channels.primary().security.signing = Some(key());
            session.channels.primary().security.sign_all = true;
        };
        for len in [10, 50_000] {
            let good = |header: Header, mut request: Vec<u8>| {
                assert!(header.is(flags::SIGNED) && key().verify(&mut request), "the request's signature");
                signed(read_reply(&header, &content(0, len)), &key())
            };
            assert_eq!(one_read(len, protect, good), (Ok(len), content(0, len)));
            let unsigned = |header: Header, _| read_reply(&header, &content(0, len));
            assert_eq!(one_read(len, protect, unsigned).0, Err(ErrorClass::Protocol));
            for at in [8, 50, 85] {
                let changed = |header: Header, _| {
                    let mut reply = signed(read_reply(&header, &content(0, len)), &key());
                    reply[at] ^= 1;
                    reply
                };
                assert_eq!(one_read(len, protect, changed).0, Err(ErrorClass::Protocol), "byte {at}");
            }
        }
    }
}

fn encrypted(message: &[u8], key: &SealingKey, session_id: u64) -> Vec<u8> {
    let header = TransformHeader {
        original_len: message.len() as u32,
        flags: 1,
        session_id,
        ..TransformHeader::default()
    };
    let mut head = [0; transform::LEN];
    header.write(&mut head);
    let mut message = message.to_vec();
    key.seal(&mut head, &mut message);
    [&head[..], &message].concat()
}

#[test]
fn encrypted_sessions_accept_only_encrypted_messages_of_their_session() {
    for cipher in [Cipher::Aes128Ccm, Cipher::Aes128Gcm, Cipher::Aes256Ccm, Cipher::Aes256Gcm] {
        let key = |byte: u8| SealingKey::new(cipher, &vec![byte; cipher.key_len()]).unwrap();
        let protect = |session: &mut TestSession| {
            session.channels.primary().session_id = 77;
            let encryption = MessageEncryption { session_id: 77, to_server: key(1), to_client: key(2) };
            session.channels.primary().security.encryption = Some(Arc::new(encryption));
        };
        let decrypted = |mut request: Vec<u8>| {
            let (head, message) = request.split_first_chunk_mut().unwrap();
            key(1).open(head, message).unwrap();
            Header::decode(message).unwrap()
        };
        for len in [10, 90_000] {
            let reply = |request| read_reply(&decrypted(request), &content(0, len));
            let good = |_: Header, request| encrypted(&reply(request), &key(2), 77);
            assert_eq!(one_read(len, protect, good), (Ok(len), content(0, len)));
            let plain = |_: Header, request| reply(request);
            assert_eq!(one_read(len, protect, plain).0, Err(ErrorClass::Protocol));
            let foreign = |_: Header, request| encrypted(&reply(request), &key(2), 78);
            assert_eq!(one_read(len, protect, foreign).0, Err(ErrorClass::Protocol));
            let changed = |_: Header, request| {
                let mut frame = encrypted(&reply(request), &key(2), 77);
                frame[60] ^= 1;
                frame
            };
            assert_eq!(one_read(len, protect, changed).0, Err(ErrorClass::Protocol));
        }
    }
}
