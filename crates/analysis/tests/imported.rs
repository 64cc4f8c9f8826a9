//! Imported tables of users, rates and response times: checks with Little's law, capacity laws, and what is not known.

use crate::tables::imported;
use sharebench_analysis::{Analysis, Options, Scalability, analyse};
use sharebench_stats::{ErrorScale, LoadPoint, Usl};

const MAP_1997: [&str; 6] =
    ["target=server", "users=users", "rate=kB_per_s:kB/s", "response=art_s:s", "reported=mps", "test==write"];

/// The figures of 1997 as printed, and further keys.
fn figures_of_1997(more: &[&str]) -> Analysis {
    let table = include_bytes!("../../exchange/tests/data/dynameasure1997.csv");
    let map: Vec<&str> = MAP_1997.iter().chain(more).copied().collect();
    analyse(&imported("dynameasure1997.csv", table, &map), &Options::default())
}

fn texts(sentences: &[sharebench_analysis::Sentence]) -> Vec<&str> {
    sentences.iter().map(|sentence| sentence.text.as_str()).collect()
}

/// Sentences that name Little's law.
fn of_the_law(analysis: &Analysis) -> Vec<&str> {
    texts(&analysis.contradictions).into_iter().filter(|text| text.contains("Little's law")).collect()
}

#[test]
fn the_figures_of_1997_imply_transactions_of_different_sizes() {
    let analysis = figures_of_1997(&["think==0:s"]);
    assert_eq!(
        of_the_law(&analysis),
        [
            "write: rate x (response + think time) / users is the size of a transaction and must be equal in all steps \
             (Little's law), but it is NT 4.0 2220 kB with 50 users, 302 kB with 100; NetWare 4.1 617 kB with 50 users, \
             356 kB with 100. The steps of one system differ: NT 4.0 by a factor of 7.34, NetWare 4.1 by a factor of 1.73. \
             NT 4.0 with 50 users deviates most from the median of 487 kB: residual 356 %."
        ]
    );
    assert_eq!(of_the_law(&figures_of_1997(&[])), [] as [&str; 0], "the think time is not known");
}

#[test]
fn a_stated_transaction_size_gives_the_residual_of_each_step() {
    let analysis = figures_of_1997(&["think==0:s", "transaction_size==2:MB"]);
    assert_eq!(
        of_the_law(&analysis),
        [
            "write: NT 4.0: 0.42 transactions/s with a mean response time of 132 s and no think time account for 55.5 users, \
             but 50 reported (Little's law, residual 11 %).",
            "write: NT 4.0: 0.36 transactions/s with a mean response time of 42.0 s and no think time account for 15.1 users, \
             but 100 reported (Little's law, residual 85 %).",
            "write: NetWare 4.1: 0.08 transactions/s with a mean response time of 122 s and no think time account for 10.2 \
             users, but 33 reported (Little's law, residual 69 %).",
            "write: NetWare 4.1: 0.10 transactions/s with a mean response time of 142 s and no think time account for 14.8 \
             users, but 83 reported (Little's law, residual 82 %).",
        ]
    );
    let analysis = figures_of_1997(&["think==15:s", "transaction_size==2:MB"]);
    assert_eq!(
        of_the_law(&analysis)[0],
        "write: NT 4.0: 0.42 transactions/s with a mean response time of 132 s and a think time of 15.0 s account for 61.8 \
         users, but 50 reported (Little's law, residual 24 %)."
    );
}

#[test]
fn systems_that_agree_each_but_not_with_each_other_contradict_the_law() {
    let found = |table: &str, think: &str| {
        let map = ["target=server", "users=users", "rate=rate:kB/s", "response=art:s", "test==read", think];
        let analysis = analyse(&imported("t.csv", table.as_bytes(), &map), &Options::default());
        of_the_law(&analysis).join("\n")
    };
    // X (R + Z) / N with Z = 1 s: 1000 x 2 / 10 and 1000 x 4 / 20.
    let equal = "server,users,rate,art\na,10,1000,1\na,20,1000,3\nb,10,1000,1\nb,20,1000,3\n";
    assert_eq!(found(equal, "think==1:s"), "");
    assert_eq!(
        found(equal, "think==0:s"),
        "read: rate x (response + think time) / users is the size of a transaction and must be equal in all steps (Little's \
         law), but it is a 100 kB with 10 users, 150 kB with 20; b 100 kB with 10 users, 150 kB with 20. The steps of one \
         system differ: a by a factor of 1.50, b by a factor of 1.50. b with 20 users deviates most from the median of \
         125 kB: residual 20 %."
    );
    let halved = "server,users,rate,art\na,10,1000,1\na,20,1000,3\nb,10,500,1\nb,20,500,3\n";
    assert_eq!(
        found(halved, "think==1:s"),
        "read: rate x (response + think time) / users is the size of a transaction and must be equal in all steps (Little's \
         law), but it is a 200 kB with 10 users, 200 kB with 20; b 100 kB with 10 users, 100 kB with 20. The steps of each \
         system agree: the systems did not perform the same transactions, or one is wrong. b with 20 users deviates most \
         from the median of 150 kB: residual 33 %."
    );
}

const PROCESSORS: [f64; 11] = [1.0, 4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0, 32.0, 48.0, 64.0];
const THROUGHPUT: [f64; 11] = [20.0, 78.0, 130.0, 170.0, 190.0, 200.0, 210.0, 230.0, 260.0, 280.0, 310.0];

