//! Runs SPNEGO tokens in each role: arbitrary bytes, alone and around a token that is valid but for one change.

use sharebench_smb::{TokenRole, decode_in_each_role};

/// A first token of a client with Kerberos and a short ticket, and the answer of a server.
const VALID: [&[u8]; 2] = [
    b"\x60\x26\x06\x06\x2b\x06\x01\x05\x05\x02\xa0\x1c\x30\x1a\xa0\x0d\x30\x0b\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\xa2\x09\x04\x07ticket!",
    b"\xa1\x1d\x30\x1b\xa0\x03\x0a\x01\x00\xa1\x0b\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\xa2\x07\x04\x05token",
];

/// The first bytes select a change of the valid tokens.
pub fn run(input: &[u8]) {
    assert!(decode_in_each_role(input).is_some());
    let [at, xor, rest @ ..] = input else { return };
    for valid in VALID {
        let mut token = valid.to_vec();
        let at = usize::from(*at) % token.len();
        token[at] ^= xor;
        assert!(decode_in_each_role(&token).is_some());
        token.splice(at.., rest.iter().copied());
        assert!(decode_in_each_role(&token).is_some());
    }
    let [first, answer] = VALID.map(|valid| decode_in_each_role(valid).unwrap_or_default());
    assert!(first.contains(&TokenRole::Ticket) && answer.contains(&TokenRole::Response));
}
