//! NetWare Core Protocol as a target: the client of `sharebench-ncp` on tokio's sockets, as the engine drives it.
//!
//! It stands apart from that crate, which knows nothing of benchmarks and runtimes.
//!
//! ```
//! use sharebench_ncp_target::NcpTarget;
//! use sharebench_target::{Secret, Target, TargetUrl};
//! let url = TargetUrl::parse("ncp://alice@127.0.0.1:5240/SYS/dir?transport=udp&sign=3")?;
//! let target = NcpTarget::from_url(url, Secret::new("..."))?;
//! assert_eq!(target.capabilities().max_queue_depth, 1);
//! # Ok::<(), sharebench_target::UrlError>(())
//! ```

mod cache;
mod connection;
mod connection_cache;
mod ether_options;
mod facts;
mod failure;
mod files;
mod find;
mod ipx_socket;
mod names;
mod options;
mod profile;
mod session;
mod setup;
mod target;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_cache;
#[cfg(test)]
mod tests_ether;
mod timer;
mod transport;
mod values;

pub use target::NcpTarget;
