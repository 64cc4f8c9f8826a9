//! The package for RPM systems.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use super::kind::Kind;
use super::{Release, command};

/// Settings of `rpmbuild` without which a package depends on the machine and the time, or is changed by its scripts.
const FIXED: [&str; 8] = [
    "debug_package %{nil}",
    "__os_install_post %{nil}",
    "_build_id_links none",
    "_buildhost localhost",
    "use_source_date_epoch_as_buildtime 1",
    "clamp_mtime_to_source_date_epoch 1",
    "source_date_epoch_from_changelog 0",
    "_binary_payload w9.gzdio",
];

/// Writes the package of a tree and returns its name.
pub fn write(release: &Release, kind: Kind, tree: &Path, directory: &Path) -> io::Result<String> {
    let top = tree.parent().unwrap_or(directory).join("rpmbuild");
    fs::create_dir_all(&top)?;
    let defines = [
        format!("_topdir {}", top.display()),
        format!("_dbpath {}", top.join("db").display()),
        format!("staged {}", tree.display()),
        format!("release_version {}", release.version),
    ];
    let defines = defines.iter().map(String::as_str).chain(FIXED).flat_map(|define| ["--define", define]);
    command::capture(
        Command::new("rpmbuild")
            .args(["-bb", "--quiet", "--target", kind.rpm()])
            .args(defines)
            .arg(release.root.join("packaging/sharebench.spec"))
            .env("SOURCE_DATE_EPOCH", &release.epoch),
    )?;
    let name = format!("sharebench-{}-1.{}.rpm", release.version, kind.rpm());
    fs::rename(top.join("RPMS").join(kind.rpm()).join(&name), directory.join(&name))?;
    Ok(name)
}
