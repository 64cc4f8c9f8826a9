//! The README's first command: its tables, its report, and the report in a browser.

use std::fs;
use std::path::PathBuf;

use sharebench_tests::{Browser, Sharebench, needs};

fn reports(sharebench: &Sharebench) -> Vec<PathBuf> {
    let entries = fs::read_dir(sharebench.home()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "html")).collect()
}

#[test]
fn demo_compares_and_writes_a_report_without_console_messages() {
    needs!(Browser::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let demo = sharebench.run(&["demo"]).unwrap().expect_success();
    // The demo announces about a minute; other tests that run at the same time make it longer here.
    let announced = demo.stderr.split_once("about ").and_then(|(_, rest)| rest.split_once(" s\n"));
    let seconds: u64 = announced.unwrap().0.parse().unwrap();
    assert!((30..=90).contains(&seconds), "{}", demo.stderr);
    for word in ["smb", "nfs", "local", "random-read", "MB/s"] {
        assert!(demo.stdout.contains(word), "no {word} in:\n{}", demo.stdout);
    }
    assert!(!demo.stdout.contains('\u{1b}'), "escape sequences in a pipe:\n{}", demo.stdout);

    let [report] = &reports(&sharebench)[..] else { panic!("one report was expected:\n{}", demo.text()) };
    let name = report.file_name().unwrap().to_str().unwrap();
    assert!(demo.text().contains(name), "it does not say where {name} is:\n{}", demo.text());
    let page = Browser::open(report).unwrap();
    assert!(page.console.is_empty() && page.requests.is_empty(), "{:?} {:?}", page.console, page.requests);
    for word in ["smb", "nfs", "local"] {
        assert!(page.document.contains(word), "no {word} in the page");
    }

    let runs = sharebench.run(&["runs"]).unwrap().expect_success().stdout;
    assert!(runs.contains("complete") && !runs.contains("interrupted"), "{runs}");
}
