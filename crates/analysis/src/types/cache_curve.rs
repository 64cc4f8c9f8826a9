//! The rates of reads over the sizes of files, where they show a server's cache.

use serde::{Deserialize, Serialize};
use sharebench_stats::{Cliff, TwoStates};

/// The curve of one system's reads over the sizes of files: where it falls, and sizes with two states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CacheCurve {
    /// Index into [`crate::Analysis::sections`].
    pub section: usize,
    /// Index into [`crate::Analysis::systems`].
    pub system: usize,
    /// Where it falls to a lower level; none without a cliff.
    pub cliff: Option<Cliff>,
    /// Sizes whose rate follows from the step before.
    pub states: Vec<TwoStates>,
}
