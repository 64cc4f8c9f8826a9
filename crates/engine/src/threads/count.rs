//! The number of threads for the users of a step.

/// Users that block own a thread; the others share one thread per core.
pub(crate) fn threads(users: u32, blocking: bool) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    // More threads than cores would only compete for them, and a thread without a user would measure
    // nothing.
    if blocking { users } else { cores.min(users) }
}
