//! NFSv4 calls made by hand, with the codec as the client.

mod budget;
mod client;
mod delegations;
mod files;
mod locks;
mod minor_0;
mod names;
mod restart;
mod sessions;
mod sparse;
