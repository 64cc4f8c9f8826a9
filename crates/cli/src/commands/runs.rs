//! `sharebench runs`: the list of the runs of a results database.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use sharebench_model::RunOutcome;
use sharebench_results::{RunState, RunSummary, Store};

use crate::exit::Failure;
use crate::flags::output::DatabaseFlags;
use crate::output::print_out;

/// Start of an imported run whose source does not contain it; as wide as a time.
const UNKNOWN_START: &str = "unknown             ";

#[derive(Debug, Args)]
pub struct RunsArgs {
    #[command(flatten)]
    pub database: DatabaseFlags,
}

/// Lists the runs.
pub fn runs(args: &RunsArgs) -> Result<ExitCode, Failure> {
    let runs = Store::open_read_only(&args.database.db)?.runs()?;
    let mut out = String::from("run  started              state          steps      title (targets)\n");
    for run in runs {
        let steps = steps(&run);
        let state = if run.imported { "imported".to_owned() } else { run.state.to_string() };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{:<4} {}  {:<13}  {steps:<9}  {} ({})",
            run.id.to_string(),
            if run.started_unix_ms == 0 { UNKNOWN_START.to_owned() } else { utc(run.started_unix_ms) },
            state,
            run.title,
            run.targets.join(", ")
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

/// A UTC time as `2026-11-21 05:10:00Z`.
fn utc(unix_ms: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_millis(unix_ms);
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let days = (seconds / 86_400).cast_signed();
    let clock = seconds % 86_400;
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}Z", clock / 3600, clock / 60 % 60, clock % 60)
}

/// Days since 1970 to a date of the Gregorian calendar (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn utc_formats_dates() {
        assert_eq!(utc(0), "1970-01-01 00:00:00Z");
        assert_eq!(utc(951_827_696_000), "2000-02-29 12:34:56Z");
        assert_eq!(utc(1_795_237_200_000), "2026-11-21 05:00:00Z");
    }
}
