//! A bindery server without I/O: it takes the packets of clients and returns the packets of its replies.
//!
//! It serves [`volume::Volume`]s in the name spaces DOS and long names over TCP, UDP and IPX, to many connections at
//! once. A retransmitted request is answered again but executed once. Every request is answered, also those of
//! functions that are not implemented.

mod account;
#[cfg(test)]
mod attribute_tests;
mod attributes;
mod bindery;
mod bindery_calls;
#[cfg(test)]
mod bindery_tests;
mod bursts;
pub mod connection;
mod connection_table;
mod datagrams;
mod directories;
mod directory_calls;
mod entry_filter;
#[cfg(test)]
mod entry_number_tests;
mod execute;
mod files;
mod lock_tables;
#[cfg(test)]
mod lock_tests;
mod locks;
mod login_throttle;
mod memory;
mod mutex;
mod name_space_calls;
pub mod names;
mod open_files;
mod opens;
mod options;
mod packet;
mod path_calls;
mod paths;
mod peer;
mod pending_lock;
mod record_log;
mod replies;
mod searches;
mod semaphore_calls;
#[cfg(test)]
mod semaphore_tests;
mod semaphores;
mod server_burst;
mod service;
mod shared;
mod state_budget;
#[cfg(test)]
mod tests;
pub mod volume;
mod volumes;
mod waiting_requests;
mod waits;
mod wildcards;

pub use account::MAX_PACKET;
pub use bursts::PendingWork;
pub use datagrams::Datagrams;
pub use login_throttle::LoginThrottle;
pub use memory::MemoryVolume;
pub use options::{Environment, Options, User, Watchdog};
pub use peer::{LoginSource, Peer};
pub use service::Server;
pub use state_budget::{ENTRY_BYTES, StateBudget, StateCharge};
