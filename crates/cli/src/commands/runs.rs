//! `sharebench runs`: the list of the runs of a results database.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use sharebench_model::RunOutcome;
use sharebench_model::units::show_instant;
use sharebench_report::plain;
use sharebench_results::{RunState, RunSummary, Store};

use crate::exit::Failure;
use crate::flags::output::DatabaseFlags;
use crate::output::print_out;

/// Start of an imported run whose source does not contain it.
const UNKNOWN_START: &str = "unknown";

#[derive(Debug, Args)]
pub struct RunsArgs {
    #[command(flatten)]
    pub database: DatabaseFlags,
}

/// Lists the runs.
pub fn runs(args: &RunsArgs) -> Result<ExitCode, Failure> {
    let runs = Store::open_read_only(&args.database.db)?.runs()?;
    let mut out = String::from("run  started                  state          steps      title (targets)\n");
    for run in runs {
        let steps = steps(&run);
        let state = if run.imported { "imported".to_owned() } else { run.state.to_string() };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{:<4} {:<23}  {:<13}  {steps:<9}  {} ({})",
            run.id.to_string(),
            if run.started_unix_ms == 0 {
                UNKNOWN_START.to_owned()
            } else {
                show_instant(run.started_unix_ms)
            },
            state,
            plain(&run.title),
            plain(&run.targets.join(", "))
        );
    }
    print_out(&out)
}

/// Steps measured and planned. If precision decides, the planned number is a range until the run ends.
pub fn steps(run: &RunSummary) -> String {
    let done = run.steps_done;
    let most = run.steps_planned;
    match (run.repeat, &run.state) {
        (None, _) => format!("{done}/{most}"),
        (Some(_), RunState::Ended(RunOutcome::Complete)) => done.to_string(),
        (Some(rule), _) => format!("{done}/{}..{most}", rule.steps_least),
    }
}
