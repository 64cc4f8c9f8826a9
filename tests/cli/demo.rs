//! The README's first command: its tables, its report, and the report in a browser.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use sharebench_tests::{Browser, Sharebench, Terminal, needs};

use crate::cli::pages;

fn reports(sharebench: &Sharebench) -> Vec<PathBuf> {
    let entries = fs::read_dir(sharebench.home()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "html")).collect()
}

#[test]
fn demo_compares_without_contradictions_and_writes_a_report_without_console_messages() {
    let sharebench = Sharebench::new().unwrap();
    let demo = sharebench.run(&["demo"]).unwrap().expect_success();
    // The demo announces less than a minute; other tests that run at the same time make it longer here.
    let announced = demo.stderr.split_once("about ").and_then(|(_, rest)| rest.split_once(" s\n"));
    let seconds: u64 = announced.unwrap().0.parse().unwrap();
    assert!((20..=45).contains(&seconds), "{}", demo.stderr);
    // A pipe gets the screen that a terminal gets; `show` prints everything.
    for word in ["smb", "nfs", "local", "MB/s", "VERDICT", "TRUST"] {
        assert!(demo.stdout.contains(word), "no {word} in:\n{}", demo.stdout);
    }
    assert!(demo.stdout.lines().count() <= 24, "{}", demo.stdout);
    assert!(sharebench.shown().unwrap().contains("random-read"));
    assert!(!demo.stdout.contains('\u{1b}'), "escape sequences in a pipe:\n{}", demo.stdout);

    pages::judge_demo(&sharebench, &demo);
    let runs = sharebench.run(&["runs"]).unwrap().expect_success().stdout;
    assert!(runs.contains("complete") && !runs.contains("interrupted"), "{runs}");

    let [report] = &reports(&sharebench)[..] else { panic!("one report was expected:\n{}", demo.text()) };
    let name = report.file_name().unwrap().to_str().unwrap();
    assert!(demo.text().contains(name), "it does not say where {name} is:\n{}", demo.text());
    needs!(Browser::NEEDS);
    let page = Browser::open(report).unwrap();
    assert!(page.console.is_empty() && page.requests.is_empty(), "{:?} {:?}", page.console, page.requests);
    for word in ["smb", "nfs", "local"] {
        assert!(page.document.contains(word), "no {word} in the page");
    }
}

#[test]
fn last_screen_of_the_demo_has_the_whole_answer() {
    needs!(Terminal::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let terminal = Terminal::start(&sharebench, "demo", (80, 24)).unwrap();
    let is_ended = |screen: &str| screen.contains("ended with");
    // Other tests that run at the same time make it longer.
    let screen = terminal.wait_within(Duration::from_secs(300), "end", is_ended).unwrap();
    assert!(screen.contains("ended with 0"), "{screen}");
    assert!(screen.lines().count() <= 24, "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let bars = screen.lines().filter(|line| line.contains('█')).count();
    assert_eq!(bars, 3, "{screen}");
    let parts = [
        "embedded SMB, NFSv3 and NCP servers",
        "VERDICT",
        "mean rate of 24 cells (geometric)",
        "TRUST",
        "report: sharebench-demo.html",
        "sharebench show 1",
        "next: sharebench sweep smb://",
    ];
    let at =
        parts.map(|part| screen.find(part).unwrap_or_else(|| panic!("no {part} on one screen:\n{screen}")));
    assert!(at.is_sorted(), "{screen}");
}
