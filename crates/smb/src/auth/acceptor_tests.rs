//! Logins of the client's side against the server's side.

use proptest::prelude::*;
use sharebench_target::Secret;

use super::der::element;
use super::hash::hmac_md5;
use super::ntlmv2::password_key;
use super::spnego::{self, KerberosInit, Response, ServerMechanisms, listed_mechanisms};
use super::{AuthError, Mechanism, NtlmAcceptor, NtlmLogin};
use crate::wire::utf16;

/// The session keys of both sides after a login with these passwords, and whether the client accepts the last token.
fn log_in(right: &str, used: &str) -> Result<[[u8; 16]; 2], AuthError> {
    let mut client = NtlmLogin::new("äda", "LAB", &Secret::new(used), "LAPTOP");
    let mut server = NtlmAcceptor::new("SERVER");
    let challenge = server.challenge(&client.first_token()).unwrap();
    let second = client.second_token(&challenge).unwrap();
    let received = server.receive(&second).unwrap();
    assert_eq!((received.user(), received.domain(), received.is_anonymous()), ("äda", "LAB", false));
    let accepted = received.verify(&Secret::new(right))?;
    client.check_final(&accepted.token)?;
    Ok([client.session_key().unwrap(), accepted.session_key])
}

#[test]
fn both_sides_derive_the_same_session_key_and_sign_the_list_of_mechanisms() {
    let [client, server] = log_in("geheim", "geheim").unwrap();
    assert_eq!(client, server);
    assert_ne!(client, log_in("geheim", "geheim").unwrap()[0], "a new key for each login");
}

#[test]
fn a_wrong_password_is_rejected() {
    assert_eq!(log_in("right", "wrong").err(), Some(AuthError::Rejected));
    assert_eq!(log_in("", "x").err(), Some(AuthError::Rejected));
}

#[test]
fn the_hint_lists_ntlm_only() {
    for (mechanisms, listed) in [
        (ServerMechanisms::Ntlm, vec![Mechanism::Ntlm]),
        (ServerMechanisms::Kerberos, vec![Mechanism::Kerberos]),
        (ServerMechanisms::Both, vec![Mechanism::Kerberos, Mechanism::Ntlm]),
    ] {
        assert_eq!(listed_mechanisms(&NtlmAcceptor::hint(mechanisms)), Ok(listed));
    }
}

#[test]
fn an_anonymous_login_needs_no_proof_and_passes_none() {
    let mut client = NtlmLogin::anonymous();
    let mut server = NtlmAcceptor::new("SERVER");
    let challenge = server.challenge(&client.first_token()).unwrap();
    let second = client.second_token(&challenge).unwrap();
    let received = server.receive(&second).unwrap();
    assert!(received.is_anonymous() && received.user().is_empty());
    assert_eq!(client.check_final(&received.accept_without_key()), Ok(()));
    assert_eq!(received.verify(&Secret::new("")).err(), Some(AuthError::Rejected));
}

#[test]
fn plain_ntlm_gets_plain_ntlm() {
    let mut client = NtlmLogin::new("a", "", &Secret::new("b"), "");
    let mut server = NtlmAcceptor::new("SERVER");
    let first = client.first_token();
    // The NEGOTIATE message is the end of the token.
    let challenge = server.challenge(&first[first.len() - 40..]).unwrap();
    let second = client.second_token(&challenge).unwrap();
    assert!(challenge.starts_with(b"NTLMSSP") && second.starts_with(b"NTLMSSP"));
    let accepted = server.receive(&second).unwrap().verify(&Secret::new("b")).unwrap();
    assert_eq!((Some(accepted.session_key), accepted.token.len()), (client.session_key(), 0));
}

/// An AUTHENTICATE message (MS-NLMP 2.2.1.3) without a MIC: the response, and names of one byte per character.
fn authenticate_in_oem(nt: &[u8], names: [&str; 3], flags: u32) -> Vec<u8> {
    let mut message = b"NTLMSSP\0\x03\0\0\0".to_vec();
    let mut payload = Vec::new();
    for part in [&[][..], nt, names[0].as_bytes(), names[1].as_bytes(), names[2].as_bytes(), &[]] {
        message.extend_from_slice(&(part.len() as u16).to_le_bytes());
        message.extend_from_slice(&(part.len() as u16).to_le_bytes());
        message.extend_from_slice(&(64 + payload.len() as u32).to_le_bytes());
        payload.extend_from_slice(part);
    }
    message.extend_from_slice(&flags.to_le_bytes());
    message.extend_from_slice(&payload);
    message
}

