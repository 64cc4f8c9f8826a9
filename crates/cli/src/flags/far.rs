//! The options for a simulated distance.

use clap::Args;
use sharebench_plan::TypedTarget;
use sharebench_relay::{Distance, FAR_OPTION};
use sharebench_target::TargetUrl;

use super::heading;
use super::target_axis::{each, with_option};
use crate::exit::Failure;

/// Distances of the targets of a run.
#[derive(Debug, Args, Clone, Default)]
pub struct FarFlags {
    /// Measure each target over a protocol at these simulated distances: 20ms, 20ms,100Mbit or 0,5ms,20ms,80ms. A distance is
    /// the round-trip time that is added; a rate limits each connection. Loss is not simulated.
    #[arg(long, value_name = "TIME[,RATE],...", value_parser = distances, help_heading = heading::TARGETS)]
    pub far: Option<Distances>,
}

/// The distances of an axis.
#[derive(Debug, Clone)]
pub struct Distances(Vec<Distance>);

fn distances(text: &str) -> Result<Distances, String> {
    Distance::list(text).map(Distances).map_err(|error| error.to_string())
}

impl FarFlags {
    /// All targets at all distances, with the distances of a target next to each other.
    pub fn apply(&self, targets: &[TypedTarget]) -> Result<Vec<TypedTarget>, Failure> {
        let Some(Distances(distances)) = &self.far else { return Ok(targets.to_vec()) };
        each("--far", distances, targets, at)
    }
}

/// A URL with the option of a distance.
fn at(url: &str, distance: Distance) -> Result<String, Failure> {
    let parsed = TargetUrl::parse(url)?;
    let known = ["smb", "nfs", "ncp"];
    if !known.contains(&parsed.scheme.as_str()) {
        let reason =
            "a distance can be simulated for targets over a protocol only: smb://, nfs:// and ncp://";
        return Err(Failure::usage(format!("--far with '{url}': {reason}")));
    }
    with_option("--far", url, &parsed, FAR_OPTION, distance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::target_axis::tests::{typed, urls_of};

    fn axis(text: &str, urls: &[&str]) -> Result<Vec<String>, String> {
        let flags = FarFlags { far: Some(distances(text)?) };
        flags.apply(&typed(urls)).map(urls_of).map_err(|failure| failure.to_string())
    }

    #[test]
    fn each_target_is_measured_at_each_distance() {
        let urls = axis("0,20ms,100Mbit", &["smb://a@nas/s%20t?sign=off", "nfs://nas/x"]).unwrap();
        let expected = [
            "smb://a@nas/s%20t?sign=off&far=0",
            "smb://a@nas/s%20t?sign=off&far=20ms,100Mbit",
            "nfs://nas/x?far=0",
            "nfs://nas/x?far=20ms,100Mbit",
        ];
        assert_eq!(urls, expected);
        assert_eq!(FarFlags::default().apply(&typed(&urls)).map(urls_of).unwrap(), urls);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, url, word) in [
            ("20ms", "/mnt/nas", "smb://"),
            ("20ms", "null://x", "smb://"),
            ("20ms", "nfs://nas/x?far=1ms", "already"),
            ("1ms,1ms", "nfs://nas/x", "twice"),
        ] {
            let error = axis(text, &[url]).unwrap_err();
            assert!(error.contains(word), "{text} {url}: {error}");
        }
    }
}
