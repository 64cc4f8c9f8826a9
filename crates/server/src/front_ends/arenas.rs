//! Limits the number of memory arenas of glibc for servers with many threads.

/// Limits the arenas of this process to one per core, where glibc would create eight times as many. Each arena keeps the
/// most memory that it ever used, whichever thread needed it: with hundreds of threads that wait most of the time, the
/// memory of a server would grow until each arena has served the largest request. Call it before threads start, in a
/// process that only serves.
pub fn share_arenas() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let most = i32::try_from(cores).unwrap_or(i32::MAX);
        // SAFETY: the call takes two numbers and ignores invalid ones.
        let taken = unsafe { libc::mallopt(libc::M_ARENA_MAX, most) };
        tracing::debug!(most, taken, "arenas of the allocator");
    }
}
