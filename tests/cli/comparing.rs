//! `compare` from outside: targets, verdicts for CI, links, and rejected arguments.

use std::fmt::Write as _;

use serde_json::Value;
use sharebench_tests::Sharebench;

/// Two nights of one server in a table, eight repetitions each: the second night is a fifth slower above 64 KiB.
fn two_nights(sharebench: &Sharebench) {
    let mut table = String::from("night,file,record,repetition,speed\n");
    for (night, factor) in [("monday", 1.0), ("tuesday", 0.8)] {
        for (file, record) in
            [16, 32, 64].into_iter().flat_map(|file| [16, 64, 128, 256].map(|record| (file, record)))
        {
            for repetition in 0..8 {
                let speed = 100_000.0 * if record > 64 { factor } else { 1.0 };
                let wobble = 1.0 + 0.002 * f64::from((repetition * 7 + record + file) % 5 - 2);
                let _ = writeln!(table, "{night},{file},{record},{repetition},{:.0}", speed * wobble);
            }
        }
    }
    sharebench.write("nights.csv", &table).unwrap();
    let line = [
        "import",
        "nights.csv",
        "--system",
        "nas",
        "--clock",
        "1us",
        "--map",
        "run=night",
        "--map",
        "file_size=file:MiB",
        "--map",
        "record_size=record:KiB",
        "--map",
        "repetition=repetition",
        "--map",
        "rate.read=speed:KiB/s",
    ];
    let _ = sharebench.run(&line).unwrap().expect_success();
}

#[test]
fn slower_run_is_located_and_fails_a_build() {
    let sharebench = Sharebench::new().unwrap();
    two_nights(&sharebench);
    let json = sharebench.run(&["compare", "1", "2", "--format", "json"]).unwrap().expect_success();
    let analysis: Value = serde_json::from_str(&json.stdout).unwrap();
    let part = &analysis["comparisons"][0]["differences"]["parts"][0];
    assert_eq!((&part["direction"], &part["place"][1]["from"]["bytes"]), (&"slower".into(), &131_072.into()));
    assert_eq!(analysis["verdict"]["outcome"], "slower");
    let text = sharebench.run(&["compare", "1", "2"]).unwrap().expect_success().stdout;
    let order: Vec<usize> = ["VERDICT  ", "ANSWER", "CAN I TRUST IT?", "FINDINGS", "\nread\n"]
        .map(|part| text.find(part).unwrap_or_else(|| panic!("no {part} in {text}")))
        .to_vec();
    assert!(order.is_sorted(), "the answer comes first: {text}");
    assert!(
        text.contains("read, records of 128KiB and more: nas (nights.csv: monday #1) is 25 % faster"),
        "{text}"
    );
    assert!(text.contains("not interleaved"), "{text}");
    let code = |line: &[&str]| sharebench.run(&[&["compare", "--max-slower"], line].concat()).unwrap().code;
    assert_eq!(code(&["5%", "1", "2"]), Some(8));
    assert_eq!(code(&["5%", "2", "1"]), Some(0), "the second is faster");
    assert_eq!(code(&["30%", "1", "2"]), Some(0), "not by so much");
    let sharp = |percent: &str| {
        let ended = sharebench.run(&["compare", "1", "2", "--require-sharpness", percent]).unwrap();
        (ended.code, ended.stderr)
    };
    assert_eq!(sharp("50%").0, Some(0));
    let (code, stderr) = sharp("2%");
    assert!(
        code == Some(9) && stderr.contains("would be detected, and 2 % is required"),
        "{code:?}: {stderr}"
    );
    let linked = sharebench.run(&["compare", "1", "2", "--link", "100Mbit"]).unwrap().expect_success().stdout;
    assert!(linked.contains("24 cells are above the 100Mbit of the link (12.5 MB/s)"), "{linked}");
}

