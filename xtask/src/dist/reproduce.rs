//! `cargo xtask reproduce`: builds the program of the last commit in two directories and compares the bytes.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::kind::Kind;
use super::{Release, build, command};

/// Names of the directories below `target/reproduce`. They differ in length, so that a path in the program also moves
/// what follows it.
const DIRECTORIES: [&str; 2] = ["one", "another-directory"];

/// Returns an error that names the first difference if the two programs differ.
pub fn run(root: &Path, kind: Kind, out: &mut impl Write) -> io::Result<()> {
    let release = Release::from_root(root)?;
    let below = root.join("target/reproduce");
    let mut programs = Vec::new();
    for name in DIRECTORIES {
        let directory = below.join(name);
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        fs::create_dir_all(&below)?;
        let clone = ["clone", "--quiet", "--no-hardlinks"];
        let places = [root.display().to_string(), directory.display().to_string()];
        command::output("git", &[&clone[..], &[&places[0], &places[1]]].concat(), &below)?;
        let program = build::program(&release, &directory, kind)?;
        programs.push(fs::read(&program)?);
        writeln!(out, "{}", command::output("sha256sum", &[&program.display().to_string()], root)?.trim())?;
        // Both builds at once would need twice the space.
        fs::remove_dir_all(&directory)?;
    }
    let [one, another] = programs.as_slice() else { return Err(io::ErrorKind::NotFound.into()) };
    if let Some(at) = difference(one, another) {
        return Err(io::Error::other(format!("the programs differ, first at byte {at}")));
    }
    writeln!(out, "two builds of {} are identical: {} bytes", kind.target(), one.len())
}

/// Returns the offset of the first byte that differs.
pub fn difference(one: &[u8], another: &[u8]) -> Option<usize> {
    let equal = one.iter().zip(another).take_while(|(a, b)| a == b).count();
    (equal < one.len().max(another.len())).then_some(equal)
}
