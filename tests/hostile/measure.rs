//! One run of the program at a hostile server, and what it cost.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process_group};
use sharebench_tests::program::poll;
use sharebench_tests::{Served, Sharebench};

use crate::mode::Mode;

/// Time after which a run counts as endless: enough for a slow machine to reach the limit of a listing.
const PATIENCE: Duration = Duration::from_secs(900);
/// Maximum number of calls of a run at a server that makes no progress without end.
const MAX_CALLS: u64 = 20_000;
/// Maximum memory of a run in KiB.
const MAX_KIB: u64 = 64 << 10;

/// A command of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `sweep`.
    Sweep,
    /// `learn`, which surveys a share.
    Survey,
    /// `clean`.
    Clean,
    /// `probe`.
    Probe,
}

impl Command {
    /// All commands, in the order of the columns.
    pub const ALL: [Self; 4] = [Self::Sweep, Self::Survey, Self::Clean, Self::Probe];

    /// Name of the column.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sweep => "sweep",
            Self::Survey => "learn",
            Self::Clean => "clean",
            Self::Probe => "probe",
        }
    }

    fn line<'l>(self, url: &'l str, timeout: &'l str) -> Vec<&'l str> {
        match self {
            Self::Sweep => {
                let small = ["--file-sizes=64KiB", "--record-sizes=8KiB", "--tests=write,read"];
                let short = ["--repetitions=1", timeout];
                [&["sweep", url], &small[..], &short].concat()
            }
            Self::Survey => vec!["learn", url, timeout],
            Self::Clean => vec!["clean", url, timeout],
            Self::Probe => vec!["probe", url, timeout],
        }
    }
}

/// The outcome of a run.
pub struct Measured {
    /// The cell of the table.
    pub outcome: String,
    /// Peak memory in KiB.
    pub peak_kib: u64,
    /// How long it took.
    pub took: Duration,
    /// The only rule that it broke is that of time.
    pub is_late: bool,
    /// Rules that it broke.
    pub broken: Vec<String>,
}

/// Files of a directory of its own: data for `learn`, and a directory of an earlier run for `clean`.
fn prepare(served: &Served, directory: &str) {
    let top = served.directory().join(directory);
    let leftover = top.join(".sharebench-0123abcd-0");
    fs::create_dir_all(top.join("sub")).unwrap();
    fs::create_dir_all(leftover.join("part")).unwrap();
    for name in ["a.txt", "b.zip", "sub/c.jpg", ".sharebench-0123abcd-0/part/file"] {
        fs::write(top.join(name), [7; 600]).unwrap();
    }
    fs::write(leftover.join(".made-by-sharebench"), "").unwrap();
}

/// True if a text has characters that control a terminal or the direction of the text.
fn has_controls(text: &str) -> bool {
    let is_control = |c: char| match c {
        '\n' | '\t' => false,
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => c.is_control(),
    };
    text.chars().any(is_control)
}

/// Peak memory of a running process in KiB (proc(5), `VmHWM`).
pub fn peak_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Runs a command at a hostile server.
pub fn run(
    sharebench: &Sharebench,
    served: &Served,
    mode: &Mode,
    command: Command,
    number: usize,
) -> Measured {
    let directory = format!("w{number}");
    prepare(served, &directory);
    let (proxy, url) = mode.start(served, &directory).unwrap();
    let own_program = fs::read_link("/proc/self/exe").unwrap();
    let began = Instant::now();
    let timeout = format!("--timeout={}s", mode.timeout_s());
    let mut program = sharebench.start(&command.line(&url, &timeout), &format!("{directory}.log")).unwrap();
    let pid = program.pid();
    let mut peak = 0;
    let ended = poll(PATIENCE, || {
        // Until it executes the program, a new process has the memory of this one.
        let executes = fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|path| path != own_program);
        if executes {
            peak = peak.max(peak_kib(pid).unwrap_or_default());
        }
        program.has_ended()
    });
    let took = began.elapsed();
    let output = program.output();
    let mut broken = Vec::new();
    let mut rule = |kept: bool, what: String| {
        if !kept {
            broken.push(what);
        }
    };
    rule(ended, format!("still runs after {PATIENCE:?}"));
    rule(!output.contains("panicked"), "panics".into());
    rule(!has_controls(&output), "prints escape sequences".into());
    let calls = proxy.answers();
    rule(mode.is_endless || calls <= MAX_CALLS, format!("makes {calls} calls"));
    rule(peak <= MAX_KIB, format!("takes {} MiB", peak >> 10));
    let code = if ended { program.wait(PATIENCE).ok().and_then(|status| status.code()) } else { None };
    rule(code.is_some() || !ended, "is ended by a signal".into());
    let has_class = mode.error.is_empty() || output.contains(&format!(": {}", mode.error));
    let states_class = command != Command::Probe && code != Some(0);
    rule(has_class || !states_class, format!("does not print the class '{}'", mode.error));
    let group = Pid::from_raw(pid.cast_signed()).unwrap();
    rule(!ended || test_kill_process_group(group).is_err(), "leaves a process".into());
    let files = fs::read_dir(sharebench.home()).unwrap().map(|file| PathBuf::from(file.unwrap().file_name()));
    let is_known = |file: &Path| file == "sharebench.db" || file.extension().is_some_and(|end| end == "log");
    let left: Vec<_> = files.filter(|file| !is_known(file)).collect();
    rule(left.is_empty(), format!("leaves {left:?}"));
    // A server that makes progress is ended by a limit of the client, however long the machine takes to reach it.
    let in_time = mode.is_endless || took.as_secs() < 2 * mode.timeout_s();
    let is_late = broken.is_empty() && !in_time;
    if !in_time {
        broken.push(format!("takes {:.1} s", took.as_secs_f64()));
    }
    if !broken.is_empty() {
        broken.push(output);
    }
    let outcome = code.map_or_else(|| "no exit code".into(), |code| format!("exit {code}"));
    Measured { outcome, peak_kib: peak, took, is_late, broken }
}
