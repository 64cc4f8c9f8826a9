//! Nagle's algorithm as an axis of a sweep over each protocol.

use serde_json::Value;
use sharebench_tests::Sharebench;

#[test]
fn each_target_is_measured_with_and_without_nagles_algorithm() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let urls = [served.smb_url(""), served.nfs_url(""), served.ncp_url("")];
    let mut line = vec!["sweep", "--vary", "nodelay=on,off", "--tests", "write", "--file-sizes", "64KiB"];
    line.extend(["--record-sizes", "16KiB", "--repetitions", "1"]);
    line.extend(urls.iter().map(String::as_str));
    let _ = sharebench.run(&line).unwrap().expect_success();
    let exported = sharebench.run(&["export", "last", "--format", "json"]).unwrap().expect_success();
    let run: Value = serde_json::from_str(&exported.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let targets = run["targets"].as_array().unwrap().iter();
    let found = targets.map(|target| (text(&target["name"]), text(&target["facts"]["nodelay"])));
    let expected = ["smb", "nfs", "ncp"].map(|protocol| {
        ["on", "off"].map(|value| (format!("{protocol} (nodelay={value})"), value.to_owned()))
    });
    assert_eq!(found.collect::<Vec<_>>(), expected.concat());
    let shown = sharebench.run(&["show", "last"]).unwrap().expect_success();
    assert!(shown.stdout.contains("nodelay"), "{}", shown.stdout);

    let refused = sharebench.run(&["sweep", "./here", "--vary", "nodelay=off"]).unwrap();
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--vary nodelay=: no target has this option"), "{}", refused.stderr);
}
