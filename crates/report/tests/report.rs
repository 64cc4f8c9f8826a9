//! Every format of a report, from runs whose truth is known.

use std::path::Path;
use std::time::Instant;

use crate::synthetic::{
    Synthetic, cell, depths, everything, grid, load, plausible, plausible_load, with_a_cache,
};
use sharebench_analysis::{Analysis, Options, RunData, Status, TrustLine, analyse};
use sharebench_model::{Coordinates, ErrorClass, RunOutcome, StepError, Value, Verdict, axis};
use sharebench_report::{Screen, Style, csv, html, json, markdown, summary, terminal};

/// A screen of 20 rows.
const ROWS: Screen<'static> = Screen { rows: 20, measured: None, cause: None };

/// Keeps a page for looking at it.
fn keep(name: &str, page: &str) {
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), page)
        .expect("a writable target directory");
}

/// Renders a page, and keeps it.
fn page(name: &str, run: &[RunData]) -> String {
    let page = html(&analyse(run, &Options::default()));
    keep(name, &page);
    page
}

fn two_targets() -> Analysis {
    let mut run = Synthetic::new("smb against nfs", &["smb", "nfs"], 21);
    run.sweep(&grid(&["read"], 2, 2), 10, plausible);
    run.sweep(&load(&[10, 30, 50]), 10, plausible_load);
    analyse(&[run.run], &Options::default())
}

/// Compares with the file of that name; `UPDATE_EXPECTED=1` writes it.
fn expect(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected").join(name);
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&path, text).expect("a writable source directory");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{name} differs; UPDATE_EXPECTED=1 accepts:\n{text}");
}

#[test]
fn terminal_text_is_as_expected_at_80_120_and_200_columns_and_piped() {
    let analysis = two_targets();
    expect("piped.txt", &terminal(&analysis, Style::piped()));
    expect("80.txt", &terminal(&analysis, Style { colour: false, ..Style::terminal(80) }));
    expect("120.txt", &terminal(&analysis, Style { colour: false, ..Style::terminal(120) }));
    expect("200.txt", &terminal(&analysis, Style { colour: false, ..Style::terminal(200) }));
}

#[test]
fn every_text_says_what_an_operation_is_where_the_name_of_the_test_does_not() {
    let at = |test: &str, jobs: u64| {
        Coordinates::new()
            .with(axis::TEST, Value::text(test))
            .with(axis::JOBS, Value::Count(jobs))
            .with(axis::ENTRIES, Value::Count(1))
    };
    let hand_over = "An operation is a hand-over from the unlock of one job to the lock of another.";
    for (test, is_shown) in [("lock-contended", true), ("stat", false)] {
        let mut run = Synthetic::new("locks", &["smb"], 31);
        run.sweep(&[at(test, 2), at(test, 4), at(test, 8)], 6, |_, _| 1e6);
        let analysis = analyse(&[run.run], &Options::default());
        for text in [
            terminal(&analysis, Style::piped()),
            summary(&analysis, Style::piped(), &Screen { rows: 60, ..ROWS }),
            markdown(&analysis),
        ] {
            assert_eq!(text.contains(hand_over), is_shown, "{test}: {text}");
        }
        let small = Screen { rows: 12, ..ROWS };
        let text = summary(&analysis, Style { colour: false, ..Style::terminal(80) }, &small);
        assert!(text.lines().count() <= small.rows, "{text}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let analysis = analyse(&[everything(2)], &Options::default());
    for width in [80, 120, 200] {
        let text = terminal(&analysis, Style { colour: false, ..Style::terminal(width) });
        let widest = text.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap();
        assert!(widest <= width, "{widest} > {width}");
    }
}

#[test]
fn piped_text_is_plain_ascii() {
    let text = terminal(&two_targets(), Style::piped());
    assert!(text.is_ascii(), "{:?}", text.chars().find(|c| !c.is_ascii()));
}

#[test]
fn markdown_is_as_expected() {
    expect("report.md", &markdown(&two_targets()));
}

#[test]
fn unlike_conditions_precede_the_first_ratio_in_every_format() {
    let mut run = Synthetic::new("signing", &["signed", "plain"], 21);
    run.sweep(&grid(&["read"], 2, 2), 10, plausible);
    for (facts, signing) in run.run.facts.iter_mut().zip(["AES-GMAC", "off"]) {
        facts.clear();
        facts.insert("signing".to_owned(), signing.to_owned());
    }
    let analysis = analyse(&[run.run], &Options::default());
    let warning = "conditions differ: signing AES-GMAC (signed), off (plain)";
    let verdict = &analysis.comparisons[0].verdict;
    let formats = [
        terminal(&analysis, Style::piped()),
        summary(&analysis, Style::piped(), &Screen { rows: 40, ..ROWS }),
        markdown(&analysis),
        html(&analysis),
        json(&analysis).expect("JSON"),
    ];
    for text in formats {
        let warned = text.find(warning).expect("a warning");
        let claim = verdict.text.split(" [").next().expect("a claim");
        let first = text.find(claim).expect("a verdict");
        let ratio = text.find("\"ratio\"").unwrap_or(first);
        assert!(warned < first.min(ratio), "{text}");
    }
}

#[test]
fn bars_of_the_summary_are_in_the_ratio_of_the_verdict() {
    let mut run = Synthetic::new("bars", &["slow", "fast"], 22);
    let half = |system: usize, at: &Coordinates| plausible(system, at) * if system == 0 { 0.5 } else { 1.0 };
    run.sweep(&grid(&["read"], 2, 2), 10, half);
    let analysis = analyse(&[run.run], &Options::default());
    let text = summary(&analysis, Style::piped(), &ROWS);
    let bar = |name: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(name) && line.contains('#'));
        line.unwrap_or_else(|| panic!("no bar of {name} in\n{text}")).matches('#').count() as f64
    };
    let ratio = analysis.comparisons[0].verdict.ratio.unwrap().value;
    assert!((bar("fast") / bar("slow") - ratio).abs() < 0.2, "{ratio}: {text}");
}

