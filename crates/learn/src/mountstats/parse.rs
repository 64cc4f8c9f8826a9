//! A snapshot from the text of /proc/self/mountstats (fs/nfs/super.c `nfs_show_stats`, net/sunrpc/stats.c).

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead};

use super::counters::{Bytes, Counters, Events, Mount};

/// Longest line, most mounts, and most kinds of operations of a mount; Linux has 72 of NFSv4.
const MAX_LINE_BYTES: u64 = 1 << 16;
const MAX_MOUNTS: usize = 4096;
const MAX_KINDS: usize = 256;
/// Longest name of an operation, and longest version.
const MAX_NAME_BYTES: usize = 40;
const MAX_VERSION_BYTES: usize = 8;
/// The version of the format.
const VERSION: &str = "1.1";
/// Lines at the front of an input of which one must be a mount.
const EXAMINED_LINES: usize = 4;

/// The NFS mounts of a client at one moment.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// In the order of the file.
    pub(super) mounts: Vec<Mount>,
}

/// Why a snapshot cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The reader failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The statistics have another version.
    #[error("line {line}: statistics of version {version}; this program reads version {VERSION}")]
    Version {
        /// Of the mount.
        line: u64,
        /// What it has.
        version: String,
    },
    /// A line of statistics is damaged.
    #[error("line {line}: {what} without its numbers; copy the file again: cp /proc/self/mountstats FILE")]
    Damaged {
        /// Which.
        line: u64,
        /// What the line contains.
        what: &'static str,
    },
    /// It has too many mounts, operations or letters in a line.
    #[error("line {line}: more {what} than this program reads")]
    TooMany {
        /// Which.
        line: u64,
        /// What.
        what: &'static str,
    },
    /// A mount ends before its statistics.
    #[error("line {line}: a mount without {what}; copy the file again: cp /proc/self/mountstats FILE")]
    Incomplete {
        /// Of the mount.
        line: u64,
        /// What is missing.
        what: &'static str,
    },
    /// It has no NFS mount.
    #[error("no NFS mount is in it")]
    NoMounts,
}

/// True for the beginning of a snapshot.
pub fn is_snapshot(head: &[u8]) -> bool {
    head.split(|byte| *byte == b'\n').take(EXAMINED_LINES).any(|line| device(line).is_some())
}

impl Snapshot {
    /// Reads a snapshot.
    pub fn read(input: &mut impl BufRead) -> Result<Self, SnapshotError> {
        let mut parser = Parser::default();
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let mut limited = io::Read::take(&mut *input, MAX_LINE_BYTES);
            if limited.read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            parser.line += 1;
            if bytes.last() != Some(&b'\n') && bytes.len() as u64 == MAX_LINE_BYTES {
                return Err(SnapshotError::TooMany { line: parser.line, what: "letters in a line" });
            }
            parser.add(bytes.trim_ascii())?;
        }
        parser.end_mount()?;
        if parser.mounts.is_empty() {
            return Err(SnapshotError::NoMounts);
        }
        Ok(Self { mounts: parser.mounts })
    }
}

/// A mount whose lines are read.
struct Partial {
    line: u64,
    mount: Mount,
    has_age: bool,
    has_bytes: bool,
    /// The lines are those of operations.
    in_operations: bool,
}

#[derive(Default)]
struct Parser {
    line: u64,
    mounts: Vec<Mount>,
    /// Mounts with the same export and directory, by their hash.
    numbers: HashMap<u64, u32>,
    partial: Option<Partial>,
}

