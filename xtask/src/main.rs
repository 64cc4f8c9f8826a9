//! `cargo xtask check`: dependency direction, sizes, openings, words and stray files, in under a second.

mod dependencies;
mod sizes;
mod source;
mod strays;
mod words;

use std::path::Path;
use std::process::ExitCode;

use source::Source;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program tells what it found")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments != ["check"] {
        eprintln!("usage: cargo xtask check");
        return ExitCode::from(2);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    match check(root) {
        Ok(findings) if findings.is_empty() => {
            println!("xtask: the house is in order");
            ExitCode::SUCCESS
        }
        Ok(findings) => {
            for finding in &findings {
                eprintln!("{finding}");
            }
            eprintln!("xtask: {} findings", findings.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(2)
        }
    }
}

/// Every finding in one line that starts with the file at fault.
fn check(root: &Path) -> std::io::Result<Vec<String>> {
    let sources = Source::all(root)?;
    let exceptions = std::fs::read_to_string(root.join(sizes::EXCEPTIONS)).unwrap_or_default();
    let mut findings = dependencies::check(root)?;
    findings.extend(sizes::check(&sources, &exceptions));
    findings.extend(words::check(&sources));
    findings.extend(strays::check(root));
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn the_house_can_be_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        super::check(root).unwrap();
        assert!(super::Source::all(root).unwrap().iter().any(|source| source.path == "xtask/src/main.rs"));
    }
}
