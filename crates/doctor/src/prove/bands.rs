//! Known answer K16 (docs/measurement-rules.md K16): server cache and storage told apart by probes ahead of the
//! workload, against a server that logs its hits.

use std::collections::BTreeMap;
use std::time::Duration;

use sharebench_model::{ProbeTimes, StepResult, axis};
use sharebench_plan::Plan;
use sharebench_server::{DeviceRecord, DeviceRequest, NodeId, ServiceTime};
use sharebench_stats::{Attribution, Probes, Refused, attribute};

use crate::prove::rig::{Rig, run};
use crate::prove::{Attempt, Conditions, ProveError, Row};

/// Bytes of the server's cache, and of a record.
const CACHE: u64 = 3 << 20;
const RECORD: u64 = 4096;
/// What pushes everything out of it; no other file is as long.
const PUSH: u64 = 9 << 20;
/// Bytes of the file known to be in the cache, and from one cold record to the next.
const KNOWN_HOT: u64 = 1 << 20;
const APART: u64 = 128 << 10;
/// Files by how many of them the cache holds.
const SIZES: [f64; 5] = [0.5, 0.9, 1.1, 2.0, 4.0];
/// Share of cells that have to be right.
const RIGHT: f64 = 0.9;
/// Share of cells that have to be told at all.
const JUDGED: f64 = 0.25;