/// The line above the bars of the summary.
fn caption_of_bars(text: &str) -> &str {
    text.lines()
        .find(|line| line.contains("mean rate of"))
        .unwrap_or_else(|| panic!("no bars in\n{text}"))
        .trim()
}

#[test]
fn cells_of_the_clients_cache_do_not_count_in_the_bars() {
    let is_random = |at: &Coordinates| at.get(axis::TEST) == Some(&Value::text("random-read"));
    let mut run = Synthetic::new("cached bars", &["mnt", "smb"], 23);
    // Far from the rates of the other cells, so that a mean with them is another one.
    let rate =
        |system: usize, at: &Coordinates| plausible(system, at) * if is_random(at) { 100.0 } else { 1.0 };
    run.sweep(&grid(&["read", "random-read"], 2, 2), 10, rate);
    let not_cached = summary(&analyse(&[run.run.clone()], &Options::default()), Style::piped(), &ROWS);
    assert_eq!(caption_of_bars(&not_cached), "mean rate of 8 cells (geometric)", "{not_cached}");

    run.mount(0, |at| if is_random(at) { 1.0 } else { 0.0 });
    let analysis = analyse(&[run.run], &Options::default());
    let text = summary(&analysis, Style::piped(), &ROWS);
    assert_eq!(caption_of_bars(&text), "mean rate of 4 cells (geometric)", "{text}");
    let reads = analysis.sections.iter().find(|section| section.title == "read").unwrap();
    let logs = reads.rows.iter().map(|row| row.outcomes[0].as_ref().unwrap().rate.value.ln());
    let mean = reads.unit.show((logs.sum::<f64>() / reads.rows.len() as f64).exp());
    assert!(
        text.lines().any(|line| line.trim_start().starts_with("mnt ") && line.ends_with(&mean)),
        "{mean}: {text}"
    );
}

#[test]
fn support_of_a_claim_begins_with_a_word() {
    let mut run = Synthetic::new("once", &["smb", "nfs"], 26);
    run.sweep(&grid(&["read"], 2, 2), 1, plausible);
    let page = page("once.html", &[run.run]);
    let (_, support) = page.split_once("<p class=\"support\">").expect("a verdict");
    assert!(support.starts_with(" but one run each"), "{}", &support[..80]);
}

#[test]
fn bars_are_drawn_if_the_clients_cache_answered_every_cell() {
    let mut run = Synthetic::new("all cached", &["mnt", "smb"], 24);
    run.sweep(&grid(&["read"], 2, 2), 10, plausible);
    run.mount(0, |_| 1.0);
    let text = summary(&analyse(&[run.run], &Options::default()), Style::piped(), &ROWS);
    assert_eq!(caption_of_bars(&text), "mean rate of 4 cells (geometric)", "{text}");
}

