//! Mistakes with Kerberos: each ends with one sentence that names the cause, and exit code 3.

use std::net::TcpListener;
use std::sync::Arc;

use sharebench_gss::AcceptorKeys;
use sharebench_server::{EmbeddedServers, MemoryVolume, ServeOptions, Volume};
use sharebench_tests::{Ended, Failing, Realm, Sharebench, Smbd, SmbdOptions, expect_listed, needs};

use crate::tampering::{Sender, Tampering, flipped, tamper};

/// Exit code as `sharebench --help` documents it.
const TARGET: i32 = 3;

type Variables = Vec<(&'static str, String)>;

fn sweep(sharebench: &Sharebench, variables: &Variables, arguments: &[&str]) -> Ended {
    let small = ["--file-sizes", "64KiB", "--record-sizes", "4KiB", "--repetitions", "1"];
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    sharebench.run_with(&[&["sweep"], arguments, &small[..]].concat(), &variables).unwrap()
}

/// The option that logs in as a principal with its key.
fn as_principal(sharebench: &Sharebench, keytab: &str, principal: &str) -> [String; 2] {
    let file = sharebench.identity("who.toml", &[("keytab", keytab), ("principal", principal)]);
    ["--identity".to_owned(), file.unwrap()]
}

fn expect(ended: &Ended, words: &[&str]) {
    assert_eq!(ended.code, Some(TARGET), "{}", ended.text());
    expect_listed(&ended.stderr);
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
    let by_key = |principal: &str| as_principal(&sharebench, &keys, principal);
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
    let [a, b] = &by_key("alice@NOWHERE.TEST");
    expect(&sweep(&sharebench, &own, &[&url(""), a, b]), &["keytab has no key", "NOWHERE.TEST"]);
    let elsewhere = as_user("alice").replace("auth=kerberos", "auth=kerberos&domain=NOWHERE.TEST");
    expect(&sweep(&sharebench, &with_password("hunter2"), &[&elsewhere]), &["wrong realm", "krb5.conf"]);
    let [a, b] = &by_key("alice");
    let unknown = url("&spn=cifs/no-such-host");
    expect(&sweep(&sharebench, &own, &[&unknown, a, b]), &["does not know the service cifs/no-such-host"]);
    let [keyless_service, _] = Realm::WITHOUT_KEY;
    let keyless = url(&format!("&spn={keyless_service}"));
    expect(&sweep(&sharebench, &own, &[&keyless, a, b]), &["no current key", keyless_service]);
    let unreachable = realm.environment_with_kdc_at(1).unwrap();
    expect(&sweep(&sharebench, &unreachable, &[&url(""), a, b]), &["no KDC responds"]);
    realm.log_in_expired("alice").unwrap();
    expect(&sweep(&sharebench, &own, &[&url("")]), &["ticket is expired", "kinit"]);
}

#[test]
fn a_probe_logs_in_with_the_ticket_that_a_run_would_use() {
    needs!(Realm::NEEDS, Smbd::NEEDS);
    let Some(realm) = Realm::enter("bad_input::a_probe_logs_in_with_the_ticket_that_a_run_would_use") else {
        return;
    };
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions { keytab: Some(realm.keytab()), ..SmbdOptions::default() }).unwrap();
    let named = smbd.url("", "auth=kerberos").replace("127.0.0.1", "localhost");
    let unnamed = named.replace(&format!("{}@", smbd.user()), "");
    let variables: Vec<String> =
        realm.environment().iter().map(|(name, value)| format!("{name}={value}")).collect();
    let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
    // Without the password of the tests, which would log in too.
    let probe = |url: &str, more: &str| {
        let script = format!("exec \"$0\" probe '{url}' --timeout=60s {more}");
        let words = [&["env", "-u", "SHAREBENCH_PASSWORD"], &variables[..], &["sh", "-c", &script]].concat();
        sharebench.run_by(&words).unwrap()
    };
    for url in [&named, &unnamed] {
        let without = probe(url, "");
        assert_eq!(without.code, Some(3), "{}", without.text());
        assert!(
            without.stdout.contains("usable: no") && without.stdout.contains("kinit"),
            "{}",
            without.text()
        );
    }
    let keys = realm.user_keytab().display().to_string();
    let by_key = probe(&unnamed, &as_principal(&sharebench, &keys, smbd.user()).join(" "));
    realm.log_in(&[smbd.user()]).unwrap();
    let account = format!("account {}", smbd.user());
    let of_ticket = "account of the Kerberos ticket";
    for (found, shown) in
        [(by_key, of_ticket), (probe(&unnamed, ""), of_ticket), (probe(&named, ""), account.as_str())]
    {
        assert_eq!(found.code, Some(0), "{}", found.text());
        assert!(found.stdout.contains(shown), "{}", found.text());
    }
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
    let [flag, file] = &as_principal(&sharebench, &keys, "alice");
    let arguments = [url.as_str(), flag, file];
    expect(&sweep(&sharebench, &variables, &arguments), &["clock differs"]);
}

