//! Logs of Samba's `full_audit` (`vfs_full_audit`(8)), in files of syslog, of the journal, and of smbd.
//!
//! `stamp` reads time stamps, `line` messages, `opens` knows what is open, and `operations` makes operations of it.

mod line;
mod opens;
mod operations;
mod stamp;

use std::io::{self, BufRead};

use self::line::{Message, of_syslog};
use self::operations::Operations;
use self::stamp::{DAY_S, Kind, SECOND, Stamp};
use crate::input::clock::Clock;
use crate::input::lines::Lines;
use crate::input::recorder::Recorder;

/// Longest line that is read: two paths of `PATH_MAX` and a prefix are less. Longer ones are counted as cut.
const MAX_LINE_BYTES: u64 = 1 << 15;
/// Lines at the front of an input of which one must have a time stamp.
const EXAMINED_LINES: usize = 10;
/// Processes of smbd write one log, each a moment after it has taken the time: lines may be out of order by this, ns.
const DISORDER: u64 = SECOND;
/// Months by which a date without a year goes back at the turn of the year.
const TURN_OF_YEAR: u8 = 6;

/// Why a log cannot be read.
pub(super) enum LogEnd {
    /// The reader failed.
    Failed(io::Error),
    /// None of its lines is one of `full_audit`.
    NoLines,
    /// The prefix of its lines has no address.
    NoClient,
}

/// True for the beginning of a log.
pub(super) fn is_log(head: &[u8]) -> bool {
    head.split(|byte| *byte == b'\n').take(EXAMINED_LINES).any(|line| Stamp::read(line).is_some())
}

/// The logs of all inputs: what is open in one may be closed in the next.
#[derive(Default)]
pub(super) struct Logs {
    operations: Operations,
    stamps: Stamps,
}

impl Logs {
    /// An operation of Samba whose lines are missing, without which the others say too little.
    pub(super) fn missing(&self) -> Option<&'static str> {
        self.operations.seen.missing()
    }

    /// Reads a log from its first to its last line.
    pub(super) fn read(
        &mut self,
        input: &mut impl BufRead,
        clock: &mut Clock,
        recorder: &mut Recorder,
    ) -> Result<(), LogEnd> {
        let mut lines = Lines::new(input, MAX_LINE_BYTES);
        let mut messages = 0u64;
        // Spaces at the end may belong to a name.
        while let Some(line) = lines.next().map_err(LogEnd::Failed)? {
            let Some((stamp, text)) = self.stamps.of_line(line) else { continue };
            let Some(message) = Message::read(text) else { continue };
            messages += 1;
            clock.is_local |= stamp.kind != Kind::Zoned;
            let resolution = &mut recorder.unseen().resolution_ns;
            *resolution = (*resolution).max(stamp.resolution);
            let now = clock.advance_within(stamp.time, DISORDER);
            if !self.operations.add(now, &message, recorder) {
                return Err(LogEnd::NoClient);
            }
        }
        recorder.unseen().cut += lines.skipped;
        if messages == 0 { Err(LogEnd::NoLines) } else { Ok(()) }
    }
}

/// Follows the time stamps of logs.
struct Stamps {
    /// Of the last header: the lines after it are its messages.
    header: Option<Stamp>,
    /// What is added to dates without a year, days.
    days: u64,
    /// The latest month of this year; 0 before the first date without a year.
    month: u8,
    /// 29 February was seen this year.
    is_leap: bool,
}

impl Default for Stamps {
    fn default() -> Self {
        // Enough for what is subtracted.
        Self { header: None, days: 2 * 366, month: 0, is_leap: false }
    }
}

impl Stamps {
    /// The time of a line that may have a message, and the text of that message.
    fn of_line<'a>(&mut self, line: &'a [u8]) -> Option<(Stamp, &'a [u8])> {
        let Some((mut stamp, rest)) = Stamp::read(line) else {
            return Some((self.header?, line.trim_ascii_start()));
        };
        if stamp.kind == Kind::Header {
            self.header = Some(stamp);
            return None;
        }
        let text = of_syslog(rest)?;
        if stamp.kind == Kind::Local {
            stamp.time = stamp.time.saturating_add(self.offset_days(&stamp).saturating_mul(DAY_S * SECOND));
        }
        Some((stamp, text))
    }

    /// What is added to a date without a year, which is of a leap year, days.
    fn offset_days(&mut self, stamp: &Stamp) -> u64 {
        let Stamp { month, day, .. } = *stamp;
        if self.month > month.saturating_add(TURN_OF_YEAR) {
            self.days = self.days.saturating_add(366);
            (self.month, self.is_leap) = (month, false);
        } else if self.month > 0 && month > self.month.saturating_add(TURN_OF_YEAR) {
            // A line of December after the first one of January.
            return self.days.saturating_sub(366);
        } else if (1..=2).contains(&self.month) && month >= 3 && !self.is_leap {
            self.days = self.days.saturating_sub(1);
        }
        self.month = self.month.max(month);
        self.is_leap |= (month, day) == (2, 29);
        self.days
    }
}

#[cfg(test)]
mod tests;
