//! Guesses at what limits a system: the shape of its rates over record sizes, its service times, its client CPU.

use std::collections::BTreeMap;

use sharebench_model::{Fact, Histogram, Value, axis};
use sharebench_stats::{median, median_or_zero};

use crate::align::Aligned;
use crate::align::rates::usable;
use crate::align::settings::changes;
use crate::estimate::Estimated;
use crate::estimate::pairing::Pairs;
use crate::judge::cache_cliffs::crossed_the_wire;
use crate::judge::connection_limit::one_connection;
use crate::judge::family::Family;
use crate::types::{
    Condition, Mechanism, MechanismGuess, Outcome, RateUnit, Row, Section, UnlikeCondition, View,
};

/// Fewest cells, and fewest record sizes of a level.
const FEWEST: usize = 3;

/// The intervals of all cells of a level lie within this factor.
const LEVEL: f64 = 1.12;

/// A level covers records whose sizes differ by at least this factor.
const SPAN: u64 = 4;

/// From this share of one processor on the client's own CPU may be the limit, so that nothing else is guessed.
const CLIENT_BUSY: f64 = 0.7;

/// Service times of a delayed acknowledgement: Linux waits 40 ms at least, and its timer ticks in steps of up to 4 ms.
const STALL_NS: (u64, u64) = (38_000_000, 46_000_000);

/// Fewest stalls of a cell, and how many times as many as times of half to twice their length.
const FEWEST_STALLS: f64 = 3.0;
const STALL_CONTRAST: f64 = 4.0;

/// Smallest part of the additional time that additional client CPU must account for.
const CPU_PART: f64 = 0.25;

/// All guesses, by section, then system. The texts are empty until the next stage writes them.
pub(crate) fn mechanisms(
    aligned: &Aligned<'_>,
    estimated: &Estimated,
    unlike: &[UnlikeCondition],
    family: &Family,
) -> Vec<MechanismGuess> {
    let mut found = Vec::new();
    for (index, section) in estimated.sections.iter().enumerate() {
        if section.view == View::Load || section.unit != RateUnit::BytesPerSecond {
            continue;
        }
        for system in 0..aligned.systems.len() {
            let lines = lines(aligned, section, system);
            let guesses = [
                bandwidth_cap(&lines),
                round_trip(&lines),
                delayed_acknowledgement(aligned, section, system),
            ];
            let guess = |(mechanism, cells)| MechanismGuess {
                section: index,
                system,
                mechanism,
                cells,
                text: String::new(),
            };
            found.extend(guesses.into_iter().flatten().map(guess));
        }
        found.extend(signing_cpu(aligned, estimated, index, unlike, family));
        found.extend(one_connection(aligned, estimated, index, family));
    }
    found
}

/// A mechanism with the number of cells that show it.
type Guess = (Mechanism, usize);

/// A cell on a line of record sizes.
#[derive(Clone, Copy)]
struct Point {
    record: u64,
    rate: f64,
    low: f64,
    high: f64,
    /// Part of one processor that the client used.
    client_busy: f64,
    /// One operation in flight.
    is_serial: bool,
}

impl Point {
    fn new(row: &Row, outcome: &Outcome) -> Option<Self> {
        let interval = outcome.rate.interval?;
        let serial = |axis| row.coordinates.number(axis).is_none_or(|number| number == 1);
        Some(Self {
            record: row.coordinates.number(axis::RECORD_SIZE).filter(|record| *record > 0)?,
            rate: outcome.rate.value,
            low: interval.low,
            high: interval.high,
            client_busy: outcome.cpu.ns_per_byte.unwrap_or(0.0) * outcome.rate.value / 1e9,
            is_serial: serial(axis::QUEUE_DEPTH) && serial(axis::JOBS),
        })
    }

    /// The same in operations per second.
    fn in_operations(self) -> Self {
        let each = 1.0 / self.record as f64;
        Self { rate: self.rate * each, low: self.low * each, high: self.high * each, ..self }
    }
}

/// The cells of one system by record size, one line for each position on the other axes, those of the largest files
/// first. Cells that a client's cache may have served, and cells without an interval, take no part.
fn lines(aligned: &Aligned<'_>, section: &Section, system: usize) -> Vec<Vec<Point>> {
    let Some(along) = section.axes.iter().position(|axis| axis == axis::RECORD_SIZE) else {
        return Vec::new();
    };
    let mut lines: BTreeMap<Vec<Option<Value>>, Vec<Point>> = BTreeMap::new();
    for row in &section.rows {
        let outcome = row.outcomes[system].as_ref();
        let outcome = outcome.filter(|outcome| crossed_the_wire(aligned, system, outcome));
        let Some(point) = outcome.and_then(|outcome| Point::new(row, outcome)) else { continue };
        let mut others = row.position.clone();
        others.remove(along);
        lines.entry(others).or_default().push(point);
    }
    let mut lines: Vec<Vec<Point>> = lines.into_values().rev().collect();
    for line in &mut lines {
        line.sort_by_key(|point| point.record);
    }
    lines.retain(|line| line.len() >= FEWEST);
    lines
}

