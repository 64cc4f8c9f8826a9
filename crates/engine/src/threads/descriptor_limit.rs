//! File descriptors: raises the limit to what the sessions of a step need, or explains how to raise it.

use crate::system::raise_descriptors;

/// Maximum number of concurrent logins of this process. With more of them the server's queue of connections overflows
/// (50 in smbd). TCP then waits for a second and longer, and a connection whose retries all meet a full queue is reset
/// (docs/adr/0026).
const LOGINS: usize = 40;

/// Descriptors other than those of sessions: the results database, event queues, timers, the engine's own sessions.
const OTHER_DESCRIPTORS: u64 = 128;

/// Maximum number of concurrent logins of each of `threads` threads.
pub(crate) fn logins_per_thread(threads: u32) -> usize {
    (LOGINS / threads.max(1) as usize).max(1)
}

/// Ensures that the process may open `sessions` x `each` descriptors; raises its own limit where allowed.
///
/// # Errors
/// The number of missing descriptors and how to get them, as a text for the user.
pub(crate) fn ensure_descriptors(sessions: u32, each: u32) -> Result<(), String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // A login in progress may use one more descriptor.
    let logins = u64::from(sessions).min(LOGINS.max(cores) as u64);
    let needed = u64::from(sessions) * u64::from(each) + logins + OTHER_DESCRIPTORS;
    let Err(most) = raise_descriptors(needed) else { return Ok(()) };
    Err(format!(
        "{sessions} users need {needed} file descriptors, and this process may have {most}: use at most {} users, or \
         raise the hard limit (as root by `ulimit -Hn {needed}`, `prlimit --nofile={needed}` or LimitNOFILE= of a \
         service)",
        most.saturating_sub(logins + OTHER_DESCRIPTORS) / u64::from(each.max(1))
    ))
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::ensure_descriptors;
    use super::{LOGINS, logins_per_thread};

    #[test]
    fn the_threads_together_log_in_fewer_users_at_once_than_smbd_queues() {
        const QUEUE_OF_SMBD: usize = 50;
        for threads in 1..=LOGINS as u32 {
            let logins = logins_per_thread(threads) * threads as usize;
            assert!((1..QUEUE_OF_SMBD).contains(&logins), "{threads} threads: {logins}");
        }
        assert_eq!(logins_per_thread(1000), 1);
    }

    #[cfg(unix)]
    #[test]
    fn what_no_process_can_have_is_refused_with_the_number_that_would_do() {
        assert_eq!(ensure_descriptors(1, 2), Ok(()));
        let said = ensure_descriptors(u32::MAX, u32::MAX).unwrap_err();
        assert!(said.contains("4294967295 users need") && said.contains("ulimit -Hn"), "{said}");
    }
}