/// Our servers, with the keys of the realm or without Kerberos.
fn serve(realm: Option<&Realm>) -> (EmbeddedServers, [u16; 2]) {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(64 << 20));
    let keys = realm.map(|realm| AcceptorKeys::read(&realm.keytab()).unwrap());
    let any = Some(([127, 0, 0, 1], 0).into());
    let options = ServeOptions { smb: any, nfs: any, keys, ..ServeOptions::default() };
    let servers = EmbeddedServers::start(&volume, &options).unwrap();
    let ports = ["smb", "nfs"].map(|protocol| servers.addr(protocol).unwrap().port());
    (servers, ports)
}

fn nfs(port: u16, options: &str) -> String {
    let mount = if options.contains("vers=4") { String::new() } else { format!("mountport={port}&") };
    format!("nfs://localhost:{port}/share?{mount}{options}")
}

fn smb(port: u16) -> String {
    format!("smb://localhost:{port}/share?auth=kerberos")
}

#[test]
fn each_mistake_with_nfs_is_one_sentence_and_exit_code_3() {
    needs!(Realm::NEEDS);
    let test = "bad_input::each_mistake_with_nfs_is_one_sentence_and_exit_code_3";
    let Some(realm) = Realm::enter(test) else { return };
    let sharebench = Sharebench::new().unwrap();
    let (_servers, [_, port]) = serve(Some(&realm));
    let (_without, [_, open]) = serve(None);
    let keys = realm.user_keytab().display().to_string();
    let as_alice = as_principal(&sharebench, &keys, "alice");
    let as_alice = as_alice.each_ref().map(String::as_str);
    let own = realm.environment();
    let run = |url: &str| sweep(&sharebench, &own, &[&[url][..], &as_alice].concat());
    for version in ["vers=3", "vers=4.1"] {
        let of = |port, options: &str| nfs(port, &format!("{version}&{options}"));
        expect(&sweep(&sharebench, &own, &[&of(port, "sec=krb5p")]), &["no Kerberos ticket", "kinit"]);
        let unknown = of(port, "sec=krb5&spn=nfs/no-such-host");
        expect(&run(&unknown), &["does not know the service nfs/no-such-host"]);
        let [_, keyless] = Realm::WITHOUT_KEY;
        expect(&run(&of(port, &format!("sec=krb5i&spn={keyless}"))), &["no current key for its name"]);
        expect(&sweep(&sharebench, &own, &[&of(port, "sec=sys")]), &["Kerberos only", "krb5i"]);
        expect(&run(&of(open, "sec=krb5")), &["sec=sys"]);
    }
}

#[test]
fn a_kdc_that_accepts_connections_and_never_answers_is_reported() {
    needs!(Realm::NEEDS);
    let Some(realm) = Realm::enter("bad_input::a_kdc_that_accepts_connections_and_never_answers_is_reported")
    else {
        return;
    };
    let sharebench = Sharebench::new().unwrap();
    let (_servers, [smb_port, nfs_port]) = serve(Some(&realm));
    // The kernel accepts what nobody takes from the queue.
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let variables = realm.environment_with_kdc_at(silent.local_addr().unwrap().port()).unwrap();
    let keys = realm.user_keytab().display().to_string();
    let [flag, file] = as_principal(&sharebench, &keys, "alice");
    std::thread::scope(|scope| {
        for url in [smb(smb_port), nfs(nfs_port, "vers=4.1&sec=krb5")] {
            let arguments = [url, flag.clone(), file.clone()];
            let sharebench = &sharebench;
            let variables = &variables;
            scope.spawn(move || {
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                expect(&sweep(sharebench, variables, &arguments), &["no KDC responds"]);
            });
        }
    });
}

/// Changes of messages of NFSv4.1: the first of each side carries a token, later ones are protected.
const NFS: [(&str, Tampering, &[&str]); 8] = [
    (
        "a changed ticket",
        Tampering { sender: Sender::Client, number: 0, change: |message, _| flipped(message, 8) },
        &["rejects the Kerberos ticket"],
    ),
    (
        "a changed answer to the ticket",
        Tampering { sender: Sender::Server, number: 0, change: |message, _| flipped(message, 8) },
        &["Kerberos token has a wrong signature"],
    ),
    (
        "a call with a wrong signature",
        Tampering {
            sender: Sender::Client,
            number: 1,
            change: |mut message, _| {
                // The header is followed by flavor and length of the credential, which is in words.
                let verifier = 32 + u32::from_be_bytes(message[28..32].try_into().unwrap()) as usize;
                message[verifier + 12] ^= 1;
                vec![message]
            },
        },
        &["RPCSEC_GSS_CREDPROBLEM"],
    ),
    (
        "a reply with a wrong signature",
        Tampering {
            sender: Sender::Server,
            number: 1,
            change: |mut message, _| {
                // The checksum of the token follows the header of the reply and its own.
                message[40] ^= 1;
                vec![message]
            },
        },
        &["RPCSEC_GSS", "signature"],
    ),
    (
        "encrypted results with a changed bit",
        Tampering { sender: Sender::Server, number: 1, change: |message, _| flipped(message, 8) },
        &["RPCSEC_GSS", "signature"],
    ),
    (
        "truncated encrypted results",
        Tampering {
            sender: Sender::Server,
            number: 1,
            change: |message, _| vec![message[..message.len() - 8].to_vec()],
        },
        &["RPCSEC_GSS"],
    ),
    (
        "the previous reply once more, with the xid of the call",
        Tampering {
            sender: Sender::Server,
            number: 2,
            change: |message, before| vec![[&message[..4], &before[4..]].concat()],
        },
        &["RPCSEC_GSS", "signature"],
    ),
    (
        "truncated encrypted arguments",
        Tampering {
            sender: Sender::Client,
            number: 1,
            change: |message, _| vec![message[..message.len() - 8].to_vec()],
        },
        &["GARBAGE_ARGS"],
    ),
];

