//! Loadfiles of dbench: what a valid one means, and each way in which one can be wrong, with its line.

use sharebench_plan::{Arrivals, Call, Load, Loadfile, Pace, Plan, Think, TypedWorkload, Work};

fn plan(script: &str) -> Plan {
    let mut plan = Plan::parse("[[target]]\nurl = '/tmp'\n[load]\nusers = [2]\n").unwrap();
    plan.workload = Some(TypedWorkload { script: Some(script.to_owned()), ..TypedWorkload::default() });
    plan
}

fn mistakes(script: &str) -> String {
    plan(script).resolve().map_or_else(|mistakes| mistakes.to_string(), |_| String::new())
}

fn loadfile(script: &str) -> Loadfile {
    let resolved = plan(script).resolve().unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let Work::Transactions(work) = &resolved.loads[0].1 else { panic!("no users") };
    work.workload.loadfile.as_deref().unwrap().clone()
}

/// Every operation, one of each status, comments, both slashes, two cases, and all that is left out.
const WHOLE: &str = r#"
# recorded nowhere
Deltree "\clients\client1" NT_STATUS_OK
Mkdir "\clients\client1" NT_STATUS_OK
NTCreateX "\clients\client1\Docs" 0x1 0x2 7 NT_STATUS_OK
Close 7 NT_STATUS_OK
NTCreateX "\clients\client1\docs\a b.txt" 0x40 0x1 8 NT_STATUS_OBJECT_NAME_NOT_FOUND
NTCreateX "\clients\client1\docs\a b.txt" 0x40 0x2 8 0x00000000
WriteX 8 0 65536 65536 NT_STATUS_OK
WriteX 8 65536 10 10 NT_STATUS_OK
LockX 8 0 1 NT_STATUS_OK
UnlockX 8 0 1 NT_STATUS_OK
ReadX 8 61440 8192 4106 NT_STATUS_OK
Flush 8 NT_STATUS_OK
QUERY_FILE_INFORMATION 8 258 NT_STATUS_OK
SET_FILE_INFORMATION 8 1004 NT_STATUS_OK
SET_FILE_INFORMATION 8 1013 NT_STATUS_OK
Close 8 *
QUERY_PATH_INFORMATION "/clients/CLIENT1/docs/a b.txt" 1004 NT_STATUS_OK
QUERY_FS_INFORMATION 259 NT_STATUS_OK
FIND_FIRST "\clients\client1\docs\<.tmp" 260 1366 0 NT_STATUS_NO_SUCH_FILE
Rename "\clients\client1\docs\a b.txt" "\clients\client1\docs\c" NT_STATUS_OK
Unlink "\clients\client1\docs\c" 0x6 NT_STATUS_SHARING_VIOLATION
Unlink "\clients\client1\docs\c" 0x6 0xc0000034
Rmdir "\clients\client1\docs" NT_STATUS_DIRECTORY_NOT_EMPTY
"#;

#[test]
fn a_loadfile_says_what_must_be_there_what_is_left_out_and_what_stays() {
    let file = loadfile(WHOLE);
    assert_eq!(file.lines.len(), 23);
    assert_eq!(file.names[..4], ["", "clients", "clients/client1", "clients/client1/Docs"]);
    assert_eq!(file.names[4], "clients/client1/Docs/a b.txt", "as in its first line");
    // The directory above the client's own; that itself is removed by the first line.
    assert_eq!(file.given.iter().map(|g| (g.name, g.bytes)).collect::<Vec<_>>(), [(1, None)]);
    assert!(!file.leaves && file.most_bytes == 65_546 && file.largest_request() == 65_536);
    let left: Vec<(&str, usize)> =
        file.left_out().into_iter().map(|(_, name, count)| (name, count)).collect();
    assert_eq!(left, [("Close", 1), ("SET_FILE_INFORMATION", 1), ("Unlink", 1)]);
    assert!(file.lines.iter().any(|line| matches!(&line.call, Call::Find { mask, .. } if mask == "<.tmp")));
    let resolved = plan(WHOLE).resolve().unwrap();
    let again = Plan::parse(&resolved.typed.to_toml()).unwrap().resolve().unwrap();
    assert_eq!((again.loads, again.typed.to_toml()), (resolved.loads, resolved.typed.to_toml()));
}

