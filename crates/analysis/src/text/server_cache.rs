//! Server cache and storage in words: cell by cell where there are few, as regions where there are many.

use sharebench_model::units::counted;

use crate::cache::rectangles::Shares;
use crate::text::position::position;
use crate::text::stages::Stages;
use crate::types::{CacheShares, Grade, Section, Sentence, Tone, View};

/// Up to this number, cells are reported one by one.
const ONE_BY_ONE: usize = 6;

/// From this share on storage determines the rate; below the other it has no effect.
const STRONG: f64 = 0.5;

const WEAK: f64 = 0.02;

/// Server cache and storage of a section: findings, and estimates that are not resolved.
pub(crate) fn sentences(stages: &Stages<'_>, index: usize) -> Vec<Sentence> {
    let section = &stages.estimated.sections[index];
    if section.view == View::Load {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (system, named) in stages.aligned.systems.iter().enumerate() {
        let lead = format!("{}: {}: ", section.title, named.name);
        let say = |tone, text: String| Sentence::new(tone, format!("{lead}{text}.")).about(index);
        found.extend(estimated(section, system).into_iter().map(|text| say(Tone::Note, text)));
        found.extend(rejected(section, system).map(|text| say(Tone::NotResolved, text)));
    }
    found
}

/// Cells of a system with evidence from the server.
fn examined(section: &Section, system: usize) -> impl Iterator<Item = (&crate::types::Row, &CacheShares)> {
    section.rows.iter().filter_map(move |row| {
        let cache_shares = row.outcomes[system].as_ref()?.cache_shares.as_deref()?;
        cache_shares.server_examined.then_some((row, cache_shares))
    })
}

fn estimated(section: &Section, system: usize) -> Vec<String> {
    let known: Vec<_> =
        examined(section, system).filter(|(_, cache_shares)| cache_shares.grade < Grade::C).collect();
    if known.len() <= ONE_BY_ONE {
        let describe = |(row, cache_shares): &(&crate::types::Row, &CacheShares)| {
            let note = cache_shares.note.as_ref().map_or_else(String::new, |note| format!("; {note}"));
            format!("{}: {}{note}", position(section, &row.position), cache_shares.label())
        };
        return known.iter().map(describe).collect();
    }
    let share = |cache_shares: &CacheShares| {
        (cache_shares.server_examined && cache_shares.grade < Grade::C).then(|| cache_shares.storage.middle())
    };
    let shares = Shares::new(section, system, share);
    let parts = [
        shares.part(section, STRONG, f64::INFINITY, "storage serves half or more of"),
        shares.part(section, WEAK, STRONG, "storage serves less than half of"),
        shares.part(section, -1.0, WEAK, "the server's cache serves all of"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    vec![format!("{}{}", parts.join("; "), grades(&known))]
}

/// ` (grade B, J 0.91 to 1.00)`.
fn grades(known: &[(&crate::types::Row, &CacheShares)]) -> String {
    let worst = known.iter().map(|(_, cache_shares)| cache_shares.grade).max().unwrap_or(Grade::C);
    let mut apart: Vec<f64> = known.iter().filter_map(|(_, cache_shares)| cache_shares.separation).collect();
    apart.sort_unstable_by(f64::total_cmp);
    let separation = match (apart.first(), apart.last()) {
        (Some(low), Some(high)) if known.len() > 1 => format!(", J {low:.2} to {high:.2}"),
        (Some(only), _) => format!(", J {only:.2}"),
        _ => String::new(),
    };
    format!(" (grade {worst:?}{separation})")
}

/// Cells whose estimate was rejected, with the first reason.
fn rejected(section: &Section, system: usize) -> Option<String> {
    let open: Vec<_> =
        examined(section, system).filter(|(_, cache_shares)| cache_shares.grade == Grade::C).collect();
    let note = open.iter().find_map(|(_, cache_shares)| cache_shares.note.as_deref())?;
    let more = if open.len() > 1 {
        format!(" (the first of {})", counted(open.len(), "cell"))
    } else {
        String::new()
    };
    Some(format!("{}: {note}{more}", position(section, &open[0].0.position)))
}
