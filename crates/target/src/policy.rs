//! The response of a target to a policy: its requirements, or why the target cannot apply it.

use sharebench_model::{CachePolicy, ErrorClass, IoPolicy, OpError, OpStep};

/// The conditions under which a target can apply a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyTerms {
    /// Offsets and lengths of data operations must be multiples of this many bytes; 1 allows any.
    pub alignment: u32,
}

/// A policy that a target cannot apply, with the reason. The run is rejected before it starts, because a policy that
/// is silently ignored would falsify its cells.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{axis}={value}: {reason}")]
pub struct PolicyRefusal {
    /// The axis at fault: `cache` or `sync`.
    pub axis: &'static str,
    /// The position on it.
    pub value: &'static str,
    /// Why, and which policy would work.
    pub reason: String,
}

impl PolicyTerms {
    /// Any offset and length.
    pub const ANY: Self = Self { alignment: 1 };

    /// The terms of a target that supports the default policy only.
    pub fn usual_only(wanted: IoPolicy) -> Result<Self, PolicyRefusal> {
        if wanted.is_normal() {
            return Ok(Self::ANY);
        }
        let reason = "this target knows the usual policy only";
        let axis = if wanted.cache == CachePolicy::Normal { "sync" } else { "cache" };
        Err(if axis == "sync" {
            PolicyRefusal::sync(wanted, reason)
        } else {
            PolicyRefusal::cache(wanted, reason)
        })
    }
}

impl PolicyRefusal {
    /// The cache policy is at fault.
    pub fn cache(wanted: IoPolicy, reason: impl Into<String>) -> Self {
        Self { axis: "cache", value: wanted.cache.name(), reason: reason.into() }
    }

    /// The sync policy is at fault.
    pub fn sync(wanted: IoPolicy, reason: impl Into<String>) -> Self {
        Self { axis: "sync", value: wanted.sync.name(), reason: reason.into() }
    }

    /// The failure of an open that requests it anyway.
    pub fn at_open(&self) -> OpError {
        OpError::new(ErrorClass::Unsupported, OpStep::OpenFile, self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sharebench_model::SyncPolicy;

    #[test]
    fn a_refusal_names_the_axis_at_fault() {
        let through = IoPolicy { sync: SyncPolicy::WriteThrough, ..IoPolicy::default() };
        let refused = PolicyTerms::usual_only(through).unwrap_err().to_string();
        assert_eq!(refused, "sync=write-through: this target knows the usual policy only");
        let direct = IoPolicy { cache: CachePolicy::Unbuffered, ..through };
        assert_eq!(PolicyTerms::usual_only(direct).unwrap_err().axis, "cache");
        assert_eq!(PolicyTerms::usual_only(IoPolicy::default()), Ok(PolicyTerms::ANY));
    }
}
