//! Users in steps from the command line: the documentation's commands, presets on every embedded server, a server
//! that goes away, and data that compresses as its type says.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use sharebench_plan::{DataKind, PRESETS, Preset};
use sharebench_tests::program::{PATIENCE, free_port, poll};
use sharebench_tests::{Capture, Ended, Need, Program, Sharebench, Signal, needs, widen_window};

use crate::cli::load::observers::{metrics, transactions};
use crate::plans::left_in;
use crate::stored::Stored;

const SHARE: &str = "smb://alice@nas/share";

/// A command of the documentation made quick: few users, a short window, small files.
fn quick(line: &str, url: &str, window: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in line.split_whitespace().skip(1) {
        // The only quotes of these commands stand around an objective without blanks.
        words.push(part.replace(SHARE, url).replace('\'', ""));
    }
    let paced = !words.iter().any(|word| word == "--find-knee" || word == "--arrivals");
    let small = [("--users", "1,2"), ("--scale", "300KB"), ("--warm-up", "100ms"), ("--measure", window)];
    let think = [("--think", "exp:10ms"), ("--rates", "20")];
    let wanted = small.into_iter().chain(think.into_iter().filter(|(flag, _)| (*flag == "--think") == paced));
    for (flag, value) in wanted {
        match words.iter().position(|word| word == flag) {
            Some(at) => value.clone_into(&mut words[at + 1]),
            None if flag == "--rates" => {}
            None => words.extend([flag.to_owned(), value.to_owned()]),
        }
    }
    words
}

#[test]
fn commands_of_the_documentation_of_loads_run_unchanged() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let mounted = sharebench.home().join("mnt/projects");
    fs::create_dir_all(&mounted).unwrap();
    for (name, bytes) in [("plan.txt", 900), ("photo.jpg", 70_000), ("accounts", 5_000)] {
        fs::write(mounted.join(name), vec![7; bytes]).unwrap();
    }
    let docs = include_str!("../../../docs/measure/loads.md");
    let chapter = docs.split("## How many users does my NAS support?").nth(1).unwrap();
    let chapter = chapter.split("\n## ").next().unwrap();
    let commands: Vec<&str> =
        chapter.lines().map(str::trim).filter(|line| line.starts_with("sharebench ")).collect();
    assert!(commands.len() >= 6, "{commands:?}");
    for command in &commands {
        // A small share instead of a mounted one.
        let command = &command.replace("/mnt/nas", "mnt");
        let run = |window: &str| {
            let words = if command.contains(SHARE) {
                quick(command, &served.smb_url(""), window)
            } else {
                command.split_whitespace().skip(1).map(str::to_owned).collect()
            };
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            sharebench.run(&words).unwrap().expect_success()
        };
        // A sentence on the stress point needs two steps in which users have completed transactions.
        let judges_stress = command.contains("--until-stress") || command.contains("--preset copy");
        let first_window = Duration::from_millis(if judges_stress { 1500 } else { 300 });
        let _ = widen_window(first_window, run, |_| {
            !judges_stress || Stored::last(&sharebench).all_users_reported()
        });
        let judged = [(judges_stress, "stress point"), (command.contains("--slo"), "p95<")];
        for (_, words) in judged.iter().filter(|(is_judged, _)| *is_judged) {
            let shown = sharebench.shown().unwrap();
            assert!(shown.contains(words), "{command}:\n{shown}");
        }
    }
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
}

#[test]
fn every_preset_parses_with_the_flags_of_the_documentation_and_prints_its_source() {
    let sharebench = Sharebench::new().unwrap();
    let listed = sharebench.run(&["presets"]).unwrap().expect_success().stdout;
    for preset in PRESETS {
        assert!(listed.contains(preset.name), "{listed}");
        for parameter in preset.parameters() {
            assert!(listed.contains(&parameter), "{listed}");
        }
    }
    let wrong = sharebench.run(&["load", ".", "--preset", "ofice"]).unwrap();
    assert!(
        wrong.code == Some(2) && wrong.stderr.contains("--preset ofice: 'ofice' is not a preset"),
        "{}",
        wrong.text()
    );
}

/// Measures a load in windows of at least this length until every user has reported.
pub fn measured_by_all(sharebench: &Sharebench, line: &[&str], window: Duration) -> (Ended, Stored) {
    let measure = |window: &str| {
        let ended = sharebench.run(&[line, &["--measure", window]].concat());
        (ended.unwrap().expect_success(), Stored::last(sharebench))
    };
    widen_window(window, measure, |(_, stored)| stored.all_users_reported())
}