#[test]
fn targets_of_one_run_are_compared_and_mistakes_are_named() {
    let sharebench = Sharebench::new().unwrap();
    for directory in ["one", "two", "three"] {
        std::fs::create_dir_all(sharebench.home().join(directory)).unwrap();
    }
    let line =
        ["sweep", "./one", "./two", "./three", "--file-sizes", "64KiB", "--record-sizes", "4KiB,16KiB"];
    let more = ["--tests", "read", "--repetitions", "6", "plan:min_sample_time=1ms", "--quiet"];
    let _ = sharebench.run(&[&line[..], &more[..]].concat()).unwrap().expect_success();
    let names = |line: &[&str]| -> Vec<String> {
        let json =
            sharebench.run(&[&["compare", "--format", "json"], line].concat()).unwrap().expect_success();
        let analysis: Value = serde_json::from_str(&json.stdout).unwrap();
        let name = |comparison: &Value| {
            assert_eq!(comparison["sections"][0]["pairing"], "interleaved", "one run stays one run");
            comparison["name"].as_str().unwrap().to_owned()
        };
        analysis["comparisons"].as_array().unwrap().iter().map(name).collect()
    };
    assert_eq!(names(&["1/one", "1/three"]), ["three/one"]);
    assert_eq!(names(&["1"]), ["two/one", "three/one", "three/two"]);
    let refused = |line: &[&str], word: &str| {
        let ended = sharebench.run(&[&["compare"], line].concat()).unwrap();
        assert!(ended.code == Some(2) && ended.text().contains(word), "{line:?}: {}", ended.text());
    };
    refused(&["1/four"], "has no target 'four'; its targets are one, two, three");
    refused(&["1/one"], "one target cannot be compared");
    refused(&["1", "--link", "10MB"], "link");
    refused(&["1", "--axes", "record_size"], "two different axes");
    refused(&["1", "--max-slower", "x"], "max-slower");
}

#[test]
fn first_slower_run_of_a_series_is_named_and_fails_a_build() {
    let sharebench = Sharebench::new().unwrap();
    let mut table = String::from("night,record,speed\n");
    for night in 1..=14 {
        for record in [16, 64] {
            let level = if night > 8 { 92_000 } else { 100_000 };
            let _ = writeln!(table, "n{night:02},{record},{}", level + (night * 37 + record) % 11 * 100);
        }
    }
    sharebench.write("nightly.csv", &table).unwrap();
    let map = ["run=night", "file_size==64:MiB", "record_size=record:KiB", "rate.read=speed:KiB/s"];
    let line: Vec<&str> = map.iter().flat_map(|map| ["--map", *map]).collect();
    let import = ["import", "nightly.csv", "--system", "nas", "--clock", "1us"];
    let _ = sharebench.run(&[&import[..], &line].concat()).unwrap().expect_success();
    let runs: Vec<String> = (1..=14).map(|run: u32| run.to_string()).collect();
    let nights: Vec<&str> = runs.iter().map(String::as_str).collect();
    let series = |more: &[&str], nights: &[&str]| {
        sharebench.run(&[&["compare", "--series"], more, nights].concat()).unwrap()
    };
    let text = series(&[], &nights).expect_success().stdout;
    assert!(text.contains("n09 #9 on ") && text.contains(" % slower ["), "{text}");
    assert_eq!(series(&["--max-slower", "5%"], &nights).code, Some(8));
    assert_eq!(series(&["--max-slower", "5%"], &nights[..8]).code, Some(0));
    let json: Value = serde_json::from_str(&series(&["--format", "json"], &nights).stdout).unwrap();
    assert_eq!((&json["changes"][0]["at"], json["runs"].as_array().unwrap().len()), (&8.into(), 14));
    let few = series(&[], &nights[..5]);
    assert!(few.code == Some(2) && few.stderr.contains("5 runs are too few"), "{}", few.stderr);
}

#[test]
fn survey_weights_the_cells_by_the_user_s_files() {
    let sharebench = Sharebench::new().unwrap();
    two_nights(&sharebench);
    std::fs::create_dir(sharebench.home().join("mine")).unwrap();
    for name in ["a.zip", "b.zip"] {
        std::fs::write(sharebench.home().join("mine").join(name), vec![7; 9 << 20]).unwrap();
    }
    let _ = sharebench.run(&["learn", "mine", "-o", "mine.toml"]).unwrap().expect_success();
    let text =
        sharebench.run(&["compare", "1", "2", "--weights", "mine.toml"]).unwrap().expect_success().stdout;
    assert!(text.contains("For your files (mine.toml): "), "{text}");
    let json = sharebench.run(&["compare", "1", "2", "--weights", "mine.toml", "--format", "json"]).unwrap();
    let analysis: Value = serde_json::from_str(&json.stdout).unwrap();
    let weighted = &analysis["weighted"][0];
    // Files of 16 MiB (rounded up) in requests of 64 KiB: one cell, and there the nights are alike.
    assert_eq!((&weighted["covered"], &weighted["cells"]), (&1.0.into(), &1.into()), "{weighted}");
    assert!((weighted["ratio"]["value"].as_f64().unwrap() - 1.0).abs() < 0.02, "{weighted}");
    let refused = sharebench.run(&["compare", "1", "2", "--weights", "nothing.toml"]).unwrap();
    assert!(
        refused.code == Some(2) && refused.stderr.contains("--weights nothing.toml"),
        "{}",
        refused.stderr
    );
}