#[test]
fn a_client_without_unicode_logs_in_with_names_of_one_byte_per_character() {
    const EXTENDED: u32 = 0x0008_8204;
    // The flags of the client, and the character set of the challenge: without either flag, as with OEM.
    for (offered, charset) in [(EXTENDED | 2, 2), (EXTENDED, 2), (EXTENDED | 3, 1), (EXTENDED | 1, 1)] {
        let negotiate = [&b"NTLMSSP\0\x01\0\0\0"[..], &offered.to_le_bytes(), &[0; 16]].concat();
        let mut server = NtlmAcceptor::new("SERVER");
        let challenge = server.challenge(&negotiate).unwrap();
        let flags = u32::from_le_bytes(*challenge[20..].first_chunk().unwrap());
        assert_eq!(flags & 3, charset, "{offered:#x}");
        let name = if charset == 1 { utf16("SERVER") } else { b"SERVER".to_vec() };
        assert_eq!(challenge[56..56 + name.len()], name);
        if charset == 1 {
            continue;
        }
        let pairs = usize::from(challenge[40]) | usize::from(challenge[41]) << 8;
        let pairs = &challenge[challenge.len() - pairs..];
        // The client's challenge (MS-NLMP 2.2.2.7): the proof covers the names in UTF-16 all the same.
        let blob = [&[1, 1, 0, 0, 0, 0, 0, 0][..], &[0; 8], &[7; 8], &[0; 4], pairs, &[0; 4]].concat();
        let key = password_key("ada", "LAB", "secret");
        let proof = hmac_md5(&key, &[&challenge[24..32], &blob]);
        let nt = [&proof[..], &blob].concat();
        let second = authenticate_in_oem(&nt, ["LAB", "ada", "LAPTOP"], offered);
        let received = server.receive(&second).unwrap();
        assert_eq!((received.user(), received.domain()), ("ada", "LAB"));
        assert!(received.verify(&Secret::new("secret")).is_ok(), "{offered:#x}");
    }
}

#[test]
fn every_changed_byte_of_the_second_token_is_rejected() {
    let mut client = NtlmLogin::new("a", "b", &Secret::new("c"), "d");
    let mut server = NtlmAcceptor::new("SERVER");
    let challenge = server.challenge(&client.first_token()).unwrap();
    let second = client.second_token(&challenge).unwrap();
    let message = second.windows(8).position(|bytes| bytes == b"NTLMSSP\0").unwrap();
    for at in message..second.len() {
        let mut changed = second.clone();
        changed[at] ^= 1;
        let verified = server.receive(&changed).and_then(|received| received.verify(&Secret::new("c")));
        assert!(verified.is_err(), "byte {at} of {}", second.len());
    }
}

#[test]
fn steps_out_of_order_and_clients_without_ntlm_are_rejected() {
    let mut client = NtlmLogin::new("a", "", &Secret::new("b"), "");
    let first = client.first_token();
    let mut server = NtlmAcceptor::new("SERVER");
    assert!(!server.has_challenged());
    assert!(matches!(server.receive(&first).err(), Some(AuthError::Order { .. })));
    // The last byte of NTLM's object identifier in the list of mechanisms.
    let at = first.windows(4).position(|bytes| bytes == [0x37, 2, 2, 0x0A]).unwrap() + 3;
    let mut other = first.clone();
    other[at] = 0x1E;
    assert_eq!(server.challenge(&other), Err(AuthError::Mechanism));
    assert!(!server.has_challenged());
    assert!(server.challenge(&first).is_ok() && server.has_challenged());
    let empty = spnego::response(Some(&[]), None);
    assert!(server.receive(&empty).is_err());
}

/// The first token of a client that prefers Kerberos and also knows NTLM.
fn kerberos_first() -> Vec<u8> {
    let kerberos = element(6, &[&[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 1, 2, 2]]);
    let ntlm = element(6, &[&[0x2B, 6, 1, 4, 1, 0x82, 0x37, 2, 2, 0x0A]]);
    let mechanisms = element(0xA0, &[&element(0x30, &[&kerberos, &ntlm])]);
    let token = element(0xA2, &[&element(4, &[b"a ticket"])]);
    let init = element(0xA0, &[&element(0x30, &[&mechanisms, &token])]);
    element(0x60, &[&element(6, &[&[0x2B, 6, 1, 5, 5, 2]]), &init])
}

