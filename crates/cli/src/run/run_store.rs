//! Runs of the results database: loading, analysis and rendering, for all commands.

use std::path::Path;
use std::sync::Arc;

use sharebench_analysis::{Analysis, Options, RunData, analyse};
use sharebench_report::Style;
use sharebench_results::{RunId, RunReference, RunState, Store, StoreError, StoredHistograms, StoredRun};

use crate::exit::Failure;
use crate::files;
use crate::flags::format::Format;
use crate::run::environment::COMMAND_FACT;

/// Writes an analysis as an HTML report.
pub fn write_report(analysis: &Analysis, path: &Path) -> Result<(), Failure> {
    files::write_with(path, |out| sharebench_report::write_html(out, analysis))
        .map_err(|error| Failure::usage(format!("--report {}: {error}", path.display())))
}

/// A run as analyses take it, and the histograms that they read from the database meanwhile.
#[derive(Debug)]
pub struct LoadedRun {
    pub run: StoredRun,
    pub histograms: Arc<StoredHistograms>,
}

/// Loads a run; `default` is the results database of references without a file.
pub fn load(reference: &RunReference, default: &Path) -> Result<LoadedRun, Failure> {
    load_targets(reference, default, None)
}

/// Loads a run with the steps of some targets; of all if there are no names.
pub fn load_targets(
    reference: &RunReference,
    default: &Path,
    targets: Option<&[String]>,
) -> Result<LoadedRun, Failure> {
    let store = reference.open(default)?;
    let run = reference.resolve(&store)?;
    let (run, histograms) = store.load_compact(run, targets)?;
    Ok(LoadedRun { run, histograms })
}

/// Loads a run of an open results database.
pub fn load_from(store: &Store, run: RunId) -> Result<LoadedRun, StoreError> {
    let (run, histograms) = store.load_compact(run, None)?;
    Ok(LoadedRun { run, histograms })
}

/// Fails if a histogram could not be read during the analysis.
pub fn check_histograms<'h>(
    histograms: impl IntoIterator<Item = &'h Arc<StoredHistograms>>,
) -> Result<(), StoreError> {
    histograms.into_iter().find_map(|histograms| histograms.failure()).map_or(Ok(()), Err)
}

/// Analyses loaded runs with the default options.
pub fn analyse_loaded(loaded: Vec<LoadedRun>) -> Result<Analysis, StoreError> {
    let histograms: Vec<_> = loaded.iter().map(|loaded| Arc::clone(&loaded.histograms)).collect();
    let analysis = analysis(loaded.into_iter().map(|loaded| loaded.run).collect());
    check_histograms(&histograms).map(|()| analysis)
}

/// Analyses runs with the default options.
pub fn analysis(runs: Vec<StoredRun>) -> Analysis {
    let several = runs.len() > 1;
    let data: Vec<RunData> = runs.into_iter().map(|run| run_data(run, several)).collect();
    analyse(&data, &Options::default())
}

/// A stored run as input of the analysis. If there are several runs, its label contains its number. It takes the run by
/// value, because the steps hold histograms and a run may have 100,000 of them.
pub fn run_data(run: StoredRun, several: bool) -> RunData {
    // Runs of the same plan have the same title, so the number distinguishes them.
    let label = if several { format!("{} #{}", run.header.title, run.id) } else { run.header.title.clone() };
    let command = run.header.environment.get(COMMAND_FACT).cloned().unwrap_or_default();
    let outcome = match run.state {
        RunState::Ended(outcome) => Some(outcome),
        RunState::Running | RunState::Interrupted => None,
    };
    RunData { label, command, header: run.header, facts: run.facts, steps: run.steps, outcome }
}

/// Renders an analysis in a format; `style` applies to text.
pub fn render(analysis: &Analysis, format: Format, style: Style) -> Result<String, Failure> {
    Ok(match format {
        Format::Text => sharebench_report::terminal(analysis, style),
        Format::Md => sharebench_report::markdown(analysis),
        Format::Json => sharebench_report::json(analysis).map_err(|error| Failure::Internal(error.into()))?,
        Format::Csv => sharebench_report::csv(analysis),
    })
}
