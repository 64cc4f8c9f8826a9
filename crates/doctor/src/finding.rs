//! A finding: one property of this machine, and what it would spoil.

use serde::Serialize;

/// How a property stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Light {
    /// Nothing against measuring here.
    Pass,
    /// It would spoil something.
    Warn,
    /// It could not be read: nothing is known, which is not the same as fine.
    Unknown,
}

/// One property of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Short name, such as `timer`.
    pub name: &'static str,
    /// How it stands.
    pub light: Light,
    /// What was read, with its limit.
    pub seen: String,
    /// What it invalidates when it does not pass, and what helps.
    pub invalidates: &'static str,
}

impl Finding {
    /// A property that was read, and whether it is within its limit.
    pub(crate) fn read(name: &'static str, good: bool, seen: String, invalidates: &'static str) -> Self {
        Self { name, light: if good { Light::Pass } else { Light::Warn }, seen, invalidates }
    }

    /// A property that could not be read, and why.
    pub(crate) fn unknown(name: &'static str, why: impl Into<String>, invalidates: &'static str) -> Self {
        Self { name, light: Light::Unknown, seen: why.into(), invalidates }
    }
}
