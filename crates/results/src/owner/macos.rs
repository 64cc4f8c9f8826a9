//! Processes of macOS.

/// Empty: the instant at which a process started distinguishes it across boots as well.
pub(super) fn boot() -> String {
    String::new()
}

/// Instant at which a process started, in microseconds since 1970 (`proc_pidinfo` with `PROC_PIDTBSDINFO`).
pub(super) fn started(pid: u32) -> Option<i64> {
    let pid = libc::c_int::try_from(pid).ok()?;
    let len = libc::c_int::try_from(size_of::<libc::proc_bsdinfo>()).ok()?;
    // SAFETY: zeros are valid for a structure of integers, and the call writes at most `len` bytes to it.
    let (info, written) = unsafe {
        let mut info: libc::proc_bsdinfo = std::mem::zeroed();
        let written = libc::proc_pidinfo(pid, libc::PROC_PIDTBSDINFO, 0, (&raw mut info).cast(), len);
        (info, written)
    };
    let micros = info.pbi_start_tvsec.checked_mul(1_000_000)?.checked_add(info.pbi_start_tvusec)?;
    (written == len && info.pbi_status != libc::SZOMB).then_some(micros.cast_signed())
}
