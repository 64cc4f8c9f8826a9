//! Loadfiles and shared sessions from the command line, on every embedded server.

use std::fs;
use std::time::Duration;

use sharebench_tests::{Sharebench, widen_window};

use crate::cli::load::steps::measured_by_all;
use crate::plans::left_in;
use crate::stored::Stored;

#[test]
fn loadfile_is_replayed_over_every_protocol_and_its_mistakes_are_reported_by_line() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let script = "# what one client did\n\
        0.00 NTCreateX \"\\clients\\client1\" 0x1 0x2 1 NT_STATUS_OK\n\
        0.00 Close 1 NT_STATUS_OK\n\
        0.01 NTCreateX \"\\clients\\client1\\A.DOC\" 0x40 0x1 2 NT_STATUS_OBJECT_NAME_NOT_FOUND\n\
        0.01 NTCreateX \"\\clients\\client1\\A.DOC\" 0x40 0x2 2 NT_STATUS_OK\n\
        0.01 NTCreateX \"\\clients\\client1\\A.DOC\" 0x40 0x2 3 NT_STATUS_OBJECT_NAME_COLLISION\n\
        0.02 WriteX 2 0 65536 65536 NT_STATUS_OK\n\
        0.02 LockX 2 0 1 NT_STATUS_OK\n\
        0.02 ReadX 2 61440 8192 4096 NT_STATUS_OK\n\
        0.03 UnlockX 2 0 1 NT_STATUS_OK\n\
        0.03 QUERY_FILE_INFORMATION 2 258 NT_STATUS_OK\n\
        0.03 SET_FILE_INFORMATION 2 1004 NT_STATUS_OK\n\
        0.03 Flush 2 NT_STATUS_OK\n\
        0.03 Close 2 NT_STATUS_OK\n\
        0.04 Rename \"\\clients\\client1\\a.doc\" \"\\clients\\client1\\b.doc\" NT_STATUS_OK\n\
        0.04 FIND_FIRST \"\\clients\\client1\\<.tmp\" 260 1366 0 NT_STATUS_NO_SUCH_FILE\n\
        0.04 FIND_FIRST \"\\clients\\client1\\*\" 260 1366 1 NT_STATUS_OK\n\
        0.04 Rmdir \"\\clients\\client1\" NT_STATUS_DIRECTORY_NOT_EMPTY\n\
        0.05 QUERY_PATH_INFORMATION \"\\clients\\client1\\b.doc\" 1004 NT_STATUS_OK\n\
        0.05 QUERY_FS_INFORMATION 259 NT_STATUS_OK\n\
        0.05 Unlink \"\\clients\\client1\\a.doc\" 0x6 NT_STATUS_OBJECT_NAME_NOT_FOUND\n";
    sharebench.write("client.txt", script).unwrap();
    let urls = [
        served.smb_url(""),
        served.nfs_url(""),
        served.ncp_url(""),
        "local".to_owned(),
        served.nfs4_url("", "vers=4.0"),
    ];
    let mut line = vec!["load", "--loadfile", "client.txt", "--users", "3", "--verify", "full"];
    line.extend(["--warm-up", "100ms"]);
    line.extend(urls.iter().map(String::as_str));
    // Directories, files and what failed as it had to; and what the file leaves is put back.
    let names = ["NTCreateX", "ReadX", "FIND_FIRST", "Rename", "restore"];
    let measure = |window: &str| {
        let ended = sharebench.run(&[&line[..], &["--measure", window]].concat());
        (ended.unwrap().expect_success(), Stored::last(&sharebench))
    };
    let (ended, stored) =
        widen_window(Duration::from_secs(2), measure, |(_, stored)| stored.all_have("transactions", &names));
    let notice = "each user replays 19 of the 20 operations of the loadfile in turn; 1 Close left out";
    assert!(ended.text().contains(notice), "{}", ended.text());
    let steps = stored.steps;
    for step in &steps {
        assert_eq!(step["errors"].to_string(), "{}", "{step}");
        assert_eq!(step["verified_bytes"], step["bytes"]["read"], "{step}");
        let transactions = step["load"]["transactions"].as_array().unwrap();
        for name in names {
            assert!(transactions.iter().any(|part| part["name"] == name), "{name}: {step}");
        }
        // NFSv3 has no locks of its own: its first lock is rejected, and the others are left out.
        let has_locks = step["target"] != 1;
        let left_out = step["load"]["left_out"].to_string();
        assert_eq!(left_out.contains("this client cannot lock byte ranges there"), !has_locks, "{step}");
        for name in ["LockX", "UnlockX"] {
            let of_name = transactions.iter().filter(|part| part["name"] == name);
            let count: u64 = of_name.map(|part| part["count"].as_u64().unwrap()).sum();
            assert_eq!(count > 0, has_locks, "what is left out is no transaction: {name}: {step}");
        }
    }
    assert_eq!(steps.len(), 5);
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
    sharebench
        .write(
            "plan.toml",
            "[load]\nusers = [1]\nmeasure = '300ms'\nwarm_up = '0s'\n[workload]\nloadfile = 'client.txt'\n",
        )
        .unwrap();
    let _ = sharebench.run(&["load", "local", "--preset", "plan.toml"]).unwrap().expect_success();
    sharebench
        .write("wrong.txt", &format!("{script}ReadY 2 0 1 1 NT_STATUS_OK\nClose 9 NT_STATUS_OK\n"))
        .unwrap();
    let wrong = sharebench.run(&["load", "local", "--loadfile", "wrong.txt"]).unwrap();
    assert_eq!(wrong.code, Some(2), "{}", wrong.text());
    for said in
        ["--loadfile: wrong.txt, line 22: 'ReadY' is no operation", "line 23: handle 9 is not open here"]
    {
        assert!(wrong.stderr.contains(said), "{}", wrong.text());
    }
    let missing = sharebench.run(&["load", "local", "--loadfile", "none.txt"]).unwrap();
    assert!(
        missing.code == Some(2) && missing.stderr.contains("--loadfile none.txt: No such file"),
        "{}",
        missing.text()
    );
    assert_eq!(left_in(&sharebench.home().join("local")), Vec::<String>::new());
}

