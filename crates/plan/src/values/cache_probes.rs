//! The section `[cache_probes]`: how probes after a cell distinguish the server's cache from its storage.

use std::fmt;
use std::str::FromStr;

use sharebench_model::units::ByteSize;

use crate::values::target_url;

/// How records become cold, that is, absent from the server's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cold {
    /// Other data of this size is read first: more than the server can cache.
    PushedOut(ByteSize),
    /// Unbuffered reads, which the server may ignore.
    Unbuffered,
    /// The user's pre-step command empties the server's cache.
    PreStepCommand,
}

impl fmt::Display for Cold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PushedOut(size) => size.fmt(f),
            Self::Unbuffered => f.pad("unbuffered"),
            Self::PreStepCommand => f.pad("pre-step-cmd"),
        }
    }
}

impl FromStr for Cold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "unbuffered" => Ok(Self::Unbuffered),
            "pre-step-cmd" => Ok(Self::PreStepCommand),
            size => size.parse().map(Self::PushedOut).map_err(|_| {
                format!(
                    "'{text}' is neither a size above the server's cache, such as 4GiB, nor unbuffered, nor pre-step-cmd"
                )
            }),
        }
    }
}

/// A path to a target's directory that bypasses the client's cache: `NAME=URL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bypass {
    /// Name of the target.
    pub target: String,
    /// URL of the same directory, straight over a protocol.
    pub url: String,
}

impl fmt::Display for Bypass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.target, self.url)
    }
}

impl FromStr for Bypass {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A name that the program assigned, such as `smb (sign=off)`, contains the sign too.
        let end = text.find("://").or_else(|| text.find(['/', '\\'])).unwrap_or(text.len());
        let (target, url) = text[..end].rfind('=').map_or(("", ""), |at| (&text[..at], &text[at + 1..]));
        let url = target_url(url)?;
        if target.is_empty() || !url.contains("://") {
            return Err(format!("'{text}' is not NAME=URL, such as nas=smb://alice@nas/share"));
        }
        Ok(Self { target: target.to_owned(), url })
    }
}

/// The section as typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheProbes {
    /// What makes the reserve cold.
    pub cold: Option<Cold>,
    /// Triples of probes per cell.
    pub count: Option<u32>,
    /// How far ahead of the workload probes look, in bytes of its plan.
    pub distance: Option<ByteSize>,
    /// A file on this machine in which the server's system counts what its storage read.
    pub server_disk_stat: Option<String>,
    /// Paths that bypass the client cache of mounted targets.
    pub bypass: Option<Vec<Bypass>>,
}
