//! Errors of published tables: figures that do not belong together, wrong units, copied columns, impossible rates.

use std::fmt::Write as _;

use crate::tables::imported;
use sharebench_analysis::{Analysis, Options, RunData, analyse};
use sharebench_model::Random;

/// The map of the tables in `tests/data/verdict`.
const SURFACE: [&str; 5] =
    ["target=server", "test=op", "file_size=file_mb:MiB", "record_size=rec_kb:KiB", "rate=kBps:KiB/s"];
const USERS: [&str; 5] = ["target=server", "users=users", "rate=tps:ops/s", "response=ms:ms", "test==mail"];

fn titled(title: &str, table: &str, map: &[&str]) -> Vec<RunData> {
    let mut runs = imported("t.csv", table.as_bytes(), map);
    for run in &mut runs {
        title.clone_into(&mut run.header.title);
    }
    runs
}

fn analysed(table: &str, map: &[&str]) -> Analysis {
    analyse(&imported("t.csv", table.as_bytes(), map), &Options::default())
}

fn contradictions(table: &str, map: &[&str]) -> Vec<String> {
    analysed(table, map).contradictions.into_iter().map(|sentence| sentence.text).collect()
}

/// A table of two systems and two tests, 4 x 5 cells, whose rates scatter by 1 %, after a change by row of the table.
fn surface(seed: u64, change: impl Fn(&str, &str, u64, u64, f64) -> f64) -> String {
    let mut random = Random::new(seed, 7);
    let mut table = "server,op,file_mb,rec_kb,kBps\n".to_owned();
    for op in ["write", "read"] {
        for file in [1u64, 4, 16, 64] {
            for record in [4u64, 16, 64, 256, 1024] {
                for server in ["A", "B"] {
                    let smooth = 9500.0 * record as f64 / (record as f64 + 18.0);
                    let rate = smooth * (1.0 + 0.02 * (random.unit() - 0.5));
                    let rate = change(server, op, file, record, rate);
                    writeln!(table, "{server},{op},{file},{},{rate:.1}", record.min(file << 10)).unwrap();
                }
            }
        }
    }
    table
}

#[test]
fn single_step_is_held_against_the_law_of_little() {
    let expected = "mail: B: 1200 transactions/s of 20.0 ms each would need at least 24.0 users, but there were 16: rate and \
                    response times are inconsistent (Little's law).";
    assert_eq!(contradictions(include_str!("data/verdict/little-one-step.csv"), &USERS), [expected]);
    // One system alone, with sizes, with two requests in flight of each user, and with jobs for users.
    assert_eq!(contradictions("server,users,tps,ms\nB,16,1200,20.0\n", &USERS), [expected]);
    let sized = [&USERS[..], &["file_size==1:MiB"]].concat();
    assert_eq!(contradictions("server,users,tps,ms\nB,16,1200,20.0\n", &sized), [expected]);
    let deep = [&USERS[..], &["queue_depth==2"]].concat();
    assert_eq!(contradictions("server,users,tps,ms\nB,16,1200,20.0\n", &deep), [""; 0]);
    let jobs: Vec<&str> =
        USERS.iter().map(|key| if *key == "users=users" { "jobs=users" } else { key }).collect();
    assert_eq!(contradictions("server,users,tps,ms\nB,16,1200,20.0\n", &jobs), [expected]);
}

#[test]
fn sixth_step_of_1997_alone_shows_transactions_of_different_sizes() {
    let table = "server,users,kB_per_s,art_s,mps\nNT 4.0,50,841,132,50\nNetWare 4.1,50,167,122,33\n";
    let map = [
        "target=server",
        "users=users",
        "rate=kB_per_s:kB/s",
        "response=art_s:s",
        "reported=mps",
        "test==write",
        "think==0:s",
    ];
    assert_eq!(
        contradictions(table, &map),
        [
            "write: rate x (response + think time) / users is the size of a transaction and must be equal in all steps (Little's \
          law), but it is NT 4.0 2220 kB with 50 users; NetWare 4.1 617 kB with 50 users. The systems did not perform the same \
          transactions, or the figures of one are wrong. They differ by a factor of 3.60."
        ]
    );
}