#[test]
fn workload_with_its_own_files_is_verified_on_every_embedded_server() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let local = sharebench.home().join("local");
    fs::create_dir(&local).unwrap();
    let urls = [served.smb_url(""), served.nfs_url(""), served.ncp_url(""), "local".to_owned()];
    for preset in ["fsct-homefolders", "dbench", "copy"] {
        let mut line = vec!["load", "--preset", preset, "--users", "2", "--think", "exp:5ms"];
        // A loadfile has sizes of its own.
        line.extend(["--scale", "600KB"].iter().filter(|_| preset != "dbench"));
        line.extend(["--warm-up", "100ms", "--verify", "full", "--block", "32KiB"]);
        line.extend(urls.iter().map(String::as_str));
        let (_, stored) = measured_by_all(&sharebench, &line, Duration::from_millis(1500));
        let shown = sharebench.shown().unwrap();
        assert!(shown.contains("By kind of operation"), "{shown}");
        for step in stored.steps {
            let text = step.to_string();
            assert_eq!(step["errors"].as_object().unwrap().len(), 0, "{text}");
            assert_eq!(step["verified_bytes"], step["bytes"]["read"], "{text}");
            assert!(
                step["load"]["fairness"]["users"] == 2 && step["transactions"].as_u64() > Some(0),
                "{text}"
            );
        }
    }
    assert_eq!((left_in(served.directory()), left_in(&local)), (Vec::new(), Vec::new()));
}

