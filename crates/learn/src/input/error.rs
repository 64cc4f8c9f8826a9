//! What inputs are, and why they cannot be read.

use crate::mountstats::SnapshotError;

/// What an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Packets.
    Capture,
    /// System calls.
    Trace,
    /// Lines of `full_audit`.
    AuditLog,
    /// Counters of NFS mounts.
    Mounts,
}

impl std::fmt::Display for InputKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Capture => "a capture",
            Self::Trace => "a trace of system calls",
            Self::AuditLog => "a log of full_audit",
            Self::Mounts => "a copy of /proc/self/mountstats",
        })
    }
}

/// Why an input cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// No reader knows its format.
    #[error(
        "{name}: no capture, trace or log that sharebench can read; it reads pcap, pcapng, the output of strace -f -y -ttt -T, logs of full_audit of Samba, and copies of /proc/self/mountstats, also with gzip"
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
    /// A log of syslog or smbd without lines of `full_audit`.
    #[error(
        "{name}: a log without lines of full_audit; docs/measure/learn.md has the settings of Samba that write them"
    )]
    NoAudit {
        /// The input.
        name: String,
    },
    /// The lines of `full_audit` do not have the address of the client.
    #[error("{name}: lines of full_audit without the address of the client; use: full_audit:prefix = %u|%I")]
    NoClient {
        /// The input.
        name: String,
    },
    /// The logs of `full_audit` lack an operation.
    #[error(
        "no lines of {operation} in the logs of full_audit; docs/measure/learn.md has the list for full_audit:success and full_audit:failure"
    )]
    NotLogged {
        /// What is missing.
        operation: &'static str,
    },
    /// The inputs show different things, which no report has together.
    #[error("{name} is {kind}, but {other} is {other_kind}: read them one at a time")]
    Mixed {
        /// The first input.
        name: String,
        /// What it is.
        kind: InputKind,
        /// Another one.
        other: String,
        /// What that is.
        other_kind: InputKind,
    },
    /// A snapshot of mounts cannot be read.
    #[error("{name}: {error}")]
    Snapshot {
        /// The input.
        name: String,
        /// Why.
        error: SnapshotError,
    },
    /// The inputs have counters where operations are needed.
    #[error("counters of mounts do not show operations one by one")]
    OnlyCounters,
    /// A server was chosen without a capture.
    #[error("--server {value}: none of the inputs is a capture, which has addresses of servers")]
    NoCaptures {
        /// The value.
        value: String,
    },
    /// Keys were given for inputs without SMB.
    #[error("--keys {name}: no SMB 2 or 3 is in the inputs")]
    NoSmb {
        /// The file of the keys.
        name: String,
    },
    /// Nothing but encrypted messages is in it.
    #[error("all {messages} messages of SMB are encrypted; {advice}")]
    Encrypted {
        /// Number of messages.
        messages: u64,
        /// What the user can do, or what is wrong with the keys.
        advice: String,
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
    #[error("no SMB, NFS or NCP in {connections} connections{other}; other protocols are not decoded")]
    Nothing {
        /// Number of connections.
        connections: u64,
        /// Servers that were not chosen.
        other: String,
    },
}
