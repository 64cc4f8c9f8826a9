//! Published test vectors, and encrypted messages that were tampered with.

use proptest::prelude::*;

use super::{Cipher, CryptoError, PreauthHash, SealingKey, SessionKeys, SigningAlgorithm, SigningKey};
use crate::wire::header::SIGNATURE;

const CIPHERS: [Cipher; 4] = [Cipher::Aes128Ccm, Cipher::Aes128Gcm, Cipher::Aes256Ccm, Cipher::Aes256Gcm];
const ALGORITHMS: [SigningAlgorithm; 3] =
    [SigningAlgorithm::HmacSha256, SigningAlgorithm::AesCmac, SigningAlgorithm::AesGmac];

// From "SMB 2 and SMB 3 security in Windows 10", appendix, SMB 3.1.1 master session.
const KEY_311: &str = "270E1BA896585EEB7AF3472D3B4C75A7";
const PREAUTH_311: &str = "0DD13628CC3ED218EF9DF9772D436D0887AB9814BFAE63A80AA845F36909DB79
    28622DDDAD522D9751640A459762C5A9D6BB084CBB3CE6BDADEF5D5BCE3C6C01";

fn hex<const N: usize>(text: &str) -> [u8; N] {
    hex_vec(text).try_into().unwrap()
}

