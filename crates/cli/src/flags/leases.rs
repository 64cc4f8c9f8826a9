//! The option for leases of SMB targets.

use std::fmt;

use clap::{Args, ValueEnum};
use sharebench_plan::TypedTarget;
use sharebench_target::TargetUrl;

use super::heading;
use super::target_axis::{each, with_option};
use crate::exit::Failure;

const FLAG: &str = "--leases";
/// The option of URLs that the axis sets.
const OPTION: &str = "lease";

/// Leases of the targets of a run.
#[derive(Debug, Args, Clone, Default)]
pub struct LeaseFlags {
    /// Measure each smb:// target with opens that request these leases: none, r (read), rh (and handle), rwh (and write), or
    /// dir (of listed directories), such as none,rwh. Sets lease= of the URLs.
    #[arg(
        long,
        value_name = "LEASE,...",
        value_delimiter = ',',
        hide_possible_values = true,
        help_heading = heading::TARGETS
    )]
    pub leases: Option<Vec<Lease>>,
}

/// What opens request (docs/smb-client.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Lease {
    /// No lease.
    None,
    /// Caches what is read.
    R,
    /// Caches what is read and the open itself.
    Rh,
    /// Caches what is read, what is written and the open itself.
    Rwh,
    /// Listings request a lease of their directory.
    Dir,
}

impl fmt::Display for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::R => "r",
            Self::Rh => "rh",
            Self::Rwh => "rwh",
            Self::Dir => "dir",
        })
    }
}

impl LeaseFlags {
    /// All targets with all leases, with the leases of a target next to each other.
    pub fn apply(&self, targets: &[TypedTarget]) -> Result<Vec<TypedTarget>, Failure> {
        let Some(leases) = &self.leases else { return Ok(targets.to_vec()) };
        each(FLAG, leases, targets, with_lease)
    }
}

/// A URL with the option.
fn with_lease(url: &str, lease: Lease) -> Result<String, Failure> {
    let parsed = TargetUrl::parse(url)?;
    if parsed.scheme != "smb" {
        return Err(Failure::usage(format!("{FLAG} with '{url}': only smb:// has leases")));
    }
    with_option(FLAG, url, &parsed, OPTION, lease)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::target_axis::tests::{typed, urls_of};

    fn axis(leases: &[Lease], url: &str) -> Result<Vec<String>, String> {
        let flags = LeaseFlags { leases: Some(leases.to_vec()) };
        flags.apply(&typed(&[url])).map(urls_of).map_err(|failure| failure.to_string())
    }

    #[test]
    fn each_target_is_measured_with_each_lease() {
        let urls = axis(&[Lease::None, Lease::Rwh], "smb://a@nas/s").unwrap();
        assert_eq!(urls, ["smb://a@nas/s?lease=none", "smb://a@nas/s?lease=rwh"]);
        assert_eq!(axis(&[Lease::Dir], "smb://nas/s?sign=off").unwrap(), ["smb://nas/s?sign=off&lease=dir"]);
        assert_eq!(LeaseFlags::default().apply(&typed(&urls)).map(urls_of).unwrap(), urls);
    }

    #[test]
    fn every_lease_has_the_name_that_the_flag_takes() {
        for lease in Lease::value_variants() {
            assert_eq!(Lease::from_str(&lease.to_string(), false), Ok(*lease));
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (leases, url, word) in [
            (&[Lease::R][..], "nfs://nas/x", "only smb:// has leases"),
            (&[Lease::R], "/mnt/nas", "only smb:// has leases"),
            (&[Lease::R], "smb://nas/x?lease=rh", "lease= already"),
            (&[Lease::R, Lease::Rh, Lease::R], "smb://nas/x", "r is listed twice"),
        ] {
            let error = axis(leases, url).unwrap_err();
            assert!(error.contains(word), "{url}: {error}");
        }
    }
}
