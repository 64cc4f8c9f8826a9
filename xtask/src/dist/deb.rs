//! The package for Debian and its derivatives.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use super::kind::{Kind, Program};
use super::{Release, command};

/// Maintainer of the packages.
pub const MAINTAINER: &str = "The sharebench developers <sharebench@example.invalid>";

/// Writes the package of a tree and returns its name. `dpkg-deb` limits the times of files to `SOURCE_DATE_EPOCH`.
pub fn write(release: &Release, program: &Program, tree: &Path, directory: &Path) -> io::Result<String> {
    let kind = program.kind;
    let name = format!("{}_{}-1_{}.deb", kind.package(), release.version, kind.debian());
    if kind != Kind::Mpi {
        write_overrides(tree)?;
    }
    let size = command::output("du", &["-sk", "usr"], tree)?;
    let size = size.split_whitespace().next().unwrap_or("0");
    let template = if kind == Kind::Mpi { "packaging/deb-control-mpi" } else { "packaging/deb-control" };
    let control = fs::read_to_string(release.root.join(template))?
        .replace("@VERSION@", &release.version)
        .replace("@MAINTAINER@", MAINTAINER)
        .replace("@ARCHITECTURE@", kind.debian())
        .replace("@DEPENDS@", &program.depends)
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

/// The program is static on purpose (docs/design/packaging.md). lintian takes a position-independent one (`x86_64`) for
/// a library.
fn write_overrides(tree: &Path) -> io::Result<()> {
    let overrides = tree.join("usr/share/lintian/overrides");
    fs::create_dir_all(&overrides)?;
    fs::write(
        overrides.join("sharebench"),
        "sharebench: shared-library-lacks-prerequisites [usr/bin/sharebench]\n\
         sharebench: statically-linked-binary [usr/bin/sharebench]\n",
    )
}
