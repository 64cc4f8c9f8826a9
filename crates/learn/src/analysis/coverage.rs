//! Which operations a plan can state, and which it cannot.

use std::collections::BTreeMap;

/// Operations that a plan cannot state, by why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotExpressed {
    /// What, and why not.
    pub what: &'static str,
    /// Operations of the input.
    pub operations: u64,
}

/// How much of the input is in the transactions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Operations of the input.
    pub operations: u64,
    /// Those in transactions, with the opens, closes and look-ups that only carry a request by name.
    pub expressed: u64,
    /// The others.
    pub not_expressed: Vec<NotExpressed>,
    /// What transactions state differently from the input, as sentences with counts.
    pub simplified: Vec<String>,
}

impl Coverage {
    /// The share of operations that is in transactions, 0 to 1.
    pub fn share(&self) -> f64 {
        if self.operations == 0 { 0.0 } else { self.expressed as f64 / self.operations as f64 }
    }
}

/// Counts while the input is read.
#[derive(Debug, Default)]
pub struct Counts {
    not_expressed: BTreeMap<&'static str, u64>,
    simplified: BTreeMap<&'static str, u64>,
}

impl Counts {
    /// Operations of the input that no transaction has.
    pub fn leave_out(&mut self, what: &'static str, operations: u64) {
        if operations > 0 {
            *self.not_expressed.entry(what).or_default() += operations;
        }
    }

    /// Something that transactions state differently.
    pub fn simplify(&mut self, what: &'static str, count: u64) {
        if count > 0 {
            *self.simplified.entry(what).or_default() += count;
        }
    }

    /// Operations that no transaction has so far.
    pub fn left_out(&self) -> u64 {
        self.not_expressed.values().sum()
    }

    /// The result for an input of that number of operations.
    pub fn finish(self, operations: u64) -> Coverage {
        let left_out = self.left_out();
        let mut not_expressed: Vec<NotExpressed> = self
            .not_expressed
            .into_iter()
            .map(|(what, operations)| NotExpressed { what, operations })
            .collect();
        not_expressed.sort_by_key(|left_out| std::cmp::Reverse(left_out.operations));
        let simplified =
            self.simplified.into_iter().map(|(what, count)| format!("{what}: {count}")).collect();
        Coverage { operations, expressed: operations.saturating_sub(left_out), not_expressed, simplified }
    }
}