/// Cells whose rates are the same.
#[derive(Default, Clone)]
struct Level {
    points: Vec<Point>,
}

impl Level {
    /// The first points of a line that are level; none if they are too few or their records too similar.
    fn from_line(line: impl Iterator<Item = Point>) -> Option<Self> {
        let mut level = Self::default();
        for point in line {
            let mut longer = level.clone();
            longer.points.push(point);
            if !longer.is_level() {
                break;
            }
            level = longer;
        }
        let (smallest, largest) = level.records();
        (level.points.len() >= FEWEST && largest / smallest.max(1) >= SPAN).then_some(level)
    }

    /// The levels of most of the lines as one; none if they are not the same.
    fn common(lines: usize, levels: &[Option<Self>]) -> Option<Self> {
        let mut common = Self::default();
        let mut merged = 0;
        for level in levels.iter().flatten() {
            let mut all = common.clone();
            all.points.extend(&level.points);
            if all.is_level() {
                common = all;
                merged += 1;
            }
        }
        (merged > 0 && merged * 2 >= lines).then_some(common)
    }

    fn is_level(&self) -> bool {
        let (low, high) = self.range();
        low > 0.0 && high / low <= LEVEL
    }

    /// The rates that the intervals allow.
    fn range(&self) -> (f64, f64) {
        let low = self.points.iter().map(|point| point.low).fold(f64::INFINITY, f64::min);
        (low, self.points.iter().map(|point| point.high).fold(0.0, f64::max))
    }

    fn records(&self) -> (u64, u64) {
        let records = || self.points.iter().map(|point| point.record);
        (records().min().unwrap_or(0), records().max().unwrap_or(0))
    }

    fn rate(&self) -> f64 {
        median_or_zero(&self.points.iter().map(|point| point.rate).collect::<Vec<f64>>())
    }

    fn is_client_busy(&self) -> bool {
        let mut busy: Vec<f64> = self.points.iter().map(|point| point.client_busy).collect();
        median(&mut busy).is_some_and(|busy| busy >= CLIENT_BUSY)
    }
}

/// Rates of large records level off, and no smaller record is faster.
fn bandwidth_cap(lines: &[Vec<Point>]) -> Option<Guess> {
    let of = |line: &Vec<Point>| {
        let level = Level::from_line(line.iter().rev().copied())?;
        let (_, high) = level.range();
        line.iter().all(|point| point.rate <= high).then_some(level)
    };
    let levels: Vec<Option<Level>> = lines.iter().map(of).collect();
    let level = Level::common(lines.len(), &levels).filter(|level| !level.is_client_busy())?;
    let mechanism =
        Mechanism::BandwidthCap { rate: level.rate(), range: level.range(), records: level.records() };
    Some((mechanism, level.points.len()))
}

/// Small records have the same number of operations per second, with one operation in flight.
fn round_trip(lines: &[Vec<Point>]) -> Option<Guess> {
    let of = |line: &Vec<Point>| Level::from_line(line.iter().map(|point| point.in_operations()));
    let levels: Vec<Option<Level>> = lines.iter().map(of).collect();
    let level = Level::common(lines.len(), &levels)?;
    if level.is_client_busy() || !level.points.iter().all(|point| point.is_serial) {
        return None;
    }
    let mechanism = Mechanism::RoundTrip {
        operations_per_s: level.range(),
        operation_ns: 1e9 / level.rate(),
        records: level.records(),
    };
    Some((mechanism, level.points.len()))
}

/// Numbers of service times of one or more cells.
#[derive(Default)]
struct StallCounts {
    all: f64,
    stalls: f64,
    below: f64,
    beyond: f64,
}

impl StallCounts {
    /// True if the stalls are a group of their own, and less than half of all times.
    fn is_distinct(&self) -> bool {
        self.stalls >= FEWEST_STALLS
            && self.stalls >= STALL_CONTRAST * (self.below + self.beyond)
            && self.stalls + self.below + self.beyond < 0.5 * self.all
    }

    fn add(&mut self, other: &Self) {
        self.all += other.all;
        self.stalls += other.stalls;
        self.below += other.below;
        self.beyond += other.beyond;
    }
}

/// Service times have a second group at about 40 ms in several cells.
fn delayed_acknowledgement(aligned: &Aligned<'_>, section: &Section, system: usize) -> Option<Guess> {
    let mut total = StallCounts::default();
    let mut medians = Vec::new();
    for row in &section.rows {
        let Some(outcome) = &row.outcomes[system] else { continue };
        if !crossed_the_wire(aligned, system, outcome) {
            continue;
        }
        let counts = stall_counts(aligned, section, row, system);
        if counts.is_distinct() {
            total.add(&counts);
            medians.push((*outcome.p50)?.ns as f64);
        }
    }
    let cells = medians.len();
    (cells >= FEWEST).then(|| {
        let mechanism = Mechanism::DelayedAcknowledgement {
            share: total.stalls / total.all,
            share_below: total.below / total.all,
            median_ns: median_or_zero(&medians),
        };
        (mechanism, cells)
    })
}

