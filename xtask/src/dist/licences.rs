//! The licences of the dependencies, which their authors require to be shipped with the program.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::{fs, io};

use super::dependency::Dependency;

/// How the file names of licences and notices start, in lower case.
const NAMES: [&str; 6] = ["licen", "copying", "copyright", "notice", "unlicense", "authors"];

/// Returns a table of the dependencies with their licences, then each distinct text once.
pub fn text(dependencies: &[Dependency]) -> io::Result<String> {
    let mut all = String::from(
        "sharebench contains these crates, SQLite (public domain), and the Rust standard library with musl (MIT).\n\n",
    );
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Dependency { name, version, licence, source } in dependencies {
        let _ = writeln!(all, "{name} {version}: {licence}");
        for entry in fs::read_dir(source)? {
            let path = entry?.path();
            let file = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
            if path.is_file() && NAMES.iter().any(|name| file.starts_with(name)) {
                let bytes = fs::read(&path)?;
                let text = String::from_utf8_lossy(&bytes).trim().replace("\r\n", "\n");
                texts.entry(text).or_default().push(format!("{name} {version}"));
            }
        }
    }
    for (text, mut owners) in texts {
        owners.sort();
        owners.dedup();
        let _ = write!(all, "\n{}\n{}:\n\n{text}\n", "-".repeat(80), owners.join(", "));
    }
    Ok(all)
}
