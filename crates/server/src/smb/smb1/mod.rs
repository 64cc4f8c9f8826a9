//! SMB1 (NT LM 0.12; MS-CIFS, MS-SMB) for clients that offer nothing newer, on the same volume, accounts and open files as SMB2.
//!
//! [`state`] is what a connection of SMB1 has: its numbers for users, trees, open files and searches, and its signatures.
//! [`responses`] splits a message into its chain of commands and builds the reply; [`call`] dispatches one command. What a command
//! does to the volume is shared with SMB2: [`create`](super::files::create_disposition), [`data`](super::files::data), [`locks`](super::files::locks),
//! [`set_info`](super::files::set_info), [`query_info`](super::files::query_info) and [`listing`](super::names::listing),
//! and so are oplocks: [`oplocks`] sends their breaks.

mod attributes;
mod call;
mod create;
mod data;
mod information;
mod lock;
mod login;
mod names;
mod negotiate;
mod oplocks;
mod reply;
mod responses;
mod search;
mod signatures;
mod state;
#[cfg(test)]
mod tests;
mod transactions;
mod trees;

pub(in crate::smb) use oplocks::Smb1Holder;
pub(in crate::smb) use reply::Smb1Reply;
pub(in crate::smb) use state::Smb1State;
