//! `cargo xtask tests` runs the test programs of the workspace next to each other: most of their tests wait for servers,
//! guests and clocks.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::dist::command;

/// Package of the suites that run for minutes, so that they start first.
const SUITES: &str = "sharebench-tests";
/// Those that use all of the machine: their servers flood it, or they compute. They run first, and alone.
const ALONE: [&str; 2] = ["sharebench-tests/hostile", "sharebench-tests/planted_truth"];
/// Those whose tests mostly wait for guests, servers and clocks: more of them run at once.
const WAITING: [&str; 2] = ["sharebench-tests/end_to_end", "sharebench-tests/kerberos"];
/// A program that prints nothing for this time is killed, because a test hangs. Each test prints when it has ended, and on a slow
/// machine the longest one takes half of this time.
const LIMIT: Duration = Duration::from_mins(30);
/// The same with `SHAREBENCH_LONG`, where one test is a suite in full.
const LONG_LIMIT: Duration = Duration::from_hours(3);
/// How many tests of a program run at once: because tests wait, one more than there are processors, or than twice as many.
const THREADS: &str = "RUST_TEST_THREADS";
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A program to run.
struct Job {
    name: String,
    command: Command,
}

/// Runs every test program and the documentation tests, as built with `arguments` of Cargo, prints the output of each one when
/// it has ended, and returns those that failed. `--unit` before the arguments leaves out the suites.
pub fn run(root: &Path, arguments: &[&str], out: &mut (dyn Write + Send)) -> io::Result<Vec<String>> {
    let limit = if std::env::var_os("SHAREBENCH_LONG").is_some() { LONG_LIMIT } else { LIMIT };
    let logs = root.join("target/test-output");
    fs::create_dir_all(&logs)?;
    let (alone, others): (VecDeque<Job>, VecDeque<Job>) =
        jobs(root, arguments)?.into_iter().partition(|job| ALONE.contains(&job.name.as_str()));
    let failures = Mutex::new(Vec::new());
    let out = Mutex::new(out);
    let start = Instant::now();
    let work = |jobs: &Mutex<VecDeque<Job>>| -> io::Result<()> {
        loop {
            let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(job) = next else { return Ok(()) };
            let started = start.elapsed();
            let name = job.name.clone();
            let (failure, output) = finish(job, &logs, limit)?;
            let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
            out.write_all(&output)?;
            let took = start.elapsed().saturating_sub(started).as_secs();
            writeln!(out, "-- {name}: {took} s, from {} s\n", started.as_secs())?;
            if let Some(failure) = failure {
                failures.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{name}: {failure}"));
            }
        }
    };
    work(&Mutex::new(alone))?;
    let others = Mutex::new(others);
    let at_once = thread::available_parallelism()?.get();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(|| work(&others))).collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().unwrap_or_else(|_| Err(io::Error::other("a thread that ran test programs ended")))
        })
    })?;
    Ok(failures.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Runs a program to its end, or until it has printed nothing for the time `limit`, and returns why it failed, with its output.
fn finish(mut job: Job, logs: &Path, limit: Duration) -> io::Result<(Option<String>, Vec<u8>)> {
    let path = logs.join(format!("{}.log", job.name.replace('/', "-")));
    let mut log = File::create(&path)?;
    writeln!(log, "     Running {}", job.name)?;
    job.command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    let mut child = job.command.spawn()?;
    let mut printed = 0;
    let mut last = Instant::now();
    let failure = loop {
        if let Some(status) = child.try_wait()? {
            break (!status.success()).then(|| status.to_string());
        }
        let length = fs::metadata(&path)?.len();
        if length != printed {
            printed = length;
            last = Instant::now();
        }
        if last.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            break Some(format!("it printed nothing for {} s", limit.as_secs()));
        }
        thread::sleep(POLL_INTERVAL);
    };
    Ok((failure, fs::read(path)?))
}

