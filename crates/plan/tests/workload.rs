//! A workload with each of its fields wrong in turn: line, field, and what to write instead.

use sharebench_plan::{Plan, Work};

/// A valid plan. The tests replace one line of it.
const GOOD: &str = "\
[[target]]
url = '/tmp'
[load]
users = [1]
scale = '1MiB'
block = '4KiB'
think = 'lognormal 1s 5s'
[workload]
name = 'mine'
source = 'ours'
order = 'weighted'
[[workload.files]]
name = 'docs'
count = 20
size = 'lognormal(16KiB,256KiB)'
data = 'text'
owner = 'user'
fan_out = 4
depth = 2
[[workload.files]]
name = 'lib'
size = '64KiB'
[[workload.transactions]]
name = 'open'
weight = 3
files = 'docs'
deadline = '100ms'
operations = ['stat', 'open write', 'read 4KiB random x4', 'write 1KiB..4KiB', 'flush', 'close', 'rename']
[[workload.transactions]]
name = 'fetch'
files = 'lib'
operations = ['copy-from-server', 'connect']
";

fn mistakes(text: &str) -> String {
    match Plan::parse(text).and_then(|plan| plan.resolve()) {
        Ok(_) => String::new(),
        Err(mistakes) => mistakes.to_string(),
    }
}

#[test]
fn the_plan_that_is_spoilt_below_is_valid_and_survives_a_round_trip() {
    let plan = Plan::parse(GOOD).unwrap().resolve().unwrap();
    let again = Plan::parse(&plan.typed.to_toml()).unwrap().resolve().unwrap();
    assert_eq!((again.loads, again.typed.to_toml()), (plan.loads, plan.typed.to_toml()));
}

