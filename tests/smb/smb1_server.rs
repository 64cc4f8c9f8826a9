//! `serve --smb1`: SMB1 of the embedded server, used by this program and by smbclient.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use sharebench_tests::program::run;
use sharebench_tests::{Need, Served, Sharebench, Smbd, SourceTree, needs, widen_window};

use crate::plans::left_in;
use crate::stored::Stored;

fn serve(sharebench: &Sharebench) -> Served {
    let served = sharebench.serve_by(&[], "served", &["--smb1"]).unwrap();
    let log = fs::read_to_string(sharebench.home().join("served.log")).unwrap();
    assert!(log.contains("warning: --smb1 is unsafe"), "{log}");
    served
}

fn is_clean(step: &Value) {
    assert_eq!(step["errors"], serde_json::json!({}), "{step}");
    assert_eq!(step["verified_bytes"], step["bytes"]["read"], "{step}");
    assert_ne!(step["verdict"], "invalid", "{step}");
}

#[test]
fn every_test_of_a_sweep_an_office_load_and_locks_are_verified_over_smb1() {
    let sharebench = Sharebench::new().unwrap();
    let served = serve(&sharebench);
    let url = served.smb_url("?dialect=nt1");
    let plan = format!(
        "seed = 7\nrepetitions = 1\nmin_sample_time = '5ms'\nverify = 'full'\n[[target]]\nname = 'smb1'\nurl = '{url}'\n\
         [sweep]\nfile_sizes = ['128KiB']\nrecord_sizes = ['4KiB..16KiB x4']\ntests = ['requests', 'streams']\n\
         stride = [5]\ndepths = [1, 8]\n"
    );
    sharebench.write("plan.toml", &plan).unwrap();
    let _ = sharebench.run(&["run", "plan.toml"]).unwrap().expect_success();
    let swept = Stored::last(&sharebench);
    let measure = |window: &str| {
        let times = ["--think", "exp:5ms", "--warm-up", "100ms", "--measure", window, "--verify", "full"];
        let line = ["load", &url, "--preset", "office", "--users", "3", "--scale", "600KB"];
        let _ = sharebench.run(&[&line[..], &times].concat()).unwrap().expect_success();
        Stored::last(&sharebench)
    };
    let loaded = widen_window(Duration::from_millis(1500), measure, Stored::all_users_reported);
    let line = ["sweep", &url, "--tests", "locks", "--jobs", "3", "--repetitions", "1"];
    let _ = sharebench.run(&[&line[..], &["plan:min_sample_time=5ms"]].concat()).unwrap().expect_success();
    let locked = Stored::last(&sharebench);
    for stored in [&swept, &loaded, &locked] {
        assert!(!stored.steps.is_empty());
        stored.steps.iter().for_each(is_clean);
    }
    let locks = ["lock", "lock-neighbours", "lock-contended", "share-conflict"];
    assert_eq!(locked.measured(0, &locks), locks);
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
}

#[test]
fn smbclient_uses_smb1_of_the_embedded_server_signed_and_unsigned() {
    needs!([Need::Program("smbclient")]);
    let sharebench = Sharebench::new().unwrap();
    let served = serve(&sharebench);
    let source = SourceTree::make().unwrap();
    let credentials = format!("{}%{}", Served::USER, Smbd::PASSWORD);
    let port = served.smb_port.to_string();
    for protection in ["off", "sign"] {
        let back = sharebench.home().join(format!("back-{protection}"));
        fs::create_dir(&back).unwrap();
        let from = source.path().display();
        let to = back.display();
        let smbclient = |commands: &str| {
            let protection = format!("--client-protection={protection}");
            let line = ["smbclient", "//127.0.0.1/share", "-m", "NT1", "-p", &port, "-U", &credentials];
            let options = ["--option=client min protocol=NT1", &protection, "-c", commands];
            run(&[&line[..], &options].concat(), &[]).unwrap()
        };
        let _ = smbclient(&format!("prompt off; recurse on; lcd {from}; put big; mput tree"));
        source.compare(served.directory(), &[]).unwrap();
        let _ = smbclient(&format!("prompt off; recurse on; lcd {to}; get big; mget tree"));
        source.compare(&back, &[]).unwrap();
        let listed = smbclient(
            "mkdir made; rename big made\\moved; cd made; ls; allinfo moved; del moved; cd ..; rmdir made",
        );
        assert!(listed.contains("moved") && listed.contains("blocks available"), "{listed}");
        let _ = smbclient("deltree tree");
        assert_eq!(fs::read_dir(served.directory()).unwrap().count(), 0);
    }
}