impl Parser {
    fn add(&mut self, line: &[u8]) -> Result<(), SnapshotError> {
        if let Some((export, rest)) = device(line) {
            self.end_mount()?;
            return self.begin_mount(export, rest);
        }
        let at = self.line;
        let Some(partial) = &mut self.partial else { return Ok(()) };
        if line == b"per-op statistics" {
            partial.in_operations = true;
            return Ok(());
        }
        let text = String::from_utf8_lossy(line);
        let Some((name, rest)) = text.split_once(':') else { return Ok(()) };
        let damaged = |what| SnapshotError::Damaged { line: at, what };
        let numbers = || rest.split_whitespace().map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>();
        let mount = &mut partial.mount;
        if partial.in_operations {
            if mount.operations.len() >= MAX_KINDS {
                return Err(SnapshotError::TooMany { line: at, what: "kinds of operations" });
            }
            let is_letter = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
            let is_name = !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.bytes().all(is_letter);
            let counters = numbers().and_then(|numbers| Counters::new(&numbers)).filter(|_| is_name);
            mount.operations.push((name.to_owned(), counters.ok_or_else(|| damaged("an operation"))?));
            return Ok(());
        }
        match name {
            "opts" => {
                if let Some(major) = version(rest, "vers=") {
                    // "vers=4,minorversion=1" of older kernels is "vers=4.1" of newer ones.
                    let minor =
                        version(rest, "minorversion=").map_or_else(String::new, |minor| format!(".{minor}"));
                    mount.protocol = format!("nfs{major}{minor}");
                }
            }
            "age" => {
                mount.age_s = rest.trim().parse().map_err(|_| damaged("age"))?;
                partial.has_age = true;
            }
            "events" => {
                let events = numbers().and_then(|numbers| Events::new(&numbers));
                mount.events = events.ok_or_else(|| damaged("events"))?;
            }
            "bytes" => {
                let bytes = numbers().and_then(|numbers| Bytes::new(&numbers));
                mount.bytes = bytes.ok_or_else(|| damaged("bytes"))?;
                partial.has_bytes = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// `device EXPORT mounted on DIRECTORY with fstype nfs4 statvers=1.1`; other file systems have no statistics.
    fn begin_mount(&mut self, export: &[u8], rest: &[u8]) -> Result<(), SnapshotError> {
        let Some(at) = rest.windows(13).rposition(|part| part == b" with fstype ") else { return Ok(()) };
        let (directory, kind) = rest.split_at(at);
        let kind = String::from_utf8_lossy(kind.get(13..).unwrap_or_default()).into_owned();
        let (kind, version) = kind.split_once(" statvers=").unwrap_or((&kind, ""));
        if kind != "nfs" && kind != "nfs4" {
            return Ok(());
        }
        if version != VERSION {
            let is_letter = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '.';
            let version: String = version.chars().take(MAX_VERSION_BYTES).take_while(is_letter).collect();
            let version = if version.is_empty() { "unknown".to_owned() } else { version };
            return Err(SnapshotError::Version { line: self.line, version });
        }
        if self.mounts.len() >= MAX_MOUNTS {
            return Err(SnapshotError::TooMany { line: self.line, what: "mounts" });
        }
        // The same export may be mounted twice on one directory, one over the other.
        let number = self.numbers.entry(hash(&(export, directory))).or_default();
        *number += 1;
        let identity = hash(&(export, directory, *number));
        self.partial = Some(Partial {
            line: self.line,
            mount: Mount {
                device: hash(&export),
                identity,
                protocol: kind.to_owned(),
                age_s: 0,
                events: Events::default(),
                bytes: Bytes::default(),
                operations: Vec::new(),
            },
            has_age: false,
            has_bytes: false,
            in_operations: false,
        });
        Ok(())
    }

    fn end_mount(&mut self) -> Result<(), SnapshotError> {
        let Some(partial) = self.partial.take() else { return Ok(()) };
        let missing = [
            (partial.has_age, "its age"),
            (partial.has_bytes, "its bytes"),
            (!partial.mount.operations.is_empty(), "its operations"),
        ];
        if let Some((_, what)) = missing.iter().find(|(is_there, _)| !is_there) {
            return Err(SnapshotError::Incomplete { line: partial.line, what });
        }
        if !self.mounts.iter().any(|mount| mount.is_same(&partial.mount)) {
            self.mounts.push(partial.mount);
        }
        Ok(())
    }
}

/// The export of a line that begins a mount, and what follows ` mounted on `. Linux writes spaces of names as `\040`.
fn device(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = line.strip_prefix(b"device ")?;
    let at = rest.windows(12).position(|part| part == b" mounted on ")?;
    Some((rest.get(..at)?, rest.get(at + 12..)?))
}

/// The version among the options of a mount.
fn version<'a>(options: &'a str, name: &str) -> Option<&'a str> {
    let version = options.trim().split(',').find_map(|option| option.strip_prefix(name))?;
    let is_version = version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    (!version.is_empty() && version.len() <= MAX_VERSION_BYTES && is_version).then_some(version)
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