#[test]
fn a_client_that_prefers_kerberos_continues_with_ntlm_and_must_sign_its_list() {
    let mut client = NtlmLogin::new("a", "", &Secret::new("b"), "");
    let first = client.first_token();
    let negotiate = &first[first.len() - 40..];
    let mut server = NtlmAcceptor::new("SERVER");
    let choice = server.challenge(&kerberos_first()).unwrap();
    let choice = Response::parse(&choice).unwrap();
    assert_eq!((choice.state, choice.token), (Some(spnego::REQUEST_MIC), None));
    assert!(!server.has_challenged());
    let challenge = server.challenge(&spnego::response(Some(negotiate), None)).unwrap();
    assert!(server.has_challenged());
    let second = client.second_token(&challenge).unwrap();
    // The client signs the list that it would have sent itself.
    let verified = server.receive(&second).unwrap().verify(&Secret::new("b"));
    assert_eq!(verified.err(), Some(AuthError::MechListMic));
    let unsigned = spnego::response(Response::parse(&second).unwrap().token, None);
    let verified = server.receive(&unsigned).unwrap().verify(&Secret::new("b"));
    assert_eq!(verified.err(), Some(AuthError::MechListMic));
}

#[test]
fn every_prefix_of_a_token_is_rejected() {
    let mut client = NtlmLogin::new("a", "b", &Secret::new("c"), "d");
    let first = client.first_token();
    assert!((0..first.len()).all(|len| NtlmAcceptor::new("S").challenge(&first[..len]).is_err()));
    let mut server = NtlmAcceptor::new("S");
    let second = client.second_token(&server.challenge(&first).unwrap()).unwrap();
    assert!((0..second.len()).all(|len| server.receive(&second[..len]).is_err()));
}

proptest! {
    #[test]
    fn garbage_causes_no_panic(
        bytes in prop::collection::vec(prop_oneof![2 => Just(0u8), 1 => 0u8..64, 1 => any::<u8>()], 0..200),
    ) {
        let mut client = NtlmLogin::new("a", "b", &Secret::new("c"), "d");
        let mut server = NtlmAcceptor::new("S");
        server.challenge(&client.first_token()).unwrap();
        for head in [&b""[..], b"NTLMSSP\0\x01\0\0\0", b"NTLMSSP\0\x03\0\0\0", &[0x60, 0x20], &[0xA1, 0x20]] {
            let token = [head, &bytes].concat();
            let _ = NtlmAcceptor::new("S").challenge(&token);
            let _ = server.receive(&token).and_then(|received| received.verify(&Secret::new("c")));
        }
    }
}

#[test]
fn the_ticket_of_a_client_is_found_after_either_identifier_of_kerberos() {
    let token = spnego::init(&spnego::kerberos_list(), b"ticket");
    let init = KerberosInit::parse(&token).unwrap();
    assert_eq!(init.token, b"ticket");
    assert_eq!(KerberosInit::parse(&spnego::init(&spnego::mech_list(), b"ntlm")), None);
    assert!((0..token.len()).all(|len| KerberosInit::parse(&token[..len]).is_none()));
    let answer = spnego::accept_kerberos(init.mechanism, b"answer");
    let answer = Response::parse(&answer).unwrap();
    assert_eq!(answer.mechanism, Some(Mechanism::Kerberos));
    assert_eq!((answer.token, answer.mic, answer.state), (Some(&b"answer"[..]), None, Some(0)));
}

proptest! {
    #[test]
    fn changed_tokens_of_kerberos_cause_no_panic(at in 0usize..200, value in any::<u8>(), len in 0usize..200) {
        for mut token in [
            spnego::init(&spnego::kerberos_list(), &[7; 90]),
            spnego::accept_kerberos(&[0x2A; 9], &[7; 90]),
            spnego::response(Some(&[7; 90]), Some(&[8; 28])),
        ] {
            let at = at % token.len();
            token[at] = value;
            token.truncate(len);
            let _ = (KerberosInit::parse(&token), Response::parse(&token), listed_mechanisms(&token));
        }
    }
}
