//! SMB: at Samba, and clients of other projects at the embedded server.

pub mod channels;
pub mod clients;
pub mod leases;
pub mod listings;
pub mod mounts;
pub mod recycle_bins;
pub mod samba;
pub mod smb1;
pub mod smb1_server;
pub mod smbtorture;
