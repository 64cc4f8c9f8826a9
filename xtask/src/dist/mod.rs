//! `cargo xtask dist` makes what a release consists of: a static program, an archive, packages for Debian and RPM
//! systems, checksums, the list of dependencies (SBOM) and their licences.

mod archive;
mod build;
mod command;
mod deb;
mod dependency;
mod licences;
mod rpm;
mod sbom;
mod stage;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use dependency::Dependency;
use stage::Layout;

/// Target of the static program.
const TARGET: &str = "x86_64-unknown-linux-musl";

/// What every part of a release has in common.
///
/// The instant of the last commit is the time of every file in every package. The same program therefore produces the
/// same bytes on every machine, whenever the packages are made.
#[derive(Debug, Clone)]
struct Release {
    /// Root of the repository.
    root: PathBuf,
    version: String,
    /// Seconds since 1970 (`SOURCE_DATE_EPOCH` of reproducible-builds.org).
    epoch: String,
}

impl Release {
    fn of(root: &Path) -> io::Result<Self> {
        let epoch = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(epoch) => epoch,
            Err(_) => command::output("git", &["log", "-1", "--format=%ct"], root)?.trim().to_owned(),
        };
        Ok(Self { root: root.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), epoch })
    }
}

/// Builds the static program, or takes `program`, and writes the release to `target/dist/out`.
pub fn run(root: &Path, program: Option<&str>, out: &mut impl Write) -> io::Result<()> {
    let release = Release::of(root)?;
    let program = match program {
        Some(program) => fs::canonicalize(program)?,
        None => build::program(&release)?,
    };
    build::check_static(&program)?;
    let dependencies = dependency::linked(root, TARGET)?;
    let directory = root.join("target/dist/out");
    let again = root.join("target/dist/again");
    let files = write_all(&release, &program, &dependencies, &directory)?;
    write_all(&release, &program, &dependencies, &again)?;
    for file in &files {
        if fs::read(directory.join(file))? != fs::read(again.join(file))? {
            return Err(io::Error::other(format!("{file} differs when it is made twice from one program")));
        }
    }
    fs::remove_dir_all(&again)?;
    let size = |path: &Path| fs::metadata(path).map(|data| data.len() as f64 / 1e6);
    writeln!(
        out,
        "program: {} ({:.1} MB), {} dependencies",
        program.display(),
        size(&program)?,
        dependencies.len()
    )?;
    if fs::metadata(&program)?.len() > build::MAX_SIZE {
        writeln!(out, "warning: the program is larger than {} MB", build::MAX_SIZE / 1_000_000)?;
    }
    for file in &files {
        let path = directory.join(file);
        writeln!(out, "{} ({:.1} MB)", path.display(), size(&path)?)?;
    }
    Ok(())
}

/// Writes every file of the release and returns the names.
fn write_all(
    release: &Release,
    program: &Path,
    dependencies: &[Dependency],
    directory: &Path,
) -> io::Result<Vec<String>> {
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    let work = directory.join("work");
    fs::create_dir_all(&work)?;
    let staged = |layout: Layout| stage::write(release, program, dependencies, layout, &work);
    let mut files = vec![archive::write(release, &staged(Layout::Archive)?, directory)?];
    files.push(deb::write(release, &staged(Layout::Debian)?, directory)?);
    if command::exists("rpmbuild") {
        files.push(rpm::write(release, &staged(Layout::Rpm)?, directory)?);
    }
    fs::remove_dir_all(&work)?;
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    fs::write(directory.join("SHA256SUMS"), command::output("sha256sum", &names, directory)?)?;
    files.push("SHA256SUMS".to_owned());
    Ok(files)
}

#[cfg(test)]
mod tests;
