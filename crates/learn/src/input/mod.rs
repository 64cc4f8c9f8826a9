//! Readers of captures, packets to connections to messages to operations, and of traces of system calls (`strace`).
//!
//! `capture` reads files, `stream` puts the segments of a connection into order, `frames` finds the messages in it, and
//! `protocols` decodes them. Each step accepts what the step before cannot give: holes, losses, and a start in the middle.

mod capture;
mod connections;
mod frames;
mod protocols;
mod recorder;
mod strace;
mod stream;

use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, SocketAddr};

use flate2::read::MultiGzDecoder;

use self::capture::{Capture, CaptureEnd};
use self::connections::{Chosen, Connections};
use self::strace::TraceEnd;
use crate::operation::Observed;

/// A step of the clock that is counted; packets of several interfaces may be out of order by less, ns.
const CLOCK_STEP: u64 = 1_000_000;
/// First bytes of gzip (RFC 1952 2.3.1) and of Zstandard (RFC 8878 3.1.1).
const GZIP: [u8; 2] = [0x1F, 0x8B];
const ZSTANDARD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// Bytes by which the format of an input is recognised.
const HEAD_BYTES: usize = 4096;
const INPUT_BUFFER_BYTES: usize = 1 << 20;

/// How inputs are read.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    /// Address of the server, where the inputs show several: `ADDRESS` or `ADDRESS:PORT`.
    pub server: Option<String>,
    /// Directory of a trace outside of which files do not count.
    pub below: Option<String>,
}

/// Why an input cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// No reader knows its format.
    #[error(
        "{name}: no capture and no trace that sharebench can read; it reads pcap, pcapng and the output of strace -f -y -ttt -T, also with gzip"
    )]
    NotUnderstood {
        /// The input.
        name: String,
    },
    /// It is compressed by a program that is not built in.
    #[error("{name}: compressed with Zstandard; use: zstd -dc {name} | sharebench learn -")]
    Zstandard {
        /// The input.
        name: String,
    },
    /// It cannot be read.
    #[error("{name}: {error}")]
    Io {
        /// The input.
        name: String,
        /// Why.
        error: std::io::Error,
    },
    /// Its content is no capture from some packet on, and no packet comes before.
    #[error("{name}: damaged: {what}")]
    Damaged {
        /// The input.
        name: String,
        /// What was found.
        what: &'static str,
    },
    /// A trace of system calls whose lines lack what is needed.
    #[error("{name}: a trace without durations; record it with: strace -f -y -ttt -T -o FILE PROGRAM")]
    NoDurations {
        /// The input.
        name: String,
    },
    /// The inputs are traces without a file.
    #[error("no operation on a file{below} in the traces")]
    NoFiles {
        /// Where files count.
        below: String,
    },
    /// The directory of traces is relative, but paths in them are not.
    #[error("--below {value}: not an absolute path, as those of traces are")]
    NotAbsolute {
        /// The value.
        value: String,
    },
    /// A directory of traces was given without a trace.
    #[error("--below {value}: none of the inputs is a trace of system calls")]
    NoTraces {
        /// The value.
        value: String,
    },
    /// The option for the server is no address.
    #[error("--server {value}: not an IP address, or one with a port")]
    NotAnAddress {
        /// The value.
        value: String,
    },
    /// Several servers are in it, and none was chosen.
    #[error("several servers are in it: {servers}; choose one with --server ADDRESS")]
    SeveralServers {
        /// Their addresses and numbers of operations.
        servers: String,
    },
    /// Nothing that this program decodes is in it.
    #[error(
        "no SMB 1, 2 or 3 and no NFS in {connections} TCP connections{other}; other protocols are not decoded"
    )]
    Nothing {
        /// Number of connections.
        connections: u64,
        /// Servers that were not chosen.
        other: String,
    },
}

/// Reads the inputs in the given order.
pub fn observe(
    inputs: impl Iterator<Item = (String, Box<dyn Read>)>,
    options: &ReadOptions,
) -> Result<Observed, InputError> {
    let chosen = options.server.as_deref().map_or(Ok(Chosen::Any), chosen)?;
    if let Some(value) = options.below.as_ref().filter(|below| !below.starts_with('/')) {
        return Err(InputError::NotAbsolute { value: value.clone() });
    }
    let mut reader = Reader {
        connections: Connections::new(chosen),
        clock: Clock::default(),
        below: options.below.clone(),
        traces: 0,
    };
    for (name, input) in inputs {
        reader.read(&name, input)?;
    }
    reader.finish(chosen)
}

fn chosen(value: &str) -> Result<Chosen, InputError> {
    if let Ok(address) = value.parse::<IpAddr>() {
        return Ok(Chosen::Machine(address));
    }
    let port = value.parse::<SocketAddr>().map(Chosen::Port);
    port.map_err(|_| InputError::NotAnAddress { value: value.to_owned() })
}

/// The time of packets, which never runs backwards.
#[derive(Debug, Default)]
struct Clock {
    /// Of the first packet, ns since 1970.
    first: Option<u64>,
    /// What is added since the clock stepped back, ns.
    offset: u64,
    /// Since the first packet, ns.
    now: u64,
    steps: u64,
}

