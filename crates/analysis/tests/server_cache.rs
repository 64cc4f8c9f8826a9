//! Servers whose cache holds some of the files: the cliff, and cells with two states.

use crate::synthetic::{cliff, with_a_cache};
use sharebench_analysis::{Options, analyse};

fn texts(sentences: &[sharebench_analysis::Sentence]) -> String {
    sentences.iter().map(|s| s.text.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_cache_of_24_mib_is_reported_as_a_cliff_and_as_two_states() {
    let found = texts(&analyse(&[with_a_cache(24 << 20)], &Options::default()).findings);
    let cliff = "read: smb falls from 270 to 76.3 MB/s between files of 16MiB and 32MiB: the server's cache holds about 24MiB.";
    assert!(found.contains(cliff), "{found}");
    let states = "read: smb has two states with files of 16MiB: 270 MB/s after steps with files up to 16MiB (8 \
                  repetitions), 75.3 MB/s after larger ones (12 repetitions); its interval is as wide as these states are \
                  apart.";
    assert!(found.contains(states), "{found}");
    assert!(!found.contains("at files of"), "one sentence for the fall: {found}");
}

#[test]
fn a_server_without_a_cache_has_neither() {
    let found = texts(&analyse(&[with_a_cache(0)], &Options::default()).findings);
    assert!(!found.contains("falls from") && !found.contains("two states"), "{found}");
}

#[test]
fn a_cliff_whose_cause_is_not_shown_is_marked_as_a_guess() {
    let found = texts(&analyse(&[cliff()], &Options::default()).findings);
    assert!(
        found.contains(
            " between files of 16MiB and 32MiB: if its cache is the cause, which is a guess, it holds about 24MiB."
        ),
        "{found}"
    );
}
