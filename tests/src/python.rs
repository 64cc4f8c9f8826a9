//! Python with the modules that `tests/install-peers` put below `.peers`.

use std::path::Path;
use std::process::Command;

/// Returns a command that runs the interpreter with the modules.
pub fn python() -> Command {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.peers/python");
    let inherited = std::env::var("PYTHONPATH").unwrap_or_default();
    let mut command = Command::new("python3");
    command.env("PYTHONPATH", format!("{}:{inherited}", modules.display()));
    command
}

/// Returns true if a module is installed.
pub(crate) fn has_module(name: &str) -> bool {
    let found = python().args(["-c", &format!("import {name}")]).output();
    found.is_ok_and(|output| output.status.success())
}
