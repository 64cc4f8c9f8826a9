//! The threads that measure: how many, with which descriptor tables and limits, and how precise their timers are.

pub(crate) mod count;
pub(crate) mod descriptor_limit;
pub(crate) mod descriptor_table;
pub(crate) mod timer_slack;