/// A line of [`GOOD`], its replacement, and the expected message.
const SPOILT: [(&str, &str, &str); 48] = [
    ("name = 'mine'", "name = 5", "line 9: workload.name: is not a text"),
    ("source = 'ours'", "source = true", "line 10: workload.source: is not a text"),
    (
        "order = 'weighted'",
        "order = 'random'",
        "line 11: workload.order: 'random' is no order; known are rounds",
    ),
    (
        "order = 'weighted'",
        "ordre = 'weighted'",
        "line 11: workload.ordre: unknown field\n    hint: did you mean 'order'?",
    ),
    (
        "name = 'docs'",
        "name = 'a/b'",
        "line 13: workload.files.0.name: 'a/b' is no name for files\n    hint: letters",
    ),
    (
        "name = 'docs'",
        "name = 'LIB'",
        "line 21: workload.files.1.name: 'lib' is listed twice\n    hint: give each",
    ),
    ("count = 20", "count = 0", "line 14: workload.files.0.count: 0 is outside 1..1000000"),
    ("count = 20", "count = 'many'", "line 14: workload.files.0.count: invalid digit"),
    (
        "size = 'lognormal(16KiB,256KiB)'",
        "size = 'huge'",
        "line 15: workload.files.0.size: 'huge' is not a size; write 4KiB, 1KiB..64KiB",
    ),
    (
        "size = 'lognormal(16KiB,256KiB)'",
        "size = 'lognormal(1MiB,4KiB)'",
        "line 15: workload.files.0.size: 'lognormal(1MiB,4KiB)': the median",
    ),
    (
        "size = 'lognormal(16KiB,256KiB)'",
        "size = '0..4KiB'",
        "line 15: workload.files.0.size: 0B..4KiB goes outside 1B..16TiB\n    hint: files have",
    ),
    (
        "size = 'lognormal(16KiB,256KiB)'",
        "size = 0",
        "line 28: workload.transactions.0.operations: 'read 4KiB random x4': its files are empty",
    ),
    ("size = '64KiB'", "", "workload.files.1.size: no size\n    hint: such as size = \"64KiB\""),
    (
        "data = 'text'",
        "data = 'prose'",
        "line 16: workload.files.0.data: 'prose' is no type of data; known are data",
    ),
    (
        "owner = 'user'",
        "owner = 'me'",
        "line 17: workload.files.0.owner: 'me' is no owner; known are shared and user",
    ),
    (
        "owner = 'user'",
        "owner = 'shared'",
        "line 28: workload.transactions.0.operations: 'open write': these files are shared, and users would change them under each other\n    hint: add owner",
    ),
    ("fan_out = 4", "fan_out = 0", "line 18: workload.files.0.fan_out: 0 is outside 1..10000"),
    ("depth = 2", "depth = 17", "line 19: workload.files.0.depth: 17 is outside 0..16"),
    (
        "depth = 2",
        "deepth = 2",
        "line 19: workload.files.0.deepth: unknown field\n    hint: did you mean 'depth'?",
    ),
    (
        "name = 'fetch'",
        "name = 'open'",
        "line 30: workload.transactions.1.name: 'open' is listed twice\n    hint: give each",
    ),
    ("weight = 3", "weight = 0", "line 25: workload.transactions.0.weight: 0 is outside 1.."),
    ("weight = 3", "weight = -1", "line 25: workload.transactions.0.weight: invalid digit"),
    (
        "files = 'docs'",
        "files = 'doc'",
        "line 26: workload.transactions.0.files: there are no files 'doc'\n    hint: did you mean 'docs'?",
    ),
    ("files = 'lib'", "", "workload.transactions.1.files: it names no files\n    hint: one of docs, lib"),
    ("deadline = '100ms'", "deadline = 'soon'", "line 27: workload.transactions.0.deadline: 'soon' is not"),
    (
        "deadline = '100ms'",
        "dead_line = '1s'",
        "line 27: workload.transactions.0.dead_line: unknown field\n    hint: did you mean 'deadline'?",
    ),
    (
        "operations = ['copy-from-server', 'connect']",
        "operations = 'open'",
        "line 32: workload.transactions.1.operations: is not a list\n    hint: write it in brackets",
    ),
    (
        "operations = ['copy-from-server', 'connect']",
        "operations = []",
        "line 32: workload.transactions.1.operations: there is none",
    ),
    (
        "operations = ['copy-from-server', 'connect']",
        "operations = [3]",
        "line 32: workload.transactions.1.operations: is not a text",
    ),
    (
        "operations = ['copy-from-server', 'connect']",
        "operations = ['copy-server']",
        "line 32: workload.transactions.1.operations: 'copy-server' is no operation; did you mean",
    ),
    (
        "operations = ['copy-from-server', 'connect']",
        "operations = ['lock']",
        "line 32: workload.transactions.1.operations: 'lock': no file is open",
    ),
    (
        "operations = ['copy-from-server', 'connect']",
        "operations = ['notify']",
        "line 32: workload.transactions.1.operations: 'notify': no directory is watched\n    hint: 'watch' it first",
    ),
    (
        "operations = ['copy-from-server', 'connect']",
        "operations = ['open']",
        "line 32: workload.transactions.1.operations: a file is open at the end\n    hint: end with 'close'",
    ),
    (
        "operations = ['copy-from-server', 'connect']",
        "operations = ['create', 'close']",
        "a file made by 'create' is left over\n    hint: end with 'delete' or 'rename'",
    ),
    (
        "operations = ['copy-from-server', 'connect']",
        "operations = ['close']",
        "'close': no file is open\n    hint: 'open' or 'create' one first",
    ),
    (
        "operations = ['copy-from-server', 'connect']",
        "operations = ['open', 'write', 'close']",
        "'write': the file is open for reading\n    hint: use 'open write'",
    ),
    (
        "operations = ['copy-from-server', 'connect']",
        "operations = ['open', 'open', 'close']",
        "'open': a file is open already\n    hint: 'close' it first",
    ),
    (
        "operations = ['copy-from-server', 'connect']",
        "operations = ['delete']",
        "'delete': only files made by 'create' are deleted",
    ),
    (
        "operations = ['copy-from-server', 'connect']",
        "operations = ['create', 'read', 'close', 'delete']",
        "'read': a new file is only written",
    ),
    (
        "operations = ['copy-from-server', 'connect']",
        "operations = ['read 128MiB']",
        "128MiB goes outside 1B..64MiB",
    ),
    ("operations = ['copy-from-server', 'connect']", "operations = ['write']", "these files are shared"),
    ("operations = ['copy-from-server', 'connect']", "operations = ['rename']", "these files are shared"),
    ("block = '4KiB'", "block = '1B'", "line 6: load.block: 1B is outside 512B..64MiB"),
    ("scale = '1MiB'", "scale = 'large'", "line 5: load.scale: 'large' is not a scale"),
    (
        "think = 'lognormal 1s 5s'",
        "think = 'gamma 1s'",
        "line 7: load.think: 'gamma' is not a law of think times; known are constant, exp",
    ),
    ("users = [1]", "workload = 'yours'", "line 4: load.workload: 'yours' is not a preset"),
    ("users = [1]", "find_knee = true", "load.slo: a knee needs an objective\n    hint: such as slo"),
    (
        "users = [1]",
        "find_knee = true\nslo = 'p95>1s'",
        "line 5: load.slo: 'p95>1s' is not an objective; write such as p95<20ms",
    ),
];

