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

mod front_ends;
mod ncp;
mod nfs;
mod servers;
mod smb;
mod system;
mod volume;

pub use front_ends::arenas::share_arenas;
pub use front_ends::front_end::{EventLog, FrontEnd, ServeError};
pub use front_ends::state_budget::StateBudget;
pub use ncp::{
    BinderyProfile, CommitPolicy, NameSpaces, NcpEtherOptions, NcpEtherServer, NcpServer, NcpServerOptions,
};
pub use nfs::{NfsServer, NfsServerCounts, NfsServerOptions, NfsTls};
pub use servers::{EmbeddedServers, ServeOptions};

pub use smb::{Protection, SmbServer, SmbServerOptions, WriteTimes};
pub use volume::change_reports::ChangeReports;
pub use volume::device::{
    CacheOptions, DeviceCounters, DeviceLog, DeviceOptions, DeviceRecord, DeviceRequest, DeviceVolume,
    ServiceTime, WritePolicy,
};
pub use volume::directory::{DirectoryError, DirectoryOptions, DirectoryVolume};
pub use volume::error::{VolumeError, VolumeResult};
pub use volume::memory::MemoryVolume;
pub use volume::name::{MAX_NAME_BYTES, check_name};
pub use volume::stored_data::StoredData;
pub use volume::{
    Attributes, DirectoryEntry, DosAttributes, FileRange, ListedIn, NodeId, PersistentId, ROOT, SeekTarget,
    SetAttributes, Volume, VolumeSpace,
};
