//! NetWare Core Protocol as a target: the [`client`](crate::client) on tokio sockets, as the engine drives it.
//!
//! `options` checks the URL, `transport` has the sockets, `setup` opens a session over both, and `session` performs the
//! engine's operations. `offers` reports what a server offers. Only this module depends on benchmarks and on a runtime.
//!
//! ```
//! use sharebench_ncp::target::NcpTarget;
//! use sharebench_target::{Secret, Target, TargetUrl};
//! let url = TargetUrl::parse("ncp://alice@127.0.0.1:5240/SYS/dir?transport=udp&sign=3")?;
//! let target = NcpTarget::from_url(url, Secret::new("..."))?;
//! assert_eq!(target.shared_queue_depth(), 1);
//! # Ok::<(), sharebench_target::UrlError>(())
//! ```

#[cfg(test)]
#[cfg(target_os = "linux")]
mod ether_tests;
mod facts;
mod failure;
mod incompatibility;
mod losses;
mod ncp_target;
mod offers;
mod options;
mod policy;
mod session;
mod setup;
mod short_names;
mod transport;

pub use ncp_target::NcpTarget;
pub use offers::NcpProbe;
