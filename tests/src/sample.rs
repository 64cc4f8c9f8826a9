//! The cases of a long suite that `./test` runs: a sample by seed, or all of them with `SHAREBENCH_LONG`.

use std::env;
use std::io::{self, Write};

/// Chooses cases by their names, in any order, so that a case that failed can be repeated alone.
///
/// `SHAREBENCH_TEST_ONLY=TEXT` selects the cases whose names contain the text. `SHAREBENCH_LONG`, and the writing of tables
/// (`SHAREBENCH_WRITE_TABLES`), select all. Otherwise it is one case in `one_in`, by `SHAREBENCH_SEED` (1).
#[derive(Debug)]
pub struct Sample {
    only: Option<String>,
    one_in: u64,
    seed: u64,
}

impl Sample {
    /// A sample of one case in `one_in`, unless the environment selects others.
    ///
    /// # Panics
    /// If `SHAREBENCH_SEED` is not a number.
    pub fn one_in(one_in: u64) -> Self {
        let seed =
            env::var("SHAREBENCH_SEED").map_or(1, |seed| seed.parse().expect("SHAREBENCH_SEED is a number"));
        let all =
            ["SHAREBENCH_LONG", "SHAREBENCH_WRITE_TABLES"].iter().any(|name| env::var_os(name).is_some());
        Self { only: env::var("SHAREBENCH_TEST_ONLY").ok(), one_in: if all { 1 } else { one_in }, seed }
    }

    /// Returns true if the case of this name runs.
    pub fn contains(&self, name: &str) -> bool {
        match &self.only {
            Some(only) => name.contains(only),
            None => hash(name, self.seed).is_multiple_of(self.one_in),
        }
    }

    /// Says what of a suite runs, and how to run the rest. The test harness hides what is printed, so that it is written past it.
    pub fn announce(&self, suite: &str, run: usize, all: usize) {
        let seed = self.seed;
        let _ = writeln!(
            io::stderr(),
            "{suite}: {run} of {all} cases (SHAREBENCH_SEED={seed}); all: SHAREBENCH_LONG=1 cargo test -p sharebench-tests \
             --test {suite}; one: with SHAREBENCH_TEST_ONLY=NAME"
        );
    }
}

/// FNV-1a of the name, begun with the seed.
fn hash(name: &str, seed: u64) -> u64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // The low bits of FNV vary little between similar names.
    hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_of_the_size_asked_for_and_differ_by_seed() {
        let chosen = |seed| {
            let sample = Sample { only: None, one_in: 5, seed };
            (0..1000).filter(|number| sample.contains(&format!("mode {number}"))).collect::<Vec<_>>()
        };
        for seed in 1..20 {
            assert!((150..250).contains(&chosen(seed).len()), "{}", chosen(seed).len());
        }
        assert_eq!(chosen(1), chosen(1));
        assert_ne!(chosen(1), chosen(2));
    }
}
