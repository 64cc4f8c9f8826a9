//! Readers of captures, packets to connections to messages to operations, of traces of system calls (`strace`), and of
//! logs of Samba (`audit`).
//!
//! `capture` reads files, `stream` puts the segments of a connection into order, `frames` finds the messages in it, `datagrams`
//! has those that are datagrams, `dispatch` gives each message to the decoder of its connection, `protocols` decodes it, and
//! `recorder` collects the operations. Each step accepts what the step before cannot give: holes, losses, and a start in the
//! middle.

mod audit;
mod capture;
mod clock;
mod connection_table;
mod connection_users;
mod connections;
mod datagrams;
mod dispatch;
mod error;
mod frames;
mod keys;
mod lines;
mod message;
mod paths;
mod performed;
mod protocols;
mod recorder;
mod strace;
mod stream;

use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, SocketAddr};

use flate2::read::MultiGzDecoder;

use self::audit::{LogEnd, Logs};
use self::capture::{Capture, CaptureEnd, Content};
use self::clock::Clock;
use self::connections::Connections;
use self::dispatch::{Chosen, Sink};
pub use self::error::{InputError, InputKind};
use self::keys::Keyring;
use self::recorder::Recorder;
use self::strace::TraceEnd;
use crate::mountstats::Snapshot;
use crate::operation::Observed;

pub use self::keys::{KeyFileError, KeyProblem, SessionKeyTable};

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
    /// Directory of a trace outside which files do not count.
    pub below: Option<String>,
    /// Keys of encrypted SMB sessions.
    pub keys: Option<SessionKeyTable>,
}

/// What the inputs contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// Operations, from which a workload can be learned.
    Operations(Observed),
    /// Counters of NFS mounts, one snapshot after the other.
    Mounts(Vec<Snapshot>),
}

/// Reads inputs that contain operations, in the given order.
pub fn observe(
    inputs: impl Iterator<Item = (String, Box<dyn Read>)>,
    options: &ReadOptions,
) -> Result<Observed, InputError> {
    match read(inputs, options)? {
        Contents::Operations(observed) => Ok(observed),
        Contents::Mounts(_) => Err(InputError::OnlyCounters),
    }
}

/// Reads the inputs in the given order.
pub fn read(
    inputs: impl Iterator<Item = (String, Box<dyn Read>)>,
    options: &ReadOptions,
) -> Result<Contents, InputError> {
    let chosen = options.server.as_deref().map_or(Ok(Chosen::Any), chosen)?;
    if let Some(value) = options.below.as_ref().filter(|below| !below.starts_with('/')) {
        return Err(InputError::NotAbsolute { value: value.clone() });
    }
    let mut reader = Reader {
        connections: Connections::new(
            chosen,
            Recorder::new(Keyring::new(options.keys.clone().unwrap_or_default())),
        ),
        clock: Clock::default(),
        below: options.below.clone(),
        inputs: Vec::new(),
        logs: Logs::default(),
        snapshots: Vec::new(),
    };
    for (name, input) in inputs {
        reader.read(&name, input)?;
    }
    if let Some(value) = options.below.clone().filter(|_| !reader.is_any(InputKind::Trace)) {
        return Err(InputError::NoTraces { value });
    }
    if let Some(value) = options.server.clone().filter(|_| !reader.is_any(InputKind::Capture)) {
        return Err(InputError::NoCaptures { value });
    }
    if reader.is_any(InputKind::Mounts) {
        return Ok(Contents::Mounts(reader.snapshots));
    }
    reader.finish(chosen).map(Contents::Operations)
}

fn chosen(value: &str) -> Result<Chosen, InputError> {
    if let Ok(address) = value.parse::<IpAddr>() {
        return Ok(Chosen::Machine(address));
    }
    let port = value.parse::<SocketAddr>().map(Chosen::Port);
    port.map_err(|_| InputError::NotAnAddress { value: value.to_owned() })
}

struct Reader {
    connections: Connections,
    clock: Clock,
    /// Where files of traces count.
    below: Option<String>,
    /// What they were.
    inputs: Vec<(String, InputKind)>,
    logs: Logs,
    snapshots: Vec<Snapshot>,
}

