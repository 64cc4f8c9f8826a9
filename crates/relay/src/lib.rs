//! Simulated distance: a TCP relay in user space that adds round-trip time and limits the rate of each connection.
//!
//! A [`Relay`] forwards the connections of one loopback port to one server. Each direction is delayed by half of the
//! round-trip time, and its bytes leave in order at the rate of a link that serves nobody else. Bytes that arrive while
//! earlier ones wait are delayed by the same time and not one after another, so that pipelined requests stay pipelined.
//! A connection that the sender closes or resets is closed or reset after the same delay. The relay needs no
//! privileges. It never drops, repeats or reorders a byte, so it does not simulate loss, and neither congestion control
//! nor competing traffic; every text that states a [`Distance`] says so.
//!
//! The relay runs on Linux. On other systems [`Relay::start`] returns [`std::io::ErrorKind::Unsupported`].
//!
//! [`SimulatedDistance`] is the side of our own clients: it dials through a relay of its own, if the URL has the option `far=`.
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::{TcpListener, TcpStream};
//! use std::time::{Duration, Instant};
//! use sharebench_relay::{Greeting, Relay};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = TcpListener::bind(("127.0.0.1", 0))?;
//! let relay = Relay::start(([127, 0, 0, 1], 0).into(), server.local_addr()?, "20ms".parse()?, Greeting::None)?;
//! let start = Instant::now();
//! let mut client = TcpStream::connect(relay.address())?;
//! client.write_all(b"far")?;
//! let mut received = [0; 3];
//! server.accept()?.0.read_exact(&mut received)?;
//! assert_eq!(&received, b"far");
//! assert!(start.elapsed() >= Duration::from_millis(10), "half of the round trip");
//! # Ok(())
//! # }
//! ```

mod counters;
mod distance;
mod forwarder;
mod greeting;
mod relay;
mod simulated_distance;

pub use counters::RelayCounters;
pub use distance::{Distance, DistanceError};
pub use greeting::Greeting;
pub use relay::Relay;
pub use simulated_distance::SimulatedDistance;
