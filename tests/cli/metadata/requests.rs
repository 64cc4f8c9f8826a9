//! Metadata tests on every kind of target: no error, the requests that the documentation states, and nothing left.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use sharebench_plan::{MetadataGroup, MetadataTest};
use sharebench_tests::{Ganesha, GaneshaOptions, Sharebench, Smbd, SmbdOptions, needs};

use crate::plans::left_in;
use crate::stored::Stored;

fn test_of(step: &Value) -> MetadataTest {
    step["coordinates"]["test"]["text"].as_str().unwrap().parse().unwrap()
}

/// Requests per operation of one target in the order of the tests; those of listings are below one.
fn requests(stored: &Stored, target: usize) -> BTreeMap<MetadataTest, f64> {
    let of_target = stored.steps.iter().filter(|step| step["target"] == target);
    let ratio = |step: &Value| {
        step["wire"]["requests"].as_f64().unwrap_or(0.0) / step["operations"].as_f64().unwrap()
    };
    of_target.map(|step| (test_of(step), ratio(step))).collect()
}

/// The requests of the table in docs/measure/metadata.md.
#[expect(clippy::match_same_arms, reason = "the numbers of each protocol in one place")]
fn documented(protocol: &str, test: MetadataTest) -> Option<f64> {
    let number = match (protocol, test) {
        (_, MetadataTest::ReadDirectory | MetadataTest::ReadDirectoryAttributes | MetadataTest::TreeWalk) => {
            return None;
        }
        (
            "nfs3",
            MetadataTest::CreateWrite
            | MetadataTest::SetAttributes
            | MetadataTest::Link
            | MetadataTest::Truncate
            | MetadataTest::OpenReadClose
            | MetadataTest::StatThenOpen,
        ) => 2,
        ("nfs3", _) => 1,
        (
            "nfs4",
            MetadataTest::CreateWrite
            | MetadataTest::Truncate
            | MetadataTest::OpenReadClose
            | MetadataTest::StatThenOpen,
        ) => 3,
        ("nfs4", MetadataTest::Create | MetadataTest::OpenClose) => 2,
        ("nfs4", _) => 1,
        ("smb", MetadataTest::StatMiss) => 1,
        (
            "smb",
            MetadataTest::MakeDirectory | MetadataTest::Create | MetadataTest::OpenClose | MetadataTest::Stat,
        ) => 2,
        ("smb", MetadataTest::StatThenOpen) => 4,
        ("smb", _) => 3,
        _ => return None,
    };
    Some(f64::from(number))
}

