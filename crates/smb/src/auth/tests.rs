//! Published test vectors, complete logins against a minimal server, and invalid tokens.

use proptest::prelude::*;
use sharebench_target::Secret;

use super::AuthError;
use super::der::element;
use super::hash::{hmac_md5, rc4};
use super::login::{Exported, Fresh, Identity, NtlmLogin, NtlmState};
use super::message::{Challenge, flags};
use super::ntlmv2::{ChallengeResponse, Side, first_signature, password_key};
use super::spnego::{self, Mechanism, Response, listed_mechanisms};
use super::target_info::TargetInfo;
use crate::wire::utf16;

// The first login of "SMB 2 and SMB 3 security in Windows 10", appendix, SMB 3.1.1 master session.
const NEGOTIATE: &str = "4E544C4D5353500001000000978208E200000000000000000000000000000000060380250000000F";
const FIRST: &str = "604806062B0601050502A03E303CA00E300C060A2B06010401823702020AA22A0428
    4E544C4D5353500001000000978208E200000000000000000000000000000000060380250000000F";
const CHALLENGE: &str = "A181B03081ADA0030A0101A10C060A2B06010401823702020AA2819704819
    44E544C4D53535000020000000C000C003800000015828AE20D1D8BA31179D0080000000000000000
    50005000440000000A0092270000000F53005500540033003100310002000C005300550054003300
    3100310001000C0053005500540033003100310004000C0053005500540033003100310003000C00
    53005500540033003100310007000800A1A1F5ADCBAED00100000000";
const SECOND: &str = "A18201CB308201C7A0030A0101A28201AA048201A64E544C4D53535000030000
    001800180090000000EE00EE00A80000000C000C00580000001A001A0064000000120012007E0000
    001000100096010000158288E2060380250000000FECAC77A5F385A8BF9C38C706EEEDDCD3530055
    005400330031003100610064006D0069006E006900730074007200610074006F0072004400520049
    0056004500520033003100310000000000000000000000000000000000000000000000000063078E
    B639FE03E20A231C3AE3BF23080101000000000000A1A1F5ADCBAED001BC4AD05F223CC90F000000
    0002000C0053005500540033003100310001000C0053005500540033003100310004000C00530055
    00540033003100310003000C0053005500540033003100310007000800A1A1F5ADCBAED001060004
    00020000000800300030000000000000000000000000300000B61FEFCAA857EA57BF1EDCEBF8974B
    8E0EBA5A6DFD9D07A31D11B548F8C9D0CC0A00100000000000000000000000000000000000090016
    0063006900660073002F005300550054003300310031000000000000000000000000003B9BDFF38F
    5EE8F9663F11A0F4C03A78A31204100100000063775A9A5FD97F0600000000";
const FINAL: &str = "A11B3019A0030A0100A3120410010000003B453CDC3524164200000000";
const PASSWORD_KEY: &str = "AEE3959B44A815F1EB28C9511B4F533B";
const BASE_KEY: &str = "B4CF22566926B1C069ACD80E4D73C814";
const EXPORTED_KEY: &str = "270E1BA896585EEB7AF3472D3B4C75A7";

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

fn hex_array<const N: usize>(text: &str) -> [u8; N] {
    hex(text).try_into().unwrap()
}

fn challenge_bytes() -> Vec<u8> {
    Response::parse(&hex(CHALLENGE)).unwrap().token.unwrap().to_vec()
}

/// MS-NLMP 4.2.4.
#[test]
fn ntlmv2_matches_the_vectors_of_the_specification() {
    let key = password_key("User", "Domain", "Password");
    assert_eq!(key.to_vec(), hex("0c868a403bfd7a93a3001ef22ef02e3f"));
    let pairs = hex("02000c0044006f006d00610069006e00 01000c00530065007200760065007200 00000000");
    let answer = ChallengeResponse::new(&key, hex_array("0123456789abcdef"), [0xAA; 8], 0, &pairs);
    assert_eq!(answer.nt[..16].to_vec(), hex("68cd0ab851e51c96aabc927bebef6a1c"));
    assert_eq!(answer.lm.to_vec(), hex("86c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaa"));
    assert_eq!(answer.session_key.to_vec(), hex("8de40ccadbc14a82f15cb0ad0de95ca3"));
    let mut random = [0x55; 16];
    rc4(&answer.session_key, &mut random);
    assert_eq!(random.to_vec(), hex("c5dad2544fc9799094ce1ce90bc9d03e"));
}

