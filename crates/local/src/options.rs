//! Options and limits of the target on every system.

use sharebench_target::{SessionSpec, TargetUrl, UrlError};

/// Largest record of one request: whole pages below 2 GiB.
pub(crate) const MAX_RECORD: u32 = 0x7FFF_F000;
pub(crate) const MAX_DEPTH: u32 = 4096;

/// Takes the option `direct=` of a URL, which must name a local path.
pub(crate) fn take_direct(url: &mut TargetUrl) -> Result<bool, UrlError> {
    if url.scheme != "file" {
        return Err(url.error("not a local path"));
    }
    match url.take("direct").as_deref() {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(other) => Err(url.error(format!("direct={other}: use 0 or 1"))),
    }
}

/// Checks the slots of a session; an error states the limits.
pub(crate) fn check_slots(spec: &SessionSpec) -> Result<(), String> {
    if spec.slots > MAX_DEPTH || spec.slot_bytes > MAX_RECORD {
        return Err(format!("at most queue depth {MAX_DEPTH} and records of {MAX_RECORD} bytes"));
    }
    Ok(())
}
