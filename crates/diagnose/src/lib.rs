//! The diagnosis of one share: where the time of typical operations goes, what causes it, and which setting changes it.
//!
//! [`diagnose`] measures a target for less than a minute and returns a [`Diagnosis`]. It works like this:
//!
//! ```text
//! diagnose            directory, sessions, deadline, cleanup
//!   login             phases of opening a session
//!   measure           rounds of operations one at a time -> Series; bulk transfer
//!   experiments       A/B comparisons in paired slices, on sessions of their own
//!   evidence          everything measured, without judgement
//! budget              Series -> parts of the time of an operation, with intervals
//! causes              evidence -> findings: one rule per cause
//! document            Diagnosis -> JSON; the command renders it as text
//! ```
//!
//! Budget, causes and document are pure: numbers in, numbers and sentences out. Only the first group sends requests. Nothing here
//! changes a setting of the server: an experiment opens sessions with other options of the URL.

mod budget;
mod causes;
mod client_limits;
mod comparisons;
mod contrast;
mod diagnose;
mod document;
mod evidence;
mod experiments;
mod files;
mod login;
mod measure;
mod mount;
mod observations;
mod operations;
mod summary;
mod system;
mod tcp_options;
mod work;

pub use budget::{Budget, Part, PartShare};
pub use causes::{Cause, Finding, Gain, Saving, Verdict, judge};
pub use client_limits::ClientLimits;
pub use contrast::contrast;
pub use diagnose::{DiagnoseError, Diagnosis, diagnose};
pub use document::to_json;
pub use evidence::{Bulk, ClockOffset, Comparison, Evidence, Experiment, MountTraffic, WriteRefusal};
pub use experiments::{Variant, variants};
pub use login::Login;
pub use mount::MountFacts;
pub use operations::{Operation, Sample, Series};
pub use summary::limits;
pub use system::SUPPORTED;
pub use work::{LoadOfServer, Options};
