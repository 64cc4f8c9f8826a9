//! Known workloads, simulated, captured and learned: the preset that comes out is the workload that went in.

#![expect(clippy::print_stdout, reason = "it prints what it found")]

use std::collections::BTreeMap;

use crate::simulator::{Simulation, load, resolved, simulate};
use sharebench_learn::{Learned, Protocol, learn, loadfile, preset, preset_plan, server_report, to_json};
use sharebench_plan::{Operation, Pace, Plan, Think, Times, TransactionWork};

const OFFICE: &str = include_str!("../../../plans/office.toml");
const BUILD: &str = include_str!("../../../plans/build-after-sfs2014.toml");
const EDA: &str = include_str!("../../../plans/eda-after-sfs2014.toml");

/// Random reads and updates of a large file that stays open, next to a log.
const DATABASE: &str = r#"
[load]
workload = "database"
users = [4]
think = "exp 10ms"

[workload]
name = "database"
source = "a test"
order = "weighted"

[[workload.files]]
name = "tables"
size = "200MiB"
data = "data"
owner = "user"

[[workload.files]]
name = "log"
size = "8MiB"
data = "text"
owner = "user"

[[workload.transactions]]
name = "random-read"
weight = 70
files = "tables"
operations = ["read 8KiB random"]

[[workload.transactions]]
name = "random-write"
weight = 20
files = "tables"
operations = ["write 8KiB random"]

[[workload.transactions]]
name = "log"
weight = 10
files = "log"
operations = ["open write", "write 512B:50,4KiB:50 x2", "flush", "close"]
"#;

/// Shared files that many users read.
const LIBRARY: &str = r#"
[load]
workload = "library"
users = [10]
think = "lognormal 200ms 2s"

[workload]
name = "library"
source = "a test"
order = "weighted"

[[workload.files]]
name = "pages"
count = 300
size = "lognormal(16KiB,256KiB)"
data = "text"
fan_out = 6
depth = 2

[[workload.files]]
name = "films"
count = 4
size = "16MiB..48MiB"
data = "image-compressed"

[[workload.transactions]]
name = "browse"
weight = 40
files = "pages"
operations = ["list", "stat"]

[[workload.transactions]]
name = "read"
weight = 50
files = "pages"
operations = ["open", "read 32KiB all", "close"]

[[workload.transactions]]
name = "watch"
weight = 10
files = "films"
operations = ["open", "read 1MiB x8", "close"]
"#;

/// The mix of a load that is simulated for long: the preset as users would perform it.
fn performed(work: &TransactionWork, protocol: Protocol) -> BTreeMap<&'static str, f64> {
    let simulation = Simulation { protocol, users: 8, seconds: 4_000, seed: 99 };
    let (_, counts) = simulate(&quick(work), &simulation);
    shares(&counts)
}

/// With short think times, so that there is much of it.
fn quick(work: &TransactionWork) -> TransactionWork {
    let pace = Pace::Closed("exp 500ms".parse().unwrap());
    TransactionWork { pace, ..work.clone() }
}

