//! A client: [`Conversation`] makes packets and matches replies without I/O; [`TcpClient`] drives it over a socket.

mod conversation;
mod error;
mod tcp;
#[cfg(test)]
mod tests;

pub use conversation::{Arrival, Conversation, Reply};
pub use error::ClientError;
pub use tcp::{Access, File, Login, Options, TcpClient};
