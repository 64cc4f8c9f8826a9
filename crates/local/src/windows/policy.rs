//! Policies on a volume: the flags of `CreateFileW` that implement one, or why none can.

use sharebench_model::{CachePolicy, IoPolicy};
use sharebench_target::{PolicyRefusal, PolicyTerms};
use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_NO_BUFFERING, FILE_FLAG_WRITE_THROUGH};

use super::volume::Volume;

/// What the volume of one directory supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policies {
    remote: bool,
    /// Offsets and lengths of unbuffered I/O are multiples of this.
    pub unit: u32,
    /// The URL requests unbuffered I/O for every policy.
    always_direct: bool,
}

impl Policies {
    pub fn new(volume: &Volume, always_direct: bool) -> Self {
        Self { remote: volume.remote, unit: volume.sector, always_direct }
    }

    /// The requirements of a policy.
    pub fn terms(self, policy: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        let unbuffered = self.flags(policy)? & FILE_FLAG_NO_BUFFERING != 0;
        Ok(PolicyTerms { alignment: if unbuffered { self.unit } else { 1 } })
    }

    /// The flags that implement a policy.
    pub fn flags(self, policy: IoPolicy) -> Result<u32, PolicyRefusal> {
        let unbuffered = self.always_direct
            || match policy.cache {
                CachePolicy::Normal => false,
                CachePolicy::Unbuffered => true,
                CachePolicy::NoLocal => return Err(PolicyRefusal::cache(policy, self.why_not_no_local())),
            };
        let cache = if unbuffered { FILE_FLAG_NO_BUFFERING } else { 0 };
        Ok(cache | if policy.writes_through() { FILE_FLAG_WRITE_THROUGH } else { 0 })
    }

    fn why_not_no_local(self) -> &'static str {
        if self.remote {
            "FILE_FLAG_NO_BUFFERING on a share also requests no caching from the server; use unbuffered, or smb:// with the client of sharebench"
        } else {
            "a local drive has one cache only; it means the client's cache of a share, use unbuffered here"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sharebench_model::SyncPolicy;

    #[test]
    fn policies_are_flags_or_state_why_not() {
        for remote in [false, true] {
            let policies = Policies { remote, unit: 512, always_direct: false };
            let with = |cache, sync| policies.flags(IoPolicy { cache, sync });
            let through = FILE_FLAG_WRITE_THROUGH;
            assert_eq!(with(CachePolicy::Normal, SyncPolicy::default()), Ok(0));
            assert_eq!(with(CachePolicy::Unbuffered, SyncPolicy::default()), Ok(FILE_FLAG_NO_BUFFERING));
            assert_eq!(with(CachePolicy::Normal, SyncPolicy::WriteThrough), Ok(through));
            assert_eq!(
                with(CachePolicy::Unbuffered, SyncPolicy::WriteThrough),
                Ok(FILE_FLAG_NO_BUFFERING | through)
            );
            let refused = with(CachePolicy::NoLocal, SyncPolicy::default()).unwrap_err();
            assert!(refused.reason.contains("unbuffered") && refused.axis == "cache", "{refused}");
        }
        let direct = Policies { remote: false, unit: 512, always_direct: true };
        assert_eq!(direct.terms(IoPolicy::default()).map(|terms| terms.alignment), Ok(512));
    }
}
