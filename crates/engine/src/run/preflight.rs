//! Compares the requirements of a plan with the capabilities of a target, before anything is created.

use sharebench_plan::ResolvedPlan;
use sharebench_target::Target;

use crate::run::start_error::StartError;
use crate::threads::descriptor_limit;

/// Rejects a target that cannot do everything that the plan requires. Examines the target without creating anything.
pub(crate) fn check(plan: &ResolvedPlan, name: &str, target: &dyn Target) -> Result<(), StartError> {
    let capabilities = target.capabilities();
    let depth = plan.max_depth();
    let record = plan.max_record();
    let beyond = |problem| Err(StartError::Beyond { target: name.to_owned(), problem });
    if depth > capabilities.max_queue_depth {
        return beyond(format!(
            "queue depth {depth} is beyond {} of {}",
            capabilities.max_queue_depth, capabilities.protocol
        ));
    }
    if record > capabilities.max_record {
        return beyond(format!(
            "a record of {record} bytes is beyond one {} request of at most {} bytes; records are never split",
            capabilities.protocol, capabilities.max_record
        ));
    }
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
