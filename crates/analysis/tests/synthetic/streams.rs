//! Streams of frames with an objective in their own unit.

use sharebench_model::{
    Coordinates, LoadDetail, LoadUnit, Part, RateBase, Timeline, UnitObjective, Value, axis,
};

use super::Synthetic;

pub const LATE: UnitObjective = UnitObjective::Missed { most_ppm: 10_000 };
pub const PACE: UnitObjective = UnitObjective::Pace { least_ppm: 950_000 };
pub const BUSY: UnitObjective = UnitObjective::Busy { least_ppm: 900_000 };

/// Users, the frames that were completed in each tenth of a second, and those that were late.
pub type StreamStep<'a> = (u64, &'a dyn Fn(usize) -> u64, u64);

/// Steps of streams that start 24 frames a second for 16 s, or what `objective` needs: per number of users the frames that
/// were completed in each tenth of a second, and those that were late.
pub fn units(objective: UnitObjective, paced: bool, steps: &[StreamStep<'_>]) -> Synthetic {
    let mut run = Synthetic::new("frames", &["nas"], 4);
    for (number, law, late) in steps {
        let at = Coordinates::new()
            .with(axis::WORKLOAD, Value::text("frames"))
            .with(axis::USERS, Value::Count(*number));
        run.step(0, 0, at, 1e8);
        let mut timeline = Timeline::over(16_000_000_000);
        for (index, count) in timeline.transactions.iter_mut().enumerate() {
            *count = law(index);
        }
        timeline.bytes.clone_from(&timeline.transactions);
        let total = timeline.transactions.iter().sum();
        let Some(step) = run.run.steps.last_mut() else { continue };
        let measure = &mut step.measure;
        measure.rate_base = RateBase::Window;
        measure.window_ns = 16_000_000_000;
        measure.transactions = total;
        let response = measure.response.clone();
        let part = Part { count: total, missed: *late, response, ..Part::named("frame") };
        *measure.load = LoadDetail {
            transactions: vec![part],
            think_ns: 50_000_000,
            timeline,
            unit: Some(LoadUnit {
                name: "stream".into(),
                transaction: "frame".into(),
                objective,
                with_deadline: vec!["frame".into()],
                paced,
                scale: Some("1%".into()),
            }),
            ..LoadDetail::default()
        };
    }
    run
}
