//! What `learn` writes: a preset, a loadfile, a JSON document.

mod document;
mod loadfile;
mod mounts;
mod preset;
mod replay_names;

pub use document::{SCHEMA, protocol_name, to_json};
pub use loadfile::{LoadfileText, loadfile};
pub use mounts::mounts_to_json;
pub use preset::{preset, preset_plan};