/// Returns the test programs, which Cargo builds first where needed, and the documentation tests.
fn jobs(root: &Path, arguments: &[&str]) -> io::Result<Vec<Job>> {
    let (unit, arguments) = match arguments {
        ["--unit", rest @ ..] => (true, rest),
        all => (false, all),
    };
    let common = [&["--locked", "--workspace"], arguments].concat();
    let line = [&["build", "--all-targets", "--quiet", "--message-format=json"], common.as_slice()].concat();
    let mut programs = test_programs(&command::output("cargo", &line, root)?);
    programs.retain(|program| !(unit && program.name.starts_with(SUITES)));
    // Those that run for minutes first, and of these the longest, `end_to_end`.
    programs.sort_by_key(|program| (!program.name.starts_with(SUITES), program.name.clone()));
    let processors = thread::available_parallelism()?.get();
    let mut jobs: Vec<Job> = programs
        .into_iter()
        .map(|program| {
            let mut command = Command::new(program.executable);
            command.current_dir(&program.directory).env("CARGO_MANIFEST_DIR", program.directory);
            if std::env::var_os(THREADS).is_none() {
                let waits = WAITING.contains(&program.name.as_str());
                command.env(THREADS, (processors * if waits { 2 } else { 1 } + 1).to_string());
            }
            Job { name: program.name, command }
        })
        .collect();
    let mut doc_tests = Command::new("cargo");
    doc_tests.current_dir(root).args(["test", "--quiet", "--doc"]).args(common);
    // After the long ones: they need a processor each, and everything after them is short.
    let long = jobs.iter().take_while(|job| job.name.starts_with(SUITES)).count();
    jobs.insert(long, Job { name: "doc-tests".into(), command: doc_tests });
    Ok(jobs)
}

/// A test program that Cargo has built.
#[derive(Debug, PartialEq, Eq)]
struct TestProgram {
    name: String,
    executable: PathBuf,
    /// Where Cargo starts it.
    directory: PathBuf,
}

/// Reads the messages of `cargo build --message-format=json`, one a line.
fn test_programs(messages: &str) -> Vec<TestProgram> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages
        .filter(|message| message["profile"]["test"] == true)
        .filter_map(|message| {
            let executable = message["executable"].as_str()?.into();
            let directory = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
            let package = message["package_id"].as_str()?.rsplit(['/', '#']).next()?;
            // "path+file:///root/crates/stats#sharebench-stats@0.1.0", or "#0.1.0" where the folder has that name.
            let package = match package.split_once('@') {
                Some((name, _)) => name.to_owned(),
                None => directory.file_name()?.to_string_lossy().into_owned(),
            };
            let target = message["target"]["name"].as_str()?;
            Some(TestProgram { name: format!("{package}/{target}"), executable, directory })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_those_with_tests_and_keep_the_directory_of_their_package() {
        let messages = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/stats#sharebench-stats@0.1.0","manifest_path":"/w/crates/stats/Cargo.toml","target":{"name":"sharebench_stats"},"profile":{"test":true},"executable":"/w/target/debug/deps/sharebench_stats-1"}
{"reason":"compiler-artifact","package_id":"path+file:///w/crates/stats#sharebench-stats@0.1.0","manifest_path":"/w/crates/stats/Cargo.toml","target":{"name":"sharebench_stats"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","package_id":"path+file:///w/crates/cli#sharebench@0.1.0","manifest_path":"/w/crates/cli/Cargo.toml","target":{"name":"sharebench"},"profile":{"test":false},"executable":"/w/target/debug/sharebench"}
{"reason":"compiler-artifact","package_id":"path+file:///w/xtask#0.1.0","manifest_path":"/w/xtask/Cargo.toml","target":{"name":"xtask"},"profile":{"test":true},"executable":"/w/target/debug/deps/xtask-2"}
{"reason":"build-finished","success":true}"#;
        let program = |name: &str, executable: &str, directory: &str| TestProgram {
            name: name.into(),
            executable: executable.into(),
            directory: directory.into(),
        };
        let expected = [
            program(
                "sharebench-stats/sharebench_stats",
                "/w/target/debug/deps/sharebench_stats-1",
                "/w/crates/stats",
            ),
            program("xtask/xtask", "/w/target/debug/deps/xtask-2", "/w/xtask"),
        ];
        assert_eq!(test_programs(messages), expected);
    }

    #[test]
    fn outcome_and_output_of_each_program_are_kept() {
        let logs = std::env::temp_dir().join(format!("sharebench-test-programs-{}", std::process::id()));
        fs::create_dir_all(&logs).unwrap();
        let ended = |script: &str, limit: Duration| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            finish(Job { name: "a/b".into(), command }, &logs, limit).unwrap()
        };
        let (failure, output) = ended("echo one; echo two >&2; exit 3", LIMIT);
        assert_eq!(failure.as_deref(), Some("exit status: 3"));
        assert_eq!(String::from_utf8(output).unwrap(), "     Running a/b\none\ntwo\n");
        assert_eq!(ended("true", LIMIT).0, None);
        let (failure, output) = ended("echo one; exec sleep 100", Duration::from_secs(1));
        assert_eq!(failure.as_deref(), Some("it printed nothing for 1 s"));
        assert!(output.ends_with(b"one\n"));
        fs::remove_dir_all(logs).unwrap();
    }
}
