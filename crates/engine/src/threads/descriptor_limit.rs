//! File descriptors: raises the limit to what the sessions of a step need, or explains how to raise it.

use sharebench_model::units::counted;

use crate::system::raise_descriptors;

/// Maximum number of concurrent logins of this process. With more of them the server's queue of connections overflows
/// (50 in smbd). TCP then waits for a second and longer, and a connection whose retries all meet a full queue is reset
/// (docs/design/user-sessions.md).
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
    let needed = needed(u64::from(sessions), u64::from(each));
    let Err(most) = raise_descriptors(needed) else { return Ok(()) };
    Err(refusal(sessions, each, [needed, most]))
}

/// Descriptors of that many users, who have `each` of them.
fn needed(users: u64, each: u64) -> u64 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // A login in progress may use one more descriptor.
    let logins = users.min(LOGINS.max(cores) as u64);
    users * each + logins + OTHER_DESCRIPTORS
}

/// What the user can do where a process may have `most` descriptors and needs more.
fn refusal(sessions: u32, each: u32, [needed, most]: [u64; 2]) -> String {
    let users =
        (1..=u64::from(sessions)).take_while(|users| self::needed(*users, u64::from(each)) <= most).count();
    let fewer = match users {
        0 => String::new(),
        1 => "use 1 user, or ".to_owned(),
        users => format!("use at most {users} users, or "),
    };
    format!(
        "{} need {needed} file descriptors, and this process may have {most}: {fewer}raise the hard limit (as root by \
         `ulimit -Hn {needed}`, `prlimit --nofile={needed}` or LimitNOFILE= of a service)",
        counted(u64::from(sessions), "user"),
    )
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::ensure_descriptors;
    use super::{LOGINS, logins_per_thread, refusal};

    #[test]
    fn the_threads_together_log_in_fewer_users_at_once_than_smbd_queues() {
        const QUEUE_OF_SMBD: usize = 50;
        for threads in 1..=LOGINS as u32 {
            let logins = logins_per_thread(threads) * threads as usize;
            assert!((1..QUEUE_OF_SMBD).contains(&logins), "{threads} threads: {logins}");
        }
        assert_eq!(logins_per_thread(1000), 1);
    }

    #[test]
    fn the_number_of_users_that_would_do_is_named_unless_it_is_none() {
        for (most, advice) in [
            (64, "may have 64: raise the hard limit"),
            (129, "may have 129: raise the hard limit"),
            (131, "may have 131: use 1 user, or raise"),
            (134, "may have 134: use at most 2 users, or raise"),
        ] {
            let said = refusal(5, 2, [143, most]);
            assert!(said.contains("5 users need 143") && said.contains(advice), "{said}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_no_process_can_have_is_refused_with_the_number_that_would_do() {
        assert_eq!(ensure_descriptors(1, 2), Ok(()));
        let said = ensure_descriptors(u32::MAX, u32::MAX).unwrap_err();
        assert!(said.contains("4294967295 users need") && said.contains("ulimit -Hn"), "{said}");
    }
}