#[test]
fn cell_of_another_unit_is_named_with_its_factor() {
    let found = contradictions(include_str!("data/verdict/unit-one-cell.csv"), &SURFACE);
    let [text] = &found[..] else { panic!("{found:#?}") };
    assert!(text.starts_with("read: B shows 7.59 kB/s at files of 4MiB, records of 64KiB, 10"), "{text}");
    assert!(
        text.ends_with("): a factor of 1000 or 1024, as a wrong unit or a lost digit makes it."),
        "{text}"
    );
}

#[test]
fn planted_factors_are_found_in_any_cell_and_surfaces_without_them_have_none() {
    let mut found = 0;
    let mut false_alarms = 0;
    for seed in 0..40 {
        let factor = [8.0, 10.0, 1000.0, 1024.0][seed as usize % 4];
        let at = (1u64 << (2 * (seed / 4 % 4)), 4u64 << (2 * (seed / 3 % 4)));
        let planted = |server: &str, op: &str, file: u64, record: u64, rate: f64| {
            // The cache of B ends at 16 MiB when it reads.
            let fallen = if server == "B" && op == "read" && file > 4 { rate / 9.0 } else { rate };
            if (server, op) == ("A", "read") && (file, record) == at { fallen / factor } else { fallen }
        };
        let texts = contradictions(&surface(seed, planted), &SURFACE);
        found += usize::from(texts.iter().any(|text| {
            text.starts_with("read: A shows ")
                && text.contains(&format!(" {factor}"))
                && text.contains("a factor of")
        }));
        let plain = surface(seed, |server, op, file, record, rate| {
            // A slow record size, a client that writes through, and the cache of a server.
            let slow = if record == 64 && server == "A" { 3.0 } else { 1.0 };
            let through = if op == "write" { 25.0 } else { 1.0 };
            let fallen = if server == "B" && op == "read" && file > 4 { 9.0 } else { 1.0 };
            rate / slow / through / fallen
        });
        false_alarms += usize::from(!contradictions(&plain, &SURFACE).is_empty());
    }
    assert!(found >= 38 && false_alarms == 0, "{found} {false_alarms}");
}

#[test]
fn peak_of_both_systems_is_a_property_of_the_test() {
    let slow = |systems: &'static [&'static str]| {
        surface(5, move |server, op, file, record, rate| {
            let here = (op, file, record) == ("read", 4, 64) && systems.contains(&server);
            if here { rate / 6.0 } else { rate }
        })
    };
    let both = contradictions(&slow(&["A", "B"]), &SURFACE);
    assert_eq!(both, [""; 0]);
    let found = contradictions(&slow(&["B"]), &SURFACE);
    let [text] = &found[..] else { panic!("{found:#?}") };
    assert!(text.contains("times less than the cells around it suggest"), "{text}");
    assert!(text.ends_with("a slip in the table, or a stall."), "{text}");
}

#[test]
fn line_of_loads_shows_the_step_that_lost_a_digit() {
    let mut table = "server,users,tps\n".to_owned();
    for (server, factor) in [("A", 1.0), ("B", 1.3), ("C", 0.8)] {
        for users in [1.0f64, 2.0, 4.0, 8.0, 16.0] {
            let rate = factor * 100.0 * users / (1.0 + 0.05 * users);
            let rate = if server == "B" && users > 15.0 { rate / 10.0 } else { rate };
            writeln!(table, "{server},{users},{rate:.1}").unwrap();
        }
    }
    let found = contradictions(&table, &["target=server", "users=users", "rate=tps:ops/s", "test==mail"]);
    let [text] = &found[..] else { panic!("{found:#?}") };
    assert!(text.starts_with("mail: B shows 116 ops/s at 16 users, 10.0 times less"), "{text}");
}

