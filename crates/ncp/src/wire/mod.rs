//! Message codecs for both directions, without I/O. Any bytes decode to a message or an error, and decoding allocates
//! nothing.
//!
//! [`packet`] has the headers of requests and replies, and [`request`] the table of calls. Each family of calls has a
//! module with its requests and replies. The transports are [`tcp`], [`ipx`] in [`ethernet`] or [`ipx_udp`], with
//! [`sap`] and [`rip`]; UDP carries bare packets. [`burst`] has the packets of packet burst, which have a header of
//! their own. Comments cite the sections of `docs/protocols/ncp.md`, the facts that this crate implements.

pub mod bindery;
pub mod burst;
mod bytes;
mod completion;
pub mod directory;
pub mod dos;
pub mod enhanced;
pub mod entry_info;
pub mod ethernet;
pub mod file;
pub mod find;
mod function;
mod handle;
pub mod handle_path;
pub mod info;
pub mod ipx;
pub mod ipx_udp;
pub mod large;
pub mod lip;
pub mod lock;
pub mod login;
pub mod message;
pub mod name_space;
pub mod name_space_search;
pub mod negotiate;
pub mod packet;
pub mod request;
pub mod rip;
pub mod sap;
pub mod semaphore;
pub mod server_info;
mod short_name;
pub mod tcp;
#[cfg(test)]
pub(crate) mod tests;
pub mod text;
mod transport;
pub mod volume;
pub mod watchdog;

pub use bytes::{After, Be16, Be32, Be64, Codec, Le16, Le32, Le64, Raw, Reader, Rest, U8, WireError};
pub use completion::Completion;
pub use dos::DosTime;
pub use entry_info::{EntryInfo, InfoForm};
pub use file::FileEntry;
pub use function::{Family, Function};
pub use handle::{FileHandle, Payload, ReadReply, ShortHandle};
pub use handle_path::{HandlePath, PathPair};
pub use info::{Info, NamedInfo, ReturnMask};
pub use request::{
    BinderyCall, ConnectionCall, DirectoryCall, FileCall, LockCall, NameSpaceCall, PathCall, Request,
    SemaphoreCall, VolumeCall,
};
pub use short_name::short_name;
pub use text::Pstr;
pub use transport::TransportKind;
