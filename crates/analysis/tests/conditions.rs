//! Differing conditions of compared systems, before the first ratio.

use crate::synthetic::{Synthetic, grid, plausible};
use sharebench_analysis::{Analysis, Condition, Options, RunData, analyse};
use sharebench_model::{Coordinates, Fact, Facts, PolicyCount, USERS_STAY, Value, axis};

/// A step of a load.
fn level(users: u64) -> Coordinates {
    Coordinates::new().with(axis::WORKLOAD, Value::text("single-read")).with(axis::USERS, Value::Count(users))
}

/// Two targets with these URLs and facts; the rates do not matter.
fn run(targets: [(&str, &[(&str, &str)]); 2]) -> RunData {
    let mut run = Synthetic::new("conditions", &["a", "b"], 3);
    run.sweep(&grid(&["write", "read"], 2, 2), 6, plausible);
    for (index, (url, facts)) in targets.into_iter().enumerate() {
        url.clone_into(&mut run.run.header.targets[index].url);
        let fact = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        run.run.facts[index] = facts.iter().map(fact).collect::<Facts>();
    }
    run.run
}

fn analysed(run: RunData) -> Analysis {
    analyse(&[run], &Options::default())
}

fn texts(run: RunData) -> Vec<String> {
    analysed(run).unlike_conditions.into_iter().map(|unlike| unlike.text).collect()
}

const SMB: &str = "smb://nas/share";
const MOUNT: &[(&str, &str)] = &[("access", "mounted"), ("file_system", "nfs4"), ("direct_io", "no")];

fn mount(options: &'static str) -> Vec<(&'static str, &'static str)> {
    [MOUNT, &[("mount_options", options)]].concat()
}

#[test]
fn every_condition_that_is_known_to_differ_has_one_line() {
    let signed =
        [("dialect", "3.1.1"), ("signing", "AES-CMAC"), ("encryption", "off"), ("client_cache", "none (x)")];
    let open =
        [("dialect", "3.0"), ("signing", "off"), ("encryption", "AES-128-GCM"), ("client_cache", "none")];
    let space = |total, available| [("space_total_bytes", total), ("space_available_bytes", available)];
    let a = [&signed[..], &space("2199023255552", "43980465111")[..]].concat();
    let b = [&open[..], &space("2199023255552", "1099511627776")[..]].concat();
    assert_eq!(
        texts(run([(SMB, &a), (SMB, &b)])),
        [
            "conditions differ: dialect SMB 3.1.1 (a), SMB 3.0 (b)",
            "conditions differ: signing AES-CMAC (a), off (b)",
            "conditions differ: encryption off (a), AES-128-GCM (b)",
            "conditions differ: free space 2.0 % of 2 TiB (a), 50.0 % of 2 TiB (b)",
        ]
    );
    let mounted = mount("rw,vers=4.2,nconnect=4,sec=krb5i,sync");
    assert_eq!(
        texts(run([(SMB, &signed), ("/mnt/nas", &mounted)])),
        [
            "conditions differ: dialect SMB 3.1.1 (a), NFS 4.2 (b)",
            "conditions differ: acknowledged writes possibly in memory (a), on stable storage (b)",
            "conditions differ: connections 1 (a), 4 (b)",
            "conditions differ: client cache none (a), page cache (b)",
        ]
    );
}

#[test]
fn a_load_whose_users_stay_logged_on_is_unlike_one_whose_users_log_off() {
    let load = |users: &[u64]| {
        let mut run = Synthetic::new("conditions", &["a", "b"], 3);
        let steps: Vec<Coordinates> = users.iter().map(|users| level(*users)).collect();
        run.sweep(&steps, 1, plausible);
        run.run.facts[0].insert(Fact::UsersBetweenSteps.name().to_owned(), USERS_STAY.to_owned());
        texts(run.run)
    };
    assert_eq!(load(&[5, 10]), ["conditions differ: users between steps stay logged on (a), log off (b)"]);
    assert_eq!(load(&[5]), [""; 0], "one step has nothing between steps");
}