#[test]
fn ntlmv2_matches_the_login_published_by_microsoft() {
    let second = hex(SECOND);
    let token = Response::parse(&second).unwrap().token.unwrap();
    let nt = &token[0xA8..0xA8 + 0xEE];
    let challenge = Challenge::parse(&challenge_bytes()).unwrap();
    let info = TargetInfo::parse(&challenge.target_info).unwrap();
    let client_challenge = hex_array("BC4AD05F223CC90F");
    let pairs = &nt[44..nt.len() - 4];
    let answer = ChallengeResponse::new(
        &hex_array(PASSWORD_KEY),
        challenge.nonce,
        client_challenge,
        info.time.unwrap(),
        pairs,
    );
    assert_eq!(answer.nt, nt);
    assert_eq!(answer.session_key.to_vec(), hex(BASE_KEY));
    let mut sealed: [u8; 16] = hex_array("3B9BDFF38F5EE8F9663F11A0F4C03A78");
    rc4(&answer.session_key, &mut sealed);
    assert_eq!(sealed.to_vec(), hex(EXPORTED_KEY));

    let mut unsigned = token.to_vec();
    unsigned[72..88].fill(0);
    let mic = hmac_md5(&sealed, &[&hex(NEGOTIATE), &challenge_bytes(), &unsigned]);
    assert_eq!(mic, token[72..88]);
}

#[test]
fn target_info_announces_a_mic_exactly_if_the_server_sends_its_time() {
    let timed = Challenge::parse(&challenge_bytes()).unwrap().target_info;
    let info = TargetInfo::parse(&timed).unwrap();
    assert_eq!(info.time, Some(0x01D0_AECB_ADF5_A1A1));
    let announced = [&timed[..timed.len() - 4], &hex("06000400 02000000 00000000")].concat();
    assert_eq!(info.bytes, announced);
    let timeless = hex("02000400 44004400 00000000");
    assert_eq!(TargetInfo::parse(&timeless), Ok(TargetInfo { bytes: timeless, time: None }));
    assert_eq!(TargetInfo::parse(&[]).unwrap().bytes, [0; 4]);
    let malformed = |len| Err(AuthError::Malformed { what: "NTLM target info", len });
    assert_eq!(TargetInfo::parse(&timed[..20]), malformed(20));
    assert_eq!(TargetInfo::parse(&vec![1; 0x4001]), malformed(0x4001));
}

#[test]
fn spnego_tokens_equal_those_of_windows_byte_for_byte() {
    assert_eq!(spnego::init(&spnego::mech_list(), &hex(NEGOTIATE)), hex(FIRST));
    let second = hex(SECOND);
    let parsed = Response::parse(&second).unwrap();
    assert_eq!(spnego::response(parsed.token, parsed.mic), second);
    assert_eq!(parsed.state, Some(spnego::ACCEPT_INCOMPLETE));
    assert_eq!(parsed.mic.unwrap(), hex("0100000063775A9A5FD97F0600000000"));
}

#[test]
fn a_server_that_prefers_another_mechanism_gets_the_same_response() {
    let mut token = hex(CHALLENGE);
    // The content of negState, after the tags of NegTokenResp and of the field.
    let state = token.windows(4).position(|bytes| bytes == [0xA0, 3, 0x0A, 1]).unwrap() + 4;
    assert_eq!(token[state], spnego::ACCEPT_INCOMPLETE);
    token[state] = spnego::REQUEST_MIC;
    let mut login = NtlmLogin::new("User", "", &Secret::new("Password"), "");
    login.first_token();
    assert!(login.second_token(&token).is_ok());
    token[state] = 2;
    let mut login = NtlmLogin::new("User", "", &Secret::new("Password"), "");
    login.first_token();
    assert_eq!(login.second_token(&token), Err(AuthError::State { state: 2, expected: 1 }));
}

#[test]
fn the_mechanisms_of_a_server_are_listed_in_its_order() {
    let object_ids = |ids: &[&[u8]]| {
        let ids: Vec<Vec<u8>> = ids.iter().map(|id| element(6, &[id])).collect();
        let ids: Vec<&[u8]> = ids.iter().map(Vec::as_slice).collect();
        let list = element(0xA0, &[&element(0x30, &ids)]);
        let init = element(0xA0, &[&element(0x30, &[&list])]);
        element(0x60, &[&element(6, &[&[0x2B, 6, 1, 5, 5, 2]]), &init])
    };
    let kerberos = hex("2a864886f712010202");
    let old_kerberos = hex("2a864882f712010202");
    let ntlm = hex("2b06010401823702020a");
    let token = object_ids(&[&old_kerberos, &kerberos, &ntlm]);
    assert_eq!(listed_mechanisms(&token), Ok(vec![Mechanism::Kerberos, Mechanism::Ntlm]));
    assert_eq!(listed_mechanisms(&[]), Ok(Vec::new()));
    assert!((1..token.len()).all(|len| listed_mechanisms(&token[..len]).is_err()));
}

