//! NCP: the client and the embedded server, compared with tshark and the client of the Linux kernel.

pub mod bindery;
pub mod dos_names;
pub mod ethernet;
pub mod judges;
pub mod locks;
pub mod ncpfs;
pub mod volume;
