//! The live view as a user sees it: in a real terminal that is resized, stopped by a key, and shows errors; in a
//! pipe; as JSON lines.

use std::fs;

use serde_json::Value;
use sharebench_tests::{Sharebench, Terminal, needs};

use crate::plans::left_in;

const LOAD: &str = "--users 2,3 --think 5ms --warm-up 100ms --measure 30s --scale 1MB --block 64KiB";

fn directories(sharebench: &Sharebench) {
    for name in ["one", "two"] {
        fs::create_dir(sharebench.home().join(name)).unwrap();
    }
}

fn terminal(sharebench: &Sharebench, arguments: &str, size: (u32, u32)) -> Terminal {
    Terminal::start(sharebench, arguments, size).unwrap()
}

#[test]
fn live_view_follows_a_load_resizes_and_stops_it_by_a_key() {
    needs!(Terminal::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    directories(&sharebench);
    let terminal = terminal(&sharebench, &format!("load ./one ./two {LOAD}"), (100, 30));
    // The first step lasts half a minute, and its values change on the screen meanwhile.
    let moving = |screen: &str| {
        let trace = |line: &str| line.chars().any(|bar| ('▁'..='█').contains(&bar));
        screen.lines().any(|line| line.contains("▶") && line.contains("B/s") && trace(line))
    };
    // A look may meet a frame that is half drawn.
    let parts = [
        "2 of 2 users logged on",
        "transactions",
        "0 failures",
        "no stress point yet",
        "of 4 steps",
        " left",
        "self-checks",
        "q: stop",
    ];
    let whole = |screen: &str| moving(screen) && parts.iter().all(|part| screen.contains(part));
    let wide =
        terminal.wait_for("rate of the moment", |screen| whole(screen) || screen.contains("ended")).unwrap();
    for part in parts {
        assert!(wide.contains(part), "no {part} in:\n{wide}");
    }
    terminal.resize(50, 20).unwrap();
    let narrow = terminal.wait_for("narrow board", |screen| {
        screen.lines().filter(|line| line.contains("q: stop")).count() == 1 && screen.contains("▶")
    });
    let narrow = narrow.unwrap();
    assert!(narrow.lines().all(|line| line.chars().count() <= 50), "{narrow}");
    terminal.keys("q").unwrap();
    let ended = terminal.wait_for("end", |screen| screen.contains("ended with")).unwrap();
    assert!(ended.contains("ended with 130"), "{ended}");
    let all = terminal.screen(200).unwrap();
    assert!(all.contains("stopping: finished steps are kept"), "{all}");
    assert!(!ended.contains("q: stop"), "the board is gone:\n{ended}");
    assert_eq!(left_in(&sharebench.home().join("one")), Vec::<String>::new());
}

#[test]
fn sweep_ends_with_one_screen_and_the_next_command() {
    needs!(Terminal::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    directories(&sharebench);
    let sweep =
        "sweep ./one ./two --file-sizes 64KiB --record-sizes 4KiB,16KiB --tests write,read --repetitions 6";
    // So wide that what a noisy machine's checks complain of wraps into no more lines than the screen has.
    let terminal = terminal(&sharebench, sweep, (160, 40));
    let ended = terminal.wait_for("end", |screen| screen.contains("ended with")).unwrap();
    assert!(ended.contains("ended with 0"), "{ended}");
    for part in ["VERDICT", "two/one", "run 1 in", "show it again by: sharebench show 1", "next: sharebench"]
    {
        assert!(ended.contains(part), "no {part} on one screen:\n{ended}");
    }
}

#[test]
fn failures_are_listed_and_counted() {
    needs!(Terminal::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    directories(&sharebench);
    let served = sharebench.serve("served").unwrap();
    let url = served.nfs_url("");
    let terminal =
        terminal(&sharebench, &format!("load '{url}' {LOAD} --timeout 10s").replace("30s", "5s"), (110, 30));
    terminal.wait_for("board", |screen| screen.contains("▶") && screen.contains("B/s")).unwrap();
    drop(served);
    let ended = terminal.wait_for("end", |screen| screen.contains("ended with")).unwrap();
    let all = terminal.screen(200).unwrap();
    assert!(ended.contains("ended with 3") && all.contains("failure: "), "{all}");
}

#[test]
fn events_are_only_lines_of_json() {
    let sharebench = Sharebench::new().unwrap();
    directories(&sharebench);
    let line = ["sweep", "./one", "--file-sizes", "64KiB", "--record-sizes", "4KiB", "--tests", "write,read"];
    let more = ["--repetitions", "1", "plan:min_sample_time=1ms", "--json"];
    let ended = sharebench.run(&[&line[..], &more[..]].concat()).unwrap().expect_success();
    assert_eq!(ended.stderr, "");
    let events: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names.iter().filter(|name| **name == "step-finished").count(), 2, "{names:?}");
    assert!(names.contains(&"target-ready") && names.contains(&"started"), "{names:?}");
    assert_eq!(names.last(), Some(&"stored"), "{names:?}");
    let finished = events.iter().find(|event| event["event"] == "step-finished").unwrap();
    assert!(
        finished["bytes_per_s"].as_f64().unwrap() > 0.0 && finished["coordinates"]["record_size"] == 4096
    );
    let refused = sharebench.run(&["runs", "--json"]).unwrap();
    assert!(refused.code == Some(2) && refused.stderr.contains("--json"), "{}", refused.text());
}
