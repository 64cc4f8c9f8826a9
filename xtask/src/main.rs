//! `cargo xtask check`: dependency direction, sizes, openings, words and stray files, in under a second; `cargo xtask soak`.

mod dependencies;
mod sizes;
mod soak;
mod source;
mod strays;
mod words;

use std::path::Path;
use std::process::ExitCode;

use source::Source;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program tells what it found")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["check"] => {}
        ["soak", minutes, program] if minutes.parse::<u64>().is_ok_and(|minutes| minutes > 0) => {
            let minutes = minutes.parse().unwrap_or(1);
            return match soak::run(minutes, program, &mut std::io::stdout()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("xtask: {error}");
                    ExitCode::FAILURE
                }
            };
        }
        _ => {
            eprintln!("usage: cargo xtask check\n       cargo xtask soak MINUTES target/release/sharebench");
            return ExitCode::from(2);
        }
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