#[test]
fn an_error_in_any_field_is_reported_with_its_line_and_a_hint() {
    for (line, instead, said) in SPOILT {
        assert_eq!(GOOD.lines().filter(|found| *found == line).count(), 1, "{line}");
        let text = GOOD.replacen(&format!("\n{line}\n"), &format!("\n{instead}\n"), 1);
        let shown = mistakes(&text);
        assert!(shown.contains(said), "{instead}:\n{shown}\ninstead of\n{said}");
    }
}

/// A workload of streams with this section of the load and this unit.
fn streams(load: &str, unit: &str, transactions: &str) -> String {
    format!(
        "[[target]]\nurl = '/tmp'\n[load]\n{load}\n[workload]\nname = 'films'\n{unit}\n[[workload.files]]\n\
         name = 'film'\ncount = 4\nsize = '1MiB'\n[[workload.transactions]]\n{transactions}\n"
    )
}

#[test]
fn a_unit_survives_a_round_trip_and_says_what_does_not_fit() {
    const FRAME: &str = "deadline = '40ms'\noperations = ['read 64KiB']";
    let unit = |fields: &str| format!("[workload.unit]\n{fields}");
    let good = unit("name = 'stream'\ntransactions = 'frame'\nobjective = 'missed<=0.5%'");
    let plan = Plan::parse(&streams("think = 'every 40ms'\nscale = '50%'", &good, FRAME))
        .unwrap()
        .resolve()
        .unwrap();
    let again = Plan::parse(&plan.typed.to_toml()).unwrap().resolve().unwrap();
    assert_eq!((again.loads == plan.loads, again.typed.to_toml()), (true, plan.typed.to_toml()));
    let Work::Transactions(work) = &plan.loads[0].1 else { panic!("no users") };
    let found = work.workload.unit.as_ref().unwrap();
    assert_eq!((found.name.as_str(), found.transaction.as_str()), ("stream", "frame"));
    assert_eq!((found.objective.to_string().as_str(), work.workload.set.files.len()), ("missed<=0.5%", 2));
    for (fields, transaction, said) in [
        ("name = 'stream'", FRAME, "workload.unit.objective: there is none\n    hint: such as objective"),
        ("objective = 'missed<=1%'", FRAME, "workload.unit.name: '' is no noun"),
        ("name = 'a;b'\nobjective = 'missed<=1%'", FRAME, "line 8: workload.unit.name: 'a;b' is no noun"),
        (
            "name = 'x'\nobjective = 'late<1%'",
            FRAME,
            "line 9: workload.unit.objective: 'late<1%' is not an objective",
        ),
        ("nam = 'x'", FRAME, "line 8: workload.unit.nam: unknown field\n    hint: did you mean 'name'?"),
        (
            "name = 'x'\nobjective = 'missed<=1%'",
            "operations = ['read 64KiB']",
            "workload.unit.objective: no transaction has a deadline",
        ),
    ] {
        let shown = mistakes(&streams("", &unit(fields), transaction));
        assert!(shown.contains(said), "{fields}:\n{shown}\ninstead of\n{said}");
    }
    let shown = mistakes(&streams("", "unit = 'streams'", FRAME));
    assert!(shown.contains("workload.unit: is not a section\n    hint: write [workload.unit]"), "{shown}");
    // Other pauses, or a schedule, leave the report without a verdict, and are no mistake.
    for (load, objective) in [
        ("arrivals = 'poisson'\nrates = [5]", "pace>=95%"),
        ("think = '1s'", "pace>=95%"),
        ("think = '0s'", "busy>=90%"),
    ] {
        let text = streams(load, &unit(&format!("name = 'x'\nobjective = '{objective}'")), FRAME);
        assert!(Plan::parse(&text).unwrap().resolve().is_ok(), "{load}");
    }
}

