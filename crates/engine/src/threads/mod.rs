//! The threads that measure: how many, and which limit on descriptors they need.

pub(crate) mod count;
pub(crate) mod descriptor_limit;