#[test]
fn every_metadata_test_is_clean_on_every_target() {
    needs!(Smbd::NEEDS, Ganesha::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let served = sharebench.serve("served").unwrap();
    for name in ["smb", "nfs", "nfs4", "ncp"] {
        fs::create_dir(served.directory().join(name)).unwrap();
    }
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    // Version 4 has no mount service.
    let nfs4 = served.nfs_url("nfs4").split('?').next().unwrap().to_owned() + "?vers=4.1";
    let targets = [
        ("local", "./local".to_owned()),
        ("smb", served.smb_url("smb")),
        ("nfs3", served.nfs_url("nfs") + "&vers=3"),
        ("nfs4", nfs4),
        ("ncp", served.ncp_url("ncp")),
        ("smb", smbd.url("", "")),
        ("nfs3", ganesha.url("", "vers=3")),
    ];
    let target = |(number, (kind, url)): (usize, &(&str, String))| {
        format!("[[target]]\nname = '{kind}-{number}'\nurl = '{url}'\n")
    };
    let sections: String = targets.iter().enumerate().map(target).collect();
    let plan = format!(
        "seed = 7\nrepetitions = 1\nmin_sample_time = '2ms'\nverify = 'full'\n{sections}[sweep]\n\
         tests = ['metadata']\nentries = [25]\nbatch = 10\njobs = [2]\nlayouts = ['own', 'shared']\n"
    );
    sharebench.write("plan.toml", &plan).unwrap();
    let ended = sharebench.run(&["run", "plan.toml"]).unwrap().expect_success();
    let stored = Stored::read(&sharebench, 1);
    for step in &stored.steps {
        assert_eq!(step["errors"], serde_json::json!({}), "{step}");
        assert_ne!(step["verdict"], "invalid", "{step}");
        assert_eq!(step["verified_bytes"], step["bytes"]["read"], "{step}");
    }
    for (number, (kind, _)) in targets.iter().enumerate() {
        let requests = requests(&stored, number);
        println!("{kind}-{number}: {requests:.2?}");
        for test in MetadataTest::of_group(MetadataGroup::Names) {
            let Some(found) = requests.get(&test) else {
                // Not every server has links.
                let reason = format!("{kind}-{number}: skipped {test}: not supported here");
                assert!(ended.text().contains(&reason), "{reason}: {}", ended.text());
                assert_eq!(test, MetadataTest::Link, "{kind}-{number}");
                continue;
            };
            if let Some(documented) = documented(kind, test) {
                assert!((found - documented).abs() < 1e-9, "{kind}-{number} {test}: {found}");
            }
        }
    }
    let directories = ["smb", "nfs", "nfs4", "ncp"].map(|name| served.directory().join(name));
    let others = [sharebench.home().join("local"), smbd.share(), ganesha.directory()];
    for directory in directories.into_iter().chain(others) {
        assert_eq!(left_in(&directory), Vec::<String>::new());
    }
}

/// A plan of the tests of names at depths 1 and 8, and of the targets by name and URL.
fn plan_of_depths(targets: &[(&str, String)]) -> String {
    let section = |(name, url): &(&str, String)| format!("[[target]]\nname = '{name}'\nurl = '{url}'\n");
    let sections = targets.iter().map(section).collect::<Vec<_>>().concat();
    format!(
        "seed = 7\nrepetitions = 1\nmin_sample_time = '2ms'\nverify = 'full'\n{sections}[sweep]\n\
         tests = ['metadata']\nentries = [60]\nbatch = 40\ndepths = [1, 8]\nlayouts = ['own', 'tree']\ntree_fan_out = 2\n"
    )
}

/// Every step is clean, and takes the documented requests whatever its depth. `kinds` are the protocols of the targets.
fn check_depths(stored: &Stored, kinds: &[&str]) {
    for step in &stored.steps {
        assert_eq!(step["errors"], serde_json::json!({}), "{step}");
        assert_ne!(step["verdict"], "invalid", "{step}");
        assert_eq!(step["verified_bytes"], step["bytes"]["read"], "{step}");
        let kind = kinds[step["target"].as_u64().unwrap() as usize];
        // The first open of each owner of NFS 4.0 is confirmed by a request of its own (RFC 7530, 16.18). Each open in flight has an
        // owner. Any step may contain the RENEW of the lease.
        let depth = step["coordinates"]["queue_depth"]["count"].as_u64().unwrap_or(1);
        let (kind, others) = if kind == "nfs40" { ("nfs4", depth + 1) } else { (kind, 0) };
        if let Some(documented) = documented(kind, test_of(step)) {
            let requests = step["wire"]["requests"].as_u64().unwrap();
            let expected = (documented * step["operations"].as_f64().unwrap()).round() as u64;
            assert!((expected..=expected + others).contains(&requests), "{requests}: {step}");
        }
    }
}

/// Steps of a target by depth: 1, and 8.
fn steps_by_depth(stored: &Stored, target: usize) -> (usize, usize) {
    let of_target = || stored.steps.iter().filter(|step| step["target"] == target);
    let deep = of_target().filter(|step| step["coordinates"]["queue_depth"]["count"] == 8).count();
    (of_target().count() - deep, deep)
}

#[test]
fn metadata_tests_are_clean_at_a_queue_depth_on_our_servers() {
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let served = sharebench.serve("served").unwrap();
    let directories = ["smb", "smb2", "nfs", "nfs2", "nfs40", "nfs41", "ncp"];
    for name in directories {
        fs::create_dir(served.directory().join(name)).unwrap();
    }
    let targets = [
        ("smb", served.smb_url("smb")),
        ("smb-2-connections", served.smb_url("smb2") + "?channels=2"),
        ("nfs3", served.nfs_url("nfs") + "&vers=3"),
        ("nfs3-2-connections", served.nfs_url("nfs2") + "&vers=3&nconnect=2"),
        ("nfs40", served.nfs4_url("nfs40", "vers=4.0")),
        ("nfs41", served.nfs4_url("nfs41", "vers=4.1&nconnect=2")),
        ("ncp", served.ncp_url("ncp")),
        ("local", "./local".to_owned()),
    ];
    sharebench.write("plan.toml", &plan_of_depths(&targets)).unwrap();
    let ended = sharebench.run(&["run", "plan.toml"]).unwrap().expect_success();
    let stored = Stored::read(&sharebench, 1);
    check_depths(&stored, &["smb", "smb", "nfs3", "nfs3", "nfs40", "nfs4", "ncp", "local"]);
    let names = MetadataTest::of_group(MetadataGroup::Names);
    let deep = names.iter().filter(|test| test.declaration().takes_depth).count();
    for (number, (name, _)) in targets.iter().enumerate() {
        let skipped = usize::from(ended.text().contains(&format!("{name}: skipped link")));
        let takes_depth = *name != "ncp";
        let tests = names.len() - skipped;
        let deep = if takes_depth { deep - skipped } else { 0 };
        assert_eq!(steps_by_depth(&stored, number), (2 * tests, 2 * deep), "{name}: {}", ended.text());
    }
    let reason = "NCP has one request in flight per connection";
    assert!(ended.text().contains(reason), "{reason}: {}", ended.text());
    for name in directories {
        assert_eq!(left_in(&served.directory().join(name)), Vec::<String>::new(), "{name}");
    }
    assert_eq!(left_in(&sharebench.home().join("local")), Vec::<String>::new());
}

#[test]
fn metadata_tests_are_clean_at_a_queue_depth_on_samba_and_ganesha() {
    needs!(Smbd::NEEDS, Ganesha::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let targets =
        [("smb", smbd.url("", "")), ("nfs3", ganesha.url("", "vers=3")), ("nfs4", ganesha.url4("", "4.1"))];
    sharebench.write("plan.toml", &plan_of_depths(&targets)).unwrap();
    let _ = sharebench.run(&["run", "plan.toml"]).unwrap().expect_success();
    let stored = Stored::read(&sharebench, 1);
    check_depths(&stored, &["smb", "nfs3", "nfs4"]);
    for number in 0..targets.len() {
        let (_, deep) = steps_by_depth(&stored, number);
        assert!(deep > 0, "{number}");
    }
    assert_eq!(left_in(&smbd.share()), Vec::<String>::new());
    assert_eq!(left_in(&ganesha.directory()), Vec::<String>::new());
}
