//! The option for several operations in one call.

use std::fmt;

use clap::{Args, ValueEnum};
use sharebench_plan::TypedTarget;
use sharebench_target::TargetUrl;

use super::heading;
use super::target_axis::{each, with_option};
use crate::exit::Failure;

const FLAG: &str = "--compound";
/// The option of URLs that the axis sets.
const OPTION: &str = "compound";

/// Several operations per call, of the targets of a run.
#[derive(Debug, Args, Clone, Default)]
pub struct CompoundFlags {
    /// Measure each nfs:// target of version 4.1 or 4.2 with its operations in calls of their own (off), with the open, read and
    /// close of a small file in one call (on), or with both: off,on. Sets compound= of the URLs. Transactions of loads
    /// that read a whole file with one request profit, and the sweep open-read-close.
    #[arg(
        long,
        value_name = "off|on,...",
        value_delimiter = ',',
        hide_possible_values = true,
        help_heading = heading::TARGETS
    )]
    pub compound: Option<Vec<Compound>>,
}

/// Whether several operations share a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Compound {
    /// Each operation is a call.
    Off,
    /// A call opens, reads and closes a small file.
    On,
}

impl fmt::Display for Compound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::On { "on" } else { "off" })
    }
}

impl CompoundFlags {
    /// All targets with all values, with the values of a target next to each other.
    pub fn apply(&self, targets: &[TypedTarget]) -> Result<Vec<TypedTarget>, Failure> {
        let Some(values) = &self.compound else { return Ok(targets.to_vec()) };
        each(FLAG, values, targets, with_compound)
    }
}

/// A URL with the option.
fn with_compound(url: &str, value: Compound) -> Result<String, Failure> {
    let parsed = TargetUrl::parse(url)?;
    let vers = parsed.options.get("vers").map_or("", String::as_str);
    if parsed.scheme != "nfs" || !matches!(vers, "4.1" | "4.2") {
        let reason = "only nfs:// with vers=4.1 or vers=4.2 has calls of several operations";
        return Err(Failure::usage(format!("{FLAG} with '{url}': {reason}")));
    }
    with_option(FLAG, url, &parsed, OPTION, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::target_axis::tests::{typed, urls_of};

    fn axis(values: &[Compound], url: &str) -> Result<Vec<String>, String> {
        let flags = CompoundFlags { compound: Some(values.to_vec()) };
        flags.apply(&typed(&[url])).map(urls_of).map_err(|failure| failure.to_string())
    }

    #[test]
    fn each_target_is_measured_with_each_value() {
        let urls = axis(&[Compound::Off, Compound::On], "nfs://nas/x?vers=4.1").unwrap();
        assert_eq!(urls, ["nfs://nas/x?vers=4.1&compound=off", "nfs://nas/x?vers=4.1&compound=on"]);
        assert_eq!(CompoundFlags::default().apply(&typed(&urls)).map(urls_of).unwrap(), urls);
    }

    #[test]
    fn mistakes_are_named() {
        for (values, url, word) in [
            (&[Compound::On][..], "smb://nas/x", "only nfs://"),
            (&[Compound::On], "nfs://nas/x", "vers=4.1 or vers=4.2"),
            (&[Compound::On], "nfs://nas/x?vers=4.2&compound=off", "compound= already"),
            (&[Compound::On, Compound::On], "nfs://nas/x?vers=4.2", "listed twice"),
            (&[Compound::On, Compound::Off, Compound::On], "nfs://nas/x?vers=4.2", "listed twice"),
        ] {
            let error = axis(values, url).unwrap_err();
            assert!(error.contains(word), "{url}: {error}");
        }
    }
}
