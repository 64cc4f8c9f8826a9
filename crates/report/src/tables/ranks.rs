//! The part of each of several load machines, with the ranks that differ from the others named.

use sharebench_analysis::{Analysis, RankDeviation, RankSummary, RankTable};
use sharebench_model::units::{counted, show_nanos, show_rate, three_digits};

use super::table::{Cell, Table};
use crate::show;

/// Title and table of each run of several ranks, at most `most` lines each; those that are unlike are among them.
pub fn rank_tables(analysis: &Analysis, most: Option<usize>) -> Vec<(String, Table)> {
    let title = |ranks: &RankTable| match analysis.methods.len() {
        0 | 1 => "Ranks".to_owned(),
        _ => format!("Ranks of {}", ranks.run),
    };
    analysis.ranks.iter().map(|ranks| (title(ranks), table(ranks, most.unwrap_or(usize::MAX)))).collect()
}

fn table(ranks: &RankTable, most: usize) -> Table {
    let header =
        ["rank", "host", "users", "rate", "operations", "p50", "p99", "errors", "latest", "work", "wait"];
    let unlike: Vec<&RankSummary> = ranks.ranks.iter().filter(|rank| rank.unlike().is_some()).collect();
    // Where not all fit, those that are unlike come first.
    let mut shown: Vec<&RankSummary> = ranks.ranks.iter().collect();
    shown.sort_by_key(|rank| (ranks.ranks.len() > most && rank.unlike().is_none(), rank.rank));
    let left = shown.len().saturating_sub(most);
    shown.truncate(most);
    shown.sort_by_key(|rank| rank.rank);
    let mut notes: Vec<String> = unlike.iter().take(most).filter_map(|rank| named(rank)).collect();
    notes.extend(ranks.differences.iter().map(|difference| format!("ranks differ in {difference}")));
    if left > 0 {
        notes.push(format!("and {left} more ranks; the html and json formats have them all"));
    }
    notes.push(format!(
        "start skew: at most {} over {} (clocks known to within {})",
        show_nanos(ranks.start_skew_ns as f64),
        counted(ranks.steps, "step"),
        show_nanos(ranks.clock_error_ns as f64)
    ));
    Table {
        caption: "Each rank's part over all steps. Work and wait: what each of its users did, and how long it waited \
                  for half of its responses, over the same of the middle rank."
            .to_owned(),
        header: header.map(str::to_owned).to_vec(),
        keys: 2,
        rows: shown.into_iter().map(row).collect(),
        notes,
    }
}

fn row(rank: &RankSummary) -> Vec<Cell> {
    let mark = if rank.unlike().is_some() { " !" } else { "" };
    let over = |ratio: Option<f64>, sign: &str| match ratio {
        Some(ratio) => three_digits(ratio) + sign,
        None => show::NOTHING.to_owned(),
    };
    let slow = if matches!(rank.unlike(), Some(RankDeviation::Slow)) { mark } else { "" };
    let waits = if matches!(rank.unlike(), Some(RankDeviation::Waits)) { mark } else { "" };
    let texts = [
        rank.rank.to_string(),
        rank.host.clone(),
        rank.users.to_string(),
        show_rate(rank.bytes_per_s),
        rank.operations.to_string(),
        show::mean(known(rank.p50_ns)),
        show::mean(known(rank.p99_ns)),
        rank.errors.to_string(),
        show_nanos(rank.late_ns as f64),
        over(rank.work, slow),
        over(rank.wait, waits),
    ];
    texts.map(Cell::from).into()
}

/// The sentence about a rank that is unlike the others.
fn named(rank: &RankSummary) -> Option<String> {
    let name = format!("rank {} ({})", rank.rank, rank.host);
    Some(match rank.unlike()? {
        RankDeviation::Slow => format!(
            "{name} is slow: each of its users did {:.0} % of what those of the middle rank did; look at its link and load",
            rank.work? * 100.0
        ),
        RankDeviation::Waits => format!(
            "{name} waits longer: half of its responses took {} times as long as on the middle rank; look at its link",
            three_digits(rank.wait?)
        ),
    })
}

/// A time; none for 0, which means no recorded times.
fn known(nanos: u64) -> Option<f64> {
    (nanos > 0).then_some(nanos as f64)
}
