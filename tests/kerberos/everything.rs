//! Every test of a sweep and two presets over Kerberos on each server, and the table of them in docs/results/kerberos.md.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use sharebench_gss::AcceptorKeys;
use sharebench_server::{EmbeddedServers, MemoryVolume, ServeOptions, Volume};
use sharebench_tests::program::run;
use sharebench_tests::{
    DomainController, Ganesha, GaneshaOptions, Outcomes, Realm, Sharebench, Smbd, SmbdOptions, needs,
    widen_window,
};

use crate::stored::Stored;

/// A server at one level of security.
struct KerberosTarget {
    server: &'static str,
    security: String,
    url: String,
}

/// Who logs in, and from where.
struct Client {
    words: Vec<String>,
    keytab: String,
    principal: String,
}

/// Two presets: copied files, and a load with files of all kinds.
const PRESETS: [&str; 2] = ["copy", "fsct-homefolders"];

impl Client {
    /// Runs the program with the login of this client.
    fn run(&self, sharebench: &Sharebench, arguments: &str, place: &KerberosTarget) {
        let Self { words, keytab, principal } = self;
        let identity = [("keytab", keytab.as_str()), ("principal", principal.as_str())];
        let identity = sharebench.identity("who.toml", &identity).unwrap();
        let line = arguments.split(' ').chain([place.url.as_str(), "--identity", &identity]);
        let line = sharebench.line(&line.collect::<Vec<_>>()).unwrap();
        let quoted: Vec<String> = line.iter().map(|word| format!("'{word}'")).collect();
        let script = format!("exec \"$0\" {}", quoted.join(" "));
        let words: Vec<&str> = words.iter().map(String::as_str).chain(["sh", "-c", &script]).collect();
        let ended = sharebench.run_by(&words).unwrap();
        assert_eq!(ended.code, Some(0), "{} {}: {}", place.server, place.security, ended.text());
    }

    /// All tests and presets on one server, and the row of the table.
    fn row(&self, sharebench: &Sharebench, place: &KerberosTarget) -> Vec<String> {
        let sizes = "--file-sizes 128KiB --record-sizes 4KiB plan:stride=5 --depths 1,4";
        let once = "--repetitions 1 plan:min_sample_time=5ms --verify full --seed 7";
        self.run(sharebench, &format!("sweep --tests requests,streams {sizes} {once}"), place);
        let steps = Stored::last(sharebench);
        assert_clean(&steps);
        let tests: BTreeSet<&str> =
            steps.steps.iter().filter_map(|step| step["coordinates"]["test"]["text"].as_str()).collect();
        let mut row =
            vec![place.server.to_owned(), place.security.clone(), format!("{} verified", tests.len())];
        for preset in PRESETS {
            let measure = |window: &str| {
                let windows = format!("--warm-up 100ms --measure {window} --verify full --seed 7");
                let load = format!(
                    "load --preset {preset} --users 2 --think exp:5ms --scale 600KB --block 32KiB {windows}"
                );
                self.run(sharebench, &load, place);
                Stored::last(sharebench)
            };
            let steps = widen_window(Duration::from_millis(1500), measure, Stored::all_users_reported);
            assert_clean(&steps);
            row.push("verified".to_owned());
        }
        row
    }
}

/// No operation of a run failed, and every byte that was read was checked.
fn assert_clean(stored: &Stored) {
    assert!(!stored.steps.is_empty() && stored.steps.len() == stored.planned);
    for step in &stored.steps {
        assert_eq!(step["errors"], serde_json::json!({}), "{step}");
        assert_eq!(step["verified_bytes"], step["bytes"]["read"], "{step}");
        assert_ne!(step["verdict"], "invalid", "{step}");
    }
}

/// The SMB levels of a server.
fn smb(server: &'static str, url: &str) -> Vec<KerberosTarget> {
    [("signed", "sign=required"), ("encrypted", "encrypt=required")]
        .map(|(security, option)| KerberosTarget {
            server,
            security: format!("SMB, {security}"),
            url: format!("{url}&{option}"),
        })
        .into()
}

/// The NFS levels of a server, in versions 3 and 4.1.
fn nfs(server: &'static str, version_3: &str, version_4: &str) -> Vec<KerberosTarget> {
    let mut places = Vec::new();
    for (name, url) in [("NFSv3", version_3), ("NFSv4.1", version_4)] {
        for flavor in ["krb5", "krb5i", "krb5p"] {
            let security = format!("{name}, `{flavor}`");
            places.push(KerberosTarget { server, security, url: format!("{url}&sec={flavor}") });
        }
    }
    places
}

