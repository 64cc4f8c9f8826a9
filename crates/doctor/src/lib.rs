//! The doctor: what this machine can measure, and proof that what is measured is true.
//!
//! [`examine`] looks at clock, timers, processors and links for some seconds. [`prove`] lets the engine measure
//! embedded servers whose truth is known from their own logs, and compares. Nothing here prints: findings and
//! proofs become text or JSON by [`findings_text`], [`proofs_text`] and [`to_json`].

mod document;
mod examine;
mod finding;
mod memory;
mod prove;
mod text;

pub use document::to_json;
pub use examine::examine;
pub use finding::{Finding, Light};
pub use prove::{Conditions, EXPERIMENTS, Experiment, Proof, Row, Verdict, prove};
pub use text::{findings_text, proofs_text};
