//! Known answer K16 (docs/measure/measurement-rules.md K16): attribution to server cache and storage by probes ahead
//! of the workload, against a server that logs its cache hits.

use std::collections::BTreeMap;
use std::time::Duration;

use sharebench_model::units::percent;
use sharebench_model::{StepResult, axis};
use sharebench_plan::Plan;
use sharebench_server::{DeviceRecord, DeviceRequest, NodeId, ServiceTime};
use sharebench_stats::{Attribution, AttributionError, attribute_times};

use crate::prove::fixture::{Fixture, run};
use crate::prove::{Attempt, Conditions, ProveError, Row};

/// Bytes of the server's cache.
const CACHE: u64 = 3 << 20;
/// Bytes of a record.
const RECORD: u64 = 4096;
/// Bytes of the file that evicts everything else from the cache; no other file has this length.
const PUSH: u64 = 9 << 20;
/// Bytes of the file that is known to be in the cache.
const KNOWN_HOT: u64 = 1 << 20;
/// Distance between two cold records in bytes.
const COLD_DISTANCE: u64 = 128 << 10;
/// File sizes relative to the cache.
const SIZES: [f64; 5] = [0.5, 0.9, 1.1, 2.0, 4.0];
/// Minimum share of cells with a correct attribution.
const MIN_CORRECT: f64 = 0.9;
/// Minimum share of cells with an attribution.
const MIN_JUDGED: f64 = 0.25;

/// K16: the share of storage is within 5 points of the server's log where hot and cold reads separate well, within 10 points
/// where they separate less well, and rejected where they overlap.
pub(super) fn attribution(conditions: Conditions) -> Result<Attempt, ProveError> {
    let probes = conditions.times(300) as u64;
    let devices: &[u64] = if conditions.quick { &[400] } else { &[120, 400] };
    let mut rows = Vec::new();
    let mut score = Score::default();
    for device_us in devices {
        let median = Duration::from_micros(*device_us);
        let service = ServiceTime::LogNormal { median, sigma: 0.35, seed: *device_us };
        let fixture = Fixture::caching(conditions.protocol, service, CACHE)?;
        let steps = run(plan(&SIZES, probes)?, &[fixture.target()])?;
        let mut log = fixture.device().take_log().records;
        log.sort_by_key(|record| record.received_ns);
        let truths = truths(&log, probes * COLD_DISTANCE, &steps);
        for (step, truth) in steps.iter().zip(truths) {
            let attribution = attribute_times(&std::iter::once(&step.measure.server.probes));
            rows.push(score.enter(step, *device_us, truth, &attribution));
        }
    }
    rows.extend(score.rows());
    Ok(rows.into())
}

fn plan(sizes: &[f64], probes: u64) -> Result<Plan, ProveError> {
    let size = |share: &f64| ((share * CACHE as f64) as u64 / RECORD * RECORD).to_string();
    let sizes = sizes.iter().map(size).collect::<Vec<_>>().join(", ");
    Ok(Plan::parse(&format!(
        "repetitions = 1\nmin_sample_time = '1ms'\nverify = 'off'\n\
         [sweep]\nfile_sizes = [{sizes}]\nrecord_sizes = [{RECORD}]\ntests = ['read', 'random-read']\n\
         [cache_probes]\ncold = '{PUSH}'\ncount = {probes}\ndistance = '128KiB'\n"
    ))?)
}

/// Returns for each cell the share of the workload's reads that missed the cache during the probes.
///
/// `log` is the server's log in order of arrival, and `reserve` the length of the file of cold records.
fn truths(log: &[DeviceRecord], reserve: u64, steps: &[StepResult]) -> Vec<f64> {
    let mut lengths: BTreeMap<NodeId, u64> = BTreeMap::new();
    for write in log.iter().filter(|record| record.request == DeviceRequest::Write) {
        let length = lengths.entry(write.node).or_default();
        *length = (*length).max(write.offset + write.len);
    }
    let mut cells: Vec<Vec<bool>> = Vec::new();
    let mut scanning = false;
    let mut since = Vec::new();
    // Reads of the known-hot file directly before this one.
    let mut hot_reads_before = 0;
    for read in log.iter().filter(|record| record.request == DeviceRequest::Read) {
        let length = lengths.get(&read.node).copied().unwrap_or(0);
        // The probes of a cell begin with the scan that evicts everything.
        if length == PUSH && !scanning {
            cells.push(Vec::new());
            since.clear();
        }
        scanning = length == PUSH;
        if length == KNOWN_HOT {
            if let Some(cell) = cells.last_mut() {
                cell.append(&mut since);
            }
            hot_reads_before += 1;
            continue;
        }
        // One read of that file precedes a probe, two precede the workload; a probe of the next record comes between.
        if length != PUSH && length != reserve && hot_reads_before % 2 == 0 {
            since.push(!read.hit);
        }
        hot_reads_before = 0;
    }
    let share = |(step, missed): (&StepResult, &Vec<bool>)| {
        // The first pass is the warm-up.
        let probed = missed.get((file_size(step) / RECORD) as usize..).unwrap_or_default();
        probed.iter().filter(|missed| **missed).count() as f64 / probed.len().max(1) as f64
    };
    steps.iter().zip(&cells).map(share).collect()
}

