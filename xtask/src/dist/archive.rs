//! The archive: one directory, for every Linux system.

use std::io;
use std::path::Path;

use super::kind::Kind;
use super::{Release, command};

/// Writes the archive of a tree and returns its name. Order, owners and times of its files are fixed.
pub fn write(release: &Release, kind: Kind, tree: &Path, directory: &Path) -> io::Result<String> {
    let name = format!("sharebench-{}-{}", release.version, kind.target());
    let parent = tree.parent().unwrap_or(directory);
    let inside = tree.file_name().unwrap_or_default().to_string_lossy();
    let tar = directory.join(format!("{name}.tar")).display().to_string();
    let time = format!("--mtime=@{}", release.epoch);
    let renamed = format!("--transform=s,^{inside},{name},");
    let fixed = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"];
    let line = [&fixed[..], &[&time, &renamed, "-cf", &tar, &inside]].concat();
    command::output("tar", &line, parent)?;
    command::output("gzip", &["-9", "-n", "-f", &tar], directory)?;
    Ok(format!("{name}.tar.gz"))
}
