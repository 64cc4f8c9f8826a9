//! What is said of two servers, held against a second run of the same command.
//!
//!     SHAREBENCH_LONG=1 cargo test -p sharebench-tests --test end_to_end second_run -- --nocapture

use serde_json::Value;
use sharebench_tests::{Served, Sharebench, Smbd, SmbdOptions, needs};

/// A sentence with a number: of what, the word, and the ratio with its interval.
#[derive(Debug, Clone)]
struct Claim {
    of: String,
    verdict: String,
    ratio: f64,
    low: f64,
    high: f64,
}

impl Claim {
    fn new(of: String, estimated: &Value) -> Self {
        let estimate = &estimated["typical"];
        let number = |value: &Value| value.as_f64().unwrap();
        let interval = &estimate["interval"];
        Self {
            of,
            verdict: estimated.get("direction").unwrap_or(&estimated["verdict"]).as_str().unwrap().to_owned(),
            ratio: number(&estimate["value"]),
            low: number(&interval["low"]),
            high: number(&interval["high"]),
        }
    }

    /// The two words exclude each other.
    fn contradicts(&self, other: &Self) -> bool {
        let open = |claim: &Self| claim.verdict == "not-resolved";
        !open(self) && !open(other) && self.verdict != other.verdict
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    fn shown(&self) -> String {
        format!("{:.2} [{:.2}, {:.2}] {}", self.ratio, self.low, self.high, self.verdict)
    }
}

/// Runs the command of two targets once, prints what it says, and gives its claims.
fn claims(sharebench: &Sharebench, targets: [&str; 2], title: &str) -> Vec<Claim> {
    let long = std::env::var_os("SHAREBENCH_LONG").is_some();
    let sizes = if long {
        ["--file-sizes", "1MiB..16MiB x4", "--record-sizes", "4KiB..256KiB x4", "plan:min_sample_time=50ms"]
    } else {
        ["--file-sizes", "256KiB,1MiB", "--record-sizes", "4KiB,32KiB,256KiB", "plan:min_sample_time=5ms"]
    };
    let repetitions = if long { "10" } else { "6" };
    let usual = ["sweep", "--quiet", targets[0], targets[1], "--title", title];
    let more = ["--tests", "write,read", "--repetitions", repetitions];
    let printed = sharebench.run(&[&usual[..], &more, &sizes].concat()).unwrap().expect_success().stdout;
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    println!("load average {load}{}", printed.split("\nwrite\n").next().unwrap());
    let shown = sharebench.run(&["show", "last", "--format", "json"]).unwrap().expect_success().stdout;
    let analysis: Value = serde_json::from_str(&shown).unwrap();
    let comparison = &analysis["comparisons"][0];
    let title = |section: &Value| analysis["sections"][section.as_u64().unwrap() as usize]["title"].clone();
    let mut claims = vec![Claim::new("all cells".into(), &comparison["overall"]["summary"])];
    let tests = comparison["sections"].as_array().unwrap().iter().enumerate();
    claims
        .extend(tests.map(|(n, estimated)| Claim::new(title(&n.into()).as_str().unwrap().into(), estimated)));
    for part in comparison["differences"]["parts"].as_array().unwrap() {
        let span = |span: &Value| {
            format!("{} {} to {}", span["axis"].as_str().unwrap(), span["from"]["bytes"], span["to"]["bytes"])
        };
        let place: Vec<String> = part["place"].as_array().unwrap().iter().map(span).collect();
        let tests = part["sections"].as_array().unwrap().iter().map(|section| title(section).to_string());
        let of = format!("{}: {}", tests.collect::<Vec<_>>().join(", "), place.join(", "));
        claims.push(Claim::new(of, part));
    }
    claims
}

/// Runs a command twice; nothing that the first says may be denied by the second.
fn compare_with_a_second_run(sharebench: &Sharebench, targets: [&str; 2], title: &str) {
    let first = claims(sharebench, targets, title);
    let second = claims(sharebench, targets, title);
    println!("| {title} | first run | second run | intervals |\n|---|---|---|---|");
    for claim in &first {
        let again = second.iter().find(|other| other.of == claim.of);
        let overlap = again.map_or("", |again| if claim.overlaps(again) { "overlap" } else { "apart" });
        let estimated = again.map_or("no such part".to_owned(), Claim::shown);
        println!("| {} | {} | {estimated} | {overlap} |", claim.of, claim.shown());
        assert!(again.is_none_or(|again| !claim.contradicts(again)), "{claim:?} against {again:?}");
    }
}

#[test]
fn second_run_confirms_the_effect_of_signing() {
    needs!(Smbd::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let off = smbd.url("", "sign=off");
    let on = smbd.url("", "sign=required");
    compare_with_a_second_run(&sharebench, [&off, &on], "smbd, signing off and on");
}

#[test]
fn second_run_confirms_the_difference_of_two_servers() {
    needs!(Smbd::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let served: Served = sharebench.serve("served").unwrap();
    compare_with_a_second_run(&sharebench, [&served.smb_url(""), &smbd.url("", "")], "embedded SMB and smbd");
}