fn file_size(step: &StepResult) -> u64 {
    step.coordinates.number(axis::FILE_SIZE).unwrap_or(0)
}

/// Number of correct cells, by the separation of hot and cold reads.
#[derive(Default)]
struct Score {
    /// Correct and all cells with J of at least 0.9.
    clear: (usize, usize),
    /// Correct and all cells with J from 0.7 to 0.9.
    fair: (usize, usize),
    /// Cells with an attribution although J is below 0.5.
    unjustified: usize,
    cells: usize,
}

impl Score {
    /// Counts a cell and returns its row, which does not decide the verdict by itself.
    fn enter(
        &mut self,
        step: &StepResult,
        device_us: u64,
        truth: f64,
        attribution: &Result<Attribution, AttributionError>,
    ) -> Row {
        self.cells += 1;
        let measured = match attribution {
            Ok(found) => {
                let off = (found.storage - truth).abs();
                let class = match found.separation {
                    0.9.. => Some((&mut self.clear, 0.05)),
                    0.7.. => Some((&mut self.fair, 0.10)),
                    0.5.. => None,
                    _ => {
                        self.unjustified += 1;
                        None
                    }
                };
                if let Some((class, limit)) = class {
                    class.0 += usize::from(off <= limit);
                    class.1 += 1;
                }
                let width = 196.0 * found.error;
                format!("{} +-{width:.1} (J {:.2})", percent(found.storage, 1), found.separation)
            }
            Err(refused) => format!("rejected: {refused}"),
        };
        let test = step.coordinates.text(axis::TEST).unwrap_or_default();
        let size = file_size(step) as f64 / CACHE as f64;
        let quantity = format!("{test}, {size:.1} x cache, {device_us} us");
        Row::new(quantity, percent(truth, 1), measured, "informative", true)
    }

    fn rows(&self) -> Vec<Row> {
        let row = |quantity: &str, (right, all): (usize, usize)| {
            let holds = right as f64 >= MIN_CORRECT * all as f64;
            Row::new(quantity, "all", format!("{right} of {all}"), "90 %", holds)
        };
        let unjustified = self.unjustified;
        let judged = self.clear.1 + self.fair.1;
        // Rejecting every cell would prove nothing.
        let enough = judged as f64 >= MIN_JUDGED * self.cells as f64;
        vec![
            row("within 5 points, J 0.9 and more", self.clear),
            row("within 10 points, J 0.7 to 0.9", self.fair),
            Row::new("cells judged", self.cells.to_string(), judged.to_string(), "a quarter", enough),
            Row::new(
                "attributed although J is below 0.5",
                "0",
                unjustified.to_string(),
                "0",
                unjustified == 0,
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::Protocol;

    #[test]
    fn log_contains_the_truth_of_every_cell() {
        let fixture = Fixture::caching(Protocol::Nfs, ServiceTime::Fixed(Duration::ZERO), CACHE).unwrap();
        let steps = run(plan(&[0.5, 2.0], 60).unwrap(), &[fixture.target()]).unwrap();
        let mut log = fixture.device().take_log().records;
        log.sort_by_key(|record| record.received_ns);
        let truths = truths(&log, 60 * COLD_DISTANCE, &steps);
        assert_eq!((steps.len(), truths.len()), (4, 4));
        for (step, truth) in steps.iter().zip(truths) {
            assert_eq!(step.measure.server.without_probes, None);
            // The cache evicts the least recently used record: a file that fits stays, and a larger file that is read
            // in order never hits.
            match (file_size(step) < CACHE, step.coordinates.text(axis::TEST) == Some("read")) {
                (true, _) => assert!(truth < 0.02, "{truth}"),
                (false, true) => assert!(truth > 0.97, "{truth}"),
                (false, false) => assert!((0.5..0.99).contains(&truth), "{truth}"),
            }
        }
    }
}
