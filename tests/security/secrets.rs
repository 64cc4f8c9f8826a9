//! Where a password is found: in no file, no argument, and not in the memory of what only measures.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use sharebench_tests::program::poll;
use sharebench_tests::{Need, Sharebench, Smbd};

use crate::attack::Attack;

/// The rows, in the order of the table.
pub const ATTACKS: &[Attack] = &[
    Attack {
        what: "a search for the password (also in capitals and in UTF-16)",
        on: "results database, logs, report, exports, all that both programs print, arguments of the processes",
        needs: &[],
        act: files,
    },
    Attack {
        what: "a search for the password (also in capitals and in UTF-16)",
        on: "memory of sharebench in the middle of a run, with `--password-file`",
        needs: &[Need::Root],
        act: || memory(true),
    },
    Attack {
        what: "a search for the password (also in capitals and in UTF-16)",
        on: "memory of sharebench in the middle of a run, with `SHAREBENCH_PASSWORD`",
        needs: &[Need::Root],
        act: || memory(false),
    },
];

/// The forms in which a password may lie somewhere.
fn forms() -> Vec<Vec<u8>> {
    let texts = [Smbd::PASSWORD.to_owned(), Smbd::PASSWORD.to_uppercase()];
    let wide = texts.iter().map(|text| text.encode_utf16().flat_map(u16::to_le_bytes).collect());
    texts.iter().map(|text| text.as_bytes().to_vec()).chain(wide).collect()
}

fn holds(bytes: &[u8], form: &[u8]) -> bool {
    // Its first byte first: a search of hundreds of megabytes byte by byte takes too long.
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == form[0]) {
        rest = &rest[at..];
        if rest.starts_with(form) {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

fn assert_nowhere(bytes: &[u8], place: &str) {
    assert!(!forms().iter().any(|form| holds(bytes, form)), "the password is in {place}");
}

fn files() -> String {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let arguments = fs::read(format!("/proc/{}/cmdline", served.program().pid())).unwrap();
    assert_nowhere(&arguments, "the arguments of serve");
    let smb = served.smb_url("");
    let ncp = served.ncp_url("");
    let line = ["sweep", &smb, &ncp, "--file-sizes=64KiB", "--record-sizes=8KiB", "--tests=write,read"];
    let line = [&line[..], &["--repetitions=1", "plan:min_sample_time=5ms", "--report", "run.html"]].concat();
    let ended = sharebench.run(&line).unwrap().expect_success();
    assert_nowhere(ended.text().as_bytes(), "what is printed");
    let wrong = sharebench.run(&["sweep", &smb.replace("/share", "/nothing")]).unwrap();
    assert_nowhere(wrong.text().as_bytes(), "what is printed of a failure");
    for format in ["csv", "json", "parquet", "xlsx", "iozone"] {
        let file = format!("run.{format}");
        let exported = sharebench.run(&["export", "1", "--format", format, "-o", &file]).unwrap();
        assert_nowhere(exported.text().as_bytes(), "what export prints");
    }
    let searched = search(sharebench.home());
    assert!(searched >= 6, "{searched} files");
    "nowhere".to_owned()
}

/// Searches every file below a directory; how many there were.
fn search(directory: &Path) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            count += search(&path);
        } else {
            assert_nowhere(&fs::read(&path).unwrap(), &path.display().to_string());
            count += 1;
        }
    }
    count
}

/// The memory of the program when both its sessions have logged in.
fn memory(from_file: bool) -> String {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let smb = served.smb_url("");
    let ncp = served.ncp_url("");
    let mut line = vec!["sweep", &smb, &ncp, "--file-sizes=64KiB", "--record-sizes=8KiB"];
    // Longer than the search takes anywhere; the run is ended with this test.
    line.extend(["--tests=write,read", "--repetitions=200", "plan:min_sample_time=200ms"]);
    let mut words = Vec::new();
    if from_file {
        sharebench.write("password", Smbd::PASSWORD).unwrap();
        line.extend(["--password-file", "password"]);
        words.extend(["env", "--unset=SHAREBENCH_PASSWORD"]);
    }
    let running = sharebench.start_by(&words, &line, &[], "run.log").unwrap();
    let at_work = || {
        let json = sharebench.run(&["export", "1", "--format", "json"]).unwrap().stdout;
        json.matches("\"started_unix_ms\"").count() > 4
    };
    assert!(poll(Duration::from_secs(60), at_work), "{}", running.output());
    let found: Vec<Vec<u8>> = forms().into_iter().filter(|form| in_memory(running.pid(), form)).collect();
    match found.as_slice() {
        [] => "nowhere: it is masked".to_owned(),
        [only] if only == Smbd::PASSWORD.as_bytes() => {
            "only in the environment that the shell set: use `--password-file`".to_owned()
        }
        _ => format!("in {} forms", found.len()),
    }
}

/// True when a writable mapping of a process holds these bytes.
fn in_memory(pid: u32, form: &[u8]) -> bool {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let mut memory = fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    maps.lines().filter(|line| line.contains(" rw")).any(|line| {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let from = u64::from_str_radix(from, 16).unwrap();
        let to = u64::from_str_radix(to, 16).unwrap();
        let mut bytes = vec![0; (to - from) as usize];
        // A mapping may be gone by now.
        memory.seek(SeekFrom::Start(from)).is_ok()
            && memory.read_exact(&mut bytes).is_ok()
            && holds(&bytes, form)
    })
}
