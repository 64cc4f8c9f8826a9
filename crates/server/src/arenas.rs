//! How many arenas the allocator of glibc keeps for a server's many threads.

/// Lets all threads of this process share as many arenas as there are cores, where glibc would make eight times as many. Each arena
/// keeps what it took at its busiest, whichever thread needed it: with some hundred threads that wait most of the time, a
/// server's memory grows until each has met the largest request. To be called before threads start, by a process that only
/// serves.
pub fn share_arenas() {
    #[cfg(target_env = "gnu")]
    {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let most = i32::try_from(cores).unwrap_or(i32::MAX);
        // SAFETY: it takes two numbers. What it does not like it leaves alone.
        let taken = unsafe { libc::mallopt(libc::M_ARENA_MAX, most) };
        tracing::debug!(most, taken, "arenas of the allocator");
    }
}