#[test]
fn an_imported_table_gets_the_scalability_law_of_the_statistics() {
    let table = include_bytes!("../../exchange/tests/data/raytracer.csv");
    let map = ["users=processors", "rate=throughput:ops/s", "test==render"];
    let analysis = analyse(&imported("raytracer.csv", table, &map), &Options::default());
    let points: Vec<LoadPoint> =
        PROCESSORS.iter().zip(THROUGHPUT).map(|(load, rate)| LoadPoint::new(*load, rate)).collect();
    let law = Usl::fit(&points, ErrorScale::Absolute).unwrap();
    let Usl { alpha, beta, gamma, errors, .. } = law;
    let expected = Scalability { alpha, beta, gamma, errors, peak: law.peak(), better_curve: None };
    assert_eq!(analysis.sections[0].capacity[0].scalability.as_ref(), Some(&expected));
    assert_eq!(
        laws(&analysis),
        [
            "render: the scalability law (USL, least squares of the rates) of raytracer has a contention alpha of 0.0578 \
             (standard error 0.0056), a coherency beta of 0 and a rate gamma of 21.8 transactions/s for one user; the rate \
             has no peak."
        ]
    );
}

/// SPEC SDM91 on a Sun `SPARCcenter` 2000 (Gunther; data set `specsdm91` of the R package `usl`), whose published fit is
/// alpha 0.0277, beta 0.000104, peak 1884 at 96.5. Left out one at a time, its steps are predicted better by a line and a limit.
#[test]
fn a_published_fit_comes_back_from_an_imported_table() {
    let table = b"load,rate\n1,64.9\n18,995.9\n36,1652.4\n72,1853.2\n108,1828.9\n144,1775.0\n216,1702.2\n";
    let law_of = |rate: &str| {
        let map = ["users=load", rate, "test==sdm"];
        laws(&analyse(&imported("specsdm91.csv", table, &map), &Options::default())).join("\n")
    };
    assert_eq!(
        law_of("rate=rate:ops/s"),
        "sdm: the scalability law (USL, least squares of the rates) of specsdm91 has a contention alpha of 0.0277 (standard \
         error 0.0091), a coherency beta of 0.000104 (standard error 0.000020) and a rate gamma of 90.0 transactions/s for \
         one user; a rate in proportion to the load up to a limit predicts each step better from the others, so the peak of \
         the law is not stated."
    );
    // Without the size of a transaction the law is that of the bytes.
    assert!(law_of("rate=rate:kB/s").contains("a rate gamma of 90.0 kB/s for one user"));
}

#[test]
fn a_flat_server_has_no_peak() {
    // A server that is flat at 800/s, measured with 1 % noise: least squares gave "peaks at 17.5 users with 887/s".
    let table = b"load,rate\n4,799\n8,806\n16,797\n24,803\n32,795\n48,801\n";
    let analysis = analyse(
        &imported("flat.csv", table, &["users=load", "rate=rate:ops/s", "test==flat"]),
        &Options::default(),
    );
    let found = laws(&analysis).join("\n");
    assert!(found.contains("a constant rate predicts each step better from the others"), "{found}");
    assert!(!found.contains("peaks at"), "{found}");
    let falling = b"load,rate\n1,100\n4,330\n8,500\n16,600\n24,590\n32,540\n48,450\n64,370\n";
    let map = ["users=load", "rate=rate:ops/s", "test==falling"];
    let found = laws(&analyse(&imported("falling.csv", falling, &map), &Options::default())).join("\n");
    assert!(found.contains("the rate peaks at 1") && found.contains(" users with 6"), "{found}");
}

fn laws(analysis: &Analysis) -> Vec<String> {
    let found = analysis.findings.iter().map(|sentence| sentence.text.clone());
    found.filter(|text| text.contains("scalability law (USL")).collect()
}

#[test]
fn a_table_of_too_few_loads_gets_the_reason_why_there_is_no_law() {
    let analysis = figures_of_1997(&[]);
    let open = texts(&analysis.not_resolved);
    let refused: Vec<&str> = open.into_iter().filter(|text| text.contains(": no ")).collect();
    assert_eq!(
        refused,
        [
            "write: no scalability law (USL) for NT 4.0: the law needs at least 3 different loads, and the table has 2 \
             different loads.",
            "write: no forecast for NT 4.0: 2 different loads are too few for a forecast; measure at least 5.",
            "write: no scalability law (USL) for NetWare 4.1: the law needs at least 3 different loads, and the table has 2 \
             different loads.",
            "write: no forecast for NetWare 4.1: 2 different loads are too few for a forecast; measure at least 5.",
        ]
    );
}

#[test]
fn a_mean_response_time_gives_no_percentiles() {
    let analysis = figures_of_1997(&[]);
    let outcome = analysis.sections[0].rows[0].outcomes[0].as_ref().unwrap();
    assert_eq!(outcome.response_mean_ns, Some(132e9));
    assert_eq!((*outcome.p50, *outcome.p95, *outcome.p99), (None, None, None));
    assert!(outcome.curve.is_none());
    assert_eq!((outcome.operations_per_s, outcome.transactions_per_s), (None, None));
    assert_eq!((outcome.cpu.user_ns_per_operation, outcome.cpu.ns_per_byte), (None, None));
}
