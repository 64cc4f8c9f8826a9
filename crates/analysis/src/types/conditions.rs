//! Conditions that systems were measured under, apart from what the plan requests of all of them.

use serde::{Deserialize, Serialize};

/// A condition that changes rates on its own, so that systems which differ in it are not compared like with like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Protocol and its version.
    Dialect,
    /// Signatures of messages.
    Signing,
    /// Encryption of messages.
    Encryption,
    /// What an acknowledged write promises.
    WriteStability,
    /// Connections of one session or mount.
    Connections,
    /// Caching of file data on the client.
    CachePolicy,
    /// What users of a load do between two steps.
    UsersBetweenSteps,
    /// Free space of the file system.
    FreeSpace,
}

impl Condition {
    /// Every condition, in the order of the report.
    pub const ALL: [Self; 8] = [
        Self::Dialect,
        Self::Signing,
        Self::Encryption,
        Self::WriteStability,
        Self::Connections,
        Self::CachePolicy,
        Self::UsersBetweenSteps,
        Self::FreeSpace,
    ];

    /// The name in reports; the value follows it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Dialect => "dialect",
            Self::Signing => "signing",
            Self::Encryption => "encryption",
            Self::WriteStability => "acknowledged writes",
            Self::Connections => "connections",
            Self::CachePolicy => "client cache",
            Self::UsersBetweenSteps => "users between steps",
            Self::FreeSpace => "free space",
        }
    }
}

/// The value of a condition for one system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionValue {
    /// Index into [`crate::Analysis::systems`].
    pub system: usize,
    /// Its value, such as `AES-CMAC`.
    pub value: String,
}

/// A condition that is known to differ between systems that are compared.
///
/// The judge stage derives the values from what each target negotiated, from its mount options, from the replies to its
/// writes, from the steps of its load and from its free space. A value that is not known differs from nothing, so such a system is not listed.
/// Reports show these lines before the first ratio, because a reader who sees the ratio first has already judged it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnlikeCondition {
    /// Which condition.
    pub condition: Condition,
    /// The systems with a known value that differs from that of a system they are compared with.
    pub values: Vec<ConditionValue>,
    /// The warning as one line.
    pub text: String,
}
