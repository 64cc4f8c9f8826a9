//! How many threads the users of a step get.

/// Users that block own a thread; the others share one thread per core.
pub(crate) fn threads(users: u32, blocking: bool) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    if blocking { users } else { cores.min(users) }
}
