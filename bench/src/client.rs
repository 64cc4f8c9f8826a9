//! Client programs: each contender is measured in a process of its own.

use std::process::Command;

use crate::Failure;
use crate::sample::Sample;
use crate::shape::Shape;

/// Runs a client program and takes what it printed.
pub fn run(command: &mut Command) -> Result<Sample, Failure> {
    let output = command.output()?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}: {}", output.status, words.trim()).into());
    }
    String::from_utf8(output.stdout)?.parse()
}

/// This program as the client `kind`, with arguments of the kind's own before those of the shape.
pub fn own(kind: &str, words: &[&str], shape: &Shape) -> Result<Sample, Failure> {
    run(Command::new(std::env::current_exe()?).arg("client").arg(kind).args(words).args(shape.words()))
}
