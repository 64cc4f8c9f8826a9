//! Tables of evidence: which cache served the bytes, and the run over time.

use sharebench_analysis::{Analysis, Section, SystemTimeline};

use super::table::{Cell, Table, axis_name, position};
use crate::show::NOTHING;

/// Where the bytes of each cell came from; none where it is unknown.
pub fn bands_table(analysis: &Analysis, section: &Section) -> Option<Table> {
    let known = |system: usize| {
        section.rows.iter().any(|row| row.outcomes[system].as_ref().is_some_and(|o| o.cache_shares.is_some()))
    };
    let systems: Vec<usize> = (0..analysis.systems.len()).filter(|system| known(*system)).collect();
    if systems.is_empty() {
        return None;
    }
    let mut header: Vec<String> = section.axes.iter().map(|axis| axis_name(axis).to_owned()).collect();
    header.extend(systems.iter().map(|system| analysis.systems[*system].name.clone()));
    let mut notes = Vec::new();
    let rows = section.rows.iter().map(|row| {
        let mut cells: Vec<Cell> = row.position.iter().map(|value| position(value.as_ref()).into()).collect();
        for system in &systems {
            let bands = row.outcomes[*system].as_ref().and_then(|outcome| outcome.cache_shares.as_deref());
            let note = bands.and_then(|bands| bands.note.clone()).filter(|note| !notes.contains(note));
            notes.extend(note);
            cells.push(
                bands.map_or_else(|| NOTHING.to_owned(), sharebench_analysis::CacheShares::label).into(),
            );
        }
        cells
    });
    let rows = rows.collect();
    let caption = "Where the bytes came from, or went to. Grade A: counters on both sides; B: probes ahead of the \
        workload (J: how well they separate hot and cold reads); C: bounds only.";
    Some(Table { caption: caption.to_owned(), header, keys: section.axes.len(), rows, notes })
}

/// Every stretch of a run over time.
pub fn timeline_table(analysis: &Analysis, timeline: &SystemTimeline) -> Table {
    let header = ["after", "steps", "where", "rate", "failed", "warnings", "left out", "failed checks"];
    let from = timeline.segments.first().map_or(0, |stretch| stretch.from_unix_ms);
    let rows = timeline.segments.iter().map(|stretch| {
        let share = |(low, middle, high): (f64, f64, f64)| {
            if stretch.steps == 1 {
                format!("{middle:.2}")
            } else {
                format!("{middle:.2} ({low:.2} to {high:.2})")
            }
        };
        let cells = [
            format!("{:.1} s", (stretch.from_unix_ms - from) as f64 / 1e3),
            stretch.steps.to_string(),
            stretch.coordinates.as_ref().map_or_else(|| NOTHING.to_owned(), ToString::to_string),
            stretch.relative.map_or_else(|| NOTHING.to_owned(), share),
            stretch.errors.to_string(),
            stretch.warnings.to_string(),
            stretch.invalid.to_string(),
            stretch.failed_checks.join(", "),
        ];
        cells.map(Cell::from).to_vec()
    });
    Table {
        caption: format!(
            "{} over time: rate of each step over the median rate of its cell.",
            analysis.systems[timeline.system].name
        ),
        header: header.map(str::to_owned).to_vec(),
        keys: 1,
        rows: rows.collect(),
        notes: Vec::new(),
    }
}
