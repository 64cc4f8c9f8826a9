//! Several processes that measure one step: agreement on phases, what each rank counted, what the leader orders.

pub(crate) mod agreement;
pub(crate) mod contribution;
pub(crate) mod leader_command;
