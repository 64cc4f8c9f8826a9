//! What an option of a URL declares.

use std::fmt;

use crate::Fact;

/// An option of target URLs: `name=value`.
///
/// A new one needs a row in the table of its protocol, and the place in the client that takes and applies it. `--vary` then
/// measures each target with several values of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UrlOption {
    /// Its name in URLs.
    pub name: &'static str,
    /// What it takes.
    pub values: OptionValues,
    /// A value for the help of targets; none leaves the option out there.
    pub example: Option<&'static str>,
    /// The fact of a run that states its effect.
    pub fact: Option<Fact>,
    /// The value of the fact in a comparison where only URLs with the option state it.
    pub unstated: Option<&'static str>,
}

/// The values that an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionValues {
    /// One of these words.
    Choices(&'static [&'static str]),
    /// A number from the first to the second.
    Number {
        /// The smallest.
        least: u32,
        /// The largest.
        most: u32,
    },
    /// A simulated distance.
    Distance,
    /// Text of this form, which the client checks.
    Text(&'static str),
}

pub(super) const fn option(name: &'static str, values: OptionValues) -> UrlOption {
    UrlOption { name, values, example: None, fact: None, unstated: None }
}

impl UrlOption {
    pub(super) const fn example(self, value: &'static str) -> Self {
        Self { example: Some(value), ..self }
    }

    pub(super) const fn fact(self, fact: Fact) -> Self {
        Self { fact: Some(fact), ..self }
    }

    pub(super) const fn unstated(self, value: &'static str) -> Self {
        Self { unstated: Some(value), ..self }
    }
}

/// As errors and docs show them: `off and on`, `1 to 16`.
impl fmt::Display for OptionValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choices([first @ .., last]) => write!(f, "{} and {last}", first.join(", ")),
            Self::Choices([]) => Ok(()),
            Self::Number { least, most } => write!(f, "{least} to {most}"),
            Self::Distance => f.write_str("TIME[/RATE]"),
            Self::Text(form) => f.write_str(form),
        }
    }
}
