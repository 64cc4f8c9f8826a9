//! Mistakes with Kerberos: each ends with one sentence that names the cause, and exit code 3.

use sharebench_tests::{Ended, Failing, Realm, Sharebench, Smbd, SmbdOptions, needs};

/// Exit code as `sharebench --help` documents it.
const TARGET: i32 = 3;

type Variables = Vec<(&'static str, String)>;

fn sweep(sharebench: &Sharebench, variables: &Variables, arguments: &[&str]) -> Ended {
    let small = ["--file-sizes", "64KiB", "--record-sizes", "4KiB", "--repetitions", "1"];
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    sharebench.run_with(&[&["sweep"], arguments, &small[..]].concat(), &variables).unwrap()
}

fn expect(ended: &Ended, words: &[&str]) {
    assert_eq!(ended.code, Some(TARGET), "{}", ended.text());
    for word in words {
        assert!(ended.stderr.contains(word), "no '{word}' in: {}", ended.stderr);
    }
    for wrong in [Realm::PASSWORD, "hunter2", "panicked", "Err(", "Status {"] {
        assert!(!ended.text().contains(wrong), "'{wrong}' in: {}", ended.text());
    }
}

#[test]
fn each_mistake_is_one_sentence_and_exit_code_3() {
    needs!(Realm::NEEDS, Smbd::NEEDS);
    let Some(realm) = Realm::enter("bad_input::each_mistake_is_one_sentence_and_exit_code_3") else { return };
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions { keytab: Some(realm.keytab()), ..SmbdOptions::default() }).unwrap();
    let url = |options: &str| {
        let url = smbd.url("", &format!("auth=kerberos{options}"));
        url.replace("127.0.0.1", "localhost").replace(&format!("{}@", smbd.user()), "")
    };
    let keys = realm.user_keytab().display().to_string();
    let by_key = |principal: &'static str| ["--keytab", keys.as_str(), "--principal", principal];
    let own = realm.environment();
    let with_password = |password: &str| {
        let mut variables = own.clone();
        variables.push(("SHAREBENCH_PASSWORD", password.to_owned()));
        variables
    };
    let as_user = |name: &str| url("").replace("smb://", &format!("smb://{name}@"));

    expect(&sweep(&sharebench, &own, &[&url("")]), &["no Kerberos ticket", "kinit"]);
    expect(
        &sweep(&sharebench, &with_password("hunter2"), &[&as_user("alice")]),
        &["rejects the password", "alice"],
    );
    expect(
        &sweep(&sharebench, &with_password("hunter2"), &[&as_user("mallory")]),
        &["does not know", "mallory"],
    );
    let [a, b, c, d] = by_key("alice@NOWHERE.TEST");
    expect(&sweep(&sharebench, &own, &[&url(""), a, b, c, d]), &["keytab has no key", "NOWHERE.TEST"]);
    let elsewhere = as_user("alice").replace("auth=kerberos", "auth=kerberos&domain=NOWHERE.TEST");
    expect(&sweep(&sharebench, &with_password("hunter2"), &[&elsewhere]), &["wrong realm", "krb5.conf"]);
    let [a, b, c, d] = by_key("alice");
    let unknown = url("&spn=cifs/no-such-host");
    expect(
        &sweep(&sharebench, &own, &[&unknown, a, b, c, d]),
        &["does not know the service cifs/no-such-host"],
    );
    let keyless = url(&format!("&spn={}", Realm::WITHOUT_KEY));
    expect(&sweep(&sharebench, &own, &[&keyless, a, b, c, d]), &["no current key", Realm::WITHOUT_KEY]);
    let unreachable = realm.environment_without_kdc().unwrap();
    expect(&sweep(&sharebench, &unreachable, &[&url(""), a, b, c, d]), &["no KDC responds"]);
    realm.log_in_expired("alice").unwrap();
    expect(&sweep(&sharebench, &own, &[&url("")]), &["ticket is expired", "kinit"]);
}

#[test]
fn a_clock_that_differs_is_reported() {
    needs!(Realm::NEEDS, Smbd::NEEDS, Failing::NEEDS);
    let Some(realm) = Realm::enter("bad_input::a_clock_that_differs_is_reported") else { return };
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions { keytab: Some(realm.keytab()), ..SmbdOptions::default() }).unwrap();
    let failing = Failing::build().unwrap();
    failing.step_calendar(3600).unwrap();
    let mut variables = realm.environment();
    variables.push(("LD_PRELOAD", failing.library()));
    variables.push(failing.switch());
    let url = smbd.url("", "auth=kerberos").replace("127.0.0.1", "localhost");
    let keys = realm.user_keytab().display().to_string();
    let arguments = [url.as_str(), "--keytab", &keys, "--principal", "alice"];
    expect(&sweep(&sharebench, &variables, &arguments), &["clock differs"]);
}
