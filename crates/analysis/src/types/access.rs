//! How a system is reached, and which caches take part: the columns of the Windows 2000 study.

use serde::{Deserialize, Serialize};
use sharebench_model::{Coordinates, Fact, Facts};

/// The path to the files; in the study's words "UNC path", "mapped drive" and "local disk".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Straight over the protocol, without the operating system's client.
    Direct,
    /// Through a mount of the operating system.
    Mounted,
    /// On a file system of this machine.
    Local,
}

impl Access {
    /// From the target's facts, or from its URL where a run is older than the fact.
    pub(crate) fn new(url: &str, facts: &Facts) -> Self {
        match Fact::Access.value(facts) {
            Some("mounted") => Self::Mounted,
            Some("local") => Self::Local,
            Some("direct") => Self::Direct,
            _ if url.contains("://") && !url.starts_with("file://") => Self::Direct,
            _ => match Fact::FileSystem.value(facts).unwrap_or_default() {
                "nfs" | "nfs4" | "cifs" | "smb3" => Self::Mounted,
                _ => Self::Local,
            },
        }
    }

    /// The name in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Mounted => "mounted",
            Self::Local => "local",
        }
    }
}

/// Who may buffer, by the study's letters. "Client" is the operating system's cache on the client,
/// "beyond" the server and its devices, or the disk's own cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Buffering {
    /// `Y`: client and beyond.
    #[default]
    All,
    /// `S`: the client's software, but writes go through to the device.
    Software,
    /// `H`: nothing in the client, whatever there is beyond.
    Hardware,
    /// `N`: nobody.
    None,
}

impl Buffering {
    /// From the target's facts and the cell's policies.
    pub(crate) fn new(access: Access, facts: &Facts, coordinates: &Coordinates) -> Self {
        let by_client =
            access != Access::Direct && Fact::DirectIo.value(facts).is_none_or(|yes| yes != "yes");
        let cache = coordinates.text("cache").unwrap_or_default();
        let through = coordinates.text("sync").is_some_and(|sync| sync.contains("through"));
        match (cache, by_client, through) {
            ("unbuffered", ..) | ("no-local", _, true) | (_, false, true) => Self::None,
            ("no-local", ..) | (_, false, false) => Self::Hardware,
            (_, true, true) => Self::Software,
            (_, true, false) => Self::All,
        }
    }

    /// The study's letter.
    pub fn letter(self) -> &'static str {
        match self {
            Self::All => "Y",
            Self::Software => "S",
            Self::Hardware => "H",
            Self::None => "N",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sharebench_model::Value;

    #[test]
    fn access_follows_from_fact_url_and_file_system() {
        let fact = |name: &str, value: &str| Facts::from([(name.to_owned(), value.to_owned())]);
        assert_eq!(Access::new("smb://nas/share", &Facts::new()), Access::Direct);
        assert_eq!(Access::new("/mnt", &fact("access", "mounted")), Access::Mounted);
        assert_eq!(Access::new("/mnt", &fact("file_system", "cifs")), Access::Mounted);
        assert_eq!(Access::new("file:///srv", &fact("file_system", "ext4")), Access::Local);
    }

    #[test]
    fn letters_follow_direct_io_and_the_policies() {
        let letter = |access, direct: &str, cache: &str, sync: &str| {
            let facts = Facts::from([("direct_io".to_owned(), direct.to_owned())]);
            let at = Coordinates::new().with("cache", Value::text(cache)).with("sync", Value::text(sync));
            Buffering::new(access, &facts, &at).letter()
        };
        assert_eq!(letter(Access::Local, "no", "normal", "normal"), "Y");
        assert_eq!(letter(Access::Mounted, "yes", "normal", "normal"), "H");
        assert_eq!(letter(Access::Direct, "", "normal", "normal"), "H");
        assert_eq!(letter(Access::Mounted, "no", "normal", "write-through"), "S");
        assert_eq!(letter(Access::Mounted, "no", "no-local", "normal"), "H");
        assert_eq!(letter(Access::Direct, "", "unbuffered", "normal"), "N");
    }
}
