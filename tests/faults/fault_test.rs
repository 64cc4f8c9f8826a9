//! One run of the program: starts its environment, injects the fault, and observes the outcome.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use sharebench_target::{is_same_directory, is_working_directory};
use sharebench_tests::program::poll;
use sharebench_tests::{Cut, Disk, Failing, FaultProxy, Program, Sharebench};

use crate::case::{After, Case, Course, Outcome, Work};
use crate::memory_group::MemoryGroup;
use crate::peer::{Kind, Peer};
use crate::plan::{CELLS, plan};
use crate::stage::Stage;
use crate::stored::Stored;

/// Steps that complete before the fault.
const BEFORE: usize = 2;
/// Larger than the small file systems of the suite.
const MAX_FILLER: u64 = 16 << 20;
/// Longer than any run of the suite.
const LIMIT: Duration = Duration::from_secs(120);
/// Error classes in messages.
const CLASSES: [&str; 12] = [
    "refused",
    "not found",
    "exists",
    "no space",
    "read-only",
    "stale handle",
    "busy",
    "timeout",
    "disconnected",
    "protocol",
    "unsupported",
    "i/o",
];

/// A run with the environment that a fault needs.
///
/// It owns the server, proxy, file systems and the program, and dropping it stops and removes all of them.
pub struct FaultTest {
    pub sharebench: Sharebench,
    pub peer: Peer,
    pub proxy: Option<FaultProxy>,
    pub failing: Option<Failing>,
    pub running: Program,
    url: String,
    stage: Stage,
    /// Keeps the mount of the results database after the run.
    keeper: Option<Program>,
    /// The file system of the server, which a restarted server mounts again.
    pub disk: Option<Disk>,
    _memory: Option<MemoryGroup>,
}

impl FaultTest {
    /// Runs a case with this number of repetitions. Returns `None` if the run was over before the fault, or before each
    /// cell could meet a fault that does not end the run.
    pub fn run(case: &Case, repetitions: u32) -> Option<Outcome> {
        let mut test = Self::begin(case, repetitions);
        test.wait_for_steps(BEFORE);
        let before = test.steps();
        if case.stage == Stage::SmallDatabaseDisk {
            test.keep_database_disk();
        }
        (case.inject)(&mut test);
        let steps_at_fault = if case.run == Course::Endures { test.steps() } else { 0 };
        let status = test.running.wait(LIMIT).unwrap();
        let output = test.running.output();
        if std::env::var_os("SHAREBENCH_TEST_SHOW").is_some() {
            println!("{}:\n{output}", case.name());
        }
        if status.success()
            && case.work == Work::Cells
            && (case.run != Course::Endures || test.steps() < steps_at_fault + CELLS)
        {
            return None;
        }
        let message = test.message(&output);
        (case.heal)(&mut test);
        let kept = test.kept(before, &output);
        let left = test.left();
        let then = test.afterwards(case.after, &left, &output);
        let left = match leftovers(&left, &test.url, &output) {
            NOTHING | WITH_COMMAND if case.run == Course::EndsAndMayCleanUp => {
                "nothing, or its directory, with the command to remove it"
            }
            left => left,
        };
        let left = left.to_owned();
        Some(Outcome { exit: exit(status), message, kept, left, then })
    }

    fn begin(case: &Case, repetitions: u32) -> Self {
        let sharebench = Sharebench::new().unwrap();
        let stage = case.stage;
        let failing = stage_has_failing(stage).then(|| Failing::build().unwrap());
        let of_server = failing.as_ref().filter(|_| stage == Stage::FailingServer);
        let disk = stage.disk();
        let peer = Peer::start(case, &sharebench, disk.as_ref(), of_server);
        let cut = if case.at == Kind::Ncp { Cut::Bytes } else { Cut::Messages };
        let proxy = (stage == Stage::Proxy).then(|| FaultProxy::start(peer.port(), cut).unwrap());
        let mut url = peer.url(proxy.as_ref().map(FaultProxy::port));
        if !case.options.is_empty() {
            url = format!("{url}?{}", case.options);
        }
        sharebench.write("plan.toml", &plan(case, &url, repetitions)).unwrap();
        let memory = (stage == Stage::LittleMemory).then(|| MemoryGroup::make().unwrap());
        let script = match stage {
            Stage::SmallDatabaseDisk => {
                fs::create_dir(sharebench.home().join("book")).unwrap();
                Some("mount -t tmpfs -o size=1m tmpfs book && exec \"$@\"".to_owned())
            }
            Stage::LittleMemory => memory.as_ref().map(MemoryGroup::script),
            Stage::ClosedStderr => Some("exec \"$@\" 2> >(head -c 1 > /dev/null)".to_owned()),
            _ => None,
        };
        let apart: &[&str] = if stage == Stage::SmallDatabaseDisk { &["unshare", "--mount"] } else { &[] };
        let mut words = apart.to_vec();
        words.extend(script.iter().flat_map(|script| ["bash", "-c", script, "bash"]));
        let client = failing.as_ref().filter(|_| stage == Stage::FailingClient);
        let env = client.map(|failing| [("LD_PRELOAD", failing.library()), failing.switch()]);
        let env: Vec<(&str, &str)> =
            env.iter().flatten().map(|(name, value)| (*name, value.as_str())).collect();
        let line: &[&str] = if stage == Stage::SmallDatabaseDisk {
            &["run", "plan.toml", "--db", "book/sharebench.db"]
        } else {
            &["run", "plan.toml"]
        };
        let running = sharebench.start_by(&words, line, &env, "run.log").unwrap();
        Self { sharebench, peer, proxy, failing, running, url, stage, keeper: None, disk, _memory: memory }
    }

