//! Compares the requirements of a plan with the capabilities of a target, before anything is created.

use sharebench_plan::ResolvedPlan;
use sharebench_target::Target;

use crate::run::cell_limits::{Excess, Limits};
use crate::run::start_error::StartError;
use crate::threads::descriptor_limit;

/// Rejects a target that cannot measure any cell of the plan, and one that cannot do what the plan requires of it in
/// every cell. Examines the target without creating anything.
pub(crate) fn check(plan: &ResolvedPlan, name: &str, target: &dyn Target) -> Result<(), StartError> {
    let capabilities = target.capabilities();
    let beyond = |problem| Err(StartError::Beyond { target: name.to_owned(), problem });
    let protocol = capabilities.protocol;
    let exceeding = Limits::Protocol(target.capabilities(), target.call_depth()).exceeded_by(plan);
    some_cell_remains(plan, name, &exceeding, protocol)?;
    if let Some(users) = plan.max_sessions()
        && let Err(problem) = descriptor_limit::ensure_descriptors(users, target.descriptors())
    {
        return beyond(problem);
    }
    if let (false, Some(test)) = (capabilities.mapping, plan.first_mapping()) {
        return beyond(format!(
            "{test} has no meaning over {}: only local and mounted paths without direct=1 can be mapped into memory; leave the mmap tests out or name other targets",
            capabilities.protocol
        ));
    }
    for (policy, what, bytes) in plan.policies() {
        let terms = match target.policy(policy) {
            Ok(terms) => terms,
            Err(refusal) => return beyond(refusal.to_string()),
        };
        if !bytes.is_multiple_of(u64::from(terms.alignment)) {
            return beyond(format!(
                "cache={}: a {what} of {bytes} bytes is no multiple of the {} bytes that access past the cache \
                 takes here",
                policy.cache, terms.alignment
            ));
        }
    }
    Ok(())
}

/// Rejects a target on which every cell of the plan would be skipped, if the plan has nothing else to measure there.
pub(crate) fn some_cell_remains(
    plan: &ResolvedPlan,
    name: &str,
    exceeding: &[(usize, Excess)],
    protocol: &str,
) -> Result<(), StartError> {
    match exceeding.first() {
        Some((_, excess)) if exceeding.len() == plan.cells.len() && plan.loads.is_empty() => {
            let problem = format!("no cell of the plan can be measured: {}", excess.limit(protocol));
            Err(StartError::Beyond { target: name.to_owned(), problem })
        }
        _ => Ok(()),
    }
}