fn hex_vec(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

#[test]
fn keys_of_dialect_3_0_match_microsofts_example() {
    let key = hex::<16>("7CD451825D0450D235424E44BA6E78CC");
    let keys = SessionKeys::derive(0x0302, &key, None, Some(Cipher::Aes128Ccm));
    assert_eq!(keys.signing, hex_vec("0B7E9C5CAC36C0F6EA9AB275298CEDCE"));
    assert_eq!(keys.to_server, hex_vec("FAD27796665B313EBB578F388632B4F7"));
    assert_eq!(keys.to_client, hex_vec("B0F0427F7CEB416D1D9DCC0CD4F99447"));
}

#[test]
fn keys_of_dialect_3_1_1_match_microsofts_example() {
    let keys =
        SessionKeys::derive(0x0311, &hex::<16>(KEY_311), Some(&hex(PREAUTH_311)), Some(Cipher::Aes128Gcm));
    assert_eq!(keys.signing, hex_vec("73FE7A9A77BEF0BDE49C650D8CCB5F76"));
    assert_eq!(keys.to_server, hex_vec("629BCBC54422A0F572B97F45989B6073"));
    assert_eq!(keys.to_client, hex_vec("E2AF0DCEFAC68DA71A0DFBD0D1350D74"));
}

#[test]
fn only_ciphers_of_256_bits_get_longer_keys_and_dialect_2_signs_with_the_session_key() {
    let key = hex::<16>(KEY_311);
    let preauth = hex(PREAUTH_311);
    let long = SessionKeys::derive(0x0311, &key, Some(&preauth), Some(Cipher::Aes256Gcm));
    assert_eq!((long.signing.len(), long.to_server.len(), long.to_client.len()), (16, 32, 32));
    // The length of the key is part of the hashed input: the longer key does not start with the shorter one.
    assert_ne!(long.to_server[..16], hex::<16>("629BCBC54422A0F572B97F45989B6073"));
    let unencrypted = SessionKeys::derive(0x0311, &key, Some(&preauth), None);
    assert_eq!((unencrypted.signing.len(), unencrypted.to_server.len()), (16, 0));
    assert_eq!(SessionKeys::derive(0x0210, &key, None, None).signing, key);
}

#[test]
fn preauth_hash_matches_microsofts_negotiate_request() {
    let request = hex_vec(
        "FE534D4240000100000000000000800000000000000000000100000000000000FFFE000000000000
         00000000000000000000000000000000000000000000000024000500000000003F000000ECD86F32
         6276024F9F7752B89BB33F3A70000000020000000202100200030203110300000100260000000000
         010020000100FA49E6578F1F3A9F4CD3E9CC14A67AA884B3D05844E0E5A118225C15887F32FF0000
         0200060000000000020002000100",
    );
    let mut hash = PreauthHash::new();
    hash.update(&request);
    let expected: [u8; 64] = hex("DD94EFC5321BB618A2E208BA8920D2F422992526947A409B5037DE1E0FE8C736
         2B8C47122594CDE0CE26AA9DFC8BCDBDE0621957672623351A7540F1E54A0426");
    assert_eq!(hash.value(), expected);
}

#[test]
fn cmac_matches_microsofts_session_setup_response() {
    let mut message = hex_vec(
        "FE534D4240000100000000000100800009000000000000000300000000000000FFFE000000000000
         1900000000100000EBE146DA120BA25FC3376A49DFE31BC10900000048001D00A11B3019A0030A01
         00A3120410010000003B453CDC3524164200000000",
    );
    let key = hex::<16>("73FE7A9A77BEF0BDE49C650D8CCB5F76");
    let key = SigningKey::new(SigningAlgorithm::AesCmac, &key).unwrap();
    assert!(key.verify(&mut message));
    assert_eq!(message[SIGNATURE], [0; 16]);
    let expected = hex("EBE146DA120BA25FC3376A49DFE31BC1");
    assert_eq!(key.signature(&[&message[..70], &message[70..]]), expected);
    message[100] ^= 1;
    assert!(!key.verify_pieces(&[&message], &expected));
}

/// RFC 4493 4, example 4, whose message is as long as a header.
#[test]
fn cmac_matches_rfc_4493() {
    let key = hex::<16>("2b7e151628aed2a6abf7158809cf4f3c");
    let key = SigningKey::new(SigningAlgorithm::AesCmac, &key).unwrap();
    let message = hex::<64>(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51
         30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
    );
    assert_eq!(key.signature(&[&message]), hex("51f0bebf7e3b9d92fc49741779363cfe"));
}

/// A header with message id 0x0102030405060708 and five bytes.
fn numbered(command: u8, flags: u8) -> Vec<u8> {
    let mut message = vec![0; 64];
    message[..8].copy_from_slice(&[0xFE, b'S', b'M', b'B', 64, 0, 1, 0]);
    message[12] = command;
    message[14] = 1;
    message[16] = flags;
    message[24..32].copy_from_slice(&0x0102_0304_0506_0708u64.to_le_bytes());
    message.extend_from_slice(b"abcde");
    message
}

/// Expected values from `openssl mac -macopt cipher:AES-128-GCM GMAC`, with the nonce written by hand.
#[test]
fn gmac_nonce_distinguishes_request_response_and_cancel() {
    let key: Vec<u8> = (0..16).collect();
    let key = SigningKey::new(SigningAlgorithm::AesGmac, &key).unwrap();
    for (command, flags, expected) in [
        (9, 8, "5096681107771A64E7E249304FA7B8C6"),
        (9, 9, "F6269E693E0B4FCC2138AE06A4454B3D"),
        (12, 8, "F63D12E869D582D15A2EB94C0CA361CD"),
    ] {
        let message = numbered(command, flags);
        assert_eq!(key.signature(&[&message]), hex(expected));
        assert_eq!(key.signature(&[&message[..64], &message[64..67], &message[67..]]), hex(expected));
    }
}

/// Expected value from `openssl dgst -sha256 -mac HMAC`, cut to 16 bytes.
#[test]
fn hmac_signature_is_the_first_half() {
    let key: Vec<u8> = (0..16).collect();
    let key = SigningKey::new(SigningAlgorithm::HmacSha256, &key).unwrap();
    assert_eq!(key.signature(&[&numbered(9, 8)]), hex("24028b113c660bc1fc0a755cf0adc6ff"));
}

#[test]
fn bytes_without_a_complete_header_have_no_signature() {
    for algorithm in ALGORITHMS {
        let key = SigningKey::new(algorithm, &[7; 16]).unwrap();
        let mut short = [0; 63];
        assert!(!key.verify(&mut short));
        assert!(!key.verify_pieces(&[&short], &[0; 16]));
        assert!(!key.verify_pieces(&[], &[0; 16]));
    }
    let invalid = CryptoError::KeyLength { algorithm: "AES-GMAC", len: 15 };
    assert_eq!(SigningKey::new(SigningAlgorithm::AesGmac, &[7; 15]).unwrap_err(), invalid);
}

/// Decrypts a complete encrypted frame.
fn open(key: &SealingKey, frame: &[u8]) -> Result<Vec<u8>, CryptoError> {
    let (header, message) = frame.split_first_chunk().unwrap();
    let mut message = message.to_vec();
    key.open(header, &mut message).map(|()| message)
}

/// "Encryption in SMB 3.0: A protocol perspective".
#[test]
fn ccm_decrypts_microsofts_example() {
    let keys = SessionKeys::derive(
        0x0300,
        &hex::<16>("B4546771B515F766A86735532DD6C4F0"),
        None,
        Some(Cipher::Aes128Ccm),
    );
    let to_client = SealingKey::new(Cipher::Aes128Ccm, &keys.to_client).unwrap();
    let response = hex_vec(
        "FD534D42A6015530A18F6D9AFFE22AFAE8E66484860000000000000011000014
         00E4080050000000000001001100001400E40800DBF46435C5F14169293CE079
         E344479BF670227E49873F458672C3098DAC467DD5809F369D67409166515787
         1483E01F7BECD02064EAC3E235F913668BBC2F097980D4B378F1993EFF6E60D1
         77309E5B",
    );
    let plain = hex_vec(
        "FE534D4240000100000000000900210009000000000000000400000000000000
         FFFE0000010000001100001400E4080000000000000000000000000000000000
         11000000170000000000000000000000",
    );
    assert_eq!(open(&to_client, &response), Ok(plain));
    let to_server = SealingKey::new(Cipher::Aes128Ccm, &keys.to_server).unwrap();
    assert!(open(&to_server, &response).is_err());
}

/// "SMB 3.1.1 Encryption in Windows 10".
#[test]
fn gcm_decrypts_microsofts_example() {
    let preauth = hex("B23F3CBFD69487D9832B79B1594A367CDD950909B774C3A4C412B4FCEA9EDDDBA7DB256BA2EA30E9
         77F11F9B113247578E0E915C6D2A513B8F2FCA5707DC8770");
    let session_key = hex::<16>("419FDDF34C1E001909D362AE7FB6AF79");
    let keys = SessionKeys::derive(0x0311, &session_key, Some(&preauth), Some(Cipher::Aes128Gcm));
    let to_server = SealingKey::new(Cipher::Aes128Gcm, &keys.to_server).unwrap();
    let request = hex_vec(
        "FD534D42BD73D97D2BC9001BCAFAC0FDFF5FEEBCC7D6822D269CAF48904C664C0000000087000000
         0000010025000000001000006ECDD2A7AFC7B47763057A041B8FD4DAFFE990B70C9E09D36C084E02
         D14EF247F8BDE38ACF6256F8B1D3B56F77FBDEB312FEA5E92CBCC1ED8FB2EBBFAA75E49A4A394BB4
         4576545567C24D4C014D47C9FBDFDAFD2C4F9B72F8D256452620A299F48E29E53D6B61D1C13A19E9
         1AF013F00D17E3ABC2FC3D36C8C1B6B93973253852DBD442E46EE8",
    );
    let plain = open(&to_server, &request).unwrap();
    assert!(plain.starts_with(&[0xFE, b'S', b'M', b'B']));
    assert!(plain.ends_with(b"Smb3 encryption testing"));
}

#[test]
fn each_message_has_its_own_nonce_within_the_ciphers_length() {
    for cipher in CIPHERS {
        let key = SealingKey::new(cipher, &vec![3; cipher.key_len()]).unwrap();
        let mut nonces: Vec<Vec<u8>> = (0..300)
            .map(|_| {
                let mut header = [0xFF; 52];
                key.seal(&mut header, &mut [1, 2, 3]);
                assert_eq!(header[20 + cipher.nonce_len()..36], vec![0; 16 - cipher.nonce_len()]);
                header[20..36].to_vec()
            })
            .collect();
        nonces.sort();
        nonces.dedup();
        assert_eq!(nonces.len(), 300);
        let invalid = CryptoError::KeyLength { algorithm: cipher.name(), len: 17 };
        assert_eq!(SealingKey::new(cipher, &[0; 17]).unwrap_err(), invalid);
    }
}

#[test]
fn the_head_of_a_message_decrypts_without_its_end() {
    for cipher in CIPHERS {
        let key = SealingKey::new(cipher, &vec![3; cipher.key_len()]).unwrap();
        let plain: Vec<u8> = (0..1000u32).map(|at| at as u8).collect();
        let mut header = [0x55; 52];
        let mut message = plain.clone();
        key.seal(&mut header, &mut message);
        for len in [0, 1, 15, 16, 17, 64, 999] {
            let mut head = message[..len].to_vec();
            assert!(key.open(&header, &mut head.clone()).is_err());
            assert!(key.decrypt_head(&header, &mut head));
            assert_eq!(head, plain[..len], "{}", cipher.name());
        }
    }
}

#[test]
fn ids_name_their_algorithm() {
    assert!(CIPHERS.iter().all(|cipher| Cipher::from_id(cipher.id()) == Some(*cipher)));
    assert!(ALGORITHMS.iter().all(|algorithm| SigningAlgorithm::from_id(algorithm.id()) == Some(*algorithm)));
    assert_eq!((Cipher::from_id(0), Cipher::from_id(5), SigningAlgorithm::from_id(3)), (None, None, None));
}

proptest! {
    #[test]
    fn an_encrypted_message_decrypts_only_if_no_bit_is_changed(
        cipher in prop::sample::select(CIPHERS.to_vec()),
        plain in prop::collection::vec(any::<u8>(), 0..300),
        at in any::<prop::sample::Index>(),
        bit in 0..8,
    ) {
        let key = SealingKey::new(cipher, &vec![9; cipher.key_len()]).unwrap();
        let mut header = [0x55; 52];
        let mut message = plain.clone();
        key.seal(&mut header, &mut message);
        prop_assert!(plain.len() < 8 || message != plain);
        let mut frame = [&header[..], &message].concat();
        prop_assert_eq!(open(&key, &frame), Ok(plain));
        // Only the protocol id is not authenticated.
        let at = 4 + at.index(frame.len() - 4);
        frame[at] ^= 1u8 << bit;
        prop_assert!(open(&key, &frame).is_err());
    }

    #[test]
    fn pieces_have_the_signature_of_the_whole_and_no_changed_bit_verifies(
        algorithm in prop::sample::select(ALGORITHMS.to_vec()),
        mut message in prop::collection::vec(any::<u8>(), 64..400),
        cut in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
    ) {
        let key = SigningKey::new(algorithm, &[5; 16]).unwrap();
        message[SIGNATURE].fill(0);
        let cut = 64 + cut.index(message.len() - 63);
        let signature = key.signature(&[&message[..cut], &message[cut..]]);
        prop_assert!(key.verify_pieces(&[&message], &signature));
        message[SIGNATURE].copy_from_slice(&signature);
        prop_assert!(key.verify(&mut message.clone()));
        let at = at.index(message.len());
        message[at] ^= 0x10;
        prop_assert!(!key.verify(&mut message));
    }
}
