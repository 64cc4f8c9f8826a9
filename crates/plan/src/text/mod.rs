//! Plans as text: TOML to [`crate::Plan`] and back.

mod cache_probes;
mod load;
mod parse;
mod sweep;
mod write;
