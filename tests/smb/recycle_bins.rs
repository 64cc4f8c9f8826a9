//! What keeps files of a run on its target: recycle bins of Samba, snapshots of Samba and directories with snapshots.

use std::fs;
use std::path::Path;

use sharebench_tests::{Sharebench, Smbd, SmbdOptions, needs};

const SWEEP: [&str; 3] = ["--file-sizes=64KiB", "--record-sizes=4KiB", "--repetitions=1"];
const TIMEOUT: &str = "--timeout=60s";

/// The files below a directory, as paths.
fn files_below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                found.push(path.strip_prefix(directory).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_recycle_bin_is_reported_before_the_run_and_loses_only_our_files() {
    needs!(Smbd::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    // Configuration, the bin, what probe and run report.
    let cases = [
        ("recycle:repository = .recycle\nrecycle:keeptree = yes\n", ".recycle", "removes its own"),
        (
            "recycle:repository = #recycle\nrecycle:keeptree = yes\nrecycle:versions = yes\n",
            "#recycle",
            "removes its own",
        ),
        ("recycle:repository = @Recycle/%U\nrecycle:keeptree = yes\n", "@Recycle", "removes its own"),
        ("recycle:repository = .recycle\nrecycle:keeptree = no\n", ".recycle", "empty it after"),
    ];
    for (lines, bin, reported) in cases {
        let lines = format!("vfs objects = recycle\n{lines}");
        let smbd = Smbd::start(&SmbdOptions { lines: lines.leak(), ..SmbdOptions::default() }).unwrap();
        let share = smbd.share();
        fs::create_dir_all(share.join(bin).join("other")).unwrap();
        let others = [format!("{bin}/mine.txt"), format!("{bin}/other/mine.txt"), "mine.txt".to_owned()];
        for path in &others {
            fs::write(share.join(path), "").unwrap();
        }
        let url = smbd.url("", "");
        let probed = sharebench.run(&["probe", &url, TIMEOUT]).unwrap().expect_success();
        assert!(probed.stdout.contains(&format!("kept in {bin}")), "{bin}: {}", probed.stdout);
        let swept = sharebench.run(&[&["sweep", &url], &SWEEP[..]].concat()).unwrap().expect_success();
        assert!(swept.text().contains(&format!("recycle bin {bin}")), "{bin}: {}", swept.text());
        assert!(swept.text().contains(reported), "{bin}: {}", swept.text());
        let is_flat = reported.starts_with("empty");
        let left = files_below(&share);
        assert!(others.iter().all(|path| left.contains(path)), "{bin}: {left:?}");
        assert_eq!(left.len() > others.len(), is_flat, "{bin}: {left:?}");

        // What an earlier run left, and what its removal moves to the bin.
        for name in [".sharebench-00000001-0", ".sharebench-00000002-0"] {
            fs::create_dir(share.join(name)).unwrap();
            fs::write(share.join(name).join("data"), "").unwrap();
        }
        fs::write(share.join(".sharebench-00000001-0/.made-by-sharebench"), "").unwrap();
        let cleaned = sharebench.run(&["clean", &url]).unwrap();
        assert_eq!(cleaned.code, Some(3), "{}", cleaned.text());
        let in_bin = cleaned.stdout.contains(&format!("removed {bin}"));
        assert_eq!(in_bin, !is_flat, "{bin}: {}", cleaned.text());
        let left = files_below(&share);
        assert!(others.iter().all(|path| left.contains(path)), "{bin}: {left:?}");
        assert!(left.contains(&".sharebench-00000002-0/data".to_owned()), "it has no marker: {left:?}");
        assert!(!left.iter().any(|path| path.contains(".sharebench-00000001-0")), "{bin}: {left:?}");
    }
}

#[test]
fn snapshots_are_reported_before_the_run() {
    needs!(Smbd::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let lines = "vfs objects = shadow_copy2\nshadow:snapdir = .snapshots\nshadow:snapdirseverywhere = yes\n";
    let smbd = Smbd::start(&SmbdOptions { lines, ..SmbdOptions::default() }).unwrap();
    fs::create_dir_all(smbd.share().join(".snapshots/@GMT-2026.01.01-00.00.00")).unwrap();
    let served = sharebench.serve("served").unwrap();
    fs::create_dir(served.directory().join("~snapshot")).unwrap();
    let local = served.directory().display().to_string();
    let plain = Smbd::start(&SmbdOptions::default()).unwrap();
    for (url, reported) in [
        (smbd.url("", ""), Some(".snapshots, 1 listed by the server")),
        (plain.url("", ""), None),
        (served.smb_url(""), Some("~snapshot")),
        (served.nfs_url(""), Some("~snapshot")),
        (local, Some("~snapshot")),
    ] {
        let probed = sharebench.run(&["probe", &url, TIMEOUT]).unwrap().expect_success();
        let swept = sharebench.run(&[&["sweep", &url], &SWEEP[..]].concat()).unwrap().expect_success();
        let Some(reported) = reported else {
            assert!(!probed.stdout.contains("snapshots"), "{}", probed.stdout);
            assert!(!swept.text().contains("snapshots"), "{}", swept.text());
            continue;
        };
        assert!(probed.stdout.contains(&format!("{reported}: they keep")), "{url}: {}", probed.stdout);
        assert!(swept.text().contains(&format!("has snapshots ({reported})")), "{url}: {}", swept.text());
    }
}