#[test]
fn what_lines_find_before_they_make_it_is_given_and_put_back() {
    let script = r#"
NTCreateX "\lib\big" 0x40 0x1 1 NT_STATUS_OK
ReadX 1 4096 4096 100 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\new" 0x40 0x2 2 NT_STATUS_OK
Close 2 NT_STATUS_OK
"#;
    let file = loadfile(script);
    let given: Vec<_> = file.given.iter().map(|g| (file.names[g.name as usize].as_str(), g.bytes)).collect();
    assert_eq!(given, [("lib", None), ("lib/big", Some(4196))]);
    assert!(file.leaves, "the new file stays");
    assert!(!loadfile(&format!("{script}Unlink \"\\new\" 0x6 NT_STATUS_OK\n")).leaves);
    let changed = "NTCreateX \"\\a\" 0 1 1 NT_STATUS_OK\nWriteX 1 0 9 9 NT_STATUS_OK\nClose 1 NT_STATUS_OK\n";
    assert!(loadfile(changed).leaves, "what was given is no longer what it was");
}

#[test]
fn time_stamps_are_the_pace_unless_a_pause_is_given() {
    let stamped = "0.5 Mkdir \"\\a\" NT_STATUS_OK\n1.25 Rmdir \"\\a\" NT_STATUS_OK\n";
    let pace = |script: &str, load: fn(&mut Load)| {
        let mut plan = plan(script);
        load(plan.load.as_mut().unwrap());
        let resolved = plan.resolve().map_err(|mistakes| mistakes.to_string())?;
        let Work::Transactions(work) = &resolved.loads[0].1 else { panic!("no users") };
        Ok::<_, String>(work.pace.clone())
    };
    assert_eq!(loadfile(stamped).lines[1].at_ns, Some(1_250_000_000));
    assert_eq!(pace(stamped, |_| ()), Ok(Pace::Closed(Think::Stamps)));
    assert_eq!(pace(WHOLE, |_| ()), Ok(Pace::Closed("0s".parse().unwrap())));
    let paused = |load: &mut Load| load.think = Some("exp 1s".parse().unwrap());
    assert_eq!(pace(stamped, paused), Ok(Pace::Closed("exp 1s".parse().unwrap())));
    let error = pace(WHOLE, |load| load.think = Some(Think::Stamps)).unwrap_err();
    assert!(error.contains("load.think: there is no loadfile with time stamps"), "{error}");
    let visits = |load: &mut Load| (load.arrivals, load.rates) = (Some(Arrivals::Visits), Some(vec![1]));
    let error = pace(WHOLE, visits).unwrap_err();
    assert!(error.contains("load.arrivals: what a loadfile opens does not outlast a visit"), "{error}");
    let error = pace(WHOLE, |load| load.scale = Some("1MiB".parse().unwrap())).unwrap_err();
    assert!(error.contains("load.scale: a loadfile has sizes of its own"), "{error}");
}

/// An invalid line and the expected message.
const SPOILT: [(&str, &str); 32] = [
    ("ReedX 1 0 1 1 NT_STATUS_OK", "'ReedX' is no operation"),
    ("ReedX 1 0 1 1 NT_STATUS_OK", "did you mean 'ReadX'?"),
    ("Frobnicate", "known are NTCreateX"),
    ("2.5", "no operation"),
    ("\"\\a\" NT_STATUS_OK", "no operation"),
    ("Mkdir \"\\a\"", "'\\a' is no status that Mkdir can end with"),
    ("Mkdir", "'nothing' is no status"),
    ("Mkdir \"\\a\" NT_STATUS_FINE", "'NT_STATUS_FINE' is no status"),
    ("Mkdir \"\\a\" 0x123", "'0x123' is no status"),
    ("Mkdir \"\\a NT_STATUS_OK", "a double quote is not closed"),
    ("Mkdir \\a NT_STATUS_OK", "'\\a' is not a path"),
    ("Mkdir \"\\a\" \"\\b\" NT_STATUS_OK", "2 words between Mkdir and the status"),
    ("Mkdir \"\\a\\..\\..\\b\" NT_STATUS_OK", "leaves its directory"),
    ("Mkdir \"\\a*\" NT_STATUS_OK", "'a*' is no name"),
    ("NTCreateX \"\\a\" 0 9 1 NT_STATUS_OK", "9 is no disposition"),
    ("NTCreateX \"\\a\" 1 5 1 NT_STATUS_OK", "a directory is not overwritten"),
    ("NTCreateX \"\\a\" x 1 1 NT_STATUS_OK", "'x' is no number"),
    ("NTCreateX \"\\a\" 0 1 NT_STATUS_OK", "write NTCreateX \"PATH\" OPTIONS DISPOSITION HANDLE"),
    ("Close 99 NT_STATUS_OK", "handle 99 is not open here"),
    ("Flush 99 NT_STATUS_OK", "handle 99 is not open here"),
    ("LockX 99 0 1 NT_STATUS_OK", "handle 99 is not open here"),
    ("LockX 6 9223372036854775807 1 NT_STATUS_OK", "a lock of 1 bytes at 9223372036854775807"),
    ("ReadX 5 0 1 1 NT_STATUS_OK", "5 is a directory"),
    ("ReadX 6 0 99999999 1 NT_STATUS_OK", "99999999 bytes at 0"),
    ("ReadX 6 0 10 11 NT_STATUS_OK", "10 bytes at 0 with 11 moved"),
    ("ReadX 6 0 10 NT_STATUS_OK", "3 words between ReadX and the status"),
    ("WriteX 6 0 10 4 NT_STATUS_OK", "a write that wrote 4 of 10 bytes"),
    ("WriteX 6 -3 10 10 NT_STATUS_OK", "'-3' is no number"),
    ("QUERY_PATH_INFORMATION \"\\a\" high NT_STATUS_OK", "'high' is no number"),
    ("FIND_FIRST \\* 260 1366 0 NT_STATUS_OK", "'\\*' is not a path"),
    ("1.5 QUERY_FS_INFORMATION 1 NT_STATUS_OK", "time stamp 1.5 is before 2"),
    ("-1.5 QUERY_FS_INFORMATION 1 NT_STATUS_OK", "'-1.5' is no time stamp"),
];

