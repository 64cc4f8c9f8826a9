//! Codec of NFS versions 4.0, 4.1 and 4.2 (RFC 7530, RFC 8881, RFC 7862) for both sides of the wire.
//!
//! A call is a COMPOUND: a head, and operations that follow each other without a length. [`compound`] has the heads of
//! calls, replies and operations, [`item`] the trait that reads and writes one item, [`session`] the operations of
//! sessions, and [`data`] those of file data. Clients and servers use the same types, so that the two directions cannot
//! differ. Decoded bytes borrow from the message, and every length is checked against its limit before it is used.

pub mod compound;
pub mod data;
pub mod item;
pub mod operation;
pub mod session;
pub mod status;

#[cfg(test)]
mod tests;