    /// The proxy of this stage.
    pub fn proxy(&self) -> &FaultProxy {
        self.proxy.as_ref().unwrap()
    }

    /// The switch of this stage.
    pub fn failing(&self) -> &Failing {
        self.failing.as_ref().unwrap()
    }

    /// The results database as this process sees it while the run lasts.
    pub fn book(&self) -> std::path::PathBuf {
        let home = self.sharebench.home();
        let pid = self.keeper.as_ref().unwrap_or(&self.running).pid();
        Path::new(&format!("/proc/{pid}/root")).join(home.strip_prefix("/").unwrap()).join("book")
    }

    /// Waits until the results database contains this number of steps.
    pub fn wait_for_steps(&mut self, min: usize) {
        let reached = poll(LIMIT, || self.steps() >= min);
        assert!(reached, "no steps:\n{}", self.running.output());
    }

    /// Fills the file system again whenever the run frees space, until the run ends.
    pub fn keep_full(&mut self, filler: &str) {
        let path = self.peer.directory().join(filler);
        self.press(&path);
    }

    /// The same with the results database's file system.
    pub fn fill_database_disk(&mut self) {
        let path = self.book().join("filler");
        self.press(&path);
    }

    /// The file system is a small one; a mistake must not fill another.
    fn press(&mut self, path: &Path) {
        let mut filler = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        let gone = poll(LIMIT, || {
            for size in [1 << 16, 4096, 512] {
                while filler.metadata().unwrap().len() < MAX_FILLER
                    && filler.write_all(&vec![7; size]).is_ok()
                {}
            }
            self.running.has_ended()
        });
        assert!(filler.metadata().unwrap().len() < MAX_FILLER, "not a small file system: {}", path.display());
        assert!(gone, "it does not end:\n{}", self.running.output());
    }

    fn steps(&self) -> usize {
        if self.stage != Stage::SmallDatabaseDisk {
            return Stored::steps_so_far(&self.sharebench, 1);
        }
        self.inside("export 1 --format json").matches("\"started_unix_ms\"").count().saturating_sub(1)
    }

    /// What a command prints where the results database is mounted.
    fn inside(&self, command: &str) -> String {
        let pid = self.keeper.as_ref().unwrap_or(&self.running).pid().to_string();
        let home = self.sharebench.home().display();
        let script = format!("cd {home} && exec \"$0\" {command} --db book/sharebench.db");
        let words = ["nsenter", "--target", &pid, "--mount", "sh", "-c", &script];
        self.sharebench.run_by(&words).unwrap().stdout
    }

    /// Keeps the mount of the results database after the run.
    fn keep_database_disk(&mut self) {
        let pid = self.running.pid().to_string();
        let line = ["nsenter", "--target", &pid, "--mount", "sleep", "600"];
        let log = self.sharebench.home().join("keeper.log");
        let keeper = Program::start(&line, &[], &log).unwrap();
        let namespace = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
        assert!(poll(LIMIT, || namespace(keeper.pid()) == namespace(self.running.pid())));
        self.keeper = Some(keeper);
    }

    /// Returns the message to the user, without the parts that differ between runs.
    fn message(&self, output: &str) -> String {
        let lines = || output.lines().filter_map(|line| line.strip_prefix("sharebench: "));
        if let Some(lost) = lines().find_map(|line| line.strip_prefix("target lost: ")) {
            let class = CLASSES.iter().find(|class| lost.contains(&format!(": {class} (")));
            let smb = self.url.starts_with("smb:");
            // The class depends on the operation that meets the fault.
            let class = class.map(|class| match (*class, self.stage) {
                ("not found" | "stale handle", _) => "not found, or stale handle",
                // SMB removes a file when it is closed. If that fails, the file still exists when the next one is created.
                ("read-only" | "refused" | "i/o" | "exists", Stage::Breakable) if smb => {
                    "read-only, refused, i/o or exists"
                }
                ("read-only" | "refused" | "i/o", Stage::Breakable) => "read-only, refused or i/o",
                ("refused" | "exists", Stage::NobodyServes) if smb => "refused or exists",
                (other, _) => other,
            });
            return format!("target lost: {}", class.unwrap_or(lost));
        }
        if lines().any(|line| line.starts_with("volume full") && line.contains("no space")) {
            return "volume full, or its quota".to_owned();
        }
        if let Some(why) = lines().find(|line| line.starts_with("stopped")) {
            return why.split(';').next().unwrap_or_default().to_owned();
        }
        if let Some(why) =
            lines().find(|line| !line.starts_with("finish it by") && !line.contains("left on "))
        {
            // The path differs between runs.
            return why.rsplit(": ").next().unwrap_or(why).to_owned();
        }
        if self.stage == Stage::ClosedStderr {
            return "nothing".to_owned();
        }
        let errors = self.errors();
        if errors.is_empty() {
            return "nothing".to_owned();
        }
        format!("failures in the tables: {}", errors.join(", "))
    }

