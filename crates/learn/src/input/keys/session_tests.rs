//! Encrypted sessions in captures, with keys that fit and keys that do not.

use std::io::Cursor;

use proptest::prelude::*;
use sharebench_smb::crypto::Cipher;

use super::captured_session::{CapturedSession, SESSION_DIGITS, SESSION_KEY, hex};
use super::file::SessionKeyTable;
use crate::input::{InputError, ReadOptions, observe};
use crate::operation::{Action, Observed};

const WHOLE: usize = usize::MAX;
/// Messages before the first encrypted one.
const LOG_ON: usize = 6;
/// A key that is another one's.
const OTHER: &str = "ffffffffffffffffffffffffffffffff";

fn read(capture: Vec<u8>, keys: &str) -> Result<Observed, InputError> {
    let keys = (!keys.is_empty()).then(|| SessionKeyTable::parse("FILE", keys).unwrap());
    let input = ("capture".to_owned(), Box::new(Cursor::new(capture)) as Box<dyn std::io::Read>);
    observe(std::iter::once(input), &ReadOptions { keys, ..ReadOptions::default() })
}

/// Bytes of the reads, messages that stay encrypted, and the notes.
fn reads(observed: &Observed) -> (Vec<u32>, u64, Vec<&str>) {
    let bytes = observed.operations.iter().filter_map(|operation| match operation.action {
        Action::Read { bytes, .. } => Some(bytes),
        _ => None,
    });
    let notes = observed.key_notes.iter().map(String::as_str).collect();
    (bytes.collect(), observed.unseen.encrypted, notes)
}

fn session_key() -> String {
    format!("{SESSION_DIGITS},{}", hex(&SESSION_KEY))
}

#[test]
fn a_session_key_decrypts_every_dialect_and_cipher() {
    let mut all = vec![(0x0300, Cipher::Aes128Ccm), (0x0302, Cipher::Aes128Ccm)];
    all.extend(Cipher::ALL.map(|cipher| (0x0311, cipher)));
    for (dialect, cipher) in all {
        let mut session = CapturedSession::new(dialect, cipher);
        let capture = session.read(100).read(60_000).capture(0, WHOLE);
        for keys in [session_key(), session.direct_keys()] {
            let observed = read(capture.clone(), &keys).unwrap();
            assert_eq!(reads(&observed), (vec![100, 60_000], 0, vec![]), "{}", session.name());
            assert_eq!(observed.operations[0].action, Action::Connect);
        }
        let observed = read(capture, "").unwrap();
        assert_eq!(reads(&observed), (vec![], 4, vec![]), "{}", session.name());
    }
}

#[test]
fn a_key_for_one_direction_decrypts_only_that_one() {
    let mut session = CapturedSession::new(0x0311, Cipher::Aes128Gcm);
    let capture = session.read(100).capture(0, WHOLE);
    let keys = format!("{SESSION_DIGITS},,,{}", hex(&session.keys.to_server));
    let observed = read(capture.clone(), &keys).unwrap();
    assert_eq!((observed.unseen.encrypted, observed.unseen.without_reply), (1, 1));
    assert_eq!(observed.key_notes, [""; 0]);
    // The stated key is used instead of the derived one.
    let keys = format!("{},{OTHER},", session_key());
    let observed = read(capture, &keys).unwrap();
    assert_eq!(observed.unseen.encrypted, 1);
    assert_eq!(observed.key_notes, ["FILE, line 1: the s2c key of session 0x00003c009c000019 does not fit"]);
}

#[test]
fn a_connection_that_began_before_the_capture_decrypts_with_direct_keys() {
    for cipher in Cipher::ALL {
        let mut session = CapturedSession::new(0x0311, cipher);
        let capture = session.read(100).read(300).capture(LOG_ON, WHOLE);
        let observed = read(capture.clone(), &session.direct_keys()).unwrap();
        assert_eq!(reads(&observed), (vec![100, 300], 0, vec![]), "{}", session.name());
        // The session key needs the log-on, which is missing.
        let error = read(capture, &session_key()).unwrap_err().to_string();
        assert!(
            error.starts_with("all 4 messages of SMB are encrypted; FILE, line 1: the session key"),
            "{error}"
        );
        assert!(error.contains("needs the complete log-on, which the capture lacks"), "{error}");
    }
    let mut session = CapturedSession::new(0x0300, Cipher::Aes128Ccm);
    let observed = read(session.read(100).capture(LOG_ON, WHOLE), &session_key()).unwrap();
    assert_eq!(reads(&observed), (vec![100], 0, vec![]));
}

#[test]
fn the_side_of_a_message_is_that_of_the_key_that_opens_it() {
    let mut session = CapturedSession::new(0x0311, Cipher::Aes128Gcm);
    // It begins with a reply.
    let capture = session.read(100).read(300).capture(LOG_ON + 1, WHOLE);
    let observed = read(capture, &session.direct_keys()).unwrap();
    assert_eq!(reads(&observed), (vec![300], 0, vec![]));
    assert_eq!(observed.unseen.without_request, 1);
}

