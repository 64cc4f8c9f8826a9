//! One attack, and a run of the program under it.

use std::panic::catch_unwind;

use sharebench_tests::{Ended, Need, Sharebench, need};

/// An attack, and what to say of it.
pub struct Attack {
    /// As the table has it.
    pub what: &'static str,
    /// Who is attacked.
    pub on: &'static str,
    /// What the machine must have.
    pub needs: &'static [Need],
    /// Attacks, and says what came of it.
    pub act: fn() -> String,
}

/// What became of an attack.
pub enum Row {
    /// What came of it.
    Ran(String),
    /// The machine lacks something.
    Skipped,
    /// The attack itself failed.
    Broken(String),
}

impl Attack {
    /// Attacks, if the machine can.
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

/// A short sweep of small cells.
pub fn sweep(sharebench: &Sharebench, url: &str) -> Ended {
    sweep_as(sharebench, url, &[])
}

/// The same with more in the environment.
pub fn sweep_as(sharebench: &Sharebench, url: &str, env: &[(&str, &str)]) -> Ended {
    let line = [
        "sweep",
        url,
        "--file-sizes=64KiB",
        "--record-sizes=8KiB",
        "--tests=write,read",
        "--repetitions=1",
        "--min-sample-time=5ms",
        "--timeout=20s",
    ];
    sharebench.run_with(&line, env).unwrap()
}

/// What the user is told, by the one of these words that is in it.
pub fn told(ended: &Ended, words: &[&str]) -> String {
    let text = ended.text();
    assert!(!text.contains("panicked"), "{text}");
    match (ended.code, words.iter().find(|word| text.contains(**word))) {
        (Some(0), _) => "unnoticed".to_owned(),
        (Some(code), Some(word)) => format!("exit {code}: \"{word}\""),
        _ => panic!("none of {words:?} in {:?}: {text}", ended.code),
    }
}
