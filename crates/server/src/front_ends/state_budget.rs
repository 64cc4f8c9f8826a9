//! The memory that all servers of a volume together may use for the state of their clients.

pub use sharebench_ncp::server::StateBudget;
pub(crate) use sharebench_ncp::server::{ENTRY_BYTES, StateCharge};
