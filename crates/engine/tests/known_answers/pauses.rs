//! Pauses and arrivals follow the laws that a plan names: Anderson-Darling against the law itself.
//!
//! Source: Anderson and Darling, Ann. Math. Stat. 23 (1952) 193; for a law without parameters to estimate A^2 above 3.857
//! has a probability of 1 % (Stephens, JASA 69 (1974) 730).

use sharebench_simulated::{Device, Served};
use sharebench_stats::normal_quantile;

use crate::known_answers::lab::{load, report_figure};

const ONE_PERCENT: f64 = 3.857;

/// A^2 of a sample against a cumulative law.
fn anderson_darling(mut sample: Vec<f64>, law: impl Fn(f64) -> f64) -> f64 {
    sample.sort_unstable_by(f64::total_cmp);
    let n = sample.len();
    let at = |index: usize| law(sample[index]).clamp(1e-15, 1.0 - 1e-15);
    let sum: f64 = (0..n).map(|i| (2 * i + 1) as f64 * (at(i).ln() + (1.0 - at(n - 1 - i)).ln())).sum();
    -(n as f64) - sum / n as f64
}

/// The standard normal law, by halving the inverse that stats has.
fn normal(x: f64) -> f64 {
    let mut low = 1e-16;
    let mut high = 1.0 - 1e-16;
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if normal_quantile(middle) < x { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Gaps between what the server was asked for, in seconds: one user, and a server that answers at once.
fn gaps(pace: &str) -> Vec<f64> {
    let (step, log) = load(
        41,
        pace,
        Device::new(1)
            .service_center(64, sharebench_simulated::Service::Fixed(crate::known_answers::lab::millis(0))),
    );
    let asked: Vec<&Served> = log.iter().filter(|served| !served.write).collect();
    assert!(step.measure.transactions > 3_000, "{}", step.measure.transactions);
    asked.windows(2).map(|pair| (pair[1].arrival - pair[0].arrival) as f64 / 1e9).collect()
}

fn holds(what: &str, a2: f64) {
    report_figure(&format!("{what}: A^2 (1 % above {ONE_PERCENT})"), format!("{a2:.3}"));
    assert!(a2 < ONE_PERCENT, "{what}: {a2}");
}

#[test]
fn exponential_pauses() {
    let pauses = gaps("users = [1]\nthink = 'exp 20ms'\nwarm_up = '0s'\nmeasure = '100s'");
    holds("exp 20ms", anderson_darling(pauses, |x| 1.0 - (-x / 0.020).exp()));
}

#[test]
fn lognormal_pauses() {
    let pauses = gaps("users = [1]\nthink = 'lognormal 10ms 50ms'\nwarm_up = '0s'\nmeasure = '100s'");
    let sigma = 5f64.ln() / 1.644_853_626_951_472_7;
    holds("lognormal 10ms 50ms", anderson_darling(pauses, |x| normal((x / 0.010).ln() / sigma)));
}

#[test]
fn poisson_arrivals() {
    let arrivals = gaps("users = [8]\narrivals = 'poisson'\nrates = [50]\nwarm_up = '0s'\nmeasure = '100s'");
    holds("poisson 50/s", anderson_darling(arrivals, |x| 1.0 - (-x * 50.0).exp()));
}

#[test]
fn a_wrong_law_is_distinguished_from_the_right_one() {
    let pauses = gaps("users = [1]\nthink = 'exp 20ms'\nwarm_up = '0s'\nmeasure = '100s'");
    let wrong = anderson_darling(pauses, |x| 1.0 - (-x / 0.022).exp());
    assert!(wrong > ONE_PERCENT, "a mean off by a tenth: {wrong}");
}

#[test]
fn listed_pauses_and_a_pace() {
    let pauses = gaps("users = [1]\nthink = 'list 10ms 20ms 30ms'\nwarm_up = '0s'\nmeasure = '100s'");
    for listed in [0.010, 0.020, 0.030] {
        let share = pauses.iter().filter(|pause| (**pause - listed).abs() < 1e-9).count() as f64
            / pauses.len() as f64;
        assert!((share - 1.0 / 3.0).abs() < 0.03, "{listed}: {share}");
    }
    let pace = gaps("users = [1]\nthink = 'every 20ms'\nwarm_up = '0s'\nmeasure = '100s'");
    assert!(pace.iter().all(|gap| (*gap - 0.020).abs() < 1e-9), "a pace has equal gaps");
}
