//! `import` rejects files that are cut, mixed up or implausible, names the line, and imports nothing of them.
use std::path::Path;

use sharebench_exchange::{Format, Options, import};

fn data(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

/// Asserts the line and words of the error.
fn rejected(text: &str, options: &Options, line: Option<usize>, words: &[&str]) {
    let error = match import("x.txt", text.as_bytes(), options) {
        Err(error) => error,
        Ok(imported) => panic!("{words:?} was taken: {} runs", imported.runs.len()),
    };
    for word in words {
        assert!(error.to_string().contains(word), "no '{word}' in: {error}");
    }
    assert_eq!(error.line, line, "{error}");
}

/// The line, from 1, that holds this text first.
fn line_of(text: &str, part: &str) -> Option<usize> {
    text.lines().position(|line| line.contains(part)).map(|index| index + 1)
}

#[test]
fn import_rejects_damaged_iozone_outputs() {
    let plain = Options::default();
    let auto = data("iozone-3.489-auto-R.txt");
    let row = auto.lines().find(|line| line.trim_start().starts_with("128       8")).unwrap().to_owned();
    let at = line_of(&auto, &row);
    let with = |new: &str| auto.replace(&row, new);
    let cut = &auto[..auto.find("iozone test complete").unwrap()];
    rejected(cut, &plain, Some(cut.lines().count()), &["cut"]);
    rejected(&auto.repeat(2), &plain, Some(auto.lines().count() + 1), &["second run", "line 1"]);
    rejected(&with(&row[..30]), &plain, at, &["is below no heading"]);
    rejected(&with(&row.replace("128       8", "128     256")), &plain, at, &["do not fit"]);
    rejected(&with(&row.replace("128       8", "128       4")), &plain, at, &["twice"]);
    rejected(&with(&format!("{row} 77")), &plain, at, &["14 numbers for 13 columns"]);
    let words: Vec<&str> = row.split_whitespace().collect();
    rejected(&with(&words[..9].join(" ")), &plain, at, &["spacing"]);
    rejected(&auto.replace("bkwd", "fwd "), &plain, line_of(&auto, "reclen"), &["'fwd read'", "newer"]);
    rejected(&auto.replace(words[2], "12x4"), &plain, at, &["'12x4'"]);
    rejected(&auto.replace(words[2], "999999999999999"), &plain, at, &["cannot be true"]);
    let speed = auto.replace("Output is in kBytes/sec", "Output is in furlongs/fortnight");
    rejected(&speed, &plain, line_of(&auto, "Output is in"), &["furlongs"]);
    let micro = data("iozone-3.489-microseconds.txt");
    rejected(&micro, &plain, line_of(&micro, "Microseconds"), &["-N"]);
    let dos = auto.replace('\n', "\r\n");
    assert_eq!(
        import("x", dos.as_bytes(), &plain).unwrap().runs[0].steps,
        import("x", auto.as_bytes(), &plain).unwrap().runs[0].steps
    );
}

#[test]
fn import_rejects_damaged_matrices() {
    let matrices = Options { format: Some(Format::IozoneMatrices), ..Options::default() };
    let auto = data("iozone-3.489-auto-R.txt");
    let second = auto.replace("Re-writer report", "Writer report");
    rejected(&second, &matrices, line_of(&auto, "Re-writer report"), &["second 'Writer report'"]);
    let newer = auto.replace("Stride read report", "Sideways read report");
    rejected(&newer, &matrices, line_of(&auto, "Stride read report"), &["Sideways", "newer"]);
    let last = auto.find("\"Re-Fread report\"").unwrap();
    let cut = &auto[..last + auto[last..].match_indices('\n').nth(1).unwrap().0];
    rejected(cut, &matrices, line_of(&auto, "Re-Fread report"), &["has no row"]);
    let at = line_of(&auto, "\"Writer report\"").unwrap();
    let row = auto.lines().nth(at + 1).unwrap();
    let fewer = auto.replacen(row, row.trim_end().rsplit_once(' ').unwrap().0, 1);
    rejected(&fewer, &Options::default(), Some(at + 2), &["records of 64 kB", "cut"]);
    let other = auto.replacen(row, &row.replace(row.split_whitespace().nth(1).unwrap(), "4711"), 1);
    rejected(&other, &Options::default(), Some(at + 2), &["the matrix says something else", "write"]);
    let table_only = data("iozone-3.489-some-tests.txt");
    rejected(&table_only, &matrices, None, &["-R"]);
}

#[test]
fn import_rejects_damaged_fio_outputs() {
    let plain = Options::default();
    let json = data("fio-3.33.json");
    let cut: String = json.split_inclusive('\n').take(100).collect();
    rejected(&cut, &plain, Some(101), &["cut"]);
    for (version, word) in [("fio-2.21", "other units"), ("fio-4.0", "fio 3"), ("nonsense", "fio 3")] {
        rejected(&json.replace("fio-3.33", version), &plain, None, &[version, word]);
    }
    // The line at which the object without the field ends.
    let nameless = json.replace("\"io_bytes\"", "\"bytes\"");
    rejected(&nameless, &plain, line_of(&json, "\"write\" : {").map(|line| line - 1), &["io_bytes"]);
    rejected(
        &json.replace("\"bs\" : \"4k\"", "\"bs\" : \"4 furlongs\""),
        &plain,
        None,
        &["seq-write", "furlongs"],
    );
    rejected(
        &json.replace("\"total_ios\" : 256,", "\"total_ios\" : 0,"),
        &plain,
        None,
        &["seq-write", "cannot be true"],
    );
    rejected(&json.replace("\"rw\" : \"write\"", "\"rw\" : \"sideways\""), &plain, None, &["sideways"]);
    rejected("{\"fio version\": \"fio-3.33\", \"jobs\": []}", &plain, None, &["no job"]);
}

#[test]
fn import_rejects_damaged_tables() {
    let with = |map: &[&str]| {
        let map = map.iter().map(|mapping| mapping.parse().unwrap()).collect();
        Options { format: Some(Format::Csv), map, ..Options::default() }
    };
    let map = ["file_size=mb:MiB", "record_size=record:B", "rate.write=write:B/s"];
    let full = with(&map);
    let table = "mb,record,write\n1,512,293718\n2,512,296207\n";
    rejected(table, &with(&[]), Some(1), &["--map", "mb, record, write"]);
    rejected(
        table,
        &with(&["file_size=size:MiB", "rate.write=write:B/s"]),
        Some(1),
        &["'size'", "mb, record, write"],
    );
    rejected(table, &with(&map[..2]), None, &["must name a rate"]);
    rejected(table, &with(&["rate=write:B/s"]), None, &["needs a test"]);
    rejected(table, &with(&[map[0], map[0], map[2]]), None, &["twice"]);
    for (from, to, line, word) in [
        ("2,512,296207", "2,512", 3, "2 fields"),
        ("2,512,296207", "1,512,296207", 3, "is on line 2"),
        ("2,512,296207", "2,512,-1", 3, "'-1'"),
        ("2,512,296207", "2,512,1e9", 3, "'1e9'"),
        ("2,512,296207", "0,512,1", 3, "file size of 0"),
        ("1,512", "1,2097152", 2, "do not fit"),
        ("1,512", "1,512.5", 2, "no whole number"),
        ("1,512", "99999999999999,512", 2, "cannot be true"),
        ("293718", "\"293718", 2, "never closed"),
    ] {
        rejected(&table.replacen(from, to, 1), &full, Some(line), &[word]);
    }
    rejected("mb,record,write\n1,512,0\n", &full, None, &["nothing was measured"]);
    rejected("a 1\nb 2\n", &Options::default(), None, &["--format"]);
    let semicolons = "mb;write\n1;293,7\n";
    rejected(semicolons, &Options::default(), None, &["separated by commas"]);
    rejected(semicolons, &Options { format: None, ..full.clone() }, Some(1), &["separated by commas"]);
    rejected("mb,record,write\n1,512,\"293,718\"\n", &full, Some(2), &["'293,718'", "one point at most"]);
    rejected(table, &Options { clock_ns: Some(0), ..full.clone() }, None, &["--clock"]);
    let two = Options { system: Some("nas".into()), ..with(&["target=mb", map[1], map[2]]) };
    rejected(table, &two, None, &["--system", "1, 2"]);
    rejected("\u{feff}", &full, None, &["empty"]);
    for bytes in [&b"\xff\xfem\0b\0"[..], b"mb,record,write\n1,512,\xe4\n"] {
        assert!(import("x", bytes, &full).unwrap_err().to_string().contains("UTF-8"));
    }
    let others = [
        (&b"\x1f\x8b\x08"[..], "gunzip"),
        (b"PK\x03\x04", "comma-separated"),
        (b"PAR1\x15", "csv"),
        (b"SQLite format 3\0", "FILE.db:NUMBER"),
    ];
    for (bytes, word) in others {
        assert!(import("x", bytes, &full).unwrap_err().to_string().contains(word), "{word}");
    }
    let cut = import("x", table.trim_end().as_bytes(), &full).unwrap();
    assert!(cut.notes.iter().any(|note| note.contains("may have been cut")), "{:?}", cut.notes);
    let unmapped = with(&["test==read", "rate=write:KiB/s", "axis.shell=mb"]);
    let imported = import("x", table.as_bytes(), &unmapped).unwrap();
    assert!(
        imported.notes[0].contains("record") && imported.notes[1].contains("one second"),
        "{:?}",
        imported.notes
    );
}