#[test]
fn empty_files_are_looked_up_and_written_next_to_and_scales_have_limits() {
    let empty = |operations: &str| {
        streams("", "", &format!("operations = [{operations}]"))
            .replace("size = '1MiB'", "size = 0\nowner = 'user'")
    };
    for good in ["'stat'", "'list'", "'open', 'close'", "'create', 'write 4KiB x2', 'close', 'delete'"] {
        let plan = Plan::parse(&empty(good)).unwrap().resolve();
        assert!(plan.is_ok(), "{good}: {plan:?}");
    }
    for bad in [
        "'open', 'read 4KiB', 'close'",
        "'read 4KiB'",
        "'write 4KiB'",
        "'open write', 'write 4KiB', 'close'",
        "'create', 'write 4KiB all', 'close', 'delete'",
        "'create', 'write 4KiB random', 'close', 'delete'",
        "'rename'",
        "'copy-from-server'",
    ] {
        let shown = mistakes(&empty(bad));
        assert!(shown.contains("its files are empty\n    hint: look them up"), "{bad}: {shown}");
    }
    for (scale, said) in [
        ("0%", "line 4: load.scale: '0%' is not a share from 0.01% to 10000%"),
        ("101000000B", ""),
        ("2000000%", "is not a share from 0.01% to 10000%"),
    ] {
        let text = streams(&format!("scale = '{scale}'"), "", "operations = ['stat']");
        let resolved = Plan::parse(&text).and_then(|plan| plan.resolve());
        assert_eq!(resolved.is_ok(), said.is_empty());
        assert!(resolved.is_ok() || mistakes(&text).contains(said), "{scale}: {}", mistakes(&text));
    }
    let many =
        streams("scale = '10000%'", "", "operations = ['stat']").replace("count = 4", "count = 900000");
    assert!(
        mistakes(&many).contains("load.scale: 90000000 files are more than 1000000"),
        "{}",
        mistakes(&many)
    );
    let large = streams("scale = '10000%'", "", "operations = ['stat']");
    let large = large.replace("count = 4", "count = 1").replace("1MiB", "1TiB");
    assert!(mistakes(&large).contains("load.scale: film would have more than 16TiB"), "{}", mistakes(&large));
}

#[test]
fn all_mistakes_of_a_workload_are_reported_together() {
    let text = GOOD.replace("count = 20", "count = 0").replace("weight = 3", "weight = 0");
    let text = text.replace("files = 'lib'", "files = 'libs'");
    assert!(mistakes(&text).starts_with("the plan has 3 mistakes"), "{}", mistakes(&text));
    assert!(mistakes("[[target]]\nurl = '/tmp'\n[load]\n[workload]\n").contains("there is none"));
    assert!(
        mistakes("[[target]]\nurl = '/tmp'\n[sweep]\n[workload]\n").contains("workload: no load uses it")
    );
}

#[test]
fn impossible_searches_are_rejected() {
    for (load, said) in [
        (
            "until_stress = true\narrivals = 'poisson'\nrates = [5]",
            "load.until_stress: it raises the users of a closed",
        ),
        ("until_stress = true\nusers = [10, 5]", "load.users: users must increase towards a stress point"),
        (
            "find_knee = true\nslo = 'p95<1s'\narrivals = 'poisson'\nrates = [5]",
            "the search for a knee starts from a closed load",
        ),
        ("find_knee = true\nslo = 'p95<1s'\n[[target]]\nurl = '/b'", "each target has a knee of its own"),
    ] {
        let shown = mistakes(&format!("[[target]]\nurl = '/tmp'\n[load]\n{load}\n"));
        assert!(shown.contains(said), "{load}: {shown}");
    }
    let repeated = |repetitions: u32| {
        format!(
            "repetitions = {repetitions}\n[[target]]\nurl = '/tmp'\n[load]\nfind_knee = true\nslo = 'p95<1s'\n"
        )
    };
    let shown = mistakes(&repeated(6));
    assert!(
        shown.contains("load.find_knee: with repetitions, each of them would search at other rates"),
        "{shown}"
    );
    assert!(Plan::parse(&repeated(1)).unwrap().resolve().is_ok());
}

