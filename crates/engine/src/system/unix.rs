//! What Linux and macOS have in common.

use std::process::{Child, Command};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The program that runs a command line of the user.
pub(crate) const SHELL: &str = "sh";

/// A command line as the shell runs it.
pub(crate) fn shell(line: &str) -> Command {
    let mut command = Command::new(SHELL);
    command.args(["-c", line]);
    command
}

/// Requests that a child ends; it may clean up first.
pub(crate) fn request_end(child: &mut Child) {
    // SAFETY: the child has not been waited for, so that its number is still its own.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
}

/// Ensures that the process may open `needed` descriptors; raises its own limit where allowed.
///
/// # Errors
/// The most descriptors that this process may have.
pub(crate) fn raise_descriptors(needed: u64) -> Result<(), u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // RLIM_INFINITY means that there is no limit.
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let most = maximum.unwrap_or(u64::MAX).max(needed);
    // First as far as the hard limit allows without privileges, then beyond it, which only a privileged
    // process may.
    let raised = [(needed.max(maximum.unwrap_or(needed)), maximum), (needed, Some(most))].into_iter().any(
        |(wanted, most)| {
            most.is_none_or(|most| most >= wanted)
                && setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: most }).is_ok()
        },
    );
    if raised { Ok(()) } else { Err(maximum.unwrap_or(u64::MAX)) }
}
