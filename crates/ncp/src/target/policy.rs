//! The I/O policies that NCP can honour.

use sharebench_model::{CachePolicy, IoPolicy};
use sharebench_target::{PolicyRefusal, PolicyTerms};

/// Checks an I/O policy. Without `cache=` this client caches nothing, so `no-local` always holds. Write-through is a
/// property of an open file.
pub(crate) fn check_policy(wanted: IoPolicy, cached: bool) -> Result<PolicyTerms, PolicyRefusal> {
    if cached && wanted.cache == CachePolicy::NoLocal {
        let reason = "cache= gives this target a cache of its own; omit it, or give cache=off";
        return Err(PolicyRefusal::cache(wanted, reason));
    }
    if wanted.cache == CachePolicy::Unbuffered {
        let reason =
            "NCP has no request that bypasses the server's cache; this client always works as no-local";
        return Err(PolicyRefusal::cache(wanted, reason));
    }
    Ok(PolicyTerms::ANY)
}
