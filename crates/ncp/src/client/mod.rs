//! A client: [`Conversation`] makes packets and matches replies without I/O; a [`Client`] drives it over a
//! [`Carrier`], which may be a blocking socket, one of a runtime, or a simulation with a clock of its own.

mod attributes;
mod blocking;
mod bursts;
mod carrier;
mod conversation;
mod error;
mod exchange;
mod files;
#[cfg(test)]
mod link;
mod locks;
mod names;
#[cfg(test)]
mod negotiated;
mod negotiation;
mod options;
mod probing;
mod session;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod simulated_bursts;
#[cfg(test)]
mod simulated_locks;
#[cfg(test)]
mod tests;

pub use attributes::Modification;
pub use blocking::{TcpCarrier, UdpCarrier, block_on};
pub use carrier::Carrier;
pub use conversation::{Arrival, Conversation, Reply};
pub use error::ClientError;
pub use exchange::Client;
pub use files::File;
pub use locks::Lock;
pub use names::{About, Access, Path, Room};
pub use options::{BurstOptions, Counts, LargePackets, Login, MAX_BUFFER, MIN_BUFFER, Negotiation, Options};
pub use probing::Probed;
