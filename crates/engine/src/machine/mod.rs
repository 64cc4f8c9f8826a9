//! The machine that measures: health, clock, link, and the rate that the generator reaches without a target.

pub(crate) mod clock_facts;
pub(crate) mod counters;
pub(crate) mod generator_ceiling;
pub(crate) mod health;
pub(crate) mod link;
pub(crate) mod machinery;
pub(crate) mod measuring_machine;