#[test]
fn mechanism_list_signatures_match_the_login_published_by_microsoft() {
    let key = hex_array(EXPORTED_KEY);
    let negotiated = 0xE288_8215;
    let sign = |side| first_signature(&key, negotiated, side, &spnego::mech_list()).to_vec();
    assert_eq!(sign(Side::Client), hex("0100000063775A9A5FD97F0600000000"));
    assert_eq!(sign(Side::Server), hex("010000003B453CDC3524164200000000"));
}

#[test]
fn the_last_token_must_be_complete_and_validly_signed() {
    let answered = || NtlmLogin {
        identity: None,
        workstation: Vec::new(),
        step: NtlmState::Answered(Some(Exported { key: hex_array(EXPORTED_KEY), flags: 0xE288_8215 })),
    };
    assert_eq!(answered().check_final(&hex(FINAL)), Ok(()));
    assert_eq!(answered().check_final(&[]), Ok(()));
    assert_eq!(answered().check_final(&hex("A1073005A0030A0100")), Ok(()));
    let rejected = AuthError::State { state: 2, expected: 0 };
    assert_eq!(answered().check_final(&hex("A1073005A0030A0102")), Err(rejected));
    let mut forged = hex(FINAL);
    forged[20] ^= 1;
    assert_eq!(answered().check_final(&forged), Err(AuthError::MechListMic));
    let early = NtlmLogin::anonymous().check_final(&hex(FINAL));
    assert_eq!(early, Err(AuthError::Order { step: "the server's last token" }));
}

/// One part of an AUTHENTICATE message, found by the position of its length and offset.
fn part(message: &[u8], at: usize) -> &[u8] {
    let len = usize::from(u16::from_le_bytes([message[at], message[at + 1]]));
    let offset = usize::from(u16::from_le_bytes([message[at + 4], message[at + 5]]));
    &message[offset..offset + len]
}

/// Processes an AUTHENTICATE message as a server does: checks proof and MIC, returns the session key.
fn accept(password_key: &[u8; 16], negotiate: &[u8], challenge: &[u8], message: &[u8]) -> [u8; 16] {
    let (proof, blob) = part(message, 20).split_at(16);
    assert_eq!(hmac_md5(password_key, &[&challenge[24..32], blob]), proof);
    let mut key = hmac_md5(password_key, &[proof]);
    let negotiated = u32::from_le_bytes(message[60..64].try_into().unwrap());
    if negotiated & flags::KEY_EXCHANGE != 0 {
        let mut sealed: [u8; 16] = part(message, 52).try_into().unwrap();
        rc4(&key, &mut sealed);
        key = sealed;
    } else {
        assert!(part(message, 52).is_empty());
    }
    let mut unsigned = message.to_vec();
    unsigned[72..88].fill(0);
    assert_eq!(hmac_md5(&key, &[negotiate, challenge, &unsigned]), message[72..88]);
    key
}

#[test]
fn a_server_accepts_a_login_and_derives_the_same_key() {
    let mut login = NtlmLogin::new("äda", "SUT", &Secret::new("geheim"), "LAB");
    let first = login.first_token();
    let negotiate = first[first.len() - 40..].to_vec();
    let second = login.second_token(&hex(CHALLENGE)).unwrap();
    let parsed = Response::parse(&second).unwrap();
    let message = parsed.token.unwrap();
    assert_eq!(part(message, 12), [0; 24]);
    assert_eq!(part(message, 28), utf16("SUT"));
    assert_eq!(part(message, 36), utf16("äda"));
    assert_eq!(part(message, 44), utf16("LAB"));
    let password_key = password_key("ÄDA", "SUT", "geheim");
    let key = accept(&password_key, &negotiate, &challenge_bytes(), message);
    assert_eq!(login.session_key(), Some(key));
    let negotiated = u32::from_le_bytes(message[60..64].try_into().unwrap());
    let sign = |side| first_signature(&key, negotiated, side, &spnego::mech_list());
    assert_eq!(parsed.mic.unwrap(), sign(Side::Client));

    let answer = [&FINAL_PREFIX[..], &sign(Side::Server)].concat();
    assert_eq!(login.check_final(&answer), Ok(()));
}