/// K16: the share of storage is within 5 points of what the server logged where hot and cold are well apart, within 10 where
/// they are less so, and refused where they look alike.
pub(super) fn attribution(conditions: Conditions) -> Result<Attempt, ProveError> {
    let probes = conditions.times(300) as u64;
    let devices: &[u64] = if conditions.quick { &[400] } else { &[120, 400] };
    let mut rows = Vec::new();
    let mut score = Score::default();
    for device_us in devices {
        let median = Duration::from_micros(*device_us);
        let rig = Rig::caching(ServiceTime::LogNormal { median, sigma: 0.35, seed: *device_us }, CACHE)?;
        let steps = run(plan(&SIZES, probes)?, &[rig.target()])?;
        let mut log = rig.device().take_log().records;
        log.sort_by_key(|record| record.received_ns);
        let truths = truths(&log, probes * APART, &steps);
        for (step, truth) in steps.iter().zip(truths) {
            let told = judged(&step.measure.server.probes);
            rows.push(score.enter(step, *device_us, truth, &told));
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

fn judged(probes: &ProbeTimes) -> Result<Attribution, Refused> {
    let floats = |times: &[u64]| times.iter().map(|time| *time as f64).collect::<Vec<_>>();
    let [ahead, hot, cold, known_hot] =
        [&probes.ahead, &probes.hot, &probes.cold, &probes.known_hot].map(|times| floats(times));
    attribute(&Probes { ahead: &ahead, hot: &hot, cold: &cold, known_hot: &known_hot })
}

/// Of each cell the share of the workload's reads that missed the cache while probes were made, by the server's log in order
/// of arrival; `reserve` is the length of the file of cold records.
fn truths(log: &[DeviceRecord], reserve: u64, steps: &[StepResult]) -> Vec<f64> {
    let mut lengths: BTreeMap<NodeId, u64> = BTreeMap::new();
    for write in log.iter().filter(|record| record.request == DeviceRequest::Write) {
        let length = lengths.entry(write.node).or_default();
        *length = (*length).max(write.offset + write.len);
    }
    let mut cells: Vec<Vec<bool>> = Vec::new();
    // How many reads of the known-hot file came just before.
    let (mut scanning, mut since, mut behind) = (false, Vec::new(), 0);
    for read in log.iter().filter(|record| record.request == DeviceRequest::Read) {
        let length = lengths.get(&read.node).copied().unwrap_or(0);
        // A cell is looked behind from the scan that pushes everything out.
        if length == PUSH && !scanning {
            cells.push(Vec::new());
            since.clear();
        }
        scanning = length == PUSH;
        if length == KNOWN_HOT {
            if let Some(cell) = cells.last_mut() {
                cell.append(&mut since);
            }
            behind += 1;
            continue;
        }
        // Probes come behind one read of that file, the workload behind two.
        if length != PUSH && length != reserve && behind != 1 {
            since.push(!read.hit);
        }
        behind = 0;
    }
    let share = |(step, missed): (&StepResult, &Vec<bool>)| {
        // The first pass brings the server into the state that the workload makes.
        let probed = missed.get((file_size(step) / RECORD) as usize..).unwrap_or_default();
        probed.iter().filter(|missed| **missed).count() as f64 / probed.len().max(1) as f64
    };
    steps.iter().zip(&cells).map(share).collect()
}

fn file_size(step: &StepResult) -> u64 {
    step.coordinates.number(axis::FILE_SIZE).unwrap_or(0)
}

/// How many cells were right, by how well hot and cold were told apart.
#[derive(Default)]
struct Score {
    clear: (usize, usize),
    fair: (usize, usize),
    wrongly_told: usize,
    cells: usize,
}

impl Score {
    /// Counts a cell; its row shows it, and decides nothing by itself.
    fn enter(
        &mut self,
        step: &StepResult,
        device_us: u64,
        truth: f64,
        told: &Result<Attribution, Refused>,
    ) -> Row {
        self.cells += 1;
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let measured = match told {
            Ok(found) => {
                let off = (found.storage - truth).abs();
                let class = match found.separation {
                    0.9.. => Some((&mut self.clear, 0.05)),
                    0.7.. => Some((&mut self.fair, 0.10)),
                    0.5.. => None,
                    _ => {
                        self.wrongly_told += 1;
                        None
                    }
                };
                if let Some((class, limit)) = class {
                    class.0 += usize::from(off <= limit);
                    class.1 += 1;
                }
                let width = 196.0 * found.error;
                format!("{} +-{width:.1} (J {:.2})", percent(found.storage), found.separation)
            }
            Err(refused) => format!("refused: {refused}"),
        };
        let test = step.coordinates.text(axis::TEST).unwrap_or_default();
        let size = file_size(step) as f64 / CACHE as f64;
        let quantity = format!("{test}, {size:.1} x cache, {device_us} us");
        Row::new(quantity, percent(truth), measured, "shown", true)
    }

    fn rows(&self) -> Vec<Row> {
        let row = |quantity: &str, (right, all): (usize, usize)| {
            let holds = right as f64 >= RIGHT * all as f64;
            Row::new(quantity, "all", format!("{right} of {all}"), "90 %", holds)
        };
        let (told, judged) = (self.wrongly_told, self.clear.1 + self.fair.1);
        // Refusing everything shows nothing.
        let enough = judged as f64 >= JUDGED * self.cells as f64;
        vec![
            row("within 5 points, J 0.9 and more", self.clear),
            row("within 10 points, J 0.7 to 0.9", self.fair),
            Row::new("cells judged", self.cells.to_string(), judged.to_string(), "a quarter", enough),
            Row::new("told although J is below 0.5", "0", told.to_string(), "0", told == 0),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_tells_the_truth_of_every_cell() {
        let rig = Rig::caching(ServiceTime::Fixed(Duration::ZERO), CACHE).unwrap();
        let steps = run(plan(&[0.5, 2.0], 60).unwrap(), &[rig.target()]).unwrap();
        let mut log = rig.device().take_log().records;
        log.sort_by_key(|record| record.received_ns);
        let truths = truths(&log, 60 * APART, &steps);
        assert_eq!((steps.len(), truths.len()), (4, 4));
        for (step, truth) in steps.iter().zip(truths) {
            assert_eq!(step.measure.server.without_probes, None);
            // Least recently used out first: what fits stays, what does not and is read in order never hits.
            match (file_size(step) < CACHE, step.coordinates.text(axis::TEST) == Some("read")) {
                (true, _) => assert!(truth < 0.02, "{truth}"),
                (false, true) => assert!(truth > 0.97, "{truth}"),
                (false, false) => assert!((0.5..0.99).contains(&truth), "{truth}"),
            }
        }
    }
}