#[test]
fn equal_and_unknown_conditions_print_nothing() {
    let known = [("dialect", "3.1.1"), ("signing", "AES-CMAC"), ("encryption", "off")];
    let unknown = [("dialect", "unknown"), ("signing", ""), ("encryption", "not stated")];
    assert_eq!(texts(run([(SMB, &known), (SMB, &known)])), [""; 0]);
    assert_eq!(texts(run([(SMB, &known), (SMB, &unknown)])), [""; 0]);
    assert_eq!(texts(run([(SMB, &known), (SMB, &[])])), [""; 0]);
    // A mount of SMB that lists no signing may sign; a kind of signing is no other than `on`.
    let cifs = [
        ("access", "mounted"),
        ("file_system", "cifs"),
        ("mount_options", "rw,vers=3.1.1,sec=ntlmssp"),
        ("direct_io", "yes"),
    ];
    assert_eq!(texts(run([(SMB, &known), ("/mnt/nas", &cifs)])), [""; 0]);
    let signing =
        [("file_system", "cifs"), ("access", "mounted"), ("mount_options", "vers=3.1.1,sec=ntlmsspi")];
    assert_eq!(texts(run([(SMB, &known), ("/mnt/nas", &signing)])), [""; 0]);
}

#[test]
fn free_space_counts_where_only_one_file_system_is_nearly_full() {
    let space =
        |available: &'static str| [("space_total_bytes", "1000"), ("space_available_bytes", available)];
    let of = |a, b| texts(run([("/srv/a", &space(a)), ("/srv/b", &space(b))])).len();
    assert_eq!([of("990", "120"), of("90", "60"), of("101", "100")], [0, 0, 0]);
    assert_eq!([of("101", "99"), of("990", "20"), of("90", "8"), of("50", "0")], [1, 1, 1, 1]);
}

#[test]
fn replies_of_the_server_show_the_stability_of_writes() {
    let vers = [("vers", "3"), ("sec", "sys")];
    let mut promised = run([("nfs://a/x", &vers), ("nfs://b/x", &vers)]);
    for step in promised.steps.iter_mut().filter(|step| step.target == 1 && step.measure.bytes.written > 0) {
        step.measure.evidence.sent =
            PolicyCount { stable: step.measure.operations, ..PolicyCount::default() };
    }
    let analysis = analysed(promised.clone());
    assert_eq!(analysis.unlike_conditions.len(), 1);
    assert_eq!(analysis.unlike_conditions[0].condition, Condition::WriteStability);
    let text = "conditions differ: acknowledged writes possibly in memory (a), on stable storage (b)";
    assert_eq!(analysis.unlike_conditions[0].text, text);
    // Without a write there is nothing to compare.
    promised.steps.retain(|step| step.measure.bytes.written == 0);
    assert_eq!(texts(promised), [""; 0]);
}

#[test]
fn systems_with_the_same_value_share_its_place_in_the_line() {
    let mut run = Synthetic::new("three", &["a", "b", "c"], 3);
    run.sweep(&grid(&["read"], 2, 2), 6, plausible);
    for (index, signing) in ["AES-GMAC", "off", "AES-GMAC"].into_iter().enumerate() {
        run.run.header.targets[index].url = SMB.to_owned();
        run.run.facts[index] = Facts::from([("signing".to_owned(), signing.to_owned())]);
    }
    assert_eq!(texts(run.run), ["conditions differ: signing AES-GMAC (a, c), off (b)"]);
}