#[test]
fn all_tests_and_two_presets_are_verified_over_kerberos_on_each_server() {
    needs!(Realm::NEEDS, Smbd::NEEDS, Ganesha::NEEDS);
    let test = "everything::all_tests_and_two_presets_are_verified_over_kerberos_on_each_server";
    let Some(realm) = Realm::enter(test) else { return };
    let sharebench = Sharebench::new().unwrap();
    let keys = AcceptorKeys::read(&realm.keytab()).unwrap();
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(256 << 20));
    let any = Some(([127, 0, 0, 1], 0).into());
    let options = ServeOptions { smb: any, nfs: any, keys: Some(keys), ..ServeOptions::default() };
    let ours = EmbeddedServers::start(&volume, &options).unwrap();
    let [smb_port, nfs_port] = ["smb", "nfs"].map(|protocol| ours.addr(protocol).unwrap().port());
    let keytab = Some(realm.keytab());
    let smbd = Smbd::start(&SmbdOptions { keytab: keytab.clone(), ..SmbdOptions::default() }).unwrap();
    let flavor = Some("krb5,krb5i,krb5p");
    let ganesha = Ganesha::start(&GaneshaOptions { flavor, keytab, ..GaneshaOptions::default() }).unwrap();
    let named = |url: String| url.replace("127.0.0.1", "localhost").replace(&format!("{}@", smbd.user()), "");

    let mut places = smb("smbd (Samba 4.17) with a keytab", &named(smbd.url("", "auth=kerberos")));
    places.extend(smb("`sharebench serve`", &format!("smb://localhost:{smb_port}/share?auth=kerberos")));
    let ganesha_v4 = named(ganesha.url4("", "4.1"));
    places.extend(nfs("NFS-Ganesha 4.3", &named(ganesha.url("", "vers=3")), &ganesha_v4));
    let ours_v3 = format!("nfs://localhost:{nfs_port}/share?mountport={nfs_port}");
    let ours_v4 = format!("nfs://localhost:{nfs_port}/share?vers=4.1");
    places.extend(nfs("`sharebench serve`", &ours_v3, &ours_v4));

    let header = ["server", "protocol and security", "tests of `sweep`", "`copy`", "`fsct-homefolders`"];
    let mut table = Outcomes::new("kerberos.md", &header);
    if !is_complete() {
        table.skip();
    }
    let controller = if DomainController::NEEDS.iter().all(|need| need.unmet().is_none()) {
        Some(DomainController::start().unwrap())
    } else {
        table.skip();
        None
    };
    if let Some(controller) = &controller {
        let client = Client {
            words: in_environment(controller.words(), &sharebench, &controller.environment()),
            keytab: controller.user_keytab().display().to_string(),
            principal: DomainController::USER.to_owned(),
        };
        let server = "Samba 4.17 as Active Directory domain controller";
        for place in smb(server, &controller.url("")).into_iter().filter(is_selected) {
            table.add(client.row(&sharebench, &place));
        }
    }
    let client = Client {
        words: in_environment(Vec::new(), &sharebench, &realm.environment()),
        keytab: realm.user_keytab().display().to_string(),
        principal: run(&["id", "-un"], &[]).unwrap().trim().to_owned(),
    };
    for place in places.iter().filter(|place| is_selected(place)) {
        table.add(client.row(&sharebench, place));
    }
    table.settle().unwrap();
    assert_eq!(std::fs::read_dir(smbd.share()).unwrap().count(), 0, "something was left");
    assert_eq!(std::fs::read_dir(ganesha.directory()).unwrap().count(), 0, "something was left");
}

/// All rows are observed with `SHAREBENCH_LONG`, and where they are written.
fn is_complete() -> bool {
    ["SHAREBENCH_LONG", "SHAREBENCH_WRITE_TABLES"].iter().any(|name| std::env::var_os(name).is_some())
}

/// Otherwise one or two levels of each server are.
fn is_selected(place: &KerberosTarget) -> bool {
    is_complete()
        || ["encrypted", "NFSv3, `krb5i`", "NFSv4.1, `krb5p`"]
            .iter()
            .any(|level| place.security.contains(level))
}

/// The words before a command, with variables.
fn in_environment(
    mut words: Vec<String>,
    sharebench: &Sharebench,
    variables: &[(&'static str, String)],
) -> Vec<String> {
    // Another mount namespace begins in its root.
    words.extend(["env".to_owned(), "-C".to_owned(), sharebench.home().display().to_string()]);
    words.extend(variables.iter().map(|(name, value)| format!("{name}={value}")));
    words
}
