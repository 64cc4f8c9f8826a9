//! URLs to targets: the one place that knows every protocol.

use std::path::Path;
use std::sync::Arc;

use sharebench_ncp_target::NcpTarget;
use sharebench_nfs::NfsTarget;
use sharebench_plan::{PlannedTarget, ResolvedPlan};
use sharebench_posix::PosixTarget;
use sharebench_smb::SmbTarget;
use sharebench_target::{NullTarget, Secret, Target, TargetUrl, WithBypass};

use crate::exit::Failure;
use crate::run::credentials;

/// Opens every target of a plan, without connecting.
pub fn open_all(plan: &ResolvedPlan, password_file: Option<&Path>) -> Result<Vec<Arc<dyn Target>>, Failure> {
    let sides = plan.cache_probes.as_ref().map_or(&[][..], |probes| &probes.bypass);
    let with_side = |target: &PlannedTarget| {
        let opened = open(&target.url, password_file)?;
        match sides.iter().find(|side| side.target == target.name) {
            Some(side) => {
                let road = open(&side.url, password_file)?;
                Ok(Arc::new(WithBypass::new(opened, road)) as Arc<dyn Target>)
            }
            None => Ok(opened),
        }
    };
    plan.targets.iter().map(with_side).collect()
}

/// The target that a URL names.
pub fn open(url: &str, password_file: Option<&Path>) -> Result<Arc<dyn Target>, Failure> {
    // For measuring sharebench itself; not a share, so not among the documented targets.
    if url == "null://" {
        return Ok(Arc::new(NullTarget));
    }
    let parsed = TargetUrl::parse(url)?;
    match parsed.scheme.as_str() {
        "file" => Ok(Arc::new(PosixTarget::from_url(parsed)?)),
        "nfs" => Ok(Arc::new(NfsTarget::from_url(parsed)?)),
        "smb" => {
            // The URL's own mistakes come before the question for a password.
            SmbTarget::from_url(parsed.clone(), Secret::default())?;
            let secret = secret_for(&parsed, password_file)?;
            Ok(Arc::new(SmbTarget::from_url(parsed, secret)?))
        }
        "ncp" => {
            NcpTarget::from_url(parsed.clone(), Secret::default())?;
            let secret = secret_for(&parsed, password_file)?;
            Ok(Arc::new(NcpTarget::from_url(parsed, secret)?))
        }
        other => Err(Failure::usage(format!(
            "'{url}': unknown protocol {other}://; known are /path, file://, smb://, nfs:// and ncp://"
        ))),
    }
}

/// The password of the URL's user; nobody has none.
fn secret_for(url: &TargetUrl, password_file: Option<&Path>) -> Result<Secret, Failure> {
    match url.user {
        Some(_) => credentials::for_target(url, password_file),
        None => Ok(Secret::default()),
    }
}
