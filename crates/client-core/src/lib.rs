//! The parts that every client needs that keeps many requests in flight on one TCP connection.
//!
//! The SMB and NFS clients differ in their messages, not in how they drive a connection. Both queue requests in a
//! [`SendQueue`], remember each one in a [`RequestTable`] until its reply arrives, receive small replies in bursts
//! through a [`ReceiveBuffer`] and the data of large READs straight into their slots, and give out references to open
//! files from an [`OpenFileTable`]. This crate holds these parts once. It knows neither protocol.
//!
//! Everything on the measured path is generic, so that the compiler generates one copy per protocol: there is no dynamic
//! dispatch and no allocation per request.
//!
//! ```
//! use sharebench_client_core::{RequestTable, TrackedRequest};
//!
//! #[derive(Debug, Clone, Copy, PartialEq)]
//! struct Read(u32);
//!
//! impl TrackedRequest for Read {
//!     fn is_direct_read(&self) -> bool {
//!         self.0 >= sharebench_client_core::MIN_DIRECT_BYTES
//!     }
//! }
//!
//! let mut requests = RequestTable::new(4);
//! requests.start(2, 77u64, Read(1 << 20));
//! assert!(requests.expects_direct_read());
//! assert_eq!(requests.search(77), Some((2, Read(1 << 20))));
//! assert_eq!(requests.finish(2), Some(Read(1 << 20)));
//! assert_eq!(requests.in_flight(), 0);
//! ```

mod arrivals;
mod calls_in_flight;
pub mod connection_error;
mod dial;
mod low_water;
mod multiplexed;
mod open_files;
mod own_thread;
mod receive_buffer;
mod request_table;
mod send_queue;
mod shared_state;
mod slot_payloads;
#[cfg(target_os = "linux")]
mod socket_option;
pub mod submit_error;
mod tcp_info;
mod tcp_route;

pub use arrivals::{Arrivals, ArrivingStream};
pub use calls_in_flight::{AwaitedReplies, CallsInFlight};
pub use dial::{DialError, check_session_size, connect_error, connect_first, resolve};
pub use multiplexed::{Caller, Connection, Multiplexed, Protocol, ReplyQueues, TransferLimits};
pub use open_files::OpenFileTable;
pub use own_thread::on_own_thread;
pub use receive_buffer::ReceiveBuffer;
pub use request_table::{RequestTable, TrackedRequest};
pub use send_queue::{GatherBuffer, SendQueue, SlotBytes};
pub use slot_payloads::{SlotPayload, SlotPayloads, TransferLimit};
pub use tcp_info::tcp_reading;
pub use tcp_route::TcpRoute;

/// READ replies of at least this many bytes are received straight into their slot; smaller ones share a burst.
pub const MIN_DIRECT_BYTES: u32 = 16 << 10;
