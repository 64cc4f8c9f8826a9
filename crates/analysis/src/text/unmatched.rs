//! Positions without counterpart, in words.

use crate::types::{Analysis, Unmatched};

impl Unmatched {
    /// One line: test, how many positions, who lacks them, why.
    pub fn words(&self, analysis: &Analysis) -> String {
        let names: Vec<&str> =
            self.missing.iter().map(|system| analysis.systems[*system].name.as_str()).collect();
        let which = if self.positions == self.of {
            format!("all {}", sharebench_model::units::counted(self.of, "position"))
        } else {
            format!("{} of {}", self.positions, sharebench_model::units::counted(self.of, "position"))
        };
        let such_as = if self.positions == self.of && self.of > 1 {
            String::new()
        } else {
            format!(" (such as {})", self.example)
        };
        format!(
            "{}: {which} not on {}{such_as}: {}",
            analysis.sections[self.section].title,
            names.join(", "),
            self.why
        )
    }
}
