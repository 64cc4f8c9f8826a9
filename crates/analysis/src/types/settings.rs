//! A setting in which two systems differ.

use serde::{Deserialize, Serialize};

/// A setting in which two systems differ.
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
    /// `signature: 2 against not stated`.
    pub fn words(&self) -> String {
        let of = |value: &Option<String>| value.clone().unwrap_or_else(|| "not stated".to_owned());
        format!("{}: {} against {}", self.name, of(&self.a), of(&self.b))
    }
}
