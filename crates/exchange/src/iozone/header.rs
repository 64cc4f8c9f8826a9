//! What `IOzone` says before its numbers: version, unit, clock, options.

use sharebench_model::Facts;

use crate::ImportError;
use crate::rate::{RateUnit, decimal};
use crate::source::Source;

/// First words of an output.
const BANNER: &str = "Iozone: Performance Test";
/// First word of a text of ours.
const OURS: &str = "sharebench ";
/// What a run that came to its end prints.
const END: &str = "iozone test complete.";

/// The lines above the numbers, understood.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of IOzone's command line")]
pub(super) struct Header {
    pub unit: RateUnit,
    /// False where the file does not say its unit and kBytes/sec is assumed.
    unit_stated: bool,
    /// The program with its version: `IOzone`, or this one where it wrote the matrices.
    program: Option<String>,
    clock_ns: Option<u64>,
    facts: Facts,
    pub close: bool,
    pub flush: bool,
    pub direct: bool,
    pub sync: bool,
    pub mmap: bool,
}

impl Header {
    pub fn read(lines: &[(usize, &str)]) -> Result<Self, ImportError> {
        let mut header = Self {
            unit: RateUnit::Bytes(1024),
            unit_stated: false,
            program: None,
            clock_ns: None,
            facts: Facts::new(),
            close: false,
            flush: false,
            direct: false,
            sync: false,
            mmap: false,
        };
        let mut banner = None;
        for (number, line) in lines {
            let line = line.trim();
            if line.starts_with(BANNER)
                && let Some(first) = banner.replace(*number)
            {
                let problem = format!("a second run begins (the first at line {first}); split the file");
                return Err(ImportError::at(*number, problem));
            }
            header.take(*number, line)?;
        }
        let ended = lines.iter().any(|(_, line)| line.trim().starts_with(END));
        if banner.is_some() && !ended {
            let last = lines.last().map_or(0, |(number, _)| *number);
            let problem = format!("the file ends before '{END}': it was cut, or iozone stopped early");
            return Err(ImportError::at(last, problem));
        }
        Ok(header)
    }

    fn take(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        let lower = line.to_ascii_lowercase();
        if let Some(version) = line.strip_prefix("Version $Revision:") {
            self.program = Some(format!("iozone {}", version.trim_matches([' ', '$'])));
        } else if line.starts_with(OURS) {
            self.program = Some(line.to_owned());
        } else if lower.trim_matches('"') == "output is in kbytes/sec" {
            self.unit_stated = true;
        } else if lower.starts_with("output is in ") {
            return Err(ImportError::at(number, format!("'{line}': only kBytes/sec and -O are understood")));
        } else if lower.starts_with("ops mode") {
            (self.unit, self.unit_stated) = (RateUnit::Operations, true);
        } else if lower.starts_with("microseconds/op mode") {
            let problem = "the numbers are whole microseconds per operation (-N), too coarse for a rate; \
                           run iozone without -N";
            return Err(ImportError::at(number, problem));
        } else if let Some(rest) = lower.strip_prefix("time resolution =") {
            self.clock_ns = Some(clock(rest).ok_or_else(|| {
                ImportError::at(number, format!("'{line}' has no time resolution in seconds"))
            })?);
        } else {
            self.option(line);
        }
        Ok(())
    }

    fn option(&mut self, line: &str) {
        let mut note = |name: &str, value: &str| {
            self.facts.insert(name.to_owned(), value.trim().to_owned());
        };
        for (start, name) in [("Run began:", "run_began"), ("Command line used:", "command_line")] {
            if let Some(value) = line.strip_prefix(start) {
                note(name, value);
            }
        }
        match line.trim_end_matches(['.', ' ']) {
            "Include close in write timing" => self.close = true,
            "Include fsync in write timing" => self.flush = true,
            "O_DIRECT feature enabled" => self.direct = true,
            "SYNC Mode" => self.sync = true,
            "Using mmap files" => self.mmap = true,
            "Purge Mode On" => note("purge", "on"),
            _ => {}
        }
    }

    /// True when a first read did not find the file in the client's cache: it went around the cache, the file
    /// system was mounted anew between tests (`-U`), or the numbers are ours.
    pub fn reads_cold(&self) -> bool {
        let line = self.facts.get("command_line");
        let remounts = line.is_some_and(|line| line.split_ascii_whitespace().any(|word| word == "-U"));
        let ours = self.program.as_ref().is_some_and(|program| program.starts_with(OURS));
        self.direct || remounts || ours
    }

    /// A source without numbers yet.
    pub fn source(&self) -> Source {
        let mut notes = Vec::new();
        if !self.unit_stated {
            notes.push(
                "the file does not say its unit; kBytes/sec (KiB/s), IOzone's default, was taken".into(),
            );
        }
        Source {
            program: Some(self.program.clone().unwrap_or_else(|| "iozone".to_owned())),
            clock_ns: self.clock_ns,
            facts: self.facts.clone(),
            notes,
            ..Source::default()
        }
    }
}

/// ` 0.000001 seconds.` in nanoseconds.
fn clock(text: &str) -> Option<u64> {
    let (digits, scale) = decimal(text.trim().strip_suffix("seconds.")?.trim())?;
    let nanos = digits.checked_mul(1_000_000_000)? / 10u128.pow(scale);
    u64::try_from(nanos).ok().filter(|nanos| *nanos > 0)
}