#[test]
fn users_who_come_and_go_and_ramps_say_what_does_not_fit() {
    let with = |load: &str| {
        let text = format!("[[target]]\nurl = '/tmp'\n[load]\nworkload = 'single'\n{load}\n");
        let parsed = Plan::parse(&text).and_then(|plan| plan.resolve());
        parsed.map(|plan| plan.typed.to_toml()).map_err(|mistakes| mistakes.to_string())
    };
    let visits = with("arrivals = 'visits'\nrates = [2, 4]\nvisit = 5\nthink = 'exp 100ms'").unwrap();
    for line in
        ["arrivals = \"visits\"", "visit = 5", "think = \"exp 100ms\"", "rates = [2, 4]", "users = [32]"]
    {
        assert!(visits.contains(line), "{visits}");
    }
    assert!(with("ramp = '2s'\nwarm_up = '2s'").unwrap().contains("ramp = \"2s\""));
    for (load, said) in [
        ("arrivals = 'visits'", "load.rates: visits arrivals need a rate"),
        ("arrivals = 'visits'\nrates = [1]\nvisit = 0", "load.visit: 0 is outside"),
        ("arrivals = 'visits'\nrates = [1]\nthink = 'every 1s'", "users who come and go keep no common pace"),
        ("visit = 5", "load.visit: it needs arriving users"),
        ("arrivals = 'poisson'\nrates = [1]\nramp = '1s'", "load.ramp: a schedule decides when users come"),
        ("ramp = '3s'\nwarm_up = '2s'", "load.ramp: it takes 3s, and the warm-up ends after 2s"),
        ("ramp = 5", "load.ramp"),
        ("visit = 'often'", "load.visit"),
    ] {
        let mistakes = with(load).unwrap_err();
        assert!(mistakes.contains(said), "{load}: {mistakes}");
    }
}

const EDIT: &str = "'open write', 'lock own', 'think 1ms', 'read 4KiB', 'write 4KiB', 'unlock', 'close'";

/// A load of one transaction on files of this owner and size.
fn of_one_transaction(owner: &str, size: &str, load: &str, operations: &str) -> String {
    format!(
        "[[target]]\nurl = '/tmp'\n[load]\nusers = [1, 8]\n{load}\n[workload]\nname = 'locks'\n[[workload.files]]\nname = 'f'\n\
         size = '{size}'\nowner = '{owner}'\n[[workload.transactions]]\nname = 't'\noperations = [{operations}]\n"
    )
}

#[test]
fn operations_that_wait_for_other_users_are_plans() {
    for (owner, size, operations) in [
        ("shared", "36KiB", EDIT),
        ("user", "36KiB", EDIT),
        (
            "shared",
            "4KiB",
            "'open write', 'lock', 'write all', 'unlock', 'lock', 'unlock', 'close', 'think 1s'",
        ),
        ("shared", "1KiB", "'open write', 'lock own', 'unlock', 'close'"),
        ("shared", "64KiB", "'open deny', 'read 4KiB', 'write 4KiB x2', 'flush', 'close'"),
        ("shared", "64KiB", "'open leased', 'think 5ms', 'read 4KiB', 'close', 'open write', 'close'"),
        ("shared", "64KiB", "'open leased', 'lock', 'write 4KiB', 'unlock', 'close'"),
        ("user", "64KiB", "'open leased', 'write 4KiB', 'close', 'open delegated', 'read all', 'close'"),
        ("shared", "64KiB", "'watch', 'create', 'notify', 'close', 'watch', 'delete', 'notify'"),
        (
            "user",
            "64KiB",
            "'watch', 'rename', 'notify', 'open write', 'watch', 'write 4KiB', 'close', 'rename', 'notify'",
        ),
        ("shared", "64KiB", "'wait', 'open', 'read 4KiB', 'signal', 'close', 'wait', 'think 1ms', 'signal'"),
    ] {
        let text = of_one_transaction(owner, size, "", operations);
        let resolved =
            Plan::parse(&text).unwrap().resolve().unwrap_or_else(|wrong| panic!("{operations}: {wrong}"));
        let again = Plan::parse(&resolved.typed.to_toml()).unwrap().resolve().unwrap();
        assert_eq!(again.loads, resolved.loads, "{operations}");
    }
}

