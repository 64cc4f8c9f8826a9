//! Runs MIC and wrap tokens in both directions: arbitrary bytes, and valid tokens that were changed. Nothing may panic, a
//! token that was not changed is accepted, and one that was changed is rejected.

use sharebench_gss::{Encryption, Protection, Role, TokenKeys};

/// Place of the rotation count in a wrap token, which is not signed.
const ROTATION: std::ops::Range<usize> = 6..8;

/// What a change of a token consists of.
struct Change {
    at: usize,
    xor: u8,
    cut: bool,
}

/// The first four bytes select side, encryption type and change; the rest is a token, and a message.
pub fn run(input: &[u8]) {
    let [choice, at, xor, cut, rest @ ..] = input else { return };
    let encryption = Encryption::ALL[usize::from(choice >> 1) % Encryption::ALL.len()];
    let key = vec![0xC3; encryption.key_len()];
    let side = |role| TokenKeys::new(encryption, &key, role, choice & 1 == 1, 5).map(Protection::new);
    let (Some(client), Some(server)) = (side(Role::Initiator), side(Role::Acceptor)) else { return };
    let change = Change { at: usize::from(*at), xor: *xor, cut: cut & 1 == 1 };
    for (sender, receiver) in [(&client, &server), (&server, &client)] {
        arbitrary(receiver, rest);
        changed(sender, receiver, rest, &change);
    }
}

/// Nobody without the key can make a token.
fn arbitrary(receiver: &Protection, bytes: &[u8]) {
    assert!(receiver.verify_mic(&[b"message"], bytes).is_err());
    assert!(receiver.unwrap_in_place(&mut bytes.to_vec()).is_err());
    // As it looks after a header that every check of a field accepts.
    for header in [[4, 4, 0], [5, 4, 2]] {
        for flags in 0..8 {
            let mut token = [header[0], header[1], header[2] | flags, 0xFF].to_vec();
            token.extend_from_slice(bytes);
            assert!(receiver.verify_mic(&[b"message"], &token).is_err());
            assert!(receiver.unwrap_in_place(&mut token).is_err());
        }
    }
}

fn changed(sender: &Protection, receiver: &Protection, message: &[u8], change: &Change) {
    let mut mic = Vec::new();
    sender.mic(&[message], &mut mic);
    let intact = apply(&mut mic, change);
    assert_eq!(receiver.verify_mic(&[message], &mic).is_ok(), intact);

    let mut token = sender.wrap(message).expect("a token of any length");
    let in_rotation = ROTATION.contains(&(change.at % token.len())) && !change.cut;
    let intact = apply(&mut token, change);
    match receiver.unwrap_in_place(&mut token) {
        // Counts that differ by the length rotate alike, and every count is valid (RFC 4121, 4.2.5).
        Ok(found) => assert!((intact || in_rotation) && token.get(found.place) == Some(message)),
        Err(error) => assert!(!intact, "{error}"),
    }
}

/// Changes a token; true if it is as before.
fn apply(token: &mut Vec<u8>, change: &Change) -> bool {
    let at = change.at % token.len();
    token[at] ^= change.xor;
    if change.cut {
        token.truncate(at);
    }
    change.xor == 0 && !change.cut
}
