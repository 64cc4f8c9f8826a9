//! Rights that the server grants and takes back: leases and oplocks of files, reports of changes.

pub(crate) mod lease_choice;
mod leases;
mod watch;