#[test]
fn changed_replayed_and_truncated_messages_of_nfs_are_rejected() {
    needs!(Realm::NEEDS);
    let test = "bad_input::changed_replayed_and_truncated_messages_of_nfs_are_rejected";
    let Some(realm) = Realm::enter(test) else { return };
    let sharebench = Sharebench::new().unwrap();
    let (_servers, [_, server]) = serve(Some(&realm));
    let keys = realm.user_keytab().display().to_string();
    let as_alice = as_principal(&sharebench, &keys, "alice");
    let as_alice = as_alice.each_ref().map(String::as_str);
    let own = realm.environment();
    let run = |tampering| {
        let url = nfs(tamper(server, tampering).unwrap(), "vers=4.1&sec=krb5p");
        sweep(&sharebench, &own, &[&[url.as_str()][..], &as_alice].concat())
    };
    for (name, tampering, words) in NFS {
        let ended = run(tampering);
        println!("{name}: {}", ended.stderr);
        expect(&ended, words);
    }
    // The server performs a replayed call once and does not answer it again (RFC 2203 5.3.3.1).
    let twice = |message: Vec<u8>, _: &[u8]| vec![message.clone(), message];
    let ended = run(Tampering { sender: Sender::Client, number: 3, change: twice });
    assert_eq!(ended.code, Some(0), "{}", ended.text());
}

/// Changes of the messages of an SMB login: NEGOTIATE is number 0, `SESSION_SETUP` number 1.
const SMB: [(&str, Tampering, &[&str]); 4] = [
    (
        "the choice of another mechanism",
        Tampering {
            sender: Sender::Server,
            number: 1,
            change: |mut message, _| {
                // The identifier of Kerberos 5 (RFC 4121 4.1).
                let kerberos = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02";
                let at = message.windows(9).position(|bytes| bytes == kerberos).unwrap();
                message[at + 8] ^= 1;
                vec![message]
            },
        },
        &["requires Kerberos"],
    ),
    (
        "a changed ticket",
        Tampering { sender: Sender::Client, number: 1, change: |message, _| flipped(message, 8) },
        &["rejects the Kerberos ticket"],
    ),
    (
        "a changed answer to the ticket",
        Tampering { sender: Sender::Server, number: 1, change: |message, _| flipped(message, 8) },
        &["Kerberos token has a wrong signature"],
    ),
    (
        "a truncated answer to the ticket",
        Tampering {
            sender: Sender::Server,
            number: 1,
            change: |message, _| vec![message[..message.len() - 8].to_vec()],
        },
        &["SessionSetupResponse"],
    ),
];

#[test]
fn changed_and_truncated_tokens_of_smb_are_rejected() {
    needs!(Realm::NEEDS);
    let Some(realm) = Realm::enter("bad_input::changed_and_truncated_tokens_of_smb_are_rejected") else {
        return;
    };
    let sharebench = Sharebench::new().unwrap();
    let (_servers, [server, _]) = serve(Some(&realm));
    let keys = realm.user_keytab().display().to_string();
    for (name, tampering, words) in SMB {
        let url = smb(tamper(server, tampering).unwrap());
        let [flag, file] = &as_principal(&sharebench, &keys, "alice");
        let arguments = [url.as_str(), flag, file];
        let ended = sweep(&sharebench, &realm.environment(), &arguments);
        println!("{name}: {}", ended.stderr);
        expect(&ended, words);
    }
}

#[test]
fn a_server_with_ntlm_only_is_rejected() {
    needs!(Realm::NEEDS);
    let Some(realm) = Realm::enter("bad_input::a_server_with_ntlm_only_is_rejected") else { return };
    let sharebench = Sharebench::new().unwrap();
    // It has no keytab.
    let (_servers, [server, _]) = serve(None);
    let keys = realm.user_keytab().display().to_string();
    let url = smb(server);
    let [flag, file] = &as_principal(&sharebench, &keys, "alice");
    let arguments = [url.as_str(), flag, file];
    expect(&sweep(&sharebench, &realm.environment(), &arguments), &["offers NTLM only", "requires Kerberos"]);
}
