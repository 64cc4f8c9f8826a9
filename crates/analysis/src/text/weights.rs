//! Sentences on cells weighted by a workload.

use sharebench_model::units::counted;

use crate::text::claims::{basis, claim};
use crate::text::stages::Stages;
use crate::types::{RatioVerdict, Sentence, Tone, WeightedComparison};

pub(crate) fn weights_sentence(stages: &Stages<'_>, weighted: &WeightedComparison) -> Sentence {
    let comparison = &stages.judged.comparisons[weighted.comparison];
    let a = &stages.aligned.systems[comparison.a].name;
    let b = &stages.aligned.systems[comparison.b].name;
    let (Some(ratio), Some(pairing)) = (&weighted.ratio, weighted.pairing) else {
        let text = format!(
            "For your files ({}): only {:.0} % of their bytes have a cell in both {b} and {a}, too few for an answer; measure \
             files and records of these sizes.",
            weighted.name,
            100.0 * weighted.covered
        );
        return Sentence::new(Tone::NotResolved, text);
    };
    let tone = match weighted.verdict {
        RatioVerdict::Faster | RatioVerdict::Slower => Tone::Difference,
        RatioVerdict::AboutTheSame => Tone::Same,
        RatioVerdict::NotResolved => Tone::NotResolved,
    };
    let rest = match 1.0 - weighted.covered {
        open if open < 0.005 => String::new(),
        open => format!("; {:.0} % of the bytes have no similar cell and are excluded", 100.0 * open),
    };
    let cached = match weighted.cached_on_one_side {
        share if share < 0.005 => String::new(),
        share => format!(
            "; {:.0} % of the time is in cells that a client's cache served on one side only, as users see it",
            100.0 * share
        ),
    };
    let text = format!(
        "For your files ({}): {} (time for all of their bytes, {}, {}{rest}{cached}).",
        weighted.name,
        claim(ratio, weighted.verdict, a, b),
        counted(weighted.cells, "cell"),
        basis(pairing, ratio.n)
    );
    Sentence::new(tone, text)
}
