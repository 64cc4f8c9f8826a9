//! Builds of the program, which do not depend on the directory in which they are made.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use super::kind::Kind;
use super::{Release, command, cross};

/// Maximum size of a static program in bytes.
pub const MAX_SIZE: u64 = 22_000_000;

/// Builds a program from the sources below `root` and returns its path below `root`.
///
/// Paths of this machine are replaced, so that they do not become part of the program. `--target` keeps the flags from
/// build scripts, which run on this machine. The program for `x86_64` is position-independent; its relocations
/// are in the packed form, which saves a third of a megabyte.
pub fn program(release: &Release, root: &Path, kind: Kind) -> io::Result<PathBuf> {
    let cargo = env::var("CARGO_HOME").or_else(|_| env::var("HOME").map(|home| home + "/.cargo"));
    let cargo = cargo.map_err(|_| io::Error::other("neither CARGO_HOME nor HOME is set"))?;
    let target = root.join("target/dist");
    let replaced = [
        // The last one that matches counts.
        (root.display().to_string(), "/sharebench"),
        (target.display().to_string(), "/target"),
        (cargo, "/cargo"),
    ];
    let rust: Vec<String> =
        replaced.iter().map(|(from, to)| format!("--remap-path-prefix={from}={to}")).collect();
    let c: Vec<String> = replaced.iter().map(|(from, to)| format!("-ffile-prefix-map={from}={to}")).collect();
    let mut build = Command::new("cargo");
    build
        .args([
            "build",
            "--locked",
            "--profile",
            "dist",
            "--package",
            "sharebench",
            "--target",
            kind.target(),
        ])
        .current_dir(root)
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_INCREMENTAL", "0")
        .env("SOURCE_DATE_EPOCH", &release.epoch)
        .env(format!("CFLAGS_{}", kind.target().replace('-', "_")), c.join(" "));
    let mut flags = rust;
    // Cargo does not strip a program whose own crate has an entry in `profile.dist.package`.
    flags.push("-Cstrip=symbols".into());
    match kind {
        Kind::X86_64 => flags.push("-Clink-arg=-Wl,-z,pack-relative-relocs".into()),
        Kind::Aarch64 => flags.extend(cross::prepare(&mut build, release, root, kind)?),
        Kind::Mpi => {
            build.args(["--features", "mpi"]);
        }
    }
    command::capture(build.env("RUSTFLAGS", flags.join(" ")))?;
    Ok(target.join(kind.target()).join("dist/sharebench"))
}

/// Returns an error if a program needs a dynamic linker or is too large.
pub fn check_static(program: &Path) -> io::Result<()> {
    let headers = command::output("readelf", &["-lW", &program.display().to_string()], Path::new("."))?;
    if headers.contains("INTERP") {
        return Err(io::Error::other("the program is not static: it needs a dynamic linker"));
    }
    let size = fs::metadata(program)?.len();
    if size > MAX_SIZE {
        let sizes = format!("{:.1} MB instead of at most {} MB", size as f64 / 1e6, MAX_SIZE / 1_000_000);
        return Err(io::Error::other(format!("the program is too large: {sizes}")));
    }
    Ok(())
}

/// Returns the packages of Debian whose libraries a program uses, and the launcher of ranks.
pub fn dependencies(release: &Release, program: &Path) -> io::Result<String> {
    let work = release.root.join("target/dist/shlibdeps");
    fs::create_dir_all(work.join("debian"))?;
    fs::write(
        work.join("debian/control"),
        "Source: sharebench\n\nPackage: sharebench-mpi\nArchitecture: any\n",
    )?;
    let found = command::output("dpkg-shlibdeps", &["-O", "-e", &program.display().to_string()], &work)?;
    fs::remove_dir_all(&work)?;
    let libraries = found.trim().strip_prefix("shlibs:Depends=").unwrap_or_default();
    if libraries.is_empty() {
        return Err(io::Error::other(format!("dpkg-shlibdeps has no libraries: {found}")));
    }
    Ok(format!("{libraries}, openmpi-bin"))
}