#[test]
fn cells_of_a_load_do_not_count_in_the_bars_of_a_sweep() {
    let text = summary(&two_targets(), Style::piped(), &ROWS);
    assert_eq!(caption_of_bars(&text), "mean rate of 4 cells (geometric)", "{text}");
    let mut run = Synthetic::new("load", &["smb", "nfs"], 25);
    run.sweep(&load(&[10, 30, 50]), 10, plausible_load);
    let text = summary(&analyse(&[run.run], &Options::default()), Style::piped(), &ROWS);
    assert_eq!(caption_of_bars(&text), "mean rate of 3 cells (geometric)", "{text}");
}

#[test]
fn summary_of_few_rows_keeps_verdicts_bars_and_one_cause() {
    let mut run = Synthetic::new("small screen", &["smb", "nfs", "ncp", "local"], 26);
    run.sweep(&grid(&["read", "write"], 2, 2), 6, plausible);
    run.run.facts[0].insert("dialect".to_owned(), "3.1.1".to_owned());
    run.run.facts[1].insert("vers".to_owned(), "3".to_owned());
    let analysis = analyse(&[run.run], &Options::default());
    let style = Style { colour: false, ..Style::terminal(80) };
    let screen = Screen { rows: 18, measured: Some("eight cells"), cause: Some("two CPUs carry everything") };
    let text = summary(&analysis, style, &screen);
    assert!(text.lines().count() <= 18, "{text}");
    assert!(text.starts_with("eight cells\n\nVERDICT"), "{text}");
    assert!(text.lines().any(|line| line == "TRUST    two CPUs carry everything"), "{text}");
    assert_eq!(text.matches('█').count().min(3), 3, "{text}");
    let large = summary(&analysis, style, &Screen { rows: 60, ..screen });
    assert_eq!(large.contains("conditions differ"), !analysis.unlike_conditions.is_empty(), "{large}");
    assert!(large.lines().any(|line| line.starts_with("test ") || line.contains("cells  ")), "{large}");
}

#[test]
fn summary_of_few_rows_counts_the_failed_checks_that_it_has_no_space_for() {
    let mut run = Synthetic::new("small screen", &["smb", "nfs", "ncp"], 27);
    run.sweep(&grid(&["read", "write"], 2, 2), 6, plausible);
    let mut analysis = analyse(&[run.run], &Options::default());
    let failed = |subject: &str| TrustLine {
        status: Status::Failed,
        subject: subject.to_owned(),
        text: "as on a machine that other programs use at the same time. ".repeat(3),
    };
    analysis.trust.extend(["errors", "users", "clock"].map(failed));
    let style = Style { colour: false, ..Style::terminal(80) };
    let shown = |rows| summary(&analysis, style, &Screen { rows, ..ROWS });
    let small = shown(18);
    let large = shown(60);
    let least = shown(14);
    assert!(small.lines().count() <= 18, "{small}");
    assert!(least.lines().count() <= 14 && least.contains("and 1 more comparison"), "{least}");
    assert!(!small.contains("more comparison") && !large.contains("more comparison"), "{small}");
    assert!(small.starts_with("VERDICT") && small.contains("errors: "), "{small}");
    assert!(small.contains("and 2 more checks failed"), "{small}");
    assert!(large.contains("clock: ") && !large.contains("more checks failed"), "{large}");
}

