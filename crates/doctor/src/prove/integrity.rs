//! Known answer K18 (docs/measurement-rules.md K18): every wrong block is caught.

use std::sync::Arc;

use sharebench_model::ErrorClass;
use sharebench_plan::Plan;
use sharebench_server::MemoryVolume;

use crate::prove::lying_volume::{Lie, LyingVolume};
use crate::prove::rig::{Served, run};
use crate::prove::{Attempt, Conditions, ProveError, Row};

/// K18: a server returns stale, zero and shifted blocks now and then.
pub(super) fn lies(_: Conditions) -> Result<Attempt, ProveError> {
    let mut rows = Vec::new();
    for (lie, name) in [(Lie::Stale, "stale"), (Lie::Zero, "zero"), (Lie::Shifted, "shifted")] {
        let volume = Arc::new(LyingVolume::new(MemoryVolume::new(16 << 20), lie));
        let served = Served::start(Arc::clone(&volume) as _)?;
        // What these tests read is counted, all of it.
        let plan = Plan::parse(
            "min_sample_time = '20ms'\nrepetitions = 6\n[sweep]\nfile_sizes = ['256KiB']\nrecord_sizes = ['4KiB']\n\
             tests = ['rewrite', 'read', 'random-read']",
        )?;
        let steps = run(plan, &[Arc::new(served.target.clone())])?;
        let caught: u64 =
            steps.iter().filter_map(|step| step.measure.errors.get(&ErrorClass::DataMismatch)).sum();
        let told = volume.lies();
        let holds = told > 0 && caught == told;
        let quantity = format!("{name} blocks caught");
        rows.push(Row::new(quantity, told.to_string(), caught.to_string(), "all of them", holds));
    }
    Ok(rows.into())
}