fn stall_counts(aligned: &Aligned<'_>, section: &Section, row: &Row, system: usize) -> StallCounts {
    let (from, to) = STALL_NS;
    let mut counts = StallCounts::default();
    for step in aligned.steps.at_system(&row.coordinates, system) {
        let times = &step.measure.service;
        if !usable(step, section.unit) {
            continue;
        }
        let n = times.len() as f64;
        counts.all += n;
        // Most steps have no such time, and the maximum is known without a look at the others.
        if times.max() < from / 2 {
            continue;
        }
        let Some(times) = Histogram::fetched([times]).pop() else { continue };
        let above = [from / 2, from, to, 2 * to].map(|nanos| times.share_above(nanos) * n);
        counts.below += above[0] - above[1];
        counts.stalls += above[1] - above[2];
        counts.beyond += above[2] - above[3];
    }
    counts
}

/// Systems that are known to differ in signing alone: the signed one needs more client CPU for each byte.
fn signing_cpu(
    aligned: &Aligned<'_>,
    estimated: &Estimated,
    index: usize,
    unlike: &[UnlikeCondition],
    family: &Family,
) -> Vec<MechanismGuess> {
    let mut found = Vec::new();
    for (comparison, pair) in aligned.compared.iter().enumerate() {
        // The ratio is that of the first over the second: a slower first one has a negative logarithm.
        for (signed, unsigned, sign) in [(pair.a, pair.b, -1.0), (pair.b, pair.a, 1.0)] {
            if !differ_in_signing_alone(unlike, signed, unsigned) || other_settings(aligned, signed, unsigned)
            {
                continue;
            }
            let is_slower = |pairs: &Pairs| family.difference(&[pairs]).is_some_and(|log| log * sign > 0.0);
            let rows = estimated.sections[index].rows.iter().zip(&estimated.pairs[index][comparison]);
            let costs: Vec<SigningCost> = rows
                .filter(|(_, pairs)| pairs.as_ref().is_some_and(is_slower))
                .filter_map(|(row, _)| SigningCost::new(aligned, row, signed, unsigned))
                .collect();
            let cpu_ns_per_byte = median_or_zero(&costs.iter().map(|cost| cost.cpu_ns).collect::<Vec<f64>>());
            let ns_per_byte = median_or_zero(&costs.iter().map(|cost| cost.ns).collect::<Vec<f64>>());
            let all_cost_cpu = costs.iter().all(|cost| cost.cpu_ns > 0.0);
            if costs.len() >= FEWEST && all_cost_cpu && cpu_ns_per_byte >= CPU_PART * ns_per_byte {
                let mechanism = Mechanism::SigningCpu { unsigned, cpu_ns_per_byte, ns_per_byte };
                let cells = costs.len();
                let text = String::new();
                found.push(MechanismGuess { section: index, system: signed, mechanism, cells, text });
            }
        }
    }
    found
}

/// What a byte costs more with signing: client CPU, and time.
struct SigningCost {
    cpu_ns: f64,
    ns: f64,
}

impl SigningCost {
    fn new(aligned: &Aligned<'_>, row: &Row, signed: usize, unsigned: usize) -> Option<Self> {
        let of = |system: usize| {
            let outcome = row.outcomes[system].as_ref()?;
            crossed_the_wire(aligned, system, outcome)
                .then_some((outcome.cpu.ns_per_byte?, outcome.rate.value))
        };
        let (signed_cpu, signed_rate) = of(signed)?;
        let (unsigned_cpu, unsigned_rate) = of(unsigned)?;
        Some(Self { cpu_ns: signed_cpu - unsigned_cpu, ns: 1e9 / signed_rate - 1e9 / unsigned_rate })
    }
}

/// True if two systems are known to differ in a setting that does not select signatures.
fn other_settings(aligned: &Aligned<'_>, a: usize, b: usize) -> bool {
    // Protocols are compared by their dialects, which are conditions.
    const SIGNING: [&str; 4] = [Fact::Signing.words(), Fact::Signed.words(), Fact::Sec.words(), "protocol"];
    let changes = changes(&aligned.systems[a], &aligned.systems[b]);
    // The option `sec=` of a mount has the words of the fact after others.
    let selects = |name: &str| name.rsplit(' ').next().is_some_and(|word| SIGNING.contains(&word));
    changes.iter().any(|change| change.is_known() && !selects(&change.name))
}

/// True if the first system signs, the second does not, and no other condition of the two is known to differ.
fn differ_in_signing_alone(unlike: &[UnlikeCondition], signed: usize, unsigned: usize) -> bool {
    let value = |unlike: &UnlikeCondition, system: usize| {
        let known = unlike.values.iter().find(|known| known.system == system);
        known.map(|known| known.value.clone())
    };
    let mut signs = false;
    for condition in unlike {
        let (Some(of_signed), Some(of_unsigned)) = (value(condition, signed), value(condition, unsigned))
        else {
            continue;
        };
        match condition.condition {
            Condition::Signing => signs = of_signed != "off" && of_unsigned == "off",
            _ if of_signed != of_unsigned => return false,
            _ => {}
        }
    }
    signs
}
