//! NFS versions 3 and 4 in user space, on an ONC RPC core of its own.
//!
//! [`NfsTarget`] is the client adapter. The codec modules serve both sides of the wire: they borrow from
//! the message they read, bound every length before it is used, and do no I/O.
//!
//! ```
//! use sharebench_nfs::NfsTarget;
//! use sharebench_target::{Target, TargetUrl};
//! let url = TargetUrl::parse("nfs://127.0.0.1:2049/export/dir?uid=1000&gid=1000")?;
//! assert_eq!(NfsTarget::from_url(url)?.capabilities().protocol, "nfs");
//! # Ok::<(), sharebench_target::UrlError>(())
//! ```

pub mod attributes;
pub mod canned;
mod canned_v4;
mod client;
pub mod compound;
pub mod exports;
mod incompatibility;
pub mod mount;
pub mod port_mapper;
pub mod protocol;
pub mod record;
pub mod results;
pub mod rpc;
pub mod rpcsec;
pub mod status;
pub mod v4;
pub mod xdr;

pub use client::{NfsProbe, NfsTarget, Xprtsec};
pub use incompatibility::Incompatibility;
