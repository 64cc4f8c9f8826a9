//! A setting in which two systems differ.

use serde::{Deserialize, Serialize};

/// A setting in which two systems differ, or that only one of them states.
///
/// The setting of a system that does not state it is unknown: it may be equal. So a setting with one value is no
/// difference, and nothing that was measured is attributed to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    /// Its name.
    pub name: String,
    /// Of the first system of a comparison; none if it is not stated.
    pub a: Option<String>,
    /// Of the second.
    pub b: Option<String>,
}

impl SettingChange {
    /// True if both systems state it, so that it is known to differ.
    pub fn is_known(&self) -> bool {
        self.a.is_some() && self.b.is_some()
    }

    /// `signature: 2 against not stated`.
    pub fn words(&self) -> String {
        let of = |value: &Option<String>| value.clone().unwrap_or_else(|| "not stated".to_owned());
        format!("{}: {} against {}", self.name, of(&self.a), of(&self.b))
    }
}