impl Reader {
    fn is_any(&self, kind: InputKind) -> bool {
        self.inputs.iter().any(|(_, other)| *other == kind)
    }

    /// Notes what an input is, and whether it can be read together with the ones before.
    fn add_kind(&mut self, name: &str, kind: InputKind) -> Result<(), InputError> {
        let is_alone = |kind| matches!(kind, InputKind::AuditLog | InputKind::Mounts);
        let is_other =
            |(_, other): &&(String, InputKind)| *other != kind && (is_alone(kind) || is_alone(*other));
        if let Some((first, first_kind)) = self.inputs.iter().find(is_other) {
            return Err(InputError::Mixed {
                name: first.clone(),
                kind: *first_kind,
                other: name.to_owned(),
                other_kind: kind,
            });
        }
        self.inputs.push((name.to_owned(), kind));
        Ok(())
    }

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
        let head = buffered.fill_buf().map_err(failed)?;
        if crate::mountstats::is_snapshot(head) {
            self.add_kind(name, InputKind::Mounts)?;
            let snapshot = Snapshot::read(&mut buffered)
                .map_err(|error| InputError::Snapshot { name: name.to_owned(), error })?;
            self.snapshots.push(snapshot);
            return Ok(());
        }
        if audit::is_log(head) {
            self.add_kind(name, InputKind::AuditLog)?;
            return self.log(name, &mut buffered);
        }
        if strace::is_trace(head) {
            self.add_kind(name, InputKind::Trace)?;
            let recorder = &mut self.connections.sink.recorder;
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
        self.add_kind(name, InputKind::Capture)?;
        self.packets(name, capture)
    }

    fn log(&mut self, name: &str, input: &mut impl BufRead) -> Result<(), InputError> {
        let recorder = &mut self.connections.sink.recorder;
        let read = self.logs.read(input, &mut self.clock, recorder);
        let name = name.to_owned();
        read.map_err(|end| match end {
            LogEnd::Failed(error) => InputError::Io { name, error },
            LogEnd::NoLines => InputError::NoAudit { name },
            LogEnd::NoClient => InputError::NoClient { name },
        })
    }

    fn packets<R: Read>(&mut self, name: &str, mut capture: Capture<R>) -> Result<(), InputError> {
        let mut packets = 0u64;
        loop {
            match capture.next() {
                Ok(packet) => {
                    packets += 1;
                    let time = self.clock.advance(packet.time);
                    match packet.content() {
                        Some(Content::Segment(segment)) => self.connections.segment(time, &segment),
                        Some(Content::Datagram(datagram)) => self.connections.datagram(time, &datagram),
                        None => {}
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
                    self.connections.sink.recorder.unseen().cut += 1;
                    return Ok(());
                }
            }
        }
    }

    fn finish(mut self, chosen: Chosen) -> Result<Observed, InputError> {
        let has_traces = self.is_any(InputKind::Trace);
        if let Some(operation) = self.logs.missing().filter(|_| self.is_any(InputKind::AuditLog)) {
            return Err(InputError::NotLogged { operation });
        }
        self.connections.end();
        let Connections { sink: Sink { mut recorder, ignored, .. }, count, .. } = self.connections;
        recorder.unseen().clock_steps += self.clock.steps;
        let servers = recorder.servers();
        if let Some(name) = recorder.keyring().without_smb()
            && (!servers.is_empty() || has_traces)
        {
            return Err(InputError::NoSmb { name });
        }
        if servers.is_empty() && has_traces {
            let below = self.below.map_or_else(String::new, |below| format!(" below {below}"));
            return Err(InputError::NoFiles { below });
        }
        let messages = recorder.unseen().encrypted;
        if servers.is_empty() && messages > 0 {
            let notes = recorder.keyring().notes().join("; ");
            let advice = if notes.is_empty() { keys::ADVICE.to_owned() } else { notes };
            return Err(InputError::Encrypted { messages, advice });
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
        let started = self.clock.first.filter(|_| !self.clock.is_local).unwrap_or(0) / 1_000_000_000;
        Ok(recorder.finish(self.clock.now, started))
    }
}
