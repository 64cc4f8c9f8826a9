//! The client. [`ConnectionState`] builds packets and matches replies without I/O; a [`Client`] drives it over a
//! [`Transport`], which is a blocking socket, a socket of a runtime, or a simulation with a virtual clock.

mod attributes;
mod bindery;
#[cfg(test)]
mod bindery_tests;
mod blocking;
#[cfg(test)]
mod burst_tests;
mod bursts;
mod connection;
mod error;
mod exchange;
mod files;
#[cfg(test)]
mod lock_tests;
mod locks;
mod names;
mod negotiation;
#[cfg(test)]
mod negotiation_tests;
mod options;
mod probing;
mod searches;
#[cfg(test)]
mod semaphore_tests;
mod semaphores;
mod session;
#[cfg(test)]
mod simulated_link;
#[cfg(test)]
mod simulation_tests;
#[cfg(test)]
mod tests;
mod transport;

pub use crate::burst::{BurstUse, UsedRange};
pub use attributes::{FilePosition, Modification};
pub use bindery::{BinderyObject, BinderyProperty, ConnectedUser, ObjectName};
pub use blocking::{TcpTransport, UdpTransport, block_on};
pub use bursts::Direction;
pub use connection::{ConnectionState, Received, Reply};
pub use error::ClientError;
pub use exchange::Client;
pub use files::File;
pub use locks::{Lock, LockRange};
pub use names::{Access, EntryInfo, Path, VolumeSpace};
pub use options::{BurstOptions, Counts, LargePackets, Login, MAX_BUFFER, MIN_BUFFER, Negotiation, Options};
pub use probing::ProbeResult;
pub use searches::Search;
pub use semaphores::Semaphore;
pub use transport::Transport;
