//! `RPCSEC_GSS` version 1 (RFC 2203): the credential, the protection of arguments and results, and the sequence window.
//!
//! Client and server use the same functions in opposite directions. Establishing a context is a series of NULL calls
//! whose arguments are tokens of crate `gss`; later calls carry the context's handle and a sequence number, and each
//! side signs or encrypts with the keys of the context.

mod body;
mod credential;
mod init;
mod server;
mod service;
mod window;

pub use body::{SecurityError, open_body, put_body};
pub use credential::{GSS_FLAVOR, GssCredential, GssProcedure, MAX_SEQUENCE};
pub use init::{InitResult, MAX_HANDLE_BYTES, MAX_TOKEN_BYTES};
pub use server::{GssServer, OpenedCall, ReplySeal};
pub use service::Service;
pub use window::SequenceWindow;
