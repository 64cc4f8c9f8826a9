//! Embedded file servers over one volume.
//!
//! A [`Volume`] is a tree of files: [`MemoryVolume`], [`DirectoryVolume`] for a directory of the host, or
//! [`DeviceVolume`], a model of a device with known service times in front of another volume. Front ends serve it:
//! [`SmbServer`], [`NfsServer`] and [`NcpServer`], or all of them through [`EmbeddedServers`].
//!
//! ```
//! use std::sync::Arc;
//! use sharebench_server::{EmbeddedServers, MemoryVolume, ServeOptions, Volume};
//! # fn main() -> Result<(), sharebench_server::ServeError> {
//! let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(64 << 20));
//! let any_port = Some(([127, 0, 0, 1], 0).into());
//! let options = ServeOptions { smb: any_port, ..ServeOptions::default() };
//! let servers = EmbeddedServers::start(&volume, &options)?;
//! assert!(servers.addr("smb").is_some_and(|addr| addr.port() != 0));
//! servers.stop();
//! # Ok(())
//! # }
//! ```

mod admission;
mod arenas;
mod change_reports;
mod device;
mod directory;
mod front_end;
mod memory;
mod name;
mod ncp;
mod nfs;
mod read_only;
mod refusal_log;
mod servers;
mod smb;
mod stored_data;
mod system;
mod udp_port;
mod volume;
mod volume_error;
mod volume_view;

pub use arenas::share_arenas;
pub use change_reports::ChangeReports;
pub use device::{
    CacheOptions, DeviceCounters, DeviceLog, DeviceOptions, DeviceRecord, DeviceRequest, DeviceVolume,
    ServiceTime, WritePolicy,
};
pub use directory::{DirectoryError, DirectoryOptions, DirectoryVolume};
pub use front_end::{EventLog, FrontEnd, ServeError};
pub use memory::MemoryVolume;
pub use name::{MAX_NAME_BYTES, check_name};
pub use ncp::{
    BinderyProfile, CommitPolicy, NameSpaces, NcpEtherOptions, NcpEtherServer, NcpServer, NcpServerOptions,
};
pub use nfs::{NfsServer, NfsServerCounts, NfsServerOptions, NfsTls};
pub use servers::{EmbeddedServers, ServeOptions};
pub use sharebench_ncp::server::StateBudget;
pub use smb::{Protection, SmbServer, SmbServerOptions, WriteTimes};
pub use stored_data::StoredData;
pub use volume::{
    Attributes, DirectoryEntry, DosAttributes, FileRange, ListedIn, NodeId, PersistentId, ROOT, SeekTarget,
    SetAttributes, Volume, VolumeSpace,
};
pub use volume_error::{VolumeError, VolumeResult};
