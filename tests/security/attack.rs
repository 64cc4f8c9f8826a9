//! One attack, and a run of the program under it.

use std::panic::catch_unwind;

use sharebench_tests::{Ended, Need, Sharebench, need};

/// An attack with its row in the table.
pub struct Attack {
    /// Name in the table.
    pub what: &'static str,
    /// The attacked program.
    pub on: &'static str,
    /// Requirements of the machine.
    pub needs: &'static [Need],
    /// Performs the attack and returns the outcome.
    pub act: fn() -> String,
}

/// Result of an attack.
pub enum Row {
    /// The outcome.
    Ran(String),
    /// The machine lacks a requirement.
    Skipped,
    /// The attack itself failed.
    Broken(String),
}

impl Attack {
    /// Performs the attack if the machine meets the requirements.
    pub fn run(&self) -> Row {
        if !need::met(self.what, self.needs) {
            return Row::Skipped;
        }
        let began = std::time::Instant::now();
        let row = match catch_unwind(self.act) {
            Ok(outcome) => Row::Ran(outcome),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                Row::Broken(text.unwrap_or_default())
            }
        };
        println!("{:>6.1} s  {}, {}", began.elapsed().as_secs_f64(), self.what, self.on);
        row
    }
}

/// Runs a short sweep of small cells.
pub fn sweep(sharebench: &Sharebench, url: &str) -> Ended {
    sweep_as(sharebench, url, &[])
}

/// Runs the sweep with additional environment variables.
pub fn sweep_as(sharebench: &Sharebench, url: &str, env: &[(&str, &str)]) -> Ended {
    let line = [
        "sweep",
        url,
        "--file-sizes=64KiB",
        "--record-sizes=8KiB",
        "--tests=write,read",
        "--repetitions=1",
        "plan:min_sample_time=5ms",
        "--timeout=20s",
    ];
    sharebench.run_with(&line, env).unwrap()
}

/// Returns exit code and the first of these words that the message to the user contains.
pub fn message(ended: &Ended, words: &[&str]) -> String {
    let text = ended.text();
    assert!(!text.contains("panicked"), "{text}");
    match (ended.code, words.iter().find(|word| text.contains(**word))) {
        (Some(0), _) => "undetected".to_owned(),
        (Some(code), Some(word)) => format!("exit {code}: \"{word}\""),
        _ => panic!("none of {words:?} in {:?}: {text}", ended.code),
    }
}
