//! NetWare Core Protocol as a target: the client of `sharebench-ncp` on tokio sockets, as the engine drives it.
//!
//! `options` checks the URL, `transport` has the sockets, `setup` opens a session over both, and `session` performs the
//! engine's operations. `offers` reports what a server offers. The crate is separate from `sharebench-ncp`, which depends on neither benchmarks nor a runtime.
//!
//! ```
//! use sharebench_ncp_target::NcpTarget;
//! use sharebench_target::{Secret, Target, TargetUrl};
//! let url = TargetUrl::parse("ncp://alice@127.0.0.1:5240/SYS/dir?transport=udp&sign=3")?;
//! let target = NcpTarget::from_url(url, Secret::new("..."))?;
//! assert_eq!(target.shared_queue_depth(), 1);
//! # Ok::<(), sharebench_target::UrlError>(())
//! ```

mod facts;
mod failure;
mod incompatibility;
mod losses;
mod offers;
mod options;
mod policy;
mod session;
mod setup;
mod short_names;
mod target;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_cache;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests_ether;
#[cfg(test)]
mod tests_names;
mod transport;

pub use offers::NcpProbe;
pub use target::NcpTarget;
