//! The target against the embedded server.
mod cache;
mod names;
mod offers;
mod sessions;
