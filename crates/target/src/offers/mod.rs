//! What a server offers, and which of it this program can use: the result of `sharebench probe`.
//!
//! The protocol crates fill an [`OfferReport`]; the command line prints it. [`PeerProtocol`] names the protocol of a peer
//! that does not speak the expected one.

mod addresses;
mod clock_offset;
mod greetings;
mod peer_protocol;
mod report;
mod sizes;
mod web_server;

pub use addresses::{add_addresses, address_text};
pub use clock_offset::ClockOffset;
pub use greetings::identify_peer;
pub use peer_protocol::PeerProtocol;
pub use report::{MAX_ROWS, MAX_VALUE_CHARS, OfferReport, OfferRow, OfferSection, Usability};
pub use sizes::size_text;
pub use web_server::web_server;
