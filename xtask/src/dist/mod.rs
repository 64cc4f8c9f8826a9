//! `cargo xtask dist` makes what a release consists of: programs, archives, packages for Debian and RPM systems,
//! checksums, the lists of dependencies (SBOM) and their licences.

mod archive;
mod build;
pub mod command;
mod cross;
mod deb;
mod dependency;
mod kind;
mod licences;
mod release;
mod reproduce;
mod rpm;
mod sbom;
mod stage;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use dependency::Dependency;
pub use kind::Kind;
use kind::Program;
use release::Release;
pub use reproduce::run as reproduce;
use stage::Layout;

/// Builds the program of each kind that this machine has the tools for, and writes the release to `target/dist/out`.
pub fn run_all(root: &Path, out: &mut impl Write) -> io::Result<()> {
    let _ = fs::remove_dir_all(root.join("target/dist/out"));
    let mut made = 0;
    for kind in Kind::ALL {
        match run(root, kind, None, out) {
            Ok(()) => made += 1,
            Err(error) => writeln!(out, "NOT MADE: {}: {error}", kind.name())?,
        }
    }
    if made == Kind::ALL.len() {
        return Ok(());
    }
    Err(io::Error::other(format!("{made} of {} kinds made", Kind::ALL.len())))
}

/// Builds the program of one kind, or takes `path`, and adds its packages to `target/dist/out`.
pub fn run(root: &Path, kind: Kind, path: Option<&str>, out: &mut impl Write) -> io::Result<()> {
    let release = Release::from_root(root)?;
    let path = match path {
        Some(path) => fs::canonicalize(path)?,
        None => build::program(&release, root, kind)?,
    };
    let depends = match kind {
        Kind::Mpi => build::dependencies(&release, &path)?,
        Kind::X86_64 | Kind::Aarch64 => String::new(),
    };
    let program = Program { kind, path, runner: kind.runner(), depends };
    let dependencies = dependency::linked(root, kind)?;
    let size = |path: &Path| fs::metadata(path).map(|data| data.len() as f64 / 1e6);
    let shown = program.path.display();
    writeln!(out, "program: {shown} ({:.1} MB), {} dependencies", size(&program.path)?, dependencies.len())?;
    if kind != Kind::Mpi {
        build::check_static(&program.path)?;
    }
    let directory = root.join("target/dist/out");
    let again = root.join("target/dist/again");
    let files = write_all(&release, &program, &dependencies, &directory)?;
    write_all(&release, &program, &dependencies, &again)?;
    for file in &files {
        if fs::read(directory.join(file))? != fs::read(again.join(file))? {
            return Err(io::Error::other(format!("{file} differs when it is made twice from one program")));
        }
        writeln!(out, "{file} ({:.1} MB)", size(&directory.join(file))?)?;
    }
    fs::remove_dir_all(&again)?;
    write_checksums(&directory)
}

/// Writes every file of one kind of program and returns the names.
fn write_all(
    release: &Release,
    program: &Program,
    dependencies: &[Dependency],
    directory: &Path,
) -> io::Result<Vec<String>> {
    let work = directory.join("work");
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    fs::create_dir_all(&work)?;
    let kind = program.kind;
    let staged = |layout: Layout| stage::write(release, program, dependencies, layout, &work);
    let mut files = Vec::new();
    if kind != Kind::Mpi {
        files.push(archive::write(release, kind, &staged(Layout::Archive)?, directory)?);
        if command::exists("rpmbuild") {
            files.push(rpm::write(release, kind, &staged(Layout::Rpm)?, directory)?);
        }
    }
    files.push(deb::write(release, program, &staged(Layout::Debian)?, directory)?);
    fs::remove_dir_all(&work)?;
    Ok(files)
}

/// Writes `SHA256SUMS` of all files of the release, also of kinds that were made before.
fn write_checksums(directory: &Path) -> io::Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.retain(|name| name != "SHA256SUMS");
    names.sort();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    fs::write(directory.join("SHA256SUMS"), command::output("sha256sum", &names, directory)?)
}

#[cfg(test)]
mod tests;
