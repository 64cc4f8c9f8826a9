//! Traces of system calls, as `strace -f -y -ttt -T -o FILE` writes them (strace(1)).
//!
//! `line` reads a line, `call` its arguments, `descriptors` knows what is open, and `paths` where names are.

mod call;
mod descriptors;
mod line;
mod operations;
mod paths;

use std::collections::HashMap;
use std::io::{self, BufRead};

use self::line::{Line, Text};
use self::operations::{ENDS, Operations};
use crate::input::clock::Clock;
use crate::input::lines::Lines;
use crate::input::recorder::Recorder;

/// Longest line that is read. Longer ones are counted as cut: strace prints 32 bytes of data unless an option requests more.
const MAX_LINE_BYTES: u64 = 1 << 16;
/// Most calls that have begun and not ended.
const MAX_UNFINISHED: usize = 1 << 16;

/// Why a trace cannot be read.
pub(super) enum TraceEnd {
    /// The reader failed.
    Failed(io::Error),
    /// Its lines have no durations.
    NoDurations,
}

/// Lines at the front of an input of which one must be a call.
const EXAMINED_LINES: usize = 10;

/// True for the beginning of a trace.
pub(super) fn is_trace(head: &[u8]) -> bool {
    head.split(|byte| *byte == b'\n').take(EXAMINED_LINES).any(|line| {
        match Line::read(line).map(|line| line.text) {
            Some(Text::Whole(text)) => call::Call::read(text).is_some(),
            Some(Text::Begun(_)) => true,
            _ => false,
        }
    })
}

/// Reads a trace from its first to its last line.
pub(super) fn read(
    input: &mut impl BufRead,
    below: Option<&str>,
    clock: &mut Clock,
    recorder: &mut Recorder,
) -> Result<(), TraceEnd> {
    let mut operations = Operations::new(below);
    let recorder = &mut recorder.connection(ENDS);
    // The beginning of a call that another thread interrupted, with the time at which it began.
    let mut unfinished: HashMap<u32, (u64, Vec<u8>)> = HashMap::new();
    let mut lines = Lines::new(input, MAX_LINE_BYTES);
    let mut without_duration = 0u64;
    let mut with_duration = 0u64;
    while let Some(bytes) = lines.next().map_err(TraceEnd::Failed)? {
        let Some(line) = Line::read(bytes) else {
            recorder.unseen().not_understood += u64::from(!bytes.trim_ascii().is_empty());
            continue;
        };
        let now = clock.advance(line.time);
        let (start, text) = match line.text {
            Text::Whole(text) => (now, text.to_vec()),
            Text::Begun(text) => {
                if unfinished.len() < MAX_UNFINISHED {
                    unfinished.insert(line.process, (now, text.to_vec()));
                }
                continue;
            }
            Text::Ended(rest) => {
                let Some((start, mut text)) = unfinished.remove(&line.process) else {
                    recorder.unseen().without_request += 1;
                    continue;
                };
                text.extend_from_slice(rest);
                (start, text)
            }
            Text::Exit => {
                operations.ended(line.process);
                continue;
            }
            // Signals.
            Text::Other => continue,
        };
        let Some(call) = call::Call::read(&text) else {
            recorder.unseen().not_understood += 1;
            continue;
        };
        match call.duration {
            Some(_) => with_duration += 1,
            None => without_duration += 1,
        }
        operations.add(line.process, start, &call, recorder);
    }
    recorder.unseen().cut += lines.skipped;
    recorder.unseen().without_reply += unfinished.len() as u64;
    if without_duration > 0 && with_duration == 0 { Err(TraceEnd::NoDurations) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