/// What two NCP targets state, of which the second differs in these facts.
fn ncp(changed: Stated<'_>) -> Vec<String> {
    let same = [
        ("transport", "udp"),
        ("server", "NAS 3.11"),
        ("buffer", "4096"),
        ("buffer_proposed", "4096"),
        ("signed", "false"),
        ("sign_level", "0"),
        ("checksums", "off"),
        ("client_cache", "none"),
        ("commit", "on request"),
        ("name_spaces", "dos, long"),
        ("burst", "on"),
        ("burst_window", "auto, at most 61440"),
        ("connections", "1"),
        ("resent", "0"),
        ("local_addr", "127.0.0.1:51232"),
    ];
    let url = "ncp://lab@nas/SYS";
    let mut data = run([(url, &same), (url, &same)]);
    data.facts[1].insert("local_addr".to_owned(), "127.0.0.1:44561".to_owned());
    data.facts[1].insert("resent".to_owned(), "7".to_owned());
    data.facts[1].extend(changed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let analysis = analysed(data);
    let texts = [&analysis.answer, &analysis.findings, &analysis.not_resolved, &analysis.contradictions];
    let sentences = texts.into_iter().flatten().map(|sentence| sentence.text.clone());
    sentences.chain(analysis.unlike_conditions.into_iter().map(|unlike| unlike.text)).collect()
}

/// Facts by name.
type Stated<'a> = &'a [(&'static str, &'static str)];
/// Settings with the two values that a sentence names.
type Changes<'a> = &'a [(&'a str, &'a str, &'a str)];

#[test]
fn settings_of_ncp_are_named_and_addresses_ports_and_counts_are_not() {
    let window = "auto, at most 4096";
    let commit = "on request, and on close";
    let cases: [(Stated<'_>, Changes<'_>); 7] = [
        (
            &[("client_cache", "5 buffers of 4096 bytes for each file")],
            &[("client cache", "5 buffers of 4096 bytes for each file", "none")],
        ),
        (&[("buffer", "1024"), ("buffer_proposed", "1024")], &[("buffer", "1024", "4096")]),
        (&[("signed", "true"), ("sign_level", "2")], &[("signature", "true", "false")]),
        (&[("checksums", "on")], &[("checksum", "on", "off")]),
        (&[("burst", "refused")], &[("burst", "refused", "on")]),
        (&[("server", "NAS 4.10")], &[("server", "NAS 4.10", "NAS 3.11")]),
        // Several are all listed, each with its whole value.
        (
            &[("burst_window", window), ("checksums", "on"), ("commit", commit)],
            &[
                ("burst window", window, "auto, at most 61440"),
                ("checksum", "on", "off"),
                ("commit", commit, "on request"),
            ],
        ),
    ];
    for (changed, expected) in cases {
        let sentences = ncp(changed);
        let states = |text: &String, (name, one, other): &(&str, &str, &str)| {
            text.contains(&format!("{name}: {one} against {other}"))
                || text.contains(&format!("{name}: {other} against {one}"))
        };
        let complete = |text: &String| expected.iter().all(|change| states(text, change));
        assert!(sentences.iter().any(complete), "{expected:?}: {sentences:#?}");
        for identity in ["127.0.0.1", "local addr", "resent"] {
            assert!(sentences.iter().all(|text| !text.contains(identity)), "{identity}: {sentences:#?}");
        }
    }
    assert!(ncp(&[]).iter().all(|text| !text.contains("that differ")));
}

#[test]
fn options_of_mounts_are_settings_and_their_addresses_are_not() {
    let one = mount("rw,vers=4.1,nconnect=4,addr=10.0.0.1,clientaddr=10.0.0.2");
    let other = mount("rw,vers=4.1,nconnect=1,addr=10.0.0.9,clientaddr=10.0.0.3");
    let analysis = analysed(run([("/mnt/a", &one), ("/mnt/b", &other)]));
    let changes: Vec<String> =
        analysis.comparisons[0].settings.iter().map(sharebench_analysis::SettingChange::words).collect();
    assert_eq!(changes, ["mount option nconnect: 1 against 4"]);
}

#[test]
fn settings_of_an_imported_description_are_conditions_too() {
    let mut imported = run([("imported from a.txt", &[]), ("imported from b.txt", &[])]);
    imported.header.environment.insert("origin".to_owned(), "imported".to_owned());
    for (facts, stated) in imported.facts.iter_mut().zip([
        "signature level=2, cache buffers=0, true commit=on",
        "signature level=0, cache buffers=default, true commit off",
    ]) {
        *facts = Facts::from([("settings".to_owned(), stated.to_owned())]);
    }
    assert_eq!(
        texts(imported),
        [
            "conditions differ: signing level 2 (a), level 0 (b)",
            "conditions differ: acknowledged writes on stable storage (a), possibly in memory (b)",
            "conditions differ: client cache none (a), buffers default (b)",
        ]
    );
}
