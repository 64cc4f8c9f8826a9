//! Codec of NFS versions 4.0, 4.1 and 4.2 (RFC 7530, RFC 8881, RFC 7862) for both sides of the wire.
//!
//! A call is a COMPOUND: a head, and operations that follow each other without a length. [`compound`] has the heads of
//! calls, replies and operations, [`item`] the trait that reads and writes one item; the other modules have the
//! arguments and results of the operations, by subject. Clients and servers use the same types, so that the two
//! directions cannot differ. Decoded bytes borrow from the message, and every length is checked against its limit before
//! it is used; decoding allocates nothing.
//!
//! | operations | module |
//! |---|---|
//! | `EXCHANGE_ID` to `DESTROY_CLIENTID`, SEQUENCE, `TEST_STATEID`, `FREE_STATEID` | [`session`] |
//! | SETCLIENTID, `SETCLIENTID_CONFIRM`, RENEW (4.0) | [`client_id`] |
//! | OPEN, `OPEN_CONFIRM`, `OPEN_DOWNGRADE`, DELEGRETURN | [`open`] |
//! | PUTFH, READ, WRITE, COMMIT, CLOSE | [`data`] |
//! | LOCK, LOCKT, LOCKU, `RELEASE_LOCKOWNER` | [`lock`] |
//! | LOOKUP, CREATE, REMOVE, RENAME, LINK, READLINK, ACCESS, GETATTR, SETATTR, SECINFO | [`names`] |
//! | READDIR | [`listing`] |
//! | ALLOCATE, DEALLOCATE, SEEK, COPY, CLONE, `READ_PLUS` (4.2) | [`sparse`] |
//! | `CB_SEQUENCE`, `CB_RECALL`, `CB_NOTIFY_LOCK` | [`callback`] |
//!
//! [`body`] decodes the arguments or the result of any of them.
//!
//! PUTROOTFH, PUTPUBFH, GETFH, LOOKUPP, SAVEFH, RESTOREFH and READLINK have no arguments. The result of GETFH is a
//! handle: [`data::PutFh`].

pub mod attribute_types;
pub mod attributes;
pub mod bitmap;
pub mod body;
pub mod callback;
pub mod client_id;
pub mod compound;
pub mod data;
pub mod item;
pub mod list;
pub mod listing;
pub mod lock;
pub mod names;
pub mod open;
pub mod operation;
pub mod session;
pub mod sparse;
pub mod status;

#[cfg(test)]
mod tests;
