//! Server cache and storage in words: cell by cell where there are few, as regions where there are many.

use sharebench_model::units::counted;

use crate::cache::rectangles::Shares;
use crate::text::position::position;
use crate::text::stages::Stages;
use crate::types::{CacheShares, Grade, Section, Sentence, Tone, View};

/// Up to so many cells are told one by one.
const ONE_BY_ONE: usize = 6;

/// Storage that gives this share decides the speed; one that gives less than the other does not matter.
const STRONG: f64 = 0.5;

const WEAK: f64 = 0.02;

/// What was found behind the servers of a section: sentences for the findings, and for what stays open.
pub(crate) fn sentences(stages: &Stages<'_>, index: usize) -> Vec<Sentence> {
    let section = &stages.estimated.sections[index];
    if section.view == View::Load {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (system, named) in stages.aligned.systems.iter().enumerate() {
        let lead = format!("{}: {}: ", section.title, named.name);
        let say = |tone, text: String| Sentence::new(tone, format!("{lead}{text}.")).about(index);
        found.extend(told(section, system).into_iter().map(|text| say(Tone::Note, text)));
        found.extend(refused(section, system).map(|text| say(Tone::NotResolved, text)));
    }
    found
}

/// Cells of a system that somebody looked behind.
fn looked(section: &Section, system: usize) -> impl Iterator<Item = (&crate::types::Row, &CacheShares)> {
    section.rows.iter().filter_map(move |row| {
        let cache_shares = row.outcomes[system].as_ref()?.cache_shares.as_ref()?;
        cache_shares.server_examined.then_some((row, cache_shares))
    })
}

fn told(section: &Section, system: usize) -> Vec<String> {
    let known: Vec<_> =
        looked(section, system).filter(|(_, cache_shares)| cache_shares.grade < Grade::C).collect();
    if known.len() <= ONE_BY_ONE {
        let tell = |(row, cache_shares): &(&crate::types::Row, &CacheShares)| {
            let note = cache_shares.note.as_ref().map_or_else(String::new, |note| format!("; {note}"));
            format!("{}: {}{note}", position(section, &row.position), cache_shares.label())
        };
        return known.iter().map(tell).collect();
    }
    let share = |cache_shares: &CacheShares| {
        (cache_shares.server_examined && cache_shares.grade < Grade::C).then(|| cache_shares.storage.middle())
    };
    let shares = Shares::of(section, system, share);
    let parts = [
        shares.part(section, STRONG, f64::INFINITY, "storage gives half or more of"),
        shares.part(section, WEAK, STRONG, "storage gives less than half of"),
        shares.part(section, -1.0, WEAK, "memory gives all of"),
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

/// Cells behind which nothing could be told, with the first reason.
fn refused(section: &Section, system: usize) -> Option<String> {
    let open: Vec<_> =
        looked(section, system).filter(|(_, cache_shares)| cache_shares.grade == Grade::C).collect();
    let note = open.iter().find_map(|(_, cache_shares)| cache_shares.note.as_deref())?;
    let more = if open.len() > 1 {
        format!(" (the first of {})", counted(open.len(), "cell"))
    } else {
        String::new()
    };
    Some(format!("{}: {note}{more}", position(section, &open[0].0.position)))
}
