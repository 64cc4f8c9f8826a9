//! Every test of a sweep on every kind of target, verified byte by byte, and the table of it in the documentation.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use serde_json::Value;
use sharebench_plan::{Access, Test};
use sharebench_tests::{Ended, Ganesha, GaneshaOptions, Need, Served, Sharebench, Smbd, SmbdOptions, needs};

use crate::plans::left_in;
use crate::stored::Stored;

/// All targets of this test, ours and others'.
struct Field {
    sharebench: Sharebench,
    served: Served,
    smbd: Smbd,
    ganesha: Ganesha,
}

impl Field {
    fn start() -> Self {
        let sharebench = Sharebench::new().unwrap();
        fs::create_dir(sharebench.home().join("local")).unwrap();
        let served = sharebench.serve("served").unwrap();
        // One directory per protocol: two targets of one run are two shares.
        fs::create_dir(served.directory().join("smb")).unwrap();
        fs::create_dir(served.directory().join("nfs")).unwrap();
        fs::create_dir(served.directory().join("ncp")).unwrap();
        fs::create_dir(served.directory().join("ncp-udp")).unwrap();
        let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
        let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
        Self { sharebench, served, smbd, ganesha }
    }

    /// Kind and URL of each.
    fn targets(&self) -> [(&'static str, String); 7] {
        [
            ("path", "./local".into()),
            ("smb", self.served.smb_url("smb")),
            ("nfs", self.served.nfs_url("nfs")),
            ("smb", self.smbd.url("", "")),
            ("nfs", self.ganesha.url("", "")),
            // One request per connection: as many connections as the deepest queue of these tests.
            ("ncp", self.served.ncp_url("ncp?connections=4&split=on")),
            // Requests are counted: none is sent again because this machine stood still.
            ("ncp", self.served.ncp_url("ncp-udp?transport=udp&connections=4&split=on&retry=20s")),
        ]
    }

    fn run(&self, targets: &[(&str, String)], sweep: &str) -> Ended {
        let target = |(number, (kind, url)): (usize, &(&str, String))| {
            format!("[[target]]\nname = '{kind}-{number}'\nurl = '{url}'\n")
        };
        let targets: String = targets.iter().enumerate().map(target).collect();
        let head = "seed = 7\nrepetitions = 1\nmin_sample_time = '5ms'\nverify = 'full'\n";
        self.sharebench.write("plan.toml", &format!("{head}{targets}[sweep]\n{sweep}")).unwrap();
        self.sharebench.run(&["run", "plan.toml"]).unwrap()
    }

    fn nothing_is_left(&self) {
        let served = self.served.directory();
        let share = self.smbd.share();
        let export = self.ganesha.directory();
        let local = self.sharebench.home().join("local");
        let ours = ["smb", "nfs", "ncp", "ncp-udp"].map(|name| served.join(name));
        for directory in ours.into_iter().chain([local, share, export]) {
            assert_eq!(left_in(&directory), Vec::<String>::new());
        }
    }
}

fn test_of(step: &Value) -> &str {
    step["coordinates"]["test"]["text"].as_str().unwrap()
}

/// No operation failed, and every byte that was read was checked.
fn is_clean(step: &Value) {
    assert_eq!(step["errors"], serde_json::json!({}), "{step}");
    assert_eq!(step["verified_bytes"], step["bytes"]["read"], "{step}");
    assert_ne!(step["verdict"], "invalid", "{step}");
    assert!(step["passes"].as_u64().unwrap() > 0, "{step}");
}

#[test]
fn every_test_is_verified_on_every_target_that_supports_it() {
    needs!(Smbd::NEEDS, Ganesha::NEEDS);
    let field = Field::start();
    let targets = field.targets();
    // 32 records of 4 KiB, 8 of 16 KiB: a stride of 5 has a meaning in both.
    let sizes = "file_sizes = ['128KiB']\nrecord_sizes = ['4KiB..16KiB x4']\n";
    let wired = format!("{sizes}tests = ['requests', 'streams']\nstride = [5]\n");
    let _ = field.run(&targets, &wired).expect_success();
    let _ = field.run(&targets[..1], &format!("{sizes}tests = ['mmap']\n")).expect_success();

    // How many steps of each test and kind of target were clean; the others would have ended this test.
    let mut ran: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for (run, targets) in [(1, &targets[..]), (2, &targets[..1])] {
        for step in &Stored::read(&field.sharebench, run).steps {
            is_clean(step);
            let target = step["target"].as_u64().unwrap() as usize;
            *ran.entry((test_of(step).into(), targets[target].0)).or_default() += 1;
        }
    }
    for (kind, url) in &targets[1..] {
        let refused = field.run(&[(kind, url.clone())], &format!("{sizes}tests = ['read', 'mmap-read']\n"));
        assert_eq!(refused.code, Some(2), "{}", refused.text());
        assert!(refused.stderr.contains("mmap-read has no meaning over"), "{}", refused.stderr);
    }
    field.nothing_is_left();

    let mut table = String::from(
        "| test | what it does | local or mounted path | SMB | NFS | NCP |\n|---|---|---|---|---|---|\n",
    );
    for test in Test::ALL {
        let mut row = format!("| `{test}` | {}", test.about());
        for (kind, servers) in [("path", 1), ("smb", 2), ("nfs", 2), ("ncp", 2)] {
            row += if let Some(steps) = ran.get(&(test.name().into(), kind)) {
                assert_eq!(*steps, 2 * servers, "{test} on {kind}");
                " | yes"
            } else {
                assert_eq!(test.access(), Access::Mapping, "{test} did not run on {kind}");
                " | no: nothing to map"
            };
        }
        table += &(row + " |\n");
    }
    in_documentation("table of tests", &table);
}

/// Two tests may write the documentation at once.
static WRITING: Mutex<()> = Mutex::new(());

/// The documentation shows what was seen here; with `SHAREBENCH_WRITE_DOCS` set it is written.
fn in_documentation(name: &str, table: &str) {
    let _alone = WRITING.lock().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/measure/sweeps.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(&format!("<!-- {name} -->\n")).unwrap();
    let (shown, after) = rest.split_once("<!-- end of the table -->").unwrap();
    if std::env::var_os("SHAREBENCH_WRITE_DOCS").is_some() {
        let text = format!("{before}<!-- {name} -->\n{table}<!-- end of the table -->{after}");
        fs::write(&path, text).unwrap();
    } else {
        assert_eq!(shown, table, "docs/measure/sweeps.md; SHAREBENCH_WRITE_DOCS=1 writes it");
    }
}

#[test]
fn every_axis_is_verified_on_every_target() {
    needs!(Smbd::NEEDS, Ganesha::NEEDS);
    let field = Field::start();
    let targets = field.targets();
    let sizes = "file_sizes = ['96KiB']\nrecord_sizes = ['1KiB', '8KiB']\n";
    let positions = "tests = ['requests', 'streams']\ndepths = [1, 4]\nalign = [0, '512', '12KiB']
stride = [3]\nread_percent = [30]\nstream_buffer = '20KiB'\n";
    let own = "tests = ['requests', 'streams']\njobs = [1, 3]\n";
    let shared = "tests = ['requests']\nstride = [2]\njobs = [3]\nshared_file = true\ndepths = [2]\n";
    let mapped = "tests = ['mmap']\njobs = [3]\nshared_file = true\nalign = [0, '1KiB']\n";
    for (run, sweep) in [(1, positions), (2, own), (3, shared), (4, mapped)] {
        let targets = if sweep == mapped { &targets[..1] } else { &targets[..] };
        let sizes = if sweep == own {
            sizes.replace("'1KiB', ", "'4KiB', ").replace("96KiB", "160KiB")
        } else {
            sizes.into()
        };
        let _ = field.run(targets, &format!("{sizes}{sweep}")).expect_success();
        let stored = Stored::read(&field.sharebench, run);
        assert!(!stored.steps.is_empty() && stored.steps.len() == stored.planned);
        for step in &stored.steps {
            is_clean(step);
            let jobs = step["coordinates"]["jobs"]["count"].as_u64();
            assert_eq!(step["users_reported"].as_u64(), Some(jobs.unwrap_or(1)), "{step}");
            let shares = step["shares"].as_array().unwrap();
            assert_eq!(shares.len() as u64, jobs.unwrap_or(0), "{step}");
            assert!(shares.iter().all(|share| share["passes"].as_u64() > Some(0)), "{step}");
        }
        // The wire carried whole buffers of the streams: five requests for 96 KiB in buffers of 20 KiB.
        for step in stored.steps.iter().filter(|step| run == 1 && test_of(step).starts_with('f')) {
            let passes = step["passes"].as_u64().unwrap();
            if let Some(requests) = step["wire"]["requests"].as_u64() {
                assert_eq!(requests, 5 * passes, "{step}");
            }
        }
    }
    field.nothing_is_left();
}

/// What became of a policy on a target: every step clean, or the reason of its refusal.
fn outcome(field: &Field, run: &mut u32, target: &(&str, String), sweep: &str) -> String {
    let ended = field.run(std::slice::from_ref(target), sweep);
    if ended.code == Some(2) {
        let (_, why) = ended
            .stderr
            .trim()
            .split_once(": cache=")
            .or_else(|| ended.stderr.trim().split_once(": sync="))
            .unwrap_or_else(|| panic!("{}", ended.text()));
        let (_, why) = why.split_once(": ").unwrap();
        return format!("refused: {why}");
    }
    let ended = ended.expect_success();
    *run += 1;
    let stored = Stored::read(&field.sharebench, *run);
    assert!(!stored.steps.is_empty() && stored.steps.len() == stored.planned, "{}", ended.text());
    stored.steps.iter().for_each(is_clean);
    "kept".into()
}

#[test]
fn every_policy_is_verified_with_every_test_and_axis_or_rejected_with_a_reason() {
    needs!(Smbd::NEEDS, Ganesha::NEEDS, [Need::Disk]);
    let field = Field::start();
    let targets = field.targets();
    let names = [
        "local disk",
        "embedded SMB",
        "embedded NFS",
        "smbd",
        "ganesha",
        "embedded NCP",
        "embedded NCP on UDP",
    ];
    // Cells of 4 KiB lie where direct I/O wants them; five requests of 20 KiB in a stream.
    let sizes = "file_sizes = ['96KiB']\nrecord_sizes = ['4KiB']\ninclude = ['flush', 'close']\n";
    let axes = [
        "tests = ['requests', 'streams']\ndepths = [1, 4]\nalign = [0, '12KiB']\nstride = [3]\nread_percent = [30]\nstream_buffer = '20KiB'\n",
        "tests = ['requests', 'streams']\njobs = [2]\nstride = [3]\n",
        "tests = ['requests']\njobs = [2]\nstride = [3]\nshared_file = true\n",
    ];
    let mut run = 0;
    let rule = "|---".repeat(names.len() + 2);
    let mut table = format!("| cache | sync | {} |\n{rule}|\n", names.join(" | "));
    for (cache, sync) in [
        ("normal", "normal"),
        ("normal", "write-through"),
        ("no-local", "normal"),
        ("no-local", "write-through"),
        ("unbuffered", "normal"),
        ("unbuffered", "write-through"),
    ] {
        let mut row = format!("| `{cache}` | `{sync}`");
        for target in &targets {
            let outcomes = axes.map(|axes| {
                let sweep = format!("{sizes}{axes}cache = ['{cache}']\nsync = ['{sync}']\n");
                outcome(&field, &mut run, target, &sweep)
            });
            assert!(outcomes.iter().all(|it| *it == outcomes[0]), "{outcomes:?}");
            // The documentation is not about the file system of this machine.
            let kind = outcomes[0].split(' ').nth(1).filter(|_| target.0 == "path");
            let shown =
                kind.map_or(outcomes[0].clone(), |kind| outcomes[0].replacen(kind, "this file system", 1));
            row = format!("{row} | {shown}");
        }
        table += &(row + " |\n");
    }
    // Mapped files are the page cache: flushed and closed, but never passed and never written through.
    let mapped = format!("{sizes}tests = ['mmap']\n");
    assert_eq!(outcome(&field, &mut run, &targets[0], &mapped), "kept");
    for (policy, word) in
        [("cache = ['unbuffered']", "sweep.cache"), ("sync = ['write-through']", "sweep.sync")]
    {
        let refused = field.run(&targets[..1], &format!("{mapped}{policy}\n"));
        assert_eq!(refused.code, Some(2), "{}", refused.text());
        assert!(refused.stderr.contains(word) && refused.stderr.contains("mmap-write"), "{}", refused.stderr);
    }
    field.nothing_is_left();
    in_documentation("table of policies", &table);
}