#[test]
fn users_share_sessions_over_every_protocol() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let urls = [served.smb_url(""), served.nfs_url(""), served.ncp_url("")];
    let office = sharebench.run(&["presets", "office"]).unwrap().expect_success().stdout;
    let shared = office.replace("[load]\n", "[load]\nusers_per_session = 3\n");
    sharebench.write("shared.toml", &shared).unwrap();
    let mut line =
        vec!["load", "--preset", "shared.toml", "--users", "5", "--scale", "200KB", "--think", "exp:5ms"];
    line.extend(["--warm-up", "100ms", "--verify", "full"]);
    line.extend(urls.iter().map(String::as_str));
    let (ended, stored) = measured_by_all(&sharebench, &line, Duration::from_secs(2));
    // NCP has one request in flight per connection and the others wait, which the program reports.
    assert!(
        ended.stderr.contains("3 users share a session that carries 1 request at a time"),
        "{}",
        ended.text()
    );
    for step in stored.steps {
        assert_eq!(step["errors"].to_string(), "{}", "{step}");
        assert_eq!(step["verified_bytes"], step["bytes"]["read"], "{step}");
        let load = &step["load"];
        assert!(load["users_per_session"] == 3 && load["fairness"]["users"] == 5, "{step}");
        assert!(!step["checks"].to_string().contains("\"verdict\":\"invalid\""), "{}", step["checks"]);
    }
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
    let wrong = sharebench.run(&["load", &urls[1], "plan:users_per_session=0"]).unwrap();
    assert!(wrong.code == Some(2) && wrong.stderr.contains("load.users_per_session: 0"), "{}", wrong.text());
}
