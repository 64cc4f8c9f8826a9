//! The facts that a session states about its target.

use std::collections::BTreeMap;
use std::ops::Index;

use crate::{Fact, Facts};

/// Facts about one target, each under its declaration, so that a fact without a class cannot be stated.
///
/// A session states them when it is ready, and its target adds counts at the end of the run. The engine stores them by
/// name ([`TargetFacts::stored`]); analysis and reports read the stored form. Never a secret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetFacts(BTreeMap<Fact, String>);

impl TargetFacts {
    /// No fact.
    pub fn new() -> Self {
        Self::default()
    }

    /// States a fact; a later value replaces an earlier one.
    pub fn state(&mut self, fact: Fact, value: impl Into<String>) {
        self.0.insert(fact, value.into());
    }

    /// The value of a fact; none if it is not stated.
    pub fn get(&self, fact: Fact) -> Option<&str> {
        self.0.get(&fact).map(String::as_str)
    }

    /// Removes a fact and returns its value.
    pub fn remove(&mut self, fact: Fact) -> Option<String> {
        self.0.remove(&fact)
    }

    /// True if no fact is stated.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The stated facts with their values, in the order of their declaration.
    pub fn iter(&self) -> impl Iterator<Item = (Fact, &str)> {
        self.0.iter().map(|(fact, value)| (*fact, value.as_str()))
    }

    /// The facts by name, as a run stores them.
    pub fn stored(&self) -> Facts {
        self.iter().map(|(fact, value)| (fact.name().to_owned(), value.to_owned())).collect()
    }
}

impl<const N: usize> From<[(Fact, String); N]> for TargetFacts {
    fn from(facts: [(Fact, String); N]) -> Self {
        Self(facts.into())
    }
}

impl Extend<(Fact, String)> for TargetFacts {
    fn extend<T: IntoIterator<Item = (Fact, String)>>(&mut self, facts: T) {
        self.0.extend(facts);
    }
}

impl IntoIterator for TargetFacts {
    type Item = (Fact, String);
    type IntoIter = std::collections::btree_map::IntoIter<Fact, String>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// The value of a stated fact.
///
/// # Panics
/// The fact is not stated.
impl Index<Fact> for TargetFacts {
    type Output = String;

    fn index(&self, fact: Fact) -> &String {
        &self.0[&fact]
    }
}