/// A `NegTokenResp` that completes the login, up to the bytes of the signature.
const FINAL_PREFIX: [u8; 13] = [0xA1, 0x1B, 0x30, 0x19, 0xA0, 3, 0x0A, 1, 0, 0xA3, 0x12, 4, 0x10];

#[test]
fn without_key_exchange_the_base_key_is_the_session_key_and_plain_ntlm_gets_plain_ntlm() {
    let mut bare = challenge_bytes();
    // The highest byte of the flags holds the bit.
    bare[23] &= !0x40;
    let mut login = NtlmLogin {
        identity: Some(Identity {
            user: utf16("administrator"),
            domain: utf16("SUT311"),
            password_key: hex_array(PASSWORD_KEY),
        }),
        workstation: Vec::new(),
        step: NtlmState::Negotiated(hex(NEGOTIATE)),
    };
    let fresh = Fresh { client_challenge: [7; 8], session_key: [8; 16], now: 0 };
    let message = login.answer(&bare, &fresh).unwrap();
    let key = accept(&hex_array(PASSWORD_KEY), &hex(NEGOTIATE), &bare, &message);
    assert_eq!(login.session_key(), Some(key));
    assert_ne!(key, fresh.session_key);
}

#[test]
fn an_anonymous_login_has_neither_key_nor_signature() {
    let mut login = NtlmLogin::anonymous();
    login.first_token();
    let second = login.second_token(&hex(CHALLENGE)).unwrap();
    let parsed = Response::parse(&second).unwrap();
    let message = parsed.token.unwrap();
    assert_eq!((part(message, 12), part(message, 20), part(message, 36)), (&[0][..], &[][..], &[][..]));
    let negotiated = u32::from_le_bytes(message[60..64].try_into().unwrap());
    assert_eq!(negotiated & (flags::ANONYMOUS | flags::KEY_EXCHANGE), flags::ANONYMOUS);
    assert_eq!((parsed.mic, login.session_key()), (None, None));
    assert_eq!(login.check_final(&hex("A1073005A0030A0100")), Ok(()));
}

#[test]
fn a_second_token_requires_a_first_one_and_a_server_with_ntlmv2() {
    let mut login = NtlmLogin::new("a", "", &Secret::new("b"), "");
    let order = Err(AuthError::Order { step: "the second token" });
    assert_eq!(login.second_token(&hex(CHALLENGE)), order);
    login.first_token();
    let mut old = challenge_bytes();
    old[22] &= !0x08;
    let lacking = login.second_token(&old).unwrap_err();
    assert!(matches!(lacking, AuthError::Flags { what: "extended session security", .. }), "{lacking}");
    let kerberos = hex("A1143012A0030A0101A10B06092A864886F712010202");
    assert_eq!(login.second_token(&kerberos), Err(AuthError::Mechanism));
    assert_eq!(login.session_key(), None);
    assert!(login.second_token(&hex(CHALLENGE)).is_ok());
    assert_eq!(login.second_token(&hex(CHALLENGE)), order);
}

/// Feeds a token to a login that awaits the challenge, and to one that awaits the last response.
fn feed(token: &[u8]) {
    let mut login = NtlmLogin::new("a", "b", &Secret::new("c"), "d");
    login.first_token();
    let _ = login.second_token(token);
    let mut login = NtlmLogin::new("a", "b", &Secret::new("c"), "d");
    login.first_token();
    login.second_token(&hex(CHALLENGE)).unwrap();
    let _ = login.check_final(token);
}

#[test]
fn every_prefix_of_a_challenge_is_rejected() {
    for token in [hex(CHALLENGE), challenge_bytes()] {
        for len in 0..token.len() {
            let mut login = NtlmLogin::new("a", "b", &Secret::new("c"), "d");
            login.first_token();
            assert!(login.second_token(&token[..len]).is_err(), "{len} of {}", token.len());
            feed(&token[..len]);
        }
    }
}

proptest! {
    #[test]
    fn random_tokens_cause_no_panic(token in prop::collection::vec(any::<u8>(), 0..200)) {
        feed(&token);
        feed(&[&b"NTLMSSP\0\x02\0\0\0"[..], &token].concat());
        feed(&[&[0xA1, 0x84, 0, 0, 0, token.len() as u8], &token[..]].concat());
    }

    #[test]
    fn changed_tokens_cause_no_panic(
        bare in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut token = if bare { challenge_bytes() } else { hex(CHALLENGE) };
        for (at, value) in changes {
            let at = at.index(token.len());
            token[at] = value;
        }
        feed(&token);
    }
}
