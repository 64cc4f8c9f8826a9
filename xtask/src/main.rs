//! `cargo xtask check`: rules of the repository that the compiler does not check. The other commands are in [`USAGE`].

mod citations;
mod codecs;
mod counts;
mod dependencies;
mod dist;
mod duplicates;
mod figures;
mod file_cycles;
mod limits;
mod misplaced;
mod module_graph;
mod openings;
mod packing;
mod sizes;
mod soak;
mod source;
mod test_programs;
mod tuple_parameters;
mod vocabulary;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use citations::Documents;
use source::Source;
use vocabulary::Vocabulary;

const USAGE: &str = "usage: cargo xtask check [PATH]
       cargo xtask figures
       cargo xtask cycles
       cargo xtask duplicates
       cargo xtask counts [ROOT]
       cargo xtask tests [--unit] [CARGO OPTION...]
       cargo xtask soak MINUTES target/release/sharebench
       cargo xtask dist [KIND [PROGRAM]]
       cargo xtask reproduce KIND

check   Print every violation of the rules; PATH selects the findings below that path
figures Print every figure that has a limit as a line of xtask/limits.txt, and the size of each crate
cycles  Print the files of each crate that import each other
duplicates  Print the places that repeat each other
counts  Print figures of the language per crate, of the repository at ROOT
tests   Run the tests, several programs at once, built with the options of Cargo (such as --features); --unit leaves out
        the suites of package sharebench-tests
soak    Run a mixed load on every protocol and print what grows
dist    Build the program of KIND (x86_64, aarch64, mpi; all by default), or take PROGRAM, and write archive, packages
        and checksums to target/dist/out
reproduce  Build the program of the last commit in two directories and compare the bytes";

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program prints its findings")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let done = match words.as_slice() {
        ["check"] => check(root, ""),
        ["check", path] if !path.starts_with('-') => check(root, path),
        ["figures"] => print(root, figures::print),
        ["cycles"] => print(root, file_cycles::print),
        ["duplicates"] => print(root, figures::print_duplicates),
        ["counts"] => counts::print(root, &mut io::stdout()).map(|()| Vec::new()),
        ["counts", root] => counts::print(Path::new(root), &mut io::stdout()).map(|()| Vec::new()),
        ["tests", arguments @ ..] => test_programs::run(root, arguments, &mut io::stdout()),
        ["dist"] => dist::run_all(root, &mut io::stdout()).map(|()| Vec::new()),
        [command @ ("dist" | "reproduce"), kind, rest @ ..] if dist::Kind::named(kind).is_some() => {
            release(root, command, kind, rest)
        }
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

/// Prints figures of the repository.
fn print(
    root: &Path,
    figures: fn(&[Source], &mut dyn io::Write) -> io::Result<()>,
) -> io::Result<Vec<String>> {
    figures(&Source::all(root)?, &mut io::stdout().lock()).map(|()| Vec::new())
}

/// Makes the packages of one kind of program, or checks that its build is reproducible.
fn release(root: &Path, command: &str, kind: &str, rest: &[&str]) -> io::Result<Vec<String>> {
    let kind = dist::Kind::named(kind).ok_or(io::ErrorKind::NotFound)?;
    match (command, rest) {
        ("dist", []) => dist::run(root, kind, None, &mut io::stdout())?,
        ("dist", [program]) => dist::run(root, kind, Some(program), &mut io::stdout())?,
        ("reproduce", []) => dist::reproduce(root, kind, &mut io::stdout())?,
        _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, USAGE)),
    }
    Ok(Vec::new())
}

/// Runs every check and returns the findings below a path, each in one line that starts with its file.
fn check(root: &Path, path: &str) -> io::Result<Vec<String>> {
    let sources = Source::all(root)?;
    let documents = Source::documents(root)?;
    let files = [sources.as_slice(), documents.as_slice()].concat();
    let limits = std::fs::read_to_string(root.join(limits::LIMITS)).unwrap_or_default();
    let exceptions = std::fs::read_to_string(root.join(sizes::EXCEPTIONS)).unwrap_or_default();
    let vocabulary = match Vocabulary::parse(&std::fs::read_to_string(root.join(vocabulary::LIST))?) {
        Ok(vocabulary) => files.iter().flat_map(|file| vocabulary.check(file)).collect(),
        Err(findings) => findings,
    };
    let mut targets = Documents::new(&files);
    targets.add_files(misplaced::tracked(root));
    let citations = files.iter().flat_map(|file| targets.check(file)).collect();
    let mut findings: Vec<String> = [
        dependencies::check(root)?,
        sizes::check(&sources, &exceptions),
        limits::check(&sources, &limits),
        openings::check(&sources),
        misplaced::check(root),
        vocabulary,
        module_graph::check(&sources),
        citations,
        sources.iter().flat_map(packing::check).collect(),
    ]
    .concat();
    findings.retain(|finding| finding.starts_with(path));
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn every_check_reads_the_repository() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        super::check(root, "").unwrap();
        assert!(super::Source::all(root).unwrap().iter().any(|source| source.path == "xtask/src/main.rs"));
    }
}