#[test]
fn operations_that_wait_for_other_users_say_what_does_not_fit() {
    for (operations, said) in [
        ("'open', 'lock', 'unlock', 'close'", "'lock': the file is open for reading"),
        ("'lock', 'unlock'", "'lock': no file is open"),
        ("'open write', 'lock', 'close'", "'close': a range is locked\n    hint: 'unlock' it first"),
        ("'open write', 'lock', 'lock own', 'unlock', 'close'", "'lock own': a range is locked already"),
        ("'open write', 'unlock', 'close'", "'unlock': no range is locked"),
        ("'open write', 'write 4KiB', 'close'", "'open write': these files are shared"),
        ("'open leased', 'write 4KiB', 'close'", "'open leased': these files are shared"),
        ("'open leased', 'set-size', 'close'", "'set-size': these files are shared"),
        ("'open leased', 'think 5ms'", "a file is open at the end"),
        ("'create', 'notify', 'close', 'delete'", "'notify': no directory is watched"),
        ("'watch', 'stat', 'notify'", "'notify': the operation before it changes no name"),
        (
            "'watch', 'create', 'close', 'notify', 'delete'",
            "'notify': the operation before it changes no name",
        ),
        ("'watch', 'create', 'watch', 'notify', 'close', 'delete'", "'watch': a report is requested already"),
        ("'watch', 'create', 'close', 'delete'", "a report is requested at the end"),
        ("'watch', 'connect', 'create', 'notify', 'close', 'delete'", "'connect': the session has a request"),
        ("'wait', 'think 1ms'", "the unit of the semaphore is taken at the end\n    hint: end with 'signal'"),
        ("'wait', 'wait', 'signal'", "'wait': the unit is taken already"),
        ("'think 1ms', 'signal'", "'signal': the unit is not taken"),
        ("'open', 'wait', 'signal', 'close'", "'wait': a file is open or left over"),
        ("'wait', 'connect', 'signal'", "'connect': the session has a request or the unit"),
        ("'open delegated', 'lock', 'unlock', 'close'", "'lock': the file is open for reading"),
        ("'open delegated', 'write 4KiB', 'close'", "'write 4KiB': the file is open for reading"),
        ("'open', 'open delegated', 'close'", "'open delegated': a file is open already"),
        (
            "'create', 'close', 'open leased', 'close', 'delete'",
            "'open leased': the file made before is still there",
        ),
        ("'open write', 'lock', 'unlock', 'unlock', 'close'", "'unlock': no range is locked"),
        ("'open write', 'lock'", "a range is locked at the end\n    hint: end with 'unlock' and 'close'"),
        (
            "'open write', 'write 4KiB', 'lock', 'unlock', 'close'",
            "'write 4KiB': these files are shared, and no range",
        ),
        ("'open write', 'lock', 'set-size', 'unlock', 'close'", "'set-size': these files are shared"),
        ("'open deny', 'lock', 'unlock', 'close'", "'lock': nobody else can lock it"),
        ("'open deny', 'open', 'close'", "'open': a file is open already"),
        ("'create', 'lock', 'unlock', 'close', 'delete'", "'lock': nobody else can lock it"),
    ] {
        let shown = mistakes(&of_one_transaction("shared", "64KiB", "", operations));
        assert!(
            shown.contains("workload.transactions.0.operations: ") && shown.contains(said),
            "{operations}: {shown}"
        );
    }
}

#[test]
fn locked_ranges_have_to_fit_and_sessions_are_not_shared() {
    let small = mistakes(&of_one_transaction("shared", "32KiB", "", EDIT));
    let wanted = "workload.transactions.0.operations: the locked ranges of 8 users need 36KiB, and its smallest file has 32KiB";
    assert!(small.contains(wanted), "{small}");
    for operations in [
        "'open write', 'lock', 'unlock', 'close'",
        "'open deny', 'close'",
        "'open leased', 'close'",
        "'open delegated', 'close'",
        "'watch', 'create', 'notify', 'close', 'delete'",
        "'wait', 'signal'",
    ] {
        let shared = mistakes(&of_one_transaction("shared", "64KiB", "users_per_session = 2", operations));
        assert!(
            shared.contains("load.users_per_session: users who share a session share its locks"),
            "{shared}"
        );
    }
    let watching = "'watch', 'create', 'notify', 'close', 'delete'";
    for (load, operations) in [
        ("arrivals = 'visits'\nrates = [1]", watching.to_owned()),
        ("think = '0s'", format!("{watching}, 'connect'")),
    ] {
        let wrong = mistakes(&of_one_transaction("user", "64KiB", load, &operations));
        assert!(wrong.contains("load.workload: 'watch' primes the directory after each login"), "{wrong}");
    }
}
