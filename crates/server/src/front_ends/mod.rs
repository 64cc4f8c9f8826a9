//! What the front ends of all protocols share.

pub(crate) mod admission;
pub(crate) mod arenas;
pub(crate) mod buffers;
pub(crate) mod frames;
pub(crate) mod front_end;
pub(crate) mod login_throttle;
pub(crate) mod names_8_3;
pub(crate) mod refusal_log;
pub(crate) mod sockets;
pub(crate) mod state_budget;
pub(crate) mod threads;
pub(crate) mod workers;
