//! Which metadata tests a target supports: what they require is tried once in the directory of the run, because servers and
//! file systems differ within one protocol.

use sharebench_model::{ErrorClass, MetaOp, MetadataTest, OpError, OpStep, Requirement};
use sharebench_plan::{ResolvedPlan, Work};

use crate::metadata::caching_operations::{RequiredRight, try_right};
use crate::metadata::connected::Connected;
use crate::metadata::lock_operations::{try_denying, try_lock, try_semaphore};
use crate::metadata::notify_operations::try_watch;
use crate::metadata::rejection::{Rejection, rejection};
use crate::metadata::server_side::{CopyMethod, try_copy, try_hole};

/// The tests of the plan that the target does not support, each with the server's reason.
pub(crate) async fn unsupported(
    plan: &ResolvedPlan,
    has_ranks: bool,
    directory: &str,
    at: &mut Connected<'_, '_>,
) -> Result<Vec<(MetadataTest, OpError)>, OpError> {
    let is_planned = |test: &MetadataTest| {
        plan.works().any(|work| matches!(work, Work::Metadata(work) if work.test == *test))
    };
    let mut tried: Vec<(Requirement, Rejection)> = Vec::new();
    let mut found = Vec::new();
    for test in MetadataTest::ALL.into_iter().filter(is_planned) {
        let Some(requirement) = test.declaration().requirement else { continue };
        // Its jobs know of each other when a lock was released.
        let needs_one_process = has_ranks && test.hands_over();
        let known = tried.iter().find(|(known, _)| *known == requirement);
        let rejection = if let Some((_, rejection)) = known {
            rejection.clone()
        } else {
            let rejection = trial(requirement, directory, at).await?;
            tried.push((requirement, rejection.clone()));
            rejection
        };
        let rejection = rejection.or_else(|| needs_one_process.then(several_processes));
        found.extend(rejection.map(|error| (test, error)));
    }
    Ok(found)
}

fn several_processes() -> OpError {
    let detail = "its jobs work in one process, and this run has several ranks";
    OpError::new(ErrorClass::Unsupported, OpStep::Submit, detail)
}

/// Tries a requirement in a directory, and removes what that needed.
async fn trial(
    requirement: Requirement,
    directory: &str,
    at: &mut Connected<'_, '_>,
) -> Result<Rejection, OpError> {
    match requirement {
        Requirement::ModificationTimes => try_modified(directory, at).await,
        Requirement::HardLinks => try_link(directory, at).await,
        Requirement::ServerCopies => try_copy(CopyMethod::Copy, directory, at).await,
        Requirement::Clones => try_copy(CopyMethod::Clone, directory, at).await,
        Requirement::Holes => try_hole(directory, at).await,
        Requirement::Locks => try_lock(directory, at).await,
        Requirement::ShareModes => try_denying(directory, at).await,
        Requirement::Notifications => try_watch(directory, at).await,
        Requirement::Leases => try_right(RequiredRight::Lease, directory, at).await,
        Requirement::WriteLeases => try_right(RequiredRight::WriteLease, directory, at).await,
        Requirement::Delegations => try_right(RequiredRight::Delegation, directory, at).await,
        Requirement::Semaphores => try_semaphore(directory, at).await,
    }
}

async fn try_modified(directory: &str, at: &mut Connected<'_, '_>) -> Result<Rejection, OpError> {
    let path = format!("{directory}/probe");
    at.create_empty(&path).await?;
    let set = MetaOp::SetModified { path: path.clone(), seconds: 1_000_000_000 };
    let rejection = rejection(at.call(set).await.map(drop))?;
    at.remove(path).await?;
    Ok(rejection)
}

async fn try_link(directory: &str, at: &mut Connected<'_, '_>) -> Result<Rejection, OpError> {
    let path = format!("{directory}/probe");
    let to = format!("{directory}/link");
    at.create_empty(&path).await?;
    let link = MetaOp::Link { from: path.clone(), to: to.clone() };
    let rejection = rejection(at.call(link).await.map(drop))?;
    if rejection.is_none() {
        at.remove(to).await?;
    }
    at.remove(path).await?;
    Ok(rejection)
}
