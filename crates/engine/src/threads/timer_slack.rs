//! Timers as sharp as the kernel can make them.

/// Takes the 50 us of slack off the calling thread's timers, by which Linux groups wake-ups
/// (prctl(2), `PR_SET_TIMERSLACK`). False when the kernel refuses.
pub fn precise_timers() -> bool {
    // SAFETY: this option takes one integer and changes nothing but the calling thread's slack.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) == 0 }
}
