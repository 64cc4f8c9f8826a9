//! The unit of a workload: what its users stand for, and when a target sustains them.

use sharebench_model::UnitObjective;

use super::check::Checker;
use crate::values::WantedObjective;

/// Longest noun, in characters.
const MAX_NOUN: usize = 32;

/// The unit as typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypedUnit {
    /// What one user is, in the singular: `stream`.
    pub name: Option<String>,
    /// What one of its transactions is, in the singular: `frame`.
    pub transactions: Option<String>,
    /// When the target sustains it.
    pub objective: Option<WantedObjective>,
}

/// The unit in which the users of a workload think, valid and complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// What one user is, in the singular.
    pub name: String,
    /// What one of its transactions is, in the singular.
    pub transaction: String,
    /// When the target sustains it.
    pub objective: UnitObjective,
}

impl Checker<'_> {
    /// The unit; none where the workload has none, or something is wrong with it.
    pub(super) fn unit(&mut self) -> Option<Unit> {
        let typed = self.typed.unit.as_ref()?;
        let name = self.noun("unit.name", typed.name.as_deref(), "name = \"stream\"")?;
        let transaction = typed.transactions.as_deref().unwrap_or("transaction");
        let transaction = self.noun("unit.transactions", Some(transaction), "transactions = \"frame\"")?;
        let Some(WantedObjective(objective)) = typed.objective else {
            self.blame("unit.objective", "there is none", "such as objective = \"missed<=1%\"");
            return None;
        };
        let has_deadline = self.typed.transactions.iter().any(|transaction| transaction.deadline.is_some());
        if matches!(objective, UnitObjective::Missed { .. }) && !has_deadline {
            let hint = "add deadline = \"100ms\" to those that must not be late";
            self.blame("unit.objective", "no transaction has a deadline that it could miss", hint);
            return None;
        }
        Some(Unit { name, transaction, objective })
    }

    /// A noun that takes an s in the plural, as sentences need it.
    fn noun(&mut self, field: &str, noun: Option<&str>, hint: &str) -> Option<String> {
        let noun = noun.unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == ' ' || c == '-';
        if noun.trim().is_empty() || noun.len() > MAX_NOUN || !noun.chars().all(plain) {
            let hint = format!("a noun in the singular, such as {hint}: letters, digits, spaces and '-'");
            self.blame(field, format!("'{noun}' is no noun"), hint);
            return None;
        }
        Some(noun.to_owned())
    }
}
