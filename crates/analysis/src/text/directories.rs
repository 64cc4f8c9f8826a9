//! Sentences on the directories of metadata tests.

use sharebench_model::NameCache;
use sharebench_model::units::three_digits;
use sharebench_stats::DirectoryBreak;

use crate::text::stages::Stages;
use crate::types::{DirectoryFact, DirectoryFinding, NameCacheEvidence, RateRatio, Sentence, Tone};

/// The sentences of one section.
pub(crate) fn sentences(stages: &Stages<'_>, index: usize) -> Vec<Sentence> {
    let findings = stages.judged.directories.iter().filter(|finding| finding.section == index);
    let texts = findings.map(|finding| sentence(stages, finding));
    texts.map(|text| Sentence::new(Tone::Note, text).about(index)).collect()
}

fn sentence(stages: &Stages<'_>, finding: &DirectoryFinding) -> String {
    let section = &stages.estimated.sections[finding.section];
    let lead = format!("{}: {}", section.title, stages.aligned.systems[finding.system].name);
    match &finding.fact {
        DirectoryFact::Falls(found) => format!("{lead} {}", falls(stages, finding.section, found)),
        DirectoryFact::Shared(ratio) => {
            let times = compared(stages, finding.section, ratio, "in directories of their own");
            format!("{lead}: jobs in one directory {times}.")
        }
        DirectoryFact::Missing(ratio) => {
            let times = compared(stages, finding.section, ratio, "for names that exist");
            format!("{lead}: requests for missing names {times}.")
        }
        DirectoryFact::Cached(evidence) => format!("{lead}: {}.", cached(evidence)),
    }
}

/// Which cache answered what part, or why the counts do not show it.
fn cached(evidence: &NameCacheEvidence) -> String {
    let NameCacheEvidence { cache, requests: (low, high), cached, cells } = *evidence;
    let name = match cache {
        NameCache::Attributes => "the attribute cache",
        NameCache::Missing => "the directory-entry cache",
        NameCache::Listing => "the directory cache",
        NameCache::Opens => "the cache of open files",
    };
    let range =
        if shown(low) == shown(high) { shown(high) } else { format!("{} to {}", shown(low), shown(high)) };
    let numbers = format!("{range} requests per operation");
    if cached == 0 {
        return format!(
            "the wire counts do not show whether {name} of the client answered ({numbers}); compare the mount with the same \
             share over the client of sharebench"
        );
    }
    let without = if cache == NameCache::Listing { "" } else { "; at least 1 without a cache" };
    // Rounded down: at least this part was answered.
    let least = ((1.0 - high) * 100.0).floor();
    let part = if high == 0.0 { "all".to_owned() } else { format!("at least {least} % of the") };
    let place = if cached == cells { String::new() } else { format!(" in {cached} of {cells} cells") };
    format!("{name} of the client answered {part} operations{place} ({numbers}{without})")
}

/// Requests per operation with two decimals, which do not hide the last request.
fn shown(requests: f64) -> String {
    match requests {
        0.0 => "0".to_owned(),
        few if few < 0.01 => "less than 0.01".to_owned(),
        requests => format!("{requests:.2}"),
    }
}

fn falls(stages: &Stages<'_>, section: usize, found: &DirectoryBreak) -> String {
    let unit = stages.estimated.sections[section].unit;
    let (from, to) = found.between;
    let cause = match found.doubled_at {
        Some(entries) => format!(
            ": the directory is searched linearly, which doubles the time of an operation at about {} entries",
            two_digits(entries)
        ),
        None => String::new(),
    };
    format!(
        "falls from {} between {from} and {to} entries per directory{cause}.",
        unit.show_range(found.from, found.to)
    )
}

/// What the two rates say, with the numbers at the position where they differ most.
fn compared(stages: &Stages<'_>, section: usize, ratio: &RateRatio, other: &str) -> String {
    let unit = stages.estimated.sections[section].unit;
    let RateRatio { entries, rate, other: than, differs } = *ratio;
    let numbers = format!("({entries} entries: {} against {})", unit.show(rate), unit.show(than));
    if differs {
        format!("have {} times the rate {other} {numbers}", three_digits(rate / than))
    } else {
        format!("have a rate that is not resolved from that {other} {numbers}")
    }
}

/// A number of entries as precise as an estimate of it is.
fn two_digits(entries: f64) -> u64 {
    let entries = entries.max(1.0);
    let unit = 10f64.powi((entries.log10().floor() as i32 - 1).max(0));
    ((entries / unit).round() * unit) as u64
}