impl Clock {
    /// The time of a packet since the first one.
    fn advance(&mut self, time: u64) -> u64 {
        let first = *self.first.get_or_insert(time);
        let at = time.saturating_add(self.offset).saturating_sub(first);
        if at < self.now {
            let back = self.now - at;
            if back > CLOCK_STEP {
                self.steps += 1;
                self.offset = self
                    .offset
                    .saturating_add(self.now.saturating_add(first).saturating_sub(time + self.offset));
            }
            return self.now;
        }
        self.now = at;
        at
    }
}

struct Reader {
    connections: Connections,
    clock: Clock,
    /// Where files of traces count.
    below: Option<String>,
    /// Inputs that were traces.
    traces: u64,
}

impl Reader {
    fn read(&mut self, name: &str, input: Box<dyn Read>) -> Result<(), InputError> {
        let mut input = input;
        let mut head = Vec::with_capacity(HEAD_BYTES);
        let failed = |error| InputError::Io { name: name.to_owned(), error };
        (&mut input).take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(failed)?;
        if head.starts_with(&ZSTANDARD) {
            return Err(InputError::Zstandard { name: name.to_owned() });
        }
        let is_gzip = head.starts_with(&GZIP);
        let whole = std::io::Cursor::new(head).chain(input);
        let mut buffered: Box<dyn BufRead> = Box::new(BufReader::with_capacity(INPUT_BUFFER_BYTES, whole));
        if is_gzip {
            buffered = Box::new(BufReader::with_capacity(INPUT_BUFFER_BYTES, MultiGzDecoder::new(buffered)));
        }
        let not_understood = || InputError::NotUnderstood { name: name.to_owned() };
        if strace::is_trace(buffered.fill_buf().map_err(failed)?) {
            self.traces += 1;
            let recorder = &mut self.connections.recorder;
            let read = strace::read(&mut buffered, self.below.as_deref(), &mut self.clock, recorder);
            return read.map_err(|end| match end {
                TraceEnd::Failed(error) => failed(error),
                TraceEnd::NoDurations => InputError::NoDurations { name: name.to_owned() },
            });
        }
        let capture = match Capture::open(buffered) {
            Ok(capture) => capture.ok_or_else(not_understood)?,
            Err(CaptureEnd::Failed(error)) => return Err(failed(error)),
            Err(_) => return Err(not_understood()),
        };
        self.packets(name, capture)
    }

    fn packets<R: Read>(&mut self, name: &str, mut capture: Capture<R>) -> Result<(), InputError> {
        let mut packets = 0u64;
        loop {
            match capture.next() {
                Ok(packet) => {
                    packets += 1;
                    let time = self.clock.advance(packet.time);
                    if let Some(segment) = packet.segment() {
                        self.connections.segment(time, &segment);
                    }
                }
                Err(CaptureEnd::Complete) => return Ok(()),
                Err(CaptureEnd::Failed(error)) => {
                    return Err(InputError::Io { name: name.to_owned(), error });
                }
                Err(CaptureEnd::Damaged(what)) if packets == 0 => {
                    return Err(InputError::Damaged { name: name.to_owned(), what });
                }
                // What came before is worth reading.
                Err(CaptureEnd::Truncated | CaptureEnd::Damaged(_)) => {
                    self.connections.recorder.unseen().cut += 1;
                    return Ok(());
                }
            }
        }
    }

    fn finish(mut self, chosen: Chosen) -> Result<Observed, InputError> {
        if let Some(value) = self.below.as_ref().filter(|_| self.traces == 0) {
            return Err(InputError::NoTraces { value: value.clone() });
        }
        self.connections.end();
        let Connections { mut recorder, ignored, count, .. } = self.connections;
        recorder.unseen().clock_steps += self.clock.steps;
        let servers = recorder.servers();
        if servers.is_empty() && self.traces > 0 {
            let below = self.below.map_or_else(String::new, |below| format!(" below {below}"));
            return Err(InputError::NoFiles { below });
        }
        if servers.is_empty() {
            let mut others: Vec<String> = ignored.iter().map(ToString::to_string).collect();
            others.sort_unstable();
            others.dedup();
            let other = match others.as_slice() {
                [] => String::new(),
                others => format!(" with the server of --server; others are {}", others.join(", ")),
            };
            return Err(InputError::Nothing { connections: count, other });
        }
        let mut machines: Vec<IpAddr> = servers.iter().map(|(server, _)| server.ip()).collect();
        machines.sort_unstable();
        machines.dedup();
        if chosen == Chosen::Any && machines.len() > 1 {
            let list: Vec<String> =
                servers.iter().map(|(server, count)| format!("{server} ({count} operations)")).collect();
            return Err(InputError::SeveralServers { servers: list.join(", ") });
        }
        Ok(recorder.finish(self.clock.now, self.clock.first.unwrap_or(0) / 1_000_000_000))
    }
}
