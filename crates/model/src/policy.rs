//! Policies: which caches may serve an open file, and what its writes promise.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Which caches may hold the bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CachePolicy {
    /// Every cache on the way.
    #[default]
    Normal,
    /// The client's cache is off, the server's is on (diskspd `-Sr`).
    NoLocal,
    /// No cache from end to end (diskspd `-Su`, fio `direct=1`).
    Unbuffered,
}

/// The durability of a write when it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SyncPolicy {
    /// The bytes may still be in memory.
    #[default]
    Normal,
    /// The bytes are on stable storage (diskspd `-Sw`, fio `sync=dsync`).
    WriteThrough,
}

/// The caches and the durability with which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct IoPolicy {
    /// Which caches may hold its bytes.
    pub cache: CachePolicy,
    /// The durability of its writes.
    pub sync: SyncPolicy,
}

impl CachePolicy {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Normal, Self::NoLocal, Self::Unbuffered];

    /// The name in plans, flags and coordinates.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::NoLocal => "no-local",
            Self::Unbuffered => "unbuffered",
        }
    }
}

impl SyncPolicy {
    /// Every choice.
    pub const ALL: [Self; 2] = [Self::Normal, Self::WriteThrough];

    /// The name in plans, flags and coordinates.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::WriteThrough => "write-through",
        }
    }
}

impl IoPolicy {
    /// Every combination, the usual one first.
    pub fn all() -> impl Iterator<Item = Self> {
        let with = |cache| SyncPolicy::ALL.into_iter().map(move |sync| Self { cache, sync });
        CachePolicy::ALL.into_iter().flat_map(with)
    }

    /// True for the usual policy: every cache, writes acknowledged from memory.
    pub fn is_normal(self) -> bool {
        self == Self::default()
    }

    /// True when every write must be durable before it is acknowledged.
    pub fn writes_through(self) -> bool {
        self.sync == SyncPolicy::WriteThrough
    }
}

impl fmt::Display for CachePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for SyncPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for CachePolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known =
            || format!("'{text}' is not a cache policy; known are {}", Self::ALL.map(Self::name).join(", "));
        Self::ALL.into_iter().find(|policy| policy.name() == text).ok_or_else(known)
    }
}

impl FromStr for SyncPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known =
            || format!("'{text}' is not a sync policy; known are {}", Self::ALL.map(Self::name).join(", "));
        Self::ALL.into_iter().find(|policy| policy.name() == text).ok_or_else(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_are_refused_with_the_choices() {
        for policy in IoPolicy::all() {
            assert_eq!(policy.cache.name().parse(), Ok(policy.cache));
            assert_eq!(policy.sync.name().parse(), Ok(policy.sync));
        }
        let refused = "direct".parse::<CachePolicy>().unwrap_err();
        assert!(
            refused.contains("'direct'") && refused.contains("normal, no-local, unbuffered"),
            "{refused}"
        );
        assert!("yes".parse::<SyncPolicy>().unwrap_err().contains("write-through"));
        assert_eq!((IoPolicy::all().count(), IoPolicy::all().next()), (6, Some(IoPolicy::default())));
    }
}
