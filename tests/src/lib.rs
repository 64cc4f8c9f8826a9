//! The peers of the tests: real servers and clients, a packet capture, a browser and a kernel guest,
//! started on loopback with state of their own and stopped when dropped.
//!
//! A test first says what it needs of the machine, so that a missing peer is a reported skip:
//! ```no_run
//! use sharebench_tests::{Smbd, SmbdOptions, needs};
//! fn main() {
//!     needs!(Smbd::NEEDS);
//!     let smbd = Smbd::start(&SmbdOptions { read_only: true, ..SmbdOptions::default() }).unwrap();
//!     println!("{}", smbd.url("", "sign=required"));
//! }
//! ```

#![expect(clippy::print_stderr, reason = "the author of a test reads skips on standard error")]

mod browser;
mod busy_loop;
mod capture;
mod certificates;
mod control_group;
mod disk;
mod domain_controller;
mod failing;
mod fault_proxy;
mod ganesha;
mod kernel_guest;
mod lab;
mod loop_disk;
pub mod need;
mod network;
mod node;
mod outcomes;
pub mod plan_line;
pub mod program;
mod python;
mod reader;
mod realm;
mod relay;
mod sample;
mod scratch;
mod sharebench;
mod slow_calls;
mod smbd;
mod source_tree;
mod terminal;
mod troubleshooting;
mod window;

pub use browser::{Browser, Page};
pub use busy_loop::BusyLoop;
pub use capture::{Capture, Captured, Payload, RequestProtocol, SmbRequest};
pub use certificates::Certificates;
pub use control_group::ControlGroup;
pub use disk::Disk;
pub use domain_controller::DomainController;
pub use failing::Failing;
pub use fault_proxy::{Cut, FaultProxy, Way};
pub use ganesha::{Ganesha, GaneshaOptions};
pub use kernel_guest::KernelGuest;
pub use lab::{Lab, Wiring};
pub use loop_disk::LoopDisk;
pub use need::Need;
pub use network::{CLIENT_END, SERVER_END, in_own_network};
pub use outcomes::Outcomes;
pub use program::Program;
pub use python::python;
pub use reader::Reader;
pub use realm::Realm;
pub use rustix::process::Signal;
pub use sample::Sample;
pub use scratch::Scratch;
pub use sharebench::{Ended, Served, Sharebench};
pub use slow_calls::{SlowCall, SlowCalls};
pub use smbd::{Signing, Smbd, SmbdOptions};
pub use source_tree::SourceTree;
pub use terminal::Terminal;
pub use troubleshooting::expect_listed;
pub use window::widen_window;
