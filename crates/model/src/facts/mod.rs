//! Facts about targets: what each means in a comparison, and the form in which sessions state them.

mod declared;
mod target_facts;

pub use declared::Fact;
pub use target_facts::TargetFacts;

/// What a difference in a fact means when two systems are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FactClass {
    /// Chosen or negotiated, and able to explain a difference in rates: named as a setting that differs.
    Setting,
    /// A property of the system or its surroundings that nobody chose for the comparison: reported where it differs, never
    /// as the cause of a difference.
    Condition,
    /// What a run counted or read, or what follows from other facts: shown in tables, never compared.
    Result,
    /// An address, a port, a path or the number of a session or server: never reported as a difference.
    Identity,
}

impl FactClass {
    /// The class of a stored fact. A name that this version does not declare, because another version stored it, is a
    /// condition: it is shown where it differs, and explains nothing.
    pub fn of_stored(name: &str) -> Self {
        Fact::from_name(name).map_or(Self::Condition, Fact::class)
    }
}

/// What the fact [`Fact::Commit`] states of targets whose files are on stable storage after they are closed.
pub const COMMIT_ON_CLOSE: &str = "on request, and on close";

/// What the fact [`Fact::ClientCache`] states of clients that cache nothing.
pub const NO_CLIENT_CACHE: &str = "none";

/// Mount options, from the fact [`Fact::MountOptions`], that identify hosts, users and files, as facts of the class
/// [`FactClass::Identity`] do.
pub const IDENTITY_MOUNT_OPTIONS: [&str; 15] = [
    "addr",
    "clientaddr",
    "cruid",
    "domain",
    "gid",
    "lowerdir",
    "mountaddr",
    "mountport",
    "port",
    "srcaddr",
    "uid",
    "unc",
    "upperdir",
    "username",
    "workdir",
];
