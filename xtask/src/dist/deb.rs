//! The package for Debian and its derivatives.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use super::{Release, command};

/// Maintainer of the packages.
pub const MAINTAINER: &str = "The sharebench developers <sharebench@example.invalid>";

/// Writes the package of a tree and returns its name. `dpkg-deb` limits the times of files to `SOURCE_DATE_EPOCH`.
pub fn write(release: &Release, tree: &Path, directory: &Path) -> io::Result<String> {
    let name = format!("sharebench_{}-1_amd64.deb", release.version);
    // The program has no dependencies because it is static, which lintian does not see in position-independent programs.
    let overrides = tree.join("usr/share/lintian/overrides");
    fs::create_dir_all(&overrides)?;
    fs::write(
        overrides.join("sharebench"),
        "sharebench: shared-library-lacks-prerequisites [usr/bin/sharebench]\n",
    )?;
    let size = command::output("du", &["-sk", "usr"], tree)?;
    let size = size.split_whitespace().next().unwrap_or("0");
    let control = fs::read_to_string(release.root.join("packaging/deb-control"))?
        .replace("@VERSION@", &release.version)
        .replace("@MAINTAINER@", MAINTAINER)
        .replace("@SIZE@", size);
    let metadata = tree.join("DEBIAN");
    fs::create_dir_all(&metadata)?;
    fs::write(metadata.join("control"), control)?;
    let sums = command::output("sh", &["-c", "find usr -type f | LC_ALL=C sort | xargs md5sum"], tree)?;
    fs::write(metadata.join("md5sums"), sums)?;
    command::output("chmod", &["-R", "u=rwX,go=rX", "."], tree)?;
    command::capture(
        Command::new("dpkg-deb")
            .args(["--root-owner-group", "-Zxz", "--build"])
            .arg(tree)
            .arg(directory.join(&name))
            .env("SOURCE_DATE_EPOCH", &release.epoch),
    )?;
    Ok(name)
}