    /// Returns the error classes in the steps.
    fn errors(&self) -> Vec<String> {
        let mut classes: Vec<String> = Stored::read(&self.sharebench, 1)
            .steps
            .iter()
            .filter_map(|step| step["errors"].as_object())
            .flat_map(|errors| errors.keys().cloned())
            .collect();
        classes.sort();
        classes.dedup();
        classes
    }

    /// Returns the content of the results database, after checking that no step was lost.
    fn kept(&self, before: usize, output: &str) -> String {
        let (steps, planned, listed) = if self.stage == Stage::SmallDatabaseDisk {
            // Frees space, as a user would.
            fs::remove_file(self.book().join("filler")).unwrap();
            (self.steps(), usize::MAX, self.inside("runs"))
        } else {
            let stored = Stored::read(&self.sharebench, 1);
            if self.stage == Stage::FailingClient {
                assert_calendar_jumped(&stored);
            }
            let listed = self.sharebench.run(&["runs"]).unwrap().expect_success().stdout;
            (stored.steps.len(), stored.planned, listed)
        };
        assert!(steps >= before, "{steps} of {before} steps are left:\n{output}");
        let (head, row) = listed.split_once('\n').unwrap();
        let state: String = row.chars().skip(head.find("state").unwrap()).take(13).collect();
        let all = if steps == planned { "every step" } else { "the finished steps" };
        format!("{all}, \"{}\"", state.trim())
    }

    /// Returns the names of sharebench's directories on the target.
    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.peer.directory()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|name| is_working_directory(name)).collect()
    }

    /// Does what the message instructs the user to do, and checks that nothing is left.
    fn afterwards(&self, after: After, left: &[String], output: &str) -> String {
        let then = match (after, left.first()) {
            (After::Resume, _) => {
                let resumed = self.sharebench.run(&["run", "--resume", "1"]).unwrap().expect_success();
                let stored = Stored::read(&self.sharebench, 1);
                assert_eq!(stored.steps.len(), stored.planned, "{}", resumed.text());
                "`run --resume` finished it"
            }
            (After::Clean, None) => "nothing to do",
            (After::Clean, Some(name)) if named_in(output, &self.url, name).is_some() => {
                let name = named_in(output, &self.url, name).unwrap_or_default();
                let line = ["clean", &self.url, "--directory", name];
                let _ = self.sharebench.run(&line).unwrap().expect_success();
                "the command removed it"
            }
            (After::Clean, Some(_)) => {
                let _ = self.sharebench.run(&["clean", &self.url]).unwrap().expect_success();
                "`sharebench clean` removed it"
            }
        };
        assert_eq!(self.left(), Vec::<String>::new(), "{output}");
        then.to_owned()
    }
}

const fn stage_has_failing(stage: Stage) -> bool {
    matches!(stage, Stage::FailingServer | Stage::FailingClient)
}

/// Returns the name of a directory in the command that the program prints for the files that it leaves. On volumes with
/// DOS names the directory has the 8.3 form of that name.
fn named_in<'o>(output: &'o str, url: &str, name: &str) -> Option<&'o str> {
    let command = format!("sharebench clean '{url}' --directory ");
    let named =
        |rest: &'o str| rest.split(|c: char| c.is_whitespace() || c == '`').next().unwrap_or_default();
    output.split(&command).skip(1).map(named).find(|named| is_same_directory(named, name))
}

const NOTHING: &str = "nothing";
const WITH_COMMAND: &str = "its directory, with the command to remove it";

fn leftovers(left: &[String], url: &str, output: &str) -> &'static str {
    match left {
        [] => NOTHING,
        [name] if named_in(output, url, name).is_some() => WITH_COMMAND,
        _ => "its directory",
    }
}

fn exit(status: ExitStatus) -> String {
    status.code().map_or_else(|| "killed".to_owned(), |code| code.to_string())
}

/// Checks that the program saw the changed date.
fn assert_calendar_jumped(stored: &Stored) {
    let began = || stored.steps.iter().map(|step| step["started_unix_ms"].as_u64().unwrap());
    let span = began().max().unwrap() - began().min().unwrap();
    assert!(span > 80_000_000, "no jump within {span} ms");
}