#[test]
fn column_that_is_a_copy_is_found() {
    let found = contradictions(include_str!("data/verdict/equal-columns.csv"), &SURFACE);
    assert_eq!(
        found,
        ["B: write and read are equal digit for digit in all 12 cells: one is probably a copy of the other."]
    );
}

#[test]
fn copied_rows_systems_and_files_are_found() {
    let row = surface(3, |_, _, _, _, rate| rate);
    let copied: Vec<String> = row
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let of = |file: &str| {
                row.lines().find(|other| {
                    let other: Vec<&str> = other.split(',').collect();
                    other[..2] == fields[..2] && other[2] == file && other[3] == fields[3]
                })
            };
            // Reads of A: the files of 16 MiB are those of 4 MiB.
            let copy = fields[..3] == ["A", "read", "16"];
            let rate = copy.then(|| of("4")).flatten().and_then(|line| line.rsplit(',').next());
            rate.map_or_else(|| line.to_owned(), |rate| format!("{},{rate}", fields[..4].join(",")))
        })
        .collect();
    let found = contradictions(&copied.join("\n"), &SURFACE);
    assert_eq!(
        found,
        [
            "read: A: files of 4MiB and files of 16MiB are equal digit for digit in all 5 cells: one is probably a copy of the \
          other."
        ]
    );
    // The same table under two names.
    let runs = [titled("one", &row, &SURFACE), titled("two", &row, &SURFACE)].concat();
    let options = Options::default();
    let texts: Vec<String> =
        analyse(&runs, &options).contradictions.into_iter().map(|one| one.text).collect();
    assert_eq!(
        texts.iter().filter(|text| text.contains("equal digit for digit in all 20 cells")).count(),
        4,
        "{texts:#?}"
    );
}

#[test]
fn numbers_of_few_digits_are_no_copies() {
    let mut table = "server,op,file_mb,rec_kb,kBps\n".to_owned();
    for op in ["write", "read"] {
        for file in [1, 4, 16] {
            for (record, rate) in [(4, 12), (16, 25), (64, 48), (256, 61)] {
                writeln!(table, "A,{op},{file},{record},{rate}").unwrap();
            }
        }
    }
    assert_eq!(contradictions(&table, &SURFACE), [""; 0]);
}

#[test]
fn reads_that_no_disk_of_the_year_delivers_are_named() {
    let table = surface(9, |_, op, file, _, rate| if op == "read" && file < 16 { rate * 9.0 } else { rate });
    let of = |title: &str, map: &[&str]| {
        let analysis = analyse(&titled(title, &table, map), &Options::default());
        let texts = analysis.contradictions.into_iter().map(|sentence| sentence.text);
        texts.filter(|text| text.contains("above what a disk of")).collect::<Vec<String>>()
    };
    let found = of("1993: bnetx", &SURFACE);
    assert_eq!(found.len(), 2, "one per system: {found:#?}");
    assert!(found[0].starts_with(
        "read: A has 10 cells above what a disk of 1993 delivers (at most 10.0 MB/s), the fastest "
    ));
    let dated = [&SURFACE[..], &["fact.year==1993"]].concat();
    assert_eq!(of("old results", &dated).len(), 2);
    for title in ["results", "Windows 2000 against NetWare", "2019"] {
        assert_eq!(of(title, &SURFACE), [""; 0]);
    }
}

#[test]
fn unknown_clock_does_not_veto_a_large_ratio() {
    let resolved = |factor: f64| {
        let table =
            format!("server,op,file_mb,rec_kb,kBps\nA,read,1,4,1000\nB,read,1,4,{}\n", 1000.0 * factor);
        let analysis = analysed(&table, &SURFACE);
        analysis.sections[0].rows[0].ratios[0].as_ref().unwrap().single_run.unwrap().resolved
    };
    assert_eq!(
        [1.5, 2.9, 0.4, 3.1, 0.3, 64.0, 1.0 / 64.0].map(resolved),
        [false, false, false, true, true, true, true]
    );
}
