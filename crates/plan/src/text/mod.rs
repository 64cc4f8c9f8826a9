//! Plans as text: TOML to [`crate::Plan`] and back; and the file of named targets.

mod cache_probes;
mod load;
pub(crate) mod named_targets;
mod parse;
mod sweep;
mod write;
