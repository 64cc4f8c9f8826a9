//! The option for the number of connections of each session.

use clap::Args;
use sharebench_plan::TypedTarget;
use sharebench_target::TargetUrl;

use super::heading;
use super::target_axis::{each, with_option};
use crate::exit::Failure;

const FLAG: &str = "--connections";
/// Most connections of a session that any target accepts.
const MAX_CONNECTIONS: u32 = 64;

/// Protocols whose sessions may have several connections, and the option of their URLs.
const OPTIONS: [(&str, &str); 3] = [("smb", "channels"), ("nfs", "nconnect"), ("ncp", "connections")];

/// Numbers of connections of the targets of a run.
#[derive(Debug, Args, Clone, Default)]
pub struct ConnectionFlags {
    /// Measure each target over a protocol with sessions of these numbers of connections, such as 1,2,4,8. Sets channels= of
    /// smb://, nconnect= of nfs:// and connections= of ncp://.
    #[arg(
        long,
        value_name = "NUMBER,...",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_CONNECTIONS)),
        help_heading = heading::TARGETS
    )]
    pub connections: Option<Vec<u32>>,
}

impl ConnectionFlags {
    /// All targets with all numbers of connections, with the numbers of a target next to each other.
    pub fn apply(&self, targets: &[TypedTarget]) -> Result<Vec<TypedTarget>, Failure> {
        let Some(numbers) = &self.connections else { return Ok(targets.to_vec()) };
        each(FLAG, numbers, targets, with_connections)
    }
}

/// A URL with the option of its protocol.
fn with_connections(url: &str, number: u32) -> Result<String, Failure> {
    let parsed = TargetUrl::parse(url)?;
    let Some((_, option)) = OPTIONS.iter().find(|(scheme, _)| *scheme == parsed.scheme) else {
        let reason = "only targets over a protocol have connections: smb://, nfs:// and ncp://";
        return Err(Failure::usage(format!("{FLAG} with '{url}': {reason}")));
    };
    with_option(FLAG, url, &parsed, option, number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::target_axis::tests::{typed, urls_of};

    fn axis(numbers: &[u32], urls: &[&str]) -> Result<Vec<String>, String> {
        let flags = ConnectionFlags { connections: Some(numbers.to_vec()) };
        flags.apply(&typed(urls)).map(urls_of).map_err(|failure| failure.to_string())
    }

    #[test]
    fn each_target_is_measured_with_each_number() {
        let urls = axis(&[1, 4], &["smb://a@nas/s?sign=off", "nfs://nas/x", "ncp://nas/SYS"]).unwrap();
        let expected = [
            "smb://a@nas/s?sign=off&channels=1",
            "smb://a@nas/s?sign=off&channels=4",
            "nfs://nas/x?nconnect=1",
            "nfs://nas/x?nconnect=4",
            "ncp://nas/SYS?connections=1",
            "ncp://nas/SYS?connections=4",
        ];
        assert_eq!(urls, expected);
        assert_eq!(ConnectionFlags::default().apply(&typed(&urls)).map(urls_of).unwrap(), urls);
    }

    #[test]
    fn mistakes_are_named() {
        for (numbers, url, word) in [
            (&[2][..], "/mnt/nas", "only targets over a protocol"),
            (&[2], "null://x", "smb://, nfs:// and ncp://"),
            (&[2], "smb://nas/x?channels=4", "channels= already"),
            (&[2, 1, 2], "smb://nas/x", "2 is listed twice"),
        ] {
            let error = axis(numbers, &[url]).unwrap_err();
            assert!(error.contains(word), "{url}: {error}");
        }
    }
}
