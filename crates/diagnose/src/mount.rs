//! What the kernel reports of a mounted share: its type and options.

use std::collections::BTreeMap;

use serde::Serialize;
use sharebench_model::Facts;

/// Type and options of a mount.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct MountFacts {
    /// Type of the file system, such as `nfs4`.
    pub file_system: String,
    /// The options that matter for speed, with their values; an option without a value has an empty one.
    pub options: BTreeMap<String, String>,
}

/// The options that reports show.
const SHOWN: [&str; 21] = [
    "vers",
    "rsize",
    "wsize",
    "sync",
    "noac",
    "actimeo",
    "acregmin",
    "acregmax",
    "acdirmin",
    "acdirmax",
    "nconnect",
    "max_channels",
    "sec",
    "cache",
    "proto",
    "hard",
    "soft",
    "lookupcache",
    "nocto",
    "fsc",
    "seal",
];

impl MountFacts {
    /// The mount of a session on a local path, from the session's facts; none for a local file system.
    pub(crate) fn from_facts(facts: &Facts) -> Option<Self> {
        if facts.get("access")? != "mounted" {
            return None;
        }
        let options = facts.get("mount_options").map(String::as_str).unwrap_or_default();
        let pairs = options.split(',').map(|option| option.split_once('=').unwrap_or((option, "")));
        let shown = pairs.filter(|(name, _)| SHOWN.contains(name));
        Some(Self {
            file_system: facts.get("file_system").cloned().unwrap_or_default(),
            options: shown.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        })
    }

    /// A numeric option.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.options.get(name)?.parse().ok()
    }

    /// True if the option is set.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.options.contains_key(name)
    }

    /// True for a mount of NFS.
    pub(crate) fn is_nfs(&self) -> bool {
        self.file_system.starts_with("nfs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_a_mount_are_read_and_a_local_disk_has_none() {
        let mut facts = Facts::from([
            ("access".into(), "mounted".into()),
            ("file_system".into(), "nfs4".into()),
            ("mount_options".into(), "rw,relatime,vers=4.2,rsize=8192,sync,noac,addr=10.0.0.1".into()),
        ]);
        let mount = MountFacts::from_facts(&facts).unwrap();
        assert!(mount.is_nfs() && mount.has("sync") && mount.has("noac"));
        assert_eq!(mount.number("rsize"), Some(8192));
        let names: Vec<&str> = mount.options.keys().map(String::as_str).collect();
        assert_eq!(names, ["noac", "rsize", "sync", "vers"]);
        facts.insert("access".into(), "local".into());
        assert_eq!(MountFacts::from_facts(&facts), None);
    }
}