#[test]
fn the_map_marks_where_reads_fall_with_the_size_of_the_file() {
    let page = page("cliff.html", &[with_a_cache(24 << 20)]);
    assert!(page.contains(r#"data-kind="level""#), "a map of one system");
    let cliff = r#""cliffs":[{"system":0,"between":["16MiB","32MiB"],"rates":["#;
    assert!(page.contains(cliff), "no cliff in the data of the charts");
}

#[test]
fn csv_has_one_line_per_position() {
    let analysis = two_targets();
    let text = csv(&analysis);
    let rows: usize = analysis.sections.iter().map(|section| section.rows.len()).sum();
    assert_eq!(text.lines().count(), rows + 1);
    let columns: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
    assert!(columns.iter().all(|n| *n == columns[0]), "{columns:?}");
    assert!(
        text.lines()
            .nth(1)
            .unwrap()
            .starts_with("read,sweep,BytesPerSecond,file_size=64KiB record_size=4KiB,")
    );
}

#[test]
fn json_reads_back_as_the_analysis() {
    let analysis = two_targets();
    let back: Analysis = serde_json::from_str(&json(&analysis).unwrap()).unwrap();
    assert_eq!(back.findings, analysis.findings);
    assert_eq!(back.sections.len(), 2);
}

#[test]
fn the_page_has_its_parts_in_order_and_loads_nothing() {
    let page = page("everything.html", &[everything(1)]);
    let parts = [
        "id=\"answer\"",
        "id=\"trust\"",
        "id=\"users\"",
        "id=\"differ\"",
        "id=\"depth\"",
        "id=\"why\"",
        "id=\"tails\"",
        "id=\"cost\"",
        "id=\"open\"",
        "id=\"method\"",
    ];
    let at: Vec<usize> =
        parts.iter().map(|part| page.find(&format!("<section {part}")).expect(part)).collect();
    assert!(at.is_sorted(), "{at:?}");
    assert!(page.contains("default-src 'none'"));
    assert!(page.contains("sharebench run smb-nfs.toml --seed 42"));
    let own = page.split("<script>").next().unwrap();
    assert!(
        !own.contains(" src=") && !own.contains("href=\"http") && !own.contains("url("),
        "a link to elsewhere"
    );
    assert_eq!(page.matches("<h1>").count(), 1);
    // The map of all tests, map and lines of each test, the load, three of the depth study; percentiles, the clock, CPU.
    assert_eq!(page.matches("<figure").count(), 1 + 6 * 2 + 1 + 3 + 3);
}

#[test]
fn the_page_begins_with_verdict_bars_trust_and_the_map_of_that_pair() {
    let analysis = analyse(&[everything(1)], &Options::default());
    let page = html(&analysis);
    let (header, _) = page.split_once("</header>").unwrap();
    assert!(!header.contains("smb://") && header.contains("2026-05-28"), "machine and date, no URL");
    let parts =
        ["class=\"claim\"", "class=\"bars\"", "class=\"light", "data-kind=\"overview\"", "id=\"trust\""];
    let at: Vec<usize> = parts.iter().map(|part| page.find(part).expect(part)).collect();
    assert!(at.is_sorted(), "{at:?}");
    assert_eq!(page.matches("class=\"claim\"").count(), 1, "one verdict in large type");
    let pair = analysis.reported[0];
    assert!(page.contains(&format!("\"verdict\":{pair},")), "no pair {pair} for the maps");
}

#[test]
fn bars_that_differ_by_more_than_ten_times_have_a_logarithmic_axis() {
    for (factor, is_logarithmic) in [(0.2, false), (0.01, true)] {
        let mut run = Synthetic::new("bars", &["slow", "fast"], 22);
        let rate =
            |system: usize, at: &Coordinates| plausible(system, at) * if system == 0 { factor } else { 1.0 };
        run.sweep(&grid(&["read"], 2, 2), 10, rate);
        let page = html(&analyse(&[run.run], &Options::default()));
        assert_eq!(page.contains("logarithmic axis from"), is_logarithmic, "{factor}");
    }
}

#[test]
fn every_format_escapes_hostile_names() {
    let evil = "</script><img src=x onerror=alert(1)>";
    let mut run = Synthetic::new(evil, &[evil, "\u{1b}[31mred"], 3);
    run.sweep(&grid(&[evil], 2, 2), 6, plausible);
    run.check(0, Verdict::Invalid, evil, evil);
    run.run.header.plan = evil.to_owned();
    run.run.outcome = Some(RunOutcome::Incomplete(StepError::TargetLost {
        class: ErrorClass::Disconnected,
        reason: evil.to_owned(),
    }));
    let page = page("hostile.html", std::slice::from_ref(&run.run));
    assert!(!page.contains("<img"), "raw markup");
    assert!(!page.contains('\u{1b}'));
    assert_eq!(page.matches("</script>").count(), 3);
    let analysis = analyse(&[run.run], &Options::default());
    assert!(!terminal(&analysis, Style::piped()).contains('\u{1b}'));
    assert!(!markdown(&analysis).split("## Again").next().unwrap().contains("<img"));
}

#[test]
fn a_broken_run_and_a_single_system_have_pages() {
    let mut run = Synthetic::new("broken", &["smb", "nfs"], 4);
    run.sweep(&grid(&["read", "write"], 3, 3), 3, plausible);
    run.run.steps.truncate(40);
    run.run.steps[7].measure.errors.insert(ErrorClass::DataMismatch, 3);
    run.check(2, Verdict::Invalid, "little", "10 users, 3 accounted for");
    run.check(5, Verdict::Warning, "hiccup", "a stall of 31 ms");
    run.run.outcome = Some(RunOutcome::Incomplete(StepError::TargetLost {
        class: ErrorClass::Disconnected,
        reason: "smb: connection reset".to_owned(),
    }));
    let broken = page("broken.html", &[run.run]);
    assert!(broken.contains("returned wrong data") && broken.contains("connection reset"));
    let mut alone = Synthetic::new("one system", &["smb"], 4);
    alone.step(0, 0, cell("read", 1 << 20, 65_536), 5e8);
    let alone = page("alone.html", &[alone.run]);
    assert!(alone.contains("there is no other system to compare with"));
    assert!(!alone.contains("data-kind=\"ratio\" data-table"));
    assert!(
        page("empty.html", &[Synthetic::new("nothing", &["smb"], 1).run])
            .contains("no operation could be measured")
    );
}

#[test]
fn a_page_of_two_thousand_cells_is_below_five_megabytes() {
    let mut run = Synthetic::new("large", &["smb", "nfs"], 5);
    let cells: Vec<_> = (0..22).flat_map(|test| grid(&[&format!("test-{test}")], 12, 10)).collect();
    run.sweep(&cells, 6, plausible);
    let cells = cells.len();
    let start = Instant::now();
    let analysis = analyse(&[run.run], &Options::default());
    let analysed = start.elapsed();
    let start = Instant::now();
    let page = html(&analysis);
    println!(
        "{cells} cells: analysed in {analysed:?}, rendered in {:?}, {} bytes",
        start.elapsed(),
        page.len()
    );
    keep("large.html", &page);
    assert!(cells >= 1_900, "{cells}");
    assert!(page.len() < 5_000_000, "{}", page.len());
}

/// The three paths of the Windows 2000 study; the mount's random reads come from its cache.
fn three_paths() -> Analysis {
    let mut run = Synthetic::new("depth", &["smb", "mnt", "disk"], 77);
    let mut cells = depths("read", &[2_048, 1 << 20], &[1, 8]);
    cells.extend(depths("random-read", &[2_048, 1 << 20], &[1, 8]));
    run.sweep(&cells, 6, plausible);
    run.mount(1, |at| if at.get(axis::TEST) == Some(&Value::text("random-read")) { 1.0 } else { 0.0 });
    run.run.facts[2].insert("access".to_owned(), "local".to_owned());
    run.run.header.plan = String::from("min_sample_time = \"200ms\"\n[depth]\n");
    analyse(&[run.run], &Options::default())
}

#[test]
fn a_depth_study_has_the_columns_of_2000_and_fits_120_columns() {
    let analysis = three_paths();
    let text = terminal(&analysis, Style { colour: false, ..Style::terminal(120) });
    expect("depth-120.txt", &text);
    let header = text.lines().find(|line| line.contains("target") && line.contains("access")).unwrap();
    for column in ["record", "depth", "target", "actual", "MB/s", "IO/s", "user us", "kern us", "kern ns/B"] {
        assert!(header.contains(column), "{column} in {header}");
    }
    assert!(terminal(&analysis, Style::piped()).is_ascii());
    let all = markdown(&analysis);
    let row = "| record | depth | target | access | operation | buf | users | asked | file | actual | MB/s | IO/s |";
    assert!(all.contains(row), "{all}");
}

#[test]
fn cached_cells_are_marked_in_every_format() {
    let analysis = three_paths();
    let page = html(&analysis);
    keep("depth.html", &page);
    let legend = "c: served by the client";
    for text in [terminal(&analysis, Style::piped()), markdown(&analysis), page] {
        assert!(text.contains(legend) && text.contains(" c"), "{text}");
    }
    let lines: Vec<Vec<String>> =
        csv(&analysis).lines().map(|line| line.split(',').map(str::to_owned).collect()).collect();
    let column = |name: &str| lines[0].iter().position(|head| head == name).expect(name);
    let shares: Vec<&str> = lines[1..].iter().map(|l| l[column("mnt client_cache_share")].as_str()).collect();
    assert_eq!(shares, ["0", "0", "0", "0", "1", "1", "1", "1"]);
    assert!(lines[1..].iter().all(|line| line[column("smb client_cache_share")].is_empty()));
    assert_eq!(lines[1][column("mnt access")], "mounted");
    assert_eq!(lines[1][column("disk buffering")], "Y");
    assert_eq!(lines[1][column("smb asked_time")], "200ms");
}

#[test]
fn ranks_have_a_table_in_every_format_and_the_slow_one_is_named() {
    let mut run = Synthetic::new("together", &["smb", "nfs"], 12);
    run.sweep(&load(&[10, 30]), 6, plausible_load);
    let alone = terminal(&analyse(&[run.run.clone()], &Options::default()), Style::piped());
    run.ranks(4, 2);
    let analysis = analyse(&[run.run], &Options::default());
    let page = html(&analysis);
    keep("ranks.html", &page);
    for text in [terminal(&analysis, Style::piped()), markdown(&analysis), page.clone()] {
        for sentence in ["rank 2 (c2) is slow: each of its users did 50 %", "start skew: at most"] {
            assert_eq!(text.matches(sentence).count(), 1, "'{sentence}' in {text}");
        }
        assert!(text.contains("ranks differ in memory: most have 16 GiB"), "{text}");
    }
    assert!(page.contains("<section id=\"ranks\"") && page.contains("id=\"ranks0\""));
    let text = terminal(&analysis, Style { colour: false, ..Style::terminal(80) });
    let slow = text.lines().find(|line| line.trim_start().starts_with("2    c2")).unwrap_or_default();
    assert!(slow.contains("B/s"), "{text}");
    assert!(text.contains("0.50 !"), "{text}");
    assert!(!alone.contains("Ranks") && !alone.contains("start skew"), "{alone}");
}

#[test]
fn a_page_with_all_charts_is_smaller_than_a_megabyte() {
    let page = html(&two_targets());
    assert!(page.len() < 900_000, "{}", page.len());
}

/// Two targets whose order changes with the size of the file, in six tests of 21 cells.
fn changing_map() -> RunData {
    let mut run = Synthetic::new("a map that changes", &["smb", "nfs"], 33);
    "smb://alice:hunter2@nas/share".clone_into(&mut run.run.header.targets[0].url);
    let tests = ["write", "rewrite", "read", "reread", "random-read", "random-write"];
    let cells: Vec<Coordinates> = tests
        .iter()
        .flat_map(|test| (0..21).map(|c| cell(test, 1 << (20 + 2 * (c / 7)), 4096 << (c % 7))))
        .collect();
    run.sweep(&cells, 10, |target, at| {
        let large = at.number(axis::FILE_SIZE).is_some_and(|size| size > 1 << 20);
        1e8 * match (target, large) {
            (1, true) => 1.3,
            (1, false) => 0.8,
            _ => 1.0,
        }
    });
    run.run
}

#[test]
fn a_verdict_that_depends_is_in_every_format_with_the_urls_of_the_targets() {
    let analysis = analyse(&[changing_map()], &Options { resamples: 200, ..Options::default() });
    let depends = "depends on the file size: ";
    let pages = [
        ("text", terminal(&analysis, Style::piped())),
        ("markdown", markdown(&analysis).replace('\\', "")),
        ("html", html(&analysis)),
        ("json", json(&analysis).expect("JSON")),
    ];
    for (format, text) in &pages {
        assert!(text.contains("depends on the file size"), "{format}");
        assert!(text.contains("smb://alice:***@nas/share") || *format == "json", "{format}");
        assert!(!text.contains("hunter2") || *format == "json", "{format}");
    }
    assert!(pages[0].1.contains(depends), "{}", &pages[0].1[..800]);
    assert!(
        pages[2].1.contains("\"direction\":\"slower\"") && pages[2].1.contains("\"direction\":\"faster\"")
    );
    keep("depends.html", &pages[2].1);
}

#[test]
fn a_map_of_126_cells_has_at_most_60_lines_before_the_tables() {
    let analysis = analyse(&[changing_map()], &Options { resamples: 200, ..Options::default() });
    for style in [Style::piped(), Style::terminal(80), Style::terminal(120), Style::terminal(200)] {
        let text = terminal(&analysis, Style { colour: false, ..style });
        let lines = text.lines().take_while(|line| line.trim() != "write").count();
        assert!(lines <= 60, "{lines} lines:\n{text}");
    }
    let narrow = terminal(&analysis, Style { colour: false, ..Style::terminal(80) });
    assert!(narrow.contains("in the md, json and html formats)"), "{narrow}");
}
