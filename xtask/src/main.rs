//! `cargo xtask check`: rules of the repository that the compiler does not check; `cargo xtask counts`, `cargo xtask soak`.

mod citations;
mod counts;
mod dependencies;
mod misplaced;
mod module_graph;
mod openings;
mod packing;
mod sizes;
mod soak;
mod source;
mod vocabulary;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use citations::Documents;
use source::Source;
use vocabulary::Vocabulary;

const USAGE: &str = "usage: cargo xtask check [--all] [PATH]
       cargo xtask counts [ROOT]
       cargo xtask soak MINUTES target/release/sharebench

check   Print every violation of the rules; --all includes checks that are not enforced yet,
        PATH selects the findings below that path
counts  Print figures of the language per crate, of the repository at ROOT
soak    Run a mixed load on every protocol and print what grows";

/// Paths below which a check is not enforced yet; `check --all` includes them.
const PENDING: [(&str, &[&str]); 4] = [
    (
        "vocabulary",
        &[
            "crates/analysis/",
            "crates/cli/",
            "crates/engine/",
            "crates/exchange/",
            "crates/model/",
            "crates/ncp/",
            "crates/ncp-target/",
            "crates/report/",
            "crates/results/",
            "crates/server/",
            "tests/end_to_end/exchange.rs",
        ],
    ),
    ("modules", &["crates/report/", "crates/results/", "crates/server/"]),
    ("citations", &["Cargo.toml", "crates/exchange/", "crates/report/"]),
    (
        "packing",
        &[
            "crates/cli/",
            "crates/engine/",
            "crates/exchange/",
            "crates/ncp/",
            "crates/ncp-target/",
            "crates/report/",
            "crates/results/",
            "crates/server/",
        ],
    ),
];

/// One rule with the places that violate it.
struct Check {
    name: &'static str,
    /// Each in one line that starts with the path of the file.
    findings: Vec<String>,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program prints its findings")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let done = match words.as_slice() {
        ["check"] => check(root, false, ""),
        ["check", "--all"] => check(root, true, ""),
        ["check", "--all", path] => check(root, true, path),
        ["check", path] if !path.starts_with('-') => check(root, false, path),
        ["counts"] => counts::print(root, &mut io::stdout()).map(|()| Vec::new()),
        ["counts", root] => counts::print(Path::new(root), &mut io::stdout()).map(|()| Vec::new()),
        ["soak", minutes, program] if minutes.parse::<u64>().is_ok_and(|minutes| minutes > 0) => {
            soak::run(minutes.parse().unwrap_or(1), program, &mut io::stdout()).map(|()| Vec::new())
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(findings) if findings.is_empty() => {
            if words[0] == "check" {
                println!("xtask: no findings");
            }
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

/// Returns the findings below a path; the pending ones only on request.
fn check(root: &Path, all: bool, path: &str) -> io::Result<Vec<String>> {
    let mut kept = Vec::new();
    for Check { name, findings } in checks(root)? {
        let pending = PENDING.iter().find(|(check, _)| *check == name).map_or(&[][..], |(_, paths)| *paths);
        let enforced = |finding: &String| all || !pending.iter().any(|path| finding.starts_with(path));
        kept.extend(findings.into_iter().filter(|finding| finding.starts_with(path) && enforced(finding)));
    }
    Ok(kept)
}

/// Runs every check.
fn checks(root: &Path) -> io::Result<Vec<Check>> {
    let sources = Source::all(root)?;
    let documents = Source::documents(root)?;
    let files = [sources.as_slice(), documents.as_slice()].concat();
    let exceptions = std::fs::read_to_string(root.join(sizes::EXCEPTIONS)).unwrap_or_default();
    let vocabulary = match Vocabulary::parse(&std::fs::read_to_string(root.join(vocabulary::LIST))?) {
        Ok(vocabulary) => files.iter().flat_map(|file| vocabulary.check(file)).collect(),
        Err(findings) => findings,
    };
    let mut targets = Documents::new(&files);
    targets.add_files(misplaced::tracked(root));
    let citations = files.iter().flat_map(|file| targets.check(file)).collect();
    Ok(vec![
        Check { name: "dependencies", findings: dependencies::check(root)? },
        Check { name: "sizes", findings: sizes::check(&sources, &exceptions) },
        Check { name: "openings", findings: openings::check(&sources) },
        Check { name: "misplaced", findings: misplaced::check(root) },
        Check { name: "vocabulary", findings: vocabulary },
        Check { name: "modules", findings: module_graph::check(&sources) },
        Check { name: "citations", findings: citations },
        Check { name: "packing", findings: sources.iter().flat_map(packing::check).collect() },
    ])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn every_check_reads_the_repository() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let checks = super::checks(root).unwrap();
        assert!(super::PENDING.iter().all(|(name, _)| checks.iter().any(|check| check.name == *name)));
        assert!(super::Source::all(root).unwrap().iter().any(|source| source.path == "xtask/src/main.rs"));
    }

    #[test]
    fn selected_findings_are_below_the_path() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert!(super::check(root, true, "xtask/").unwrap().iter().all(|line| line.starts_with("xtask/")));
    }
}