#[test]
fn test_of_1997_runs_as_published_on_every_embedded_server() {
    const NAMES: [&str; 3] = ["ncp", "smb", "nfs"];
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let urls = [served.ncp_url("ncp"), served.smb_url("smb"), served.nfs_url("nfs")];
    for name in NAMES {
        fs::create_dir(served.directory().join(name)).unwrap();
    }
    // The published command with less of everything but the block, which NCP does not carry in one request.
    let mut line = vec!["load", "--preset", "copy", "--block", "100KB", "--scale", "2.4MB"];
    line.extend(["--think", "exp:10ms", "--users", "1,2", "--warm-up", "100ms"]);
    line.extend(urls.iter().map(String::as_str));
    let (ended, stored) = measured_by_all(&sharebench, &line, Duration::from_millis(700));
    assert!(
        ended.stderr.contains("a block of 100000B sent as 2 requests of at most 60KiB"),
        "{}",
        ended.text()
    );
    let shown = sharebench.shown().unwrap();
    assert!(shown.contains("stress point") && shown.contains("ART"), "{shown}");
    let mut split = 0;
    let mut whole = 0;
    for step in &stored.steps {
        assert_eq!(step["errors"].as_object().unwrap().len(), 0, "{step}");
        let blocks = step["load"]["split"]["blocks"].as_u64().unwrap();
        if step["target"] == 0 { split += blocks } else { whole += blocks }
    }
    assert!(stored.steps.len() == 6 && split > 0 && whole == 0, "{split} and {whole}");
    for name in NAMES {
        assert_eq!(left_in(&served.directory().join(name)), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn presets_after_a_source_run_at_one_percent_and_state_their_verdict_or_why_there_is_none() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let url = served.smb_url("");
    let mut run = 0;
    for preset in PRESETS.into_iter().flat_map(Preset::names).filter(|name| name.contains("-after-")) {
        run += 1;
        let line = ["load", &url, "--preset", &preset, "--scale", "1%", "--users", "1"];
        let times = ["--warm-up", "100ms", "--measure", "900ms", "--seed", "26"];
        let _ = sharebench.run(&[&line[..], &times].concat()).unwrap().expect_success();
        let step = &Stored::read(&sharebench, run).steps[0];
        assert_eq!(step["errors"], serde_json::json!({}), "{preset}: {step}");
        assert_eq!(step["verified_bytes"], step["bytes"]["read"], "{preset}: {step}");
        let unit = &step["load"]["unit"];
        assert_eq!(unit["scale"], "1%", "{preset}: {step}");
        let named = format!("1 {}", unit["name"].as_str().unwrap());
        let said =
            |line: &str| line.contains(&named) && (line.contains("sustained") || line.contains("no verdict"));
        let text = sharebench.shown().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said(&text), "{preset}: {text}");
    }
    let wrong = sharebench.run(&["load", &url, "--preset", "office", "--scale", "0%"]).unwrap();
    assert!(wrong.code == Some(2) && wrong.stderr.contains("--scale"), "{}", wrong.text());
    assert!(wrong.stderr.contains("'0%' is not a share from 0.01% to 10000%"), "{}", wrong.text());
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
}

/// A server on that port over the directory `served`.
fn serve(sharebench: &Sharebench, port: u16, log: &str) -> Program {
    let at = format!("127.0.0.1:{port}");
    let mut server = sharebench.start(&["serve", "served", "--smb", &at, "--account", "lab"], log).unwrap();
    server.wait_for_port(port, PATIENCE).unwrap();
    server
}

#[test]
fn restarted_server_fails_one_step_and_not_the_run() {
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("served")).unwrap();
    let port = free_port().unwrap();
    let server = serve(&sharebench, port, "server-1.log");
    let url = format!("smb://lab@127.0.0.1:{port}/share");
    // How much the documents and the templates each have of the scale hangs on the seed.
    let line = ["load", &url, "--preset", "office", "--users", "3,4", "--scale", "200KB", "--seed", "7"];
    let metrics_port = free_port().unwrap();
    let own = metrics_port.to_string();
    let times = ["--think", "exp:20ms", "--warm-up", "0s", "--measure", "6s", "--timeout", "10s"];
    let line = [&line[..], &times, &["--prometheus", &own]].concat();
    let mut running = sharebench.start(&line, "run.log").unwrap();
    // Users are at work when they have got something done within the window.
    let at_work = || transactions(&metrics(metrics_port)) >= 10;
    assert!(poll(Duration::from_secs(60), at_work), "{}", running.output());
    server.signal_group(Signal::KILL);
    drop(server);
    std::thread::sleep(Duration::from_millis(500));
    let _server = serve(&sharebench, port, "server-2.log");
    let status = running.wait(Duration::from_secs(60)).unwrap();
    assert_eq!(status.code(), Some(0), "{}", running.output());
    let steps = Stored::read(&sharebench, 1).steps;
    assert_eq!(steps.len(), 2, "{}", running.output());
    let hit = &steps[0];
    let after = &steps[1];
    assert!(hit["errors"].to_string().contains("disconnected"), "{hit}");
    assert!(hit["load"]["sessions_lost"].as_u64() > Some(0), "{hit}");
    assert!(hit["load"]["without_session_ns"].as_u64() > Some(0), "{hit}");
    assert!(!hit["errors"].to_string().contains("mismatch") && hit["verdict"] == "invalid", "{hit}");
    // The timeline of the step contains the outage with work before and after it, and every read was correct.
    let course = |name: &str| -> Vec<u64> {
        let list = hit["load"]["timeline"][name].as_array().unwrap();
        list.iter().map(|number| number.as_u64().unwrap()).collect()
    };
    let ended = course("transactions");
    let without = course("without_session_ns");
    assert_eq!((ended.len(), hit["load"]["timeline"]["each_ns"].as_u64()), (60, Some(100_000_000)), "{hit}");
    let away: Vec<usize> = (0..60).filter(|at| ended[*at] == 0 && without[*at] > 0).collect();
    let first = *away.first().unwrap();
    let last = *away.last().unwrap();
    assert!(ended[..first].iter().sum::<u64>() > 0 && ended[last..].iter().sum::<u64>() > 0, "{ended:?}");
    assert_eq!(ended.iter().sum::<u64>(), hit["transactions"].as_u64().unwrap());
    assert!(course("failures").iter().sum::<u64>() > 0, "{hit}");
    // Data written before the outage are intact after it, except for writes whose replies were lost.
    for step in [hit, after] {
        assert!(step["verified_bytes"].as_u64() > Some(0), "{step}");
    }
    let shown = sharebench.shown().unwrap();
    assert!(shown.contains("nothing ended from"), "{shown}");
    // All of it is read again, also what no transaction came by: each user's 60 documents, and the 20 templates once.
    let seen = &hit["load"]["set_check"];
    assert_eq!(
        (&seen["files"], &seen["wrong"], &seen["unread"]),
        (&200.into(), &0.into(), &0.into()),
        "{seen}"
    );
    assert!(seen["bytes"].as_u64() > Some(500_000), "{seen}");
    assert!(shown.contains("all hold the data last written to them"), "{shown}");
    assert_eq!(after["load"]["set_check"]["files"], 0, "{after}");
    assert_eq!((&hit["users_reported"], after["errors"].to_string().as_str()), (&3.into(), "{}"), "{after}");
    assert_eq!(left_in(&sharebench.home().join("served")), Vec::<String>::new());
}

