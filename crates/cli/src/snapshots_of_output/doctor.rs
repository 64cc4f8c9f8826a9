//! Snapshots of the doctor's report.

use sharebench_doctor::{Examination, Finding, Proof, Row, Section, Status, Verdict};

use super::{TERMINALS, assert_fits, check, style};
use crate::commands::doctor_text::{findings_text, proofs_text, verdict_text};

fn finding(name: &'static str, status: Status, measured: &str, invalidates: &'static str) -> Finding {
    Finding { name, status, measured: measured.to_owned(), invalidates }
}

/// The findings of a machine under load.
fn sections() -> Vec<Section> {
    let times = vec![
        finding(
            "clock",
            Status::Pass,
            "resolution 1.00 ns, 22.0 ns per reading: times from 2.20 us on are exact",
            "times of single operations shorter than a hundred times the cost; longer operations are timed well",
        ),
        finding(
            "clock source",
            Status::Pass,
            "tsc",
            "every time: each reading is a system call or a slow device access",
        ),
        finding(
            "frequency",
            Status::Unknown,
            "no governor: hypervisor or firmware set it",
            "comparisons between steps: the first operations after a pause are slower; set 'performance'",
        ),
    ];
    let generator = vec![finding(
        "ceiling, depth 32",
        Status::Pass,
        "3060829 reads/s of 4KiB: results are valid up to 1020276",
        "small records at high rates: above a third of this, the load generator limits the result",
    )];
    let noise = vec![finding(
        "pressure",
        Status::Warn,
        "38.2 % over 2s (limit 10 %)",
        "throughput, tails and the pace of the load: tasks wait for a CPU; stop other work",
    )];
    let section = |heading, findings| Section { heading, findings };
    vec![section("Clock and timers", times), section("Load generator", generator), section("Noise", noise)]
}

fn row(quantity: &str, truth: &str, measured: &str, tolerance: &str, holds: bool) -> Row {
    Row {
        quantity: quantity.to_owned(),
        truth: truth.to_owned(),
        measured: measured.to_owned(),
        tolerance: tolerance.to_owned(),
        holds,
    }
}

fn proof(id: &'static str, title: &'static str, verdict: Verdict, why: &str, rows: Vec<Row>) -> Proof {
    let attempts = match verdict {
        Verdict::NotRun => 0,
        Verdict::Pass => 1,
        Verdict::Fail | Verdict::TooNoisy => 3,
    };
    Proof { id, title, verdict, attempts, rows, why: why.to_owned() }
}

/// One proof of each verdict.
fn proofs() -> Vec<Proof> {
    vec![
        proof(
            "K1",
            "a server that answers after exactly 10 ms",
            Verdict::Pass,
            "",
            vec![
                row("p50", "10 ms", "10.1 ms", "10.0-10.3 ms", true),
                row("p50 over the server's log", "10.0 ms", "10.1 ms", "150 us", true),
                row("rate as executed", "98.93/s", "98.71/s (-0.22 %)", "2 %", true),
            ],
        ),
        proof(
            "K2",
            "a server that sends 50 MB/s",
            Verdict::Fail,
            "throughput is outside its tolerance in all 3 attempts although the machine was quiet",
            vec![
                row("throughput", "50 MB/s", "46.125 MB/s", "3 %", false),
                row("never above", "50 MB/s", "46.125 MB/s", "0.5 %", true),
                row(
                    "rate off by",
                    "1.85 pt as executed",
                    "+0.36 pt at worst",
                    "1.0 pt; one of 1.8 if covered",
                    true,
                ),
            ],
        ),
        proof(
            "K18",
            "the hiccup meter finds planted stalls",
            Verdict::TooNoisy,
            "the machine was not quiet: CPU pressure 38.2 % (limit 10 %)",
            vec![row("stalls", "20", "23", "1", false)],
        ),
        proof(
            "K20",
            "a step of the wall clock",
            Verdict::NotRun,
            "it needs root and --step-clock",
            Vec::new(),
        ),
    ]
}

#[test]
fn doctor_lists_findings_that_pass_warn_and_are_unknown() {
    for (width, _) in TERMINALS {
        let examination = Examination { sections: sections(), smallest_difference: Some(0.0312) };
        let text = findings_text(&examination, style(width)) + &verdict_text(&examination, &[], style(width));
        assert_fits("doctor", width, &text);
        check("doctor", width, &text);
    }
}

#[test]
fn doctor_lists_proofs_with_truth_and_measured_value() {
    for (width, _) in TERMINALS {
        let examination = Examination { sections: Vec::new(), smallest_difference: None };
        let text =
            proofs_text(&proofs(), style(width)) + &verdict_text(&examination, &proofs(), style(width));
        assert_fits("doctor_prove", width, &text);
        check("doctor_prove", width, &text);
    }
}
