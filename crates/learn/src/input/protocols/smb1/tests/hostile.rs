//! Messages that were cut, changed or made up.

use proptest::prelude::*;

use super::*;

const SECTIONS: [&str; 17] = [
    "nt1",
    "lanman1",
    "posix",
    "oplock",
    "chain",
    "raw",
    "temporary",
    "write-and-close",
    "locks",
    "lock-and-read",
    "truncate",
    "disposition",
    "rename",
    "multipart",
    "notify",
    "nt-create",
    "echo",
];

#[test]
fn messages_that_were_cut_are_no_panic() {
    for name in SECTIONS {
        let samples = section(name);
        for captured in 0..200 {
            let mut cut = samples.clone();
            for (_, _, head) in &mut cut {
                head.truncate(captured);
            }
            // The capture holds the head by which its protocol is recognised.
            cut[0].2.clone_from(&samples[0].2);
            decode(&cut);
        }
    }
}

#[test]
fn a_cut_request_is_counted_as_cut() {
    let mut samples = section("nt1");
    let index = samples.iter().position(|(_, _, head)| head[4] == 0xA2).unwrap();
    samples[index].2.truncate(100);
    let observed = decode(&samples);
    assert_eq!((observed.unseen.cut, observed.unseen.not_understood), (1, 0));
    assert_eq!(observed.unseen.without_request, 0);
}

#[test]
fn a_chain_that_points_back_ends() {
    let mut samples = section("chain");
    // AndXOffset of the second request.
    let offset = samples[2].2.get_mut(35..37).unwrap();
    offset.copy_from_slice(&32u16.to_le_bytes());
    let observed = decode(&samples);
    assert_eq!(observed.unseen.not_understood, 1);
    assert_eq!(observed.operations.len(), 3);
}

#[test]
fn numbers_that_are_too_large_are_no_panic() {
    for name in SECTIONS {
        let samples = section(name);
        for (number, (_, _, head)) in samples.iter().enumerate() {
            for at in 32..head.len().min(120) {
                let mut changed = samples.clone();
                for byte in changed[number].2.iter_mut().skip(at).take(4) {
                    *byte = 0xFF;
                }
                decode(&changed);
            }
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_are_a_panic(
        messages in proptest::collection::vec(
            (any::<bool>(), any::<u8>(), 0u8..4, proptest::collection::vec(any::<u8>(), 0..120), 0usize..100),
            1..20,
        ),
    ) {
        let samples: Vec<Sample> = messages
            .into_iter()
            .map(|(is_client, command, mid, rest, missing)| {
                let mut head = b"\xFFSMB".to_vec();
                head.push(command);
                head.resize(30, 0);
                head[9] = if is_client { 0 } else { 0x80 };
                head.extend([mid, 0]);
                head.extend(rest);
                let len = head.len() + missing;
                (if is_client { Side::Client } else { Side::Server }, len, head)
            })
            .collect();
        decode(&samples);
    }
}
