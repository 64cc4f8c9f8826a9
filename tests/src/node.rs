//! Modules of Node.js that `tests/install-peers` put below `.peers`.

use std::path::{Path, PathBuf};

/// Returns the directory of the modules.
pub(crate) fn modules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../.peers/node/node_modules")
}

/// Returns true if a module is installed.
pub(crate) fn has_module(name: &str) -> bool {
    modules().join(name).is_dir()
}
