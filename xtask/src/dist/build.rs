//! The static program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, io};

use super::{Release, TARGET, command};

/// Intended maximum size of the program in bytes.
pub const MAX_SIZE: u64 = 22_000_000;

/// Builds the program. Paths of this machine are replaced, so that they do not become part of it.
pub fn program(release: &Release) -> io::Result<PathBuf> {
    let cargo = env::var("CARGO_HOME").or_else(|_| env::var("HOME").map(|home| home + "/.cargo"));
    let cargo = cargo.map_err(|_| io::Error::other("neither CARGO_HOME nor HOME is set"))?;
    let replaced = [(release.root.display().to_string(), "/sharebench"), (cargo, "/cargo")];
    let rust: Vec<String> =
        replaced.iter().map(|(from, to)| format!("--remap-path-prefix={from}={to}")).collect();
    let c: Vec<String> = replaced.iter().map(|(from, to)| format!("-ffile-prefix-map={from}={to}")).collect();
    let target = release.root.join("target/dist");
    let build = ["build", "--locked", "--release", "--package", "sharebench", "--target", TARGET];
    command::capture(
        Command::new("cargo")
            .args(build)
            .current_dir(&release.root)
            .env("CARGO_TARGET_DIR", &target)
            .env("RUSTFLAGS", rust.join(" "))
            .env("CFLAGS", c.join(" "))
            .env("SOURCE_DATE_EPOCH", &release.epoch),
    )?;
    Ok(target.join(TARGET).join("release/sharebench"))
}

/// Returns an error if the program needs a dynamic linker.
pub fn check_static(program: &Path) -> io::Result<()> {
    let headers = command::output("readelf", &["-lW", &program.display().to_string()], Path::new("."))?;
    if headers.contains("INTERP") {
        return Err(io::Error::other("the program is not static: it needs a dynamic linker"));
    }
    Ok(())
}
