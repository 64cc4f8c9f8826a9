//! What the front ends of all protocols share.

pub(crate) mod admission;
pub(crate) mod arenas;
pub(crate) mod front_end;
pub(crate) mod refusal_log;
pub(crate) mod udp_port;
