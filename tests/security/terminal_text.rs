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
    Attack {
        what: "names that a spreadsheet runs as formulas",
        on: "`export --format csv`, `show --format csv`",
        needs: &[],
        act: formulas,
    },
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
        &["show", "1", "--format", "md"],
        &["show", "1", "--format", "json"],
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

fn formulas() -> String {
    let sharebench = Sharebench::new().unwrap();
    let rows = "op,size,note,speed\n@SUM(1),65536,+cmd|' /C calc'!A0,1000000\n-2+3,65536,\t=1,7\n";
    sharebench.write("table.csv", rows).unwrap();
    let map = ["test=op", "file_size=size:B", "axis.@note=note", "rate=speed:B/s"];
    let map: Vec<String> = map.iter().map(|map| format!("--map={map}")).collect();
    let mut import = vec!["import", "table.csv", "--format=csv", "--system", "=cmd|' /C calc'!A0"];
    import.extend(map.iter().map(String::as_str));
    let _ = sharebench.run(&import).unwrap().expect_success();
    let fields = |arguments: &[&str]| -> Vec<String> {
        let csv = sharebench.run(arguments).unwrap().expect_success().stdout;
        csv.lines().flat_map(|line| line.split(',')).map(|field| field.trim_matches('"').to_owned()).collect()
    };
    let is_formula =
        |field: &&String| field.starts_with(['=', '+', '-', '@', '\t']) && field.parse::<f64>().is_err();
    for command in [&["export", "1", "--format", "csv"][..], &["show", "1", "--format", "csv"]] {
        let found = fields(command);
        assert_eq!(found.iter().find(is_formula), None, "{command:?}");
        assert!(found.iter().any(|field| field.starts_with("'=cmd")), "{command:?}: {found:?}");
    }
    let exact = fields(&["export", "1", "--format", "csv", "--exact-text"]);
    assert!(exact.iter().any(|field| field == "+cmd|' /C calc'!A0"), "{exact:?}");
    let _ = sharebench.run(&["export", "1", "--format", "csv", "-o", "out.csv"]).unwrap().expect_success();
    let _ = sharebench.run(&["import", "out.csv"]).unwrap().expect_success();
    let [first, again] = ["1", "2"].map(|run| {
        let exported = sharebench.run(&["export", run, "--format", "json"]).unwrap().expect_success().stdout;
        let run: serde_json::Value = serde_json::from_str(&exported).unwrap();
        let steps = run["steps"].as_array().unwrap().iter().map(|step| step["coordinates"].clone());
        (run["targets"][0]["name"].clone(), steps.collect::<Vec<_>>())
    });
    assert_eq!(first, again);
    "an apostrophe in front; `import` reads the same names".to_owned()
}
