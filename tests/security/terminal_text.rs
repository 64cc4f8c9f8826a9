//! Names and messages with characters that control a terminal.

use std::fs;

use sharebench_tests::Sharebench;

use crate::attack::Attack;

/// Escape sequences, control characters of 8 bits, bidirectional controls, line separators, and a line of its own.
const HOSTILE: &str =
    "x\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\u{202e}over\u{2066}ride\u{2028}\u{2029}\nrun 7  forged\r9";

/// The rows, in the order of the table.
pub const ATTACKS: &[Attack] = &[
    Attack {
        what: NAMES,
        on: "`import`, `runs`, `show`, `compare`, `report`, `export`",
        needs: &[],
        act: stored,
    },
    Attack { what: NAMES, on: "`clean`: names of directories", needs: &[], act: directories },
];

const NAMES: &str = "names with escape sequences, bidirectional controls and line feeds";

fn check(text: &str) {
    for wrong in ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{2028}', '\u{2029}', '\r'] {
        assert!(!text.contains(wrong), "{wrong:?} in {text:?}");
    }
    assert!(!text.lines().any(|line| line.starts_with("run 7")), "a forged line: {text:?}");
}

fn stored() -> String {
    let sharebench = Sharebench::new().unwrap();
    sharebench
        .write("table.csv", "op,size,record,speed\nread,65536,4096,1000000\nodd\u{1b}[8m,65536,4096,7\n")
        .unwrap();
    let import = [
        "import",
        "table.csv",
        "--format=csv",
        "--map=test=op",
        "--map=file_size=size:B",
        "--map=record_size=record:B",
        "--map=rate=speed:B/s",
        "--title",
        HOSTILE,
        "--system",
        HOSTILE,
    ];
    for _ in 0..2 {
        check(&sharebench.run(&import).unwrap().expect_success().text());
    }
    let lines: [&[&str]; 7] = [
        &["runs"],
        &["show", "1"],
        &["compare", "1", "2"],
        &["report", "1", "--format", "markdown"],
        &["report", "1", "--format", "json"],
        &["export", "1", "--format", "iozone"],
        &["show", HOSTILE],
    ];
    for line in lines {
        let ended = sharebench.run(line).unwrap();
        let text = ended.text();
        assert!(!text.is_empty() && !text.contains("panicked"), "{line:?}: {text}");
        // JSON is data: its strings have their own escapes, and a program reads them.
        if !line.contains(&"json") {
            check(&text);
        }
    }
    "shown as replacement characters; no forged line".to_owned()
}

fn directories() -> String {
    let sharebench = Sharebench::new().unwrap();
    let directory = sharebench.home().join("shr");
    fs::create_dir(&directory).unwrap();
    let hostile = directory.join(format!(".sharebench-{HOSTILE}"));
    fs::create_dir(&hostile).unwrap();
    check(&sharebench.run(&["clean", "shr"]).unwrap().expect_success().text());
    assert!(!hostile.exists(), "an empty directory is removed");
    fs::create_dir(&hostile).unwrap();
    fs::write(hostile.join("file"), b"").unwrap();
    let ended = sharebench.run(&["clean", "shr"]).unwrap();
    assert_eq!(ended.code, Some(3), "{}", ended.text());
    check(&ended.text());
    "shown as replacement characters; no forged line".to_owned()
}
