//! SMB1, the dialect NT LM 0.12 (MS-CIFS, MS-SMB): messages in both directions, and their signatures.
//!
//! A message is a header of 32 bytes, a block of parameter words and a block of bytes. Each structure here is the words of one
//! command; [`Message`] joins them with a header and bytes, or splits a received message. SMB1 is unsafe: it has no encryption,
//! its signatures are MD5, and its negotiation is not protected. It exists for comparisons with measurements of its time.

pub mod attributes;
pub mod file;
pub mod message;
pub mod path;
pub mod session;
pub mod signing;
pub mod trans2;

#[cfg(test)]
mod tests;

pub use message::{Header, Message, command};
