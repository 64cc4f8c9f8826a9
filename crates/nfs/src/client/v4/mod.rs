//! The client of NFS versions 4.0, 4.1 and 4.2.
//!
//! [`establish`] opens a session: client id, session, the walk from the pseudo root; [`flavors`] explains
//! a rejected security flavor. [`session`] is what the engine
//! drives; [`data`] encodes its READs, WRITEs and COMMITs and decides what each reply means for the slot of the call, which
//! [`slots`] keeps. [`compound`] builds calls and reads results, [`requests`] performs them one at a time for [`names`]
//! and [`listing`]; [`whole_file`] reads small files by one call, and [`locks`] locks ranges of open files. [`recovery`] repeats what the server postponed and connects again, [`binding`] opens further
//! connections, [`callbacks`] answers the server, and [`delegations`] returns what it recalls.

mod binding;
mod callbacks;
mod compound;
mod data;
mod delegation_counts;
mod delegations;
mod dialect;
mod entry_changes;
mod establish;
mod flavors;
#[cfg(test)]
mod forgotten_tests;
mod listing;
mod locks;
mod names;
mod owners;
#[cfg(test)]
mod port_hint_tests;
mod ranges;
#[cfg(test)]
mod ranges_tests;
mod recovery;
mod referral;
mod requests;
mod session;
mod slots;
mod sparse_read;
mod states;
#[cfg(test)]
mod tests;
mod whole_file;
#[cfg(test)]
mod whole_file_tests;

pub(crate) use delegation_counts::DelegationCounts;
pub(crate) use establish::open_session;
pub(crate) use session::Nfs4Session;
