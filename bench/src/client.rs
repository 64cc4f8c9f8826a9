//! Client programs: each contender is measured in a process of its own.

use std::path::Path;
use std::process::Command;

use crate::Failure;
use crate::sample::Sample;
use crate::shape::Shape;

/// Runs a client program and parses its output.
pub fn run(command: &mut Command) -> Result<Sample, Failure> {
    let output = command.output()?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}: {}", output.status, words.trim()).into());
    }
    String::from_utf8(output.stdout)?.parse()
}

/// Runs this program as the client `kind`, with the arguments of the kind before those of the shape.
pub fn own(kind: &str, words: &[&str], shape: &Shape) -> Result<Sample, Failure> {
    by(&std::env::current_exe()?, kind, words, shape)
}

/// As [`own`], by any build of this program.
pub fn by(program: &Path, kind: &str, words: &[&str], shape: &Shape) -> Result<Sample, Failure> {
    run(Command::new(program).arg("client").arg(kind).args(words).args(shape.words()))
}