fn shares(counts: &BTreeMap<&'static str, u64>) -> BTreeMap<&'static str, f64> {
    let all: u64 = counts.values().sum();
    counts.iter().map(|(name, count)| (*name, *count as f64 / all as f64)).collect()
}

/// The largest difference of a share, in points, with the operation.
fn difference(a: &BTreeMap<&'static str, f64>, b: &BTreeMap<&'static str, f64>) -> (f64, &'static str) {
    let names = a.keys().chain(b.keys());
    let of = |mix: &BTreeMap<&'static str, f64>, name: &str| mix.get(name).copied().unwrap_or(0.0);
    let differences = names.map(|name| ((of(a, name) - of(b, name)).abs() * 100.0, *name));
    differences.fold((0.0, ""), |most, next| if next.0 > most.0 { next } else { most })
}

/// Quantiles of the sizes of all files of a load that transactions pick from, weighted as they pick.
fn file_sizes(work: &TransactionWork) -> Vec<f64> {
    let mut sizes = Vec::new();
    for transaction in &work.workload.transactions {
        let whole = |operation: &&Operation| match operation {
            Operation::Read(requests) | Operation::Write(requests) => requests.times == Times::All,
            _ => false,
        };
        let Some(class) = transaction.class.filter(|_| transaction.operations.iter().any(|op| whole(&op)))
        else {
            continue;
        };
        let files = &work.workload.set.files[work.workload.set.classes[class].1.clone()];
        let weight = f64::from(transaction.weight) / files.len() as f64;
        sizes.extend(files.iter().map(|file| (file.bytes, weight)));
    }
    sizes.sort_unstable_by_key(|(bytes, _)| *bytes);
    let all: f64 = sizes.iter().map(|(_, weight)| weight).sum();
    let at = |p: f64| {
        let mut below = 0.0;
        let found = sizes.iter().find(|(_, weight)| {
            below += weight;
            below >= p * all
        });
        found.map_or(0.0, |(bytes, _)| *bytes as f64)
    };
    [0.25, 0.5, 0.75, 0.9].map(at).to_vec()
}

/// Learns a simulated workload and compares.
fn round_trip(text: &str, simulation: &Simulation) -> (Learned, TransactionWork, TransactionWork) {
    let work = load(text);
    let (observed, counts) = simulate(&work, simulation);
    let learned = learn(&observed);
    let text = preset(&learned, "mine").unwrap();
    let plan = Plan::parse(&text).unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"));
    assert_eq!(plan.workload, preset_plan(&learned, "mine").unwrap().workload, "the text is the plan");
    let again = resolved(plan);
    // The mix that was captured, the mix that the analysis computes for its preset, and the mix that users perform with it.
    let captured = shares(&counts);
    let performed = performed(&again, simulation.protocol);
    let (points, operation) = difference(&captured, &performed);
    println!("{text}\nmix {points:.2} points at {operation}, computed {:.2}", learned.mix_error() * 100.0);
    assert!(points <= 2.0, "{operation} differs by {points} points:\n{captured:?}\n{performed:?}\n{text}");
    assert!(learned.mix_error() <= 0.02, "{}\n{text}", learned.mix_error());
    let Pace::Closed(wanted) = &work.pace else { panic!() };
    let Pace::Closed(think) = &again.pace else { panic!() };
    let ratio = think.mean().as_secs_f64() / wanted.mean().as_secs_f64();
    println!("think {think}: {ratio:.3} of {wanted}");
    if !matches!(wanted, Think::Every(_)) {
        assert!((0.9..=1.1).contains(&ratio), "think {think} instead of {wanted}");
    }
    assert!(learned.coverage.share() > 0.97, "{:?}", learned.coverage);
    assert_eq!(learned.users.users, simulation.users);
    assert_eq!(learned.users.streams, simulation.users);
    (learned, work, again)
}

fn assert_sizes(work: &TransactionWork, again: &TransactionWork) {
    let wanted = file_sizes(work);
    let found = file_sizes(again);
    println!("sizes {wanted:?} {found:?}");
    for (wanted, found) in wanted.iter().zip(&found) {
        assert!((0.9..=1.1).contains(&(found / wanted)), "{wanted:?} {found:?}");
    }
}

#[test]
fn office_over_smb_is_learned() {
    let simulation = Simulation { protocol: Protocol::Smb2, users: 20, seconds: 3_600, seed: 1 };
    let (learned, ..) = round_trip(OFFICE, &simulation);
    let names: Vec<&str> = learned.transactions.iter().map(|transaction| transaction.name.as_str()).collect();
    for wanted in ["browse", "read-whole", "rewrite-by-rename", "create-delete"] {
        assert!(names.iter().any(|name| name.starts_with(wanted)), "{names:?}");
    }
}

#[test]
fn shared_files_over_nfs_are_learned_with_their_sizes() {
    for protocol in [Protocol::Nfs3, Protocol::Nfs4, Protocol::Smb2] {
        let simulation = Simulation { protocol, users: 10, seconds: 600, seed: 2 };
        let (learned, work, again) = round_trip(LIBRARY, &simulation);
        assert_sizes(&work, &again);
        assert!(learned.classes.iter().all(|class| !class.is_own), "{:?}", learned.classes);
    }
}

#[test]
fn a_database_that_keeps_its_file_open_is_learned() {
    let simulation = Simulation { protocol: Protocol::Smb2, users: 4, seconds: 120, seed: 3 };
    let (learned, _, again) = round_trip(DATABASE, &simulation);
    let kept = again.workload.transactions.iter().filter(|transaction| transaction.keeps_open()).count();
    assert!(kept >= 2, "{:?}", learned.transactions);
}

#[test]
fn builds_and_chip_design_are_learned() {
    for text in [BUILD, EDA] {
        let simulation = Simulation { protocol: Protocol::Nfs4, users: 3, seconds: 120, seed: 4 };
        round_trip(text, &simulation);
    }
}

#[test]
fn a_capture_becomes_a_loadfile_that_plans_accept() {
    for (text, protocol) in [(OFFICE, Protocol::Smb2), (LIBRARY, Protocol::Nfs3), (DATABASE, Protocol::Nfs4)]
    {
        let simulation = Simulation { protocol, users: 3, seconds: 60, seed: 5 };
        let (observed, _) = simulate(&load(text), &simulation);
        let written = loadfile(&observed);
        let toml =
            format!("[load]\nusers = [1]\n[workload]\nname = 'a'\nscript = '''\n{}'''\n", written.text);
        let work = load(&toml);
        let file = work.workload.loadfile.clone().unwrap();
        assert!(file.is_stamped());
        assert_eq!(file.lines.len() as u64, written.lines);
        assert!(written.left_out.is_empty(), "{:?}", written.left_out);
    }
}

#[test]
fn learning_is_deterministic_and_says_nothing_of_what_is_not_there() {
    let simulation = Simulation { protocol: Protocol::Smb2, users: 5, seconds: 300, seed: 6 };
    let (observed, _) = simulate(&load(OFFICE), &simulation);
    let first = learn(&observed);
    let second = learn(&observed);
    assert_eq!(first, second);
    let report = server_report(&observed);
    assert_eq!(report.operations, observed.operations.len() as u64);
    // The office reads every file that it opens to read; renames and removals are no opens to read.
    assert!(report.caches.opens_to_read > 0);
    assert_eq!(report.caches.opens_without_read, 0);
    assert_eq!(to_json(&report, &first)["schema"], sharebench_learn::SCHEMA);
    let nothing = sharebench_learn::Observed::default();
    assert_eq!(preset(&learn(&nothing), "mine"), None);
    assert_eq!(loadfile(&nothing).lines, 0);
    assert_eq!(server_report(&nothing).operations, 0);
}