#[test]
fn each_invalid_line_is_reported_with_its_number() {
    let deep = format!("Mkdir \"{}\" NT_STATUS_OK\n", "\\d".repeat(5000));
    assert!(mistakes(&deep).contains("has 5000 levels and 10000 bytes"), "{}", mistakes(&deep));
    let long = format!("Mkdir \"{}\" NT_STATUS_OK\n", format!("\\{}", "d".repeat(200)).repeat(6));
    assert!(mistakes(&long).contains("has 6 levels and 1206 bytes"), "{}", mistakes(&long));
    let deepest = format!("Mkdir \"{}\" NT_STATUS_OK\n", "\\d".repeat(64));
    assert_eq!(mistakes(&deepest), "");
    let good = "NTCreateX \"\\d\" 1 2 5 NT_STATUS_OK\n2 NTCreateX \"\\f\" 0 2 6 NT_STATUS_OK\n";
    assert_eq!(mistakes(good), "");
    for (line, wanted) in SPOILT {
        let message = mistakes(&format!("{good}{line}\nFlush 6 NT_STATUS_OK\n"));
        assert!(
            message.contains("workload.script: line 3 of it: ") || message.contains("hint"),
            "{line}: {message}"
        );
        assert!(message.contains(wanted), "{line}: {message}");
        assert_eq!(message.matches("line 3 of it").count(), 1, "{message}");
    }
}

#[test]
fn a_file_that_is_no_loadfile_says_so_without_a_thousand_lines() {
    let message = mistakes(&"int main() {\n".repeat(1000));
    assert!(message.contains("line 20 of it") && message.contains("and 980 mistakes more"), "{message}");
    assert!(message.lines().count() < 60, "{message}");
    for empty in ["", "# nothing\n\n"] {
        assert!(
            mistakes(empty).contains("it contains no operation that can be replayed"),
            "{}",
            mistakes(empty)
        );
    }
    let text = "[[target]]\nurl = '/tmp'\n[load]\n[workload]\nloadfile = 'client.txt'\norder = 'weighted'\n";
    let message = Plan::parse(text).unwrap().resolve().unwrap_err().to_string();
    assert!(message.contains("line 5: workload.loadfile: 'client.txt' was not read"), "{message}");
    assert!(message.contains("line 6: workload.order: a loadfile fixes the order of its lines"), "{message}");
}

#[test]
fn the_preset_has_the_published_counts_one_in_a_thousand() {
    let preset = Plan::from_preset("dbench").unwrap();
    let file = loadfile(preset.workload.unwrap().script.as_deref().unwrap());
    let published = [
        ("ReadX", 124_199),
        ("NTCreateX", 79_230),
        ("QUERY_PATH_INFORMATION", 71_814),
        ("Close", 58_200),
        ("WriteX", 39_502),
        ("FIND_FIRST", 27_765),
        ("Unlink", 16_000),
        ("QUERY_FS_INFORMATION", 13_168),
        ("QUERY_FILE_INFORMATION", 12_585),
        ("SET_FILE_INFORMATION", 6_454),
        ("Flush", 5_553),
        ("Rename", 3_355),
    ];
    for (name, count) in published {
        let own = file.lines.iter().filter(|line| line.call.name() == name).count();
        assert_eq!(own, (count + 500) / 1000, "{name}");
    }
    assert!(!file.leaves && file.left_out().is_empty(), "{:?}", file.left_out());
}
