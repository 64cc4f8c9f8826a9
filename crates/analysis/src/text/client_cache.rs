//! Cache regions in words: up to which files and records a client's cache serves a system.

use sharebench_model::units::counted;

use crate::cache::rectangles::Shares;
use crate::text::stages::Stages;
use crate::types::{Section, Sentence, Tone, View};

/// From this share on the client's cache determines the rate.
const STRONG: f64 = 0.5;

/// Below this share it has no effect.
const WEAK: f64 = sharebench_model::CLIENT_CACHED_FROM;

/// One sentence per system whose client's cache served any cell of a section, and one where it did nothing there
/// although it did in others.
pub(crate) fn sentences(stages: &Stages<'_>, index: usize) -> Vec<Sentence> {
    let section = &stages.estimated.sections[index];
    if section.view == View::Load {
        return Vec::new();
    }
    let of = |system: usize| {
        let text = words(section, system, &stages.aligned.systems[system].name)?;
        Some(Sentence::new(Tone::Note, format!("{}: {text}", section.title)).about(index))
    };
    (0..stages.aligned.systems.len()).filter_map(of).collect()
}

fn words(section: &Section, system: usize, name: &str) -> Option<String> {
    let shares = Shares::new(section, system, |cache_shares| Some(cache_shares.client.low));
    let cache_shares =
        section.rows.iter().filter_map(|row| row.outcomes[system].as_ref()?.cache_shares.as_deref());
    let bound =
        cache_shares.into_iter().any(|cache_shares| cache_shares.client.high - cache_shares.client.low > 0.5);
    let known = shares.cells.iter().flatten().count();
    let strong = shares.count(STRONG, f64::INFINITY);
    let weak = shares.count(WEAK, STRONG);
    if known == 0 || strong + weak == 0 {
        return None;
    }
    let most = if bound { "at least half" } else { "half or more" };
    let mut parts = Vec::new();
    parts.extend(shares.part(
        section,
        STRONG,
        f64::INFINITY,
        &format!("the client's cache serves {most} of"),
    ));
    let lead = if strong > 0 { "" } else { "the client's cache serves " };
    parts.extend(shares.part(section, WEAK, STRONG, &format!("{lead}less than half of")));
    let none = known - strong - weak;
    if none > 0 {
        let rest = if bound { "may or may not have been" } else { "not" };
        parts.push(format!("{} {rest}", counted(none, "cell")));
    }
    Some(format!("{name}: {}.", parts.join("; ")))
}