/// Shares of operations in percent that are published of FSCT's home folders, by SMB2 command.
const FSCT_MIX: [(u16, &str, f64); 8] = [
    (1, "session setup", 3.0),
    (3, "tree connect", 2.0),
    (5, "create", 22.0),
    (6, "close", 19.0),
    (8, "read", 14.0),
    (9, "write", 7.0),
    (14, "query directory", 10.0),
    (16, "query info", 13.0),
];

/// Transactions within which each of four users has gone through all of FSCT's some times.
const ENOUGH: u64 = 800;

#[test]
fn fsct_homefolders_sends_the_published_mix_within_three_points() {
    needs!(Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    // The client decides on the mix. Samba would start a process for each login.
    let served = sharebench.serve("served").unwrap();
    let url = served.smb_url("");
    let line = ["load", &url, "--preset", "fsct-homefolders", "--users", "4", "--scale", "300KB"];
    let port = free_port().unwrap();
    let own = port.to_string();
    // As long as it takes: the signal ends it.
    let times = ["--think", "every:20ms", "--warm-up", "0s", "--measure", "1h"];
    let line = [&line[..], &times, &["--prometheus", &own]].concat();
    let mut running = sharebench.start(&line, "run.log").unwrap();
    // The last file of the last user: from here on all are at work.
    let at_work = || {
        let made = fs::read_dir(served.directory()).unwrap().filter_map(Result::ok);
        made.map(|entry| entry.path())
            .any(|path| (0..4).all(|user| path.join(format!("u{user}/media/f13")).is_file()))
    };
    assert!(poll(10 * PATIENCE, at_work), "{}", running.output());
    let capture = Capture::start(served.smb_port).unwrap();
    // The shares of fewer would be chance, however long they take.
    let before = transactions(&metrics(port));
    let enough = || transactions(&metrics(port)) >= before + ENOUGH;
    assert!(poll(10 * PATIENCE, enough), "{}", running.output());
    let requests = capture.stop().unwrap().smb_requests().unwrap();
    running.signal(Signal::INT);
    running.wait(PATIENCE).unwrap();
    let all: u64 = requests.values().sum();
    assert!(all > 1_000, "{requests:?}");
    for (command, name, published) in FSCT_MIX {
        let share = requests.get(&command).copied().unwrap_or(0) as f64 * 100.0 / all as f64;
        println!("{name}: {share:.1} % ({published} published)");
        assert!(
            (share - published).abs() <= 3.0,
            "{name}: {share:.1} % instead of {published}: {requests:?}"
        );
    }
}

/// How much smaller zstd makes a megabyte of a kind of data.
fn ratio(kind: Option<DataKind>) -> f64 {
    let content = sharebench_engine::stamp::Content { file: 3, generation: 1, kind };
    let mut data = vec![0; 1 << 20];
    sharebench_engine::stamp::fill(&mut data, content, 0);
    let mut zstd = Command::new("zstd")
        .args(["-3", "-c", "-q"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut into = zstd.stdin.take().unwrap();
    let bytes = data.clone();
    let writer = std::thread::spawn(move || into.write_all(&bytes));
    let compressed = zstd.wait_with_output().unwrap().stdout.len();
    writer.join().unwrap().unwrap();
    data.len() as f64 / compressed as f64
}

#[test]
fn data_compresses_according_to_its_type() {
    needs!([Need::Program("zstd")]);
    let ratios = [
        ("compressed", ratio(None), 1.0..1.12),
        ("text", ratio(Some(DataKind::Text)), 2.0..5.0),
        ("data", ratio(Some(DataKind::Data)), 2.0..6.0),
        ("image", ratio(Some(DataKind::Image)), 1.4..4.0),
        ("binary", ratio(Some(DataKind::Binary)), 1.2..3.0),
    ];
    println!("{ratios:?}");
    for (kind, ratio, wanted) in ratios {
        assert!(wanted.contains(&ratio), "{kind} data: {ratio:.2}, and {wanted:?} was wanted");
    }
}
