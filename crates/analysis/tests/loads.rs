//! Loads: forecasts and their refusals, objectives, paces and fairness as sentences and numbers.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic")]

mod synthetic;

use sharebench_analysis::{Analysis, Options, Sentence, analyse};
use sharebench_model::{
    Check, Coordinates, Fairness, LoadDetail, ObjectiveReport, Part, RateBase, Value, Verdict, axis,
};
use sharebench_stats::mean_value_analysis;
use synthetic::Synthetic;

fn users(n: u64) -> Coordinates {
    Coordinates::new().with(axis::WORKLOAD, Value::text("office")).with(axis::USERS, Value::Count(n))
}

/// Steps of users who think `think` seconds, with the transactions per second that `law` gives.
fn load(steps: &[u64], think: f64, law: impl Fn(u64) -> f64) -> Synthetic {
    let mut run = Synthetic::new("load", &["nas"], 4);
    for &n in steps {
        run.step(0, 0, users(n), law(n) * 1e5);
        let measure = &mut run.run.steps.last_mut().unwrap().measure;
        measure.rate_base = RateBase::Window;
        measure.window_ns = 60_000_000_000;
        measure.transactions = (law(n) * 60.0).round() as u64;
        let part =
            Part { count: measure.transactions, response: measure.response.clone(), ..Part::named("open") };
        measure.load =
            LoadDetail { transactions: vec![part], think_ns: (think * 1e9) as u64, ..LoadDetail::default() };
    }
    run
}

fn said(sentences: &[Sentence]) -> String {
    sentences.iter().map(|sentence| sentence.text.as_str()).collect::<Vec<_>>().join("\n")
}

fn analysed(run: Synthetic) -> Analysis {
    analyse(&[run.run], &Options::default())
}

#[test]
fn a_load_with_a_bend_is_predicted_up_to_twice_its_largest_step() {
    // One queue of 2 ms, think time 20 ms: knee at 11 users, ceiling 500/s.
    let law = |n: u64| mean_value_analysis(&[0.002], 0.020, n as u32).0;
    let analysis = analysed(load(&[1, 2, 5, 8, 11, 15, 20, 30], 0.020, law));
    let report = &analysis.sections[0].capacity[0];
    assert_eq!((report.tried, report.rejected.as_ref()), (30, None));
    let (users, rate) = report.forecast.as_ref().unwrap();
    assert!((*users - 60.0).abs() < 1e-9 && (rate.value / 500.0 - 1.0).abs() < 0.03, "{rate:?}");
    assert!((report.knee.unwrap() / 11.0 - 1.0).abs() < 0.15, "{report:?}");
    let found = said(&analysis.findings);
    assert!(found.contains("nas reaches") && found.contains("knee at"), "{found}");
    let part =
        &analysis.sections[0].rows[0].outcomes[0].as_ref().unwrap().load.as_ref().unwrap().transactions[0];
    assert!((part.per_s - law(1)).abs() < 0.05 && part.response_ns[0] > 0, "{part:?}");
}

#[test]
fn k11_a_rejected_forecast_states_its_reason() {
    let straight = analysed(load(&[1, 2, 4, 6, 8], 1.0, |n| n as f64 * 10.0));
    let open = said(&straight.not_resolved);
    assert!(open.contains("no forecast for nas: at the largest load each user still got 100 %"), "{open}");
    assert!(straight.sections[0].capacity[0].forecast.is_none());
    let few = said(&analysed(load(&[1, 2, 4], 1.0, |n| n as f64)).not_resolved);
    assert!(few.contains("3 different loads are too few for a forecast; measure at least 5"), "{few}");
}

#[test]
fn an_objective_has_the_largest_load_that_meets_it_and_the_smallest_that_misses_it() {
    let mut run = load(&[10, 20, 40], 1.0, |n| n as f64);
    for (step, kept) in run.run.steps.iter_mut().zip([true, true, false]) {
        let detail = format!("p95 {} ms of at most 20 ms", if kept { 8 } else { 31 });
        step.measure.load.objective = Some(ObjectiveReport { wanted: "p95<20ms".into(), kept, detail });
    }
    let found = said(&analysed(run).findings);
    assert!(
        found.contains("nas meets p95<20ms up to 20 users and misses it at 40 (p95 31 ms of at most 20 ms)"),
        "{found}"
    );
}

#[test]
fn overload_and_uneven_service_are_named() {
    let mut run = load(&[10, 20], 1.0, |n| n as f64);
    let detail = "12 of 20 transactions/s that 20 users ask for ended: overloaded".to_owned();
    let check = Check { name: "pace".into(), verdict: Verdict::Warning, detail };
    run.run.steps[1].checks.push(check);
    let mut fairness = Fairness::default();
    (0..10).for_each(|user| fairness.add(if user < 5 { 900 } else { 20 }));
    run.run.steps[0].measure.load.fairness = fairness;
    let found = said(&analysed(run).findings);
    assert!(found.contains("nas sustains 10 users at their pace and is overloaded with 20"), "{found}");
    assert!(
        found.contains("served unevenly: from 20 to 900 transactions each (fairness 0.52 of 1)"),
        "{found}"
    );
}
