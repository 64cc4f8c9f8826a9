//! Tests with messages of a real server (`samples.hex`).

mod commands;
mod conversations;
mod hostile;

use crate::input::message::{Ends, Message, Side};
use crate::input::protocols::Transport;
use crate::input::recorder::Recorder;
use crate::operation::{Action, Observed, Outcome};

/// A message: who sends it, its length on the wire, and its first bytes.
type Sample = (Side, usize, Vec<u8>);

/// The messages of a section of the samples.
fn section(name: &str) -> Vec<Sample> {
    let text = include_str!("samples.hex");
    let begin = format!("= {name}:");
    let lines = text.lines().skip_while(|line| !line.starts_with(&begin)).skip(1);
    let samples: Vec<Sample> = lines.take_while(|line| !line.starts_with('=')).map(sample).collect();
    assert!(!samples.is_empty(), "no section {name}");
    samples
}

fn sample(line: &str) -> Sample {
    let mut fields = line.split(' ');
    let side = if fields.next() == Some("C") { Side::Client } else { Side::Server };
    let len = fields.next().unwrap().parse().unwrap();
    let hex = fields.next().unwrap();
    let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
    (side, len, bytes.collect())
}

/// Client and server of all samples.
fn ends(port: u16) -> Ends {
    Ends { client: ([10, 0, 0, 1], port).into(), server: ([10, 0, 0, 9], 445).into() }
}

/// Decodes the messages of a connection, one each microsecond.
fn decode_into(samples: &[Sample], ends: Ends, recorder: &mut Recorder) {
    let Some(mut decoder) = Transport::Stream.decoder(&samples[0].2) else { return };
    let recorder = &mut recorder.connection(ends);
    for (number, (side, len, head)) in samples.iter().enumerate() {
        let start = number as u64 * 1000;
        decoder.message(&Message { side: *side, start, end: start + 10, len: *len, head }, recorder);
    }
    decoder.end(recorder);
}

fn decode(samples: &[Sample]) -> Observed {
    let mut recorder = Recorder::default();
    decode_into(samples, ends(40_000), &mut recorder);
    recorder.finish(1_000_000, 0)
}

/// The operations in a section, with their outcomes.
fn operations(name: &str) -> Vec<(Action, Outcome)> {
    let observed = decode(&section(name));
    observed.operations.iter().map(|operation| (operation.action, operation.outcome)).collect()
}