#[test]
fn a_message_that_is_cut_short_decrypts_once_the_key_has_fitted() {
    for cipher in Cipher::ALL {
        let mut session = CapturedSession::new(0x0311, cipher);
        let capture = session.read(1 << 20).read(100).read(1 << 20).read(70_000).capture(0, WHOLE);
        // The first reply is longer than what is kept of a message, and no reply has tested the key before.
        let expected = (vec![1 << 20, 100, 1 << 20, 70_000], 1, vec![]);
        let observed = read(capture, &session_key()).unwrap();
        assert_eq!(reads(&observed), expected, "{}", session.name());
        assert_eq!(observed.unseen.without_reply, 1);
        let snapped = session.capture(0, 512);
        let observed = read(snapped, &session_key()).unwrap();
        assert_eq!(reads(&observed).0, expected.0, "{}", session.name());
    }
}

#[test]
fn a_session_key_of_3_1_1_needs_a_log_on_that_is_not_cut_short() {
    let mut session = CapturedSession::new(0x0311, Cipher::Aes128Ccm);
    let snapped = session.read(10).capture(0, 300);
    let observed = read(snapped.clone(), &session_key()).unwrap();
    assert_eq!(observed.key_notes.len(), 1);
    assert!(observed.key_notes[0].contains("needs the complete log-on"), "{:?}", observed.key_notes);
    let observed = read(snapped, &session.direct_keys()).unwrap();
    assert_eq!(reads(&observed), (vec![10], 0, vec![]));
    // With 3.0 the log-on has no part in the keys.
    let mut session = CapturedSession::new(0x0300, Cipher::Aes128Ccm);
    let observed = read(session.read(10).capture(0, 300), &session_key()).unwrap();
    assert_eq!(reads(&observed), (vec![10], 0, vec![]));
}

#[test]
fn keys_that_do_not_fit_are_named_by_session() {
    let mut session = CapturedSession::new(0x0311, Cipher::Aes256Gcm);
    let capture = session.read(10).capture(0, WHOLE);
    let wrong = format!("{SESSION_DIGITS},{OTHER}");
    let observed = read(capture.clone(), &wrong).unwrap();
    let note = "FILE, line 1: the key of session 0x00003c009c000019 does not fit";
    assert_eq!(reads(&observed), (vec![], 2, vec![note]));
    assert!(!format!("{observed:?}").contains("ffffffff"));
    // Another line has the key that fits, and two are of other sessions.
    let keys = format!("{wrong}\n0000000000000001,{OTHER}\n0000000000000002,{OTHER}\n{}", session_key());
    let observed = read(capture, &keys).unwrap();
    assert_eq!(reads(&observed), (vec![10], 0, vec!["2 of 4 keys of FILE fit no session of the capture"]));
}

#[test]
fn a_further_connection_of_a_session_has_the_keys_of_its_log_on() {
    let mut session = CapturedSession::new(0x0311, Cipher::Aes256Ccm);
    let capture = session.read(10).further_connection().read(20).read(1 << 20).capture(0, WHOLE);
    let observed = read(capture, &session_key()).unwrap();
    assert_eq!(reads(&observed), (vec![10, 20, 1 << 20], 0, vec![]));
    assert_eq!(observed.unseen.began_before, 2);
}

#[test]
fn a_damaged_message_stays_encrypted() {
    let mut session = CapturedSession::new(0x0311, Cipher::Aes128Gcm);
    let capture = session.read(100).damage().read(200).capture(0, WHOLE);
    let observed = read(capture, &session_key()).unwrap();
    // What was requested counts where the reply is not seen.
    assert_eq!(reads(&observed), (vec![100, 200], 1, vec![]));
    assert_eq!(observed.unseen.without_reply, 1);
}

#[test]
fn keys_without_an_encrypted_message_are_no_error_but_without_smb_they_are() {
    let session = CapturedSession::new(0x0311, Cipher::Aes128Gcm);
    let observed = read(session.capture(0, WHOLE), &session_key()).unwrap();
    assert_eq!(reads(&observed), (vec![], 0, vec![]));
    let trace = "100 1700000000.000001 openat(AT_FDCWD, \"/srv/a\", O_RDONLY) = 3 <0.000010>\n\
        100 1700000000.000100 close(3) = 0 <0.000020>\n";
    let error = read(trace.as_bytes().to_vec(), &session_key()).unwrap_err().to_string();
    assert_eq!(error, "--keys FILE: no SMB 2 or 3 is in the inputs");
    assert!(read(trace.as_bytes().to_vec(), "").is_ok());
}

#[test]
fn a_capture_with_nothing_but_encrypted_messages_says_what_is_needed() {
    let mut session = CapturedSession::new(0x0311, Cipher::Aes128Gcm);
    let capture = session.read(100).capture(LOG_ON, WHOLE);
    let error = read(capture, "").unwrap_err().to_string();
    assert_eq!(
        error,
        "all 2 messages of SMB are encrypted; give the keys of their sessions with --keys FILE"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_damaged_capture_is_no_panic(
        cipher in prop::sample::select(Cipher::ALL.to_vec()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        skipped in 0..=LOG_ON + 1,
        snap in 100usize..2000,
    ) {
        let mut session = CapturedSession::new(0x0311, cipher);
        let mut capture = session.read(100).read(70_000).further_connection().read(200).capture(skipped, snap);
        // The header of the file stays as it is.
        for (at, value) in changes {
            let at = 24 + at.index(capture.len() - 24);
            capture[at] = value;
        }
        let keys = format!("{}\n{}", session_key(), session.direct_keys());
        if let Ok(observed) = read(capture, &keys) {
            let text = format!("{observed:?}");
            prop_assert!(!text.contains(&hex(&SESSION_KEY)));
        }
    }
}
