//! Known answer K18 (docs/measure/measurement-rules.md K18): every wrong block is detected.

use std::sync::Arc;

use sharebench_model::ErrorClass;
use sharebench_plan::Plan;
use sharebench_server::MemoryVolume;

use crate::prove::corrupting_volume::{CorruptingVolume, Corruption};
use crate::prove::fixture::run;
use crate::prove::served_volume::ServedVolume;
use crate::prove::{Attempt, Conditions, ProveError, Row};

/// K18: a server sometimes returns stale, zero and shifted blocks.
pub(super) fn wrong_blocks(conditions: Conditions) -> Result<Attempt, ProveError> {
    let mut rows = Vec::new();
    for (corruption, name) in
        [(Corruption::Stale, "stale"), (Corruption::Zero, "zero"), (Corruption::Shifted, "shifted")]
    {
        let volume = Arc::new(CorruptingVolume::new(MemoryVolume::new(16 << 20), corruption));
        let served = ServedVolume::start(conditions.protocol, Arc::clone(&volume) as _, None)?;
        // The count of corrupted reads includes every read, so the plan has no unmeasured reads.
        let plan = Plan::parse(
            "min_sample_time = '20ms'\nrepetitions = 6\n[sweep]\nfile_sizes = ['256KiB']\nrecord_sizes = ['4KiB']\n\
             tests = ['rewrite', 'read', 'random-read']",
        )?;
        let steps = run(plan, &[served.target()])?;
        let detected: u64 =
            steps.iter().filter_map(|step| step.measure.errors.get(&ErrorClass::DataMismatch)).sum();
        let corrupted = volume.corrupted_reads();
        let holds = corrupted > 0 && detected == corrupted;
        let quantity = format!("{name} blocks detected");
        rows.push(Row::new(quantity, corrupted.to_string(), detected.to_string(), "all", holds));
    }
    Ok(rows.into())
}
