//! File descriptors: as many as the sessions of a step take, or words about how to get them.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Most logins of a thread at once: more would find the server's queue of connections full, and wait for its next try.
pub(crate) const LOGINS: usize = 64;

/// Descriptors other than those of sessions: the results database, event queues, timers, the engine's own sessions.
const OTHER_DESCRIPTORS: u64 = 128;

/// Ensures that the process may open `sessions` x `each` descriptors; raises its own limit where allowed.
///
/// # Errors
/// What is missing, and how to get it, for people.
pub(crate) fn ensure_descriptors(sessions: u32, each: u32) -> Result<(), String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // A login under way may take one more.
    let logins = u64::from(sessions).min((LOGINS * cores) as u64);
    let needed = u64::from(sessions) * u64::from(each) + logins + OTHER_DESCRIPTORS;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // RLIM_INFINITY means that there is no limit.
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let most = maximum.unwrap_or(u64::MAX).max(needed);
    let raised = [(needed.max(maximum.unwrap_or(needed)), maximum), (needed, Some(most))].into_iter().any(
        |(wanted, most)| {
            most.is_none_or(|most| most >= wanted)
                && setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: most }).is_ok()
        },
    );
    if raised {
        return Ok(());
    }
    let most = maximum.unwrap_or(u64::MAX);
    Err(format!(
        "{sessions} users need {needed} file descriptors, and this process may have {most}: use at most {} users, or \
         raise the hard limit (as root by `ulimit -Hn {needed}`, `prlimit --nofile={needed}` or LimitNOFILE= of a \
         service)",
        most.saturating_sub(logins + OTHER_DESCRIPTORS) / u64::from(each.max(1))
    ))
}

#[cfg(test)]
mod tests {
    use super::ensure_descriptors;

    #[test]
    fn what_no_process_can_have_is_refused_with_the_number_that_would_do() {
        assert_eq!(ensure_descriptors(1, 2), Ok(()));
        let said = ensure_descriptors(u32::MAX, u32::MAX).unwrap_err();
        assert!(said.contains("4294967295 users need") && said.contains("ulimit -Hn"), "{said}");
    }
}
