//! Metadata tests that a target rejects: their cells are skipped there.

use sharebench_model::{Fact, RunEvent};
use sharebench_plan::{SkippedCells, Work};

use crate::cell::target_files::TargetFiles;
use crate::data::context::PassContext;
use crate::metadata::connected::Connected;
use crate::metadata::support::unsupported;
use crate::run::Run;
use crate::run::start_error::StartError;

impl Run<'_> {
    /// Skips the metadata tests that the target rejects, and reports them. Fails if that leaves nothing to measure.
    pub(super) async fn skip_unsupported(
        &self,
        index: usize,
        files: &mut TargetFiles,
        skipped: &mut SkippedCells,
        context: &mut PassContext<'_>,
    ) -> Result<(), StartError> {
        let name = &self.plan.targets[index].name;
        let directory = files.directory.clone();
        let mut at = Connected::new(files.session.as_mut(), context);
        let found = unsupported(self.plan, self.ranks.is_some(), &directory, &mut at).await;
        let found = found.map_err(|error| StartError::Prepare {
            target: name.clone(),
            directory: directory.clone(),
            error,
        })?;
        let mut reasons: Vec<String> = files.facts.remove(Fact::SkippedCells).into_iter().collect();
        let mut left = false;
        for (cell, (_, work)) in self.plan.cells.iter().enumerate() {
            let is_rejected = match work {
                Work::Metadata(work) => found.iter().any(|(test, _)| *test == work.test),
                Work::Records(_) | Work::Transactions(_) => false,
            };
            if is_rejected {
                skipped.skip(cell, index as u32);
            }
            left |= !skipped.contains(cell, index as u32);
        }
        for (test, error) in &found {
            let reason = format!("{test}: not supported here: {error}");
            self.emit(RunEvent::Warning(format!("{name}: skipped {reason}")));
            reasons.push(reason);
        }
        if !reasons.is_empty() {
            files.facts.state(Fact::SkippedCells, reasons.join("; "));
        }
        if found.is_empty() || left || !self.plan.loads.is_empty() {
            return Ok(());
        }
        let problem = format!("no cell of the plan can be measured: {}", reasons.join("; "));
        Err(StartError::Beyond { target: name.clone(), problem })
    }
}
