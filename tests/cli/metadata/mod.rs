//! Tests of names, directories and attributes.

pub mod axes;
pub mod breaks;
pub mod breaks_served;
pub mod requests;
pub mod wire;
