//! macOS, for which there is no target of local paths yet.

use std::convert::Infallible;
use std::io::{self, Read};
use std::sync::Arc;

use sharebench_target::offers::OfferReport;
use sharebench_target::{Target, TargetUrl};

use super::MachineFacts;
use crate::exit::Failure;

/// Fails, as [`local_target`].
pub fn local_path(url: TargetUrl) -> Result<Infallible, Failure> {
    Err(unsupported(&url))
}

/// There is no path to examine.
pub async fn local_offers(path: Infallible) -> OfferReport {
    match path {}
}

/// Fails: local paths are not measured on this system.
pub fn local_target(url: TargetUrl) -> Result<Arc<dyn Target>, Failure> {
    Err(unsupported(&url))
}

fn unsupported(url: &TargetUrl) -> Failure {
    Failure::usage(format!(
        "'{url}': local paths need Linux or Windows; on macOS name a share as smb://, nfs:// or ncp://"
    ))
}

/// Fills a buffer with random bytes that nobody can guess.
pub fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    std::fs::File::open("/dev/urandom")?.read_exact(bytes)
}

/// Facts about this machine: the release of the kernel.
pub fn machine_facts() -> MachineFacts {
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    MachineFacts { kernel: Some(format!("Darwin {kernel}")), ..MachineFacts::default() }
}
