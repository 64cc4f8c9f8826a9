//! Load sections: users or schedules in steps.

use std::time::Duration;

use sharebench_model::units::ByteSize;
use sharebench_model::{Coordinates, Value, axis};

use super::{KIB, MAX_FILE, MAX_RECORD, Resolver};
use crate::schedule::Cell;
use crate::workload::WORKLOADS;
use crate::{Arrivals, Load, Pace, Think, TransactionWork, Work, Workload};

/// Most starts per second of an open load: beyond it the schedule itself would be what is measured.
const MAX_RATE: u64 = 1_000_000;
const HOUR: Duration = Duration::from_secs(3600);

impl Resolver<'_> {
    /// Cells of motors, or of motors x rates where transactions arrive by a schedule.
    pub(super) fn load_cells(&mut self, load: Load) -> Vec<Cell> {
        let name = load.workload.clone().unwrap_or_else(|| WORKLOADS[0].0.into());
        let arrivals = load.arrivals.unwrap_or_default();
        let motors = load.steps.clone().unwrap_or_else(|| match arrivals {
            Arrivals::Closed => vec![1, 2, 5, 10],
            Arrivals::Constant | Arrivals::Poisson => vec![32],
        });
        let warm_up = load.warm_up.unwrap_or(Duration::from_secs(2));
        let measure = load.measure.unwrap_or(Duration::from_secs(10));
        let extend = load.extend.unwrap_or(0);
        let scale = load.scale.unwrap_or(ByteSize(5_600_000));
        let single = name.starts_with("single-");
        let block = load.block.unwrap_or(ByteSize(if single { 4 * KIB } else { 100_000 }));
        self.check_counts("load.steps", &motors, 100_000);
        self.check_list("load.scale", &[scale], 8 * KIB, MAX_FILE);
        self.check_list("load.block", &[block], 512, MAX_RECORD);
        if single && block > scale {
            let problem = format!("{block} is larger than the file ({scale})");
            self.blame("load.block", &problem, "a record must fit into its file; raise scale");
        }
        self.duration_within("load.warm_up", warm_up, Duration::ZERO, 24 * HOUR);
        self.duration_within("load.measure", measure, Duration::from_millis(100), 24 * HOUR);
        self.check_extend(extend, measure);
        let paces = self.paces(&load, arrivals);
        let workload = self.workload(&name, scale, block);
        self.typed.load = Some(Load {
            workload: Some(name),
            steps: Some(motors.clone()),
            arrivals: Some(arrivals),
            rates: load.rates,
            think: paces.iter().find_map(|pace| match pace {
                Pace::Closed(think) => Some(*think),
                Pace::Open { .. } => None,
            }),
            warm_up: Some(warm_up),
            measure: Some(measure),
            extend: Some(extend),
            scale: Some(scale),
            block: Some(block),
        });
        let Some(workload) = workload else { return Vec::new() };
        let cells = motors.iter().flat_map(|&motors| paces.iter().map(move |&pace| (motors, pace)));
        cells
            .map(|(motors, pace)| {
                let coordinates = coordinates(workload.name, motors, pace);
                let workload = workload.clone();
                let work = TransactionWork { workload, motors, pace, warm_up, measure, extend };
                (coordinates, Work::Transactions(work))
            })
            .collect()
    }

    /// An extension is for a verdict, so that the longest window must be long enough for one.
    fn check_extend(&mut self, extend: u32, measure: Duration) {
        let most = TransactionWork::MOST_EXTENDED;
        self.within("load.extend", u64::from(extend), 0, u64::from(most));
        let (longest, needed) = (measure * (1 << extend.min(most)), TransactionWork::SHORTEST_JUDGED);
        if extend > 0 && longest < needed {
            let problem = format!(
                "the longest window is {longest:?}, and {needed:?} are needed to judge whether it is steady"
            );
            self.blame("load.extend", &problem, "raise measure, such as to 30s");
        }
    }

    /// One closed pace, or one open pace per rate.
    fn paces(&mut self, load: &Load, arrivals: Arrivals) -> Vec<Pace> {
        if arrivals == Arrivals::Closed {
            let think = load.think.unwrap_or(Think::Constant(Duration::from_secs(1)));
            self.duration_within("load.think", think.mean(), Duration::ZERO, HOUR);
            if load.rates.is_some() {
                self.blame(
                    "load.rates",
                    "the load is closed: each motor decides when it goes on",
                    "add arrivals = \"poisson\" (or \"constant\"), or use steps and think",
                );
            }
            return vec![Pace::Closed(think)];
        }
        if load.think.is_some() {
            self.blame(
                "load.think",
                &format!("with {} arrivals the schedule decides, nobody thinks", arrivals.name()),
                "remove it, or remove arrivals",
            );
        }
        let Some(rates) = &load.rates else {
            self.blame(
                "load.rates",
                &format!("{} arrivals need a rate", arrivals.name()),
                "such as rates = [100, 200]: intended starts per second of all motors together",
            );
            return Vec::new();
        };
        self.check_counts("load.rates", rates, MAX_RATE);
        rates.iter().map(|&rate| Pace::Open { poisson: arrivals == Arrivals::Poisson, rate }).collect()
    }

    fn workload(&mut self, name: &str, scale: ByteSize, block: ByteSize) -> Option<Workload> {
        let workload = Workload::built_in(name, scale.0, block.0.min(MAX_RECORD) as u32);
        if workload.is_none() {
            let known = WORKLOADS.map(|(name, _)| name);
            let hint = crate::mistake::nearest(name, &known).map_or_else(
                || format!("known are {}", known.join(", ")),
                |near| format!("did you mean '{near}'?"),
            );
            self.blame("load.workload", &format!("'{name}' is no workload"), &hint);
        }
        workload
    }
}

fn coordinates(workload: &'static str, motors: u32, pace: Pace) -> Coordinates {
    let coordinates = Coordinates::new()
        .with(axis::WORKLOAD, Value::text(workload))
        .with(axis::MOTORS, Value::Count(u64::from(motors)));
    match pace {
        Pace::Closed(_) => coordinates,
        Pace::Open { poisson, rate } => {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            coordinates
                .with(axis::ARRIVALS, Value::text(arrivals.name()))
                .with(axis::RATE, Value::Count(u64::from(rate)))
        }
    }
}
