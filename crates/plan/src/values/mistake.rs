//! Mistakes in a plan: collected, placed and explained.

use std::fmt;

use sharebench_model::units::counted;

/// One thing wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The field at fault, such as `sweep.record_sizes`.
    pub field: String,
    /// Line of the plan file, counted from 1; none for plans made from flags.
    pub line: Option<usize>,
    /// The problem.
    pub problem: String,
    /// The text to write instead.
    pub hint: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}: {}", self.field, self.problem)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, "\n    hint: {}", self.hint) }
    }
}

/// Everything wrong with a plan, never empty when it is an error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mistakes(pub Vec<Mistake>);

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the plan has {}", counted(self.0.len(), "mistake"))?;
        self.0.iter().try_for_each(|mistake| write!(f, "\n  {mistake}"))
    }
}

impl std::error::Error for Mistakes {}

/// The known name nearest to a misspelt one, if it is near enough to be meant.
pub fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let near = known.iter().map(|name| (distance(typed, name), *name)).min()?;
    (near.0 <= typed.len() / 3 + 1).then_some(near.1)
}

/// Levenshtein distance by one rolling row.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_misspelling_finds_its_field() {
        assert_eq!(nearest("record_size", &["file_sizes", "record_sizes"]), Some("record_sizes"));
        assert_eq!(nearest("colour", &["file_sizes", "record_sizes"]), None);
    }
}
