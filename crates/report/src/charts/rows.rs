//! One position of a section as JSON for the charts.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use sharebench_analysis::{
    CacheShares, Curve, LoadOutcome, LoadSupport, Outcome, Percentile, Ratio, RatioVerdict, Row,
};
use sharebench_model::Verdict;

use super::digits::{digits_of, four_digits, grade, number};

/// Texts, each kept once.
#[derive(Default)]
pub struct Notes<'a> {
    at: BTreeMap<&'a str, usize>,
    texts: Vec<&'a str>,
}

impl<'a> Notes<'a> {
    fn index(&mut self, text: &'a str) -> usize {
        let Self { at, texts } = self;
        *at.entry(text).or_insert_with(|| {
            texts.push(text);
            texts.len() - 1
        })
    }

    /// In the order of their indices.
    pub fn into_texts(self) -> Vec<&'a str> {
        self.texts
    }
}

/// Rows, each made when it is written: all of them take more memory than the analysis.
pub struct Rows<'a, 'n> {
    pub rows: &'a [Row],
    /// Collects the remarks of the rows.
    pub notes: &'n RefCell<Notes<'a>>,
}

impl Serialize for Rows<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows.iter().map(|at| row(at, &mut self.notes.borrow_mut())))
    }
}

#[derive(Serialize)]
struct RowData<'a> {
    at: Vec<Option<String>>,
    /// The positions as numbers.
    x: Vec<Option<u64>>,
    outcomes: Vec<Option<OutcomeData<'a>>>,
    ratios: Vec<Option<RatioData>>,
}

/// Interval of a percentile, and whether it is resolved.
type SpreadData = (Option<u64>, Option<u64>, bool);

#[derive(Serialize)]
struct OutcomeData<'a> {
    rate: f64,
    low: Option<f64>,
    high: Option<f64>,
    n: usize,
    mean: Option<f64>,
    p50: Option<u64>,
    p95: Option<u64>,
    p99: Option<u64>,
    /// Intervals of the three, and whether they are resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    spread: Option<[SpreadData; 3]>,
    mps: u32,
    assigned: u32,
    errors: u64,
    cpu_user: Option<f64>,
    cpu_kernel: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_byte: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    acknowledged: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    durable: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bands: Option<BandsData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<bool>,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    curve: Option<CurveData<'a>>,
}

#[derive(Serialize)]
struct CurveData<'a> {
    response: &'a [(f64, u64)],
    service: &'a [(f64, u64)],
    lag: &'a [(f64, u64)],
    resolved: f64,
}

/// Shares of the client's cache, of the server's, of storage, and of both together where they are not distinguished.
#[derive(Serialize)]
struct BandsData {
    shares: [f64; 4],
    grade: &'static str,
    label: String,
}

#[derive(Serialize)]
struct RatioData {
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    standing: RatioVerdict,
    /// True for a ratio of single runs that is further from one than clocks and runs declared equal explain.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    single: bool,
}

/// A row with all its systems and comparisons.
fn row<'a>(row: &'a Row, notes: &mut Notes<'a>) -> RowData<'a> {
    RowData {
        at: row.position.iter().map(|value| value.as_ref().map(ToString::to_string)).collect(),
        x: row.position.iter().map(|value| number(value.as_ref())).collect(),
        outcomes: row.outcomes.iter().map(|o| o.as_ref().map(|o| outcome(o, notes))).collect(),
        ratios: row.ratios.iter().map(|ratio| ratio.as_ref().map(ratio_data)).collect(),
    }
}

fn outcome<'a>(outcome: &'a Outcome, notes: &mut Notes<'a>) -> OutcomeData<'a> {
    let [_, low, high] = digits_of(&outcome.rate);
    let enough = |load: &&LoadOutcome| load.support.as_ref().is_none_or(LoadSupport::is_enough);
    let objective = outcome.load.as_deref().filter(enough).and_then(|load| load.objective.as_ref());
    let curve = |curve: &'a Curve| CurveData {
        response: &curve.response,
        service: &curve.service,
        lag: &curve.lag,
        resolved: curve.resolved_to,
    };
    let ns = |percentile: Percentile| percentile.ns;
    let percentiles =
        outcome.p50.zip(*outcome.p95).zip(*outcome.p99).map(|((p50, p95), p99)| [p50, p95, p99]);
    OutcomeData {
        rate: four_digits(outcome.rate.value),
        low,
        high,
        n: outcome.repetitions(),
        mean: outcome.response_mean_ns.map(four_digits),
        p50: outcome.p50.map(ns),
        p95: outcome.p95.map(ns),
        p99: outcome.p99.map(ns),
        spread: outcome.curve.as_ref().and(percentiles).map(|percentiles| percentiles.map(spread)),
        mps: outcome.users_reported,
        assigned: outcome.users_assigned,
        errors: outcome.error_count(),
        cpu_user: outcome.cpu.user_ns_per_operation.map(four_digits),
        cpu_kernel: outcome.cpu.kernel_ns_per_operation.map(four_digits),
        cpu_byte: outcome.cpu.ns_per_byte.map(four_digits),
        acknowledged: outcome.flushed.acknowledged_per_s.map(four_digits),
        durable: outcome.flushed.durable_per_s.map(four_digits),
        cached: outcome.wire.map(|wire| four_digits(wire.client_cache_share)),
        bands: outcome.cache_shares.as_deref().map(bands),
        kept: objective.map(|objective| objective.kept),
        verdict: outcome.verdict,
        notes: outcome.remarks.iter().map(|remark| notes.index(remark)).collect(),
        curve: outcome.curve.as_deref().map(curve),
    }
}

fn spread(percentile: Percentile) -> SpreadData {
    let bound = |of: fn(sharebench_analysis::Interval) -> f64| percentile.interval.map(|i| of(i) as u64);
    (bound(|i| i.low), bound(|i| i.high), percentile.resolved)
}

fn bands(bands: &CacheShares) -> BandsData {
    // Bounds that leave everything open are drawn as one band.
    let apart = bands.storage.half_width() * 2.0 < 1.0 - bands.client.middle() || bands.storage.high == 0.0;
    let client = bands.client.middle();
    let server = bands.server.middle();
    let storage = bands.storage.middle();
    let shares = if apart { [client, server, storage, 0.0] } else { [client, 0.0, 0.0, 1.0 - client] };
    BandsData { shares: shares.map(four_digits), grade: grade(bands.grade), label: bands.label() }
}

fn ratio_data(ratio: &Ratio) -> RatioData {
    let [ratio_, low, high] = digits_of(&ratio.typical);
    let single = ratio.single_run.is_some_and(|single| single.resolved);
    RatioData { ratio: ratio_, low, high, standing: ratio.verdict, single }
}
