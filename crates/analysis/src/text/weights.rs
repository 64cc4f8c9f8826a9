//! Sentences on cells weighted by a workload.

use sharebench_model::units::{counted, percent};

use crate::text::claims::{basis, claim};
use crate::text::stages::Stages;
use crate::types::{RatioVerdict, Sentence, Tone, WeightedComparison};

pub(crate) fn weights_sentence(stages: &Stages<'_>, weighted: &WeightedComparison) -> Sentence {
    let comparison = &stages.judged.comparisons[weighted.comparison];
    let a = &stages.aligned.systems[comparison.a].name;
    let b = &stages.aligned.systems[comparison.b].name;
    let (Some(ratio), Some(pairing)) = (&weighted.ratio, weighted.pairing) else {
        let text = format!(
            "For your files ({}): only {} of their bytes have a cell in both {b} and {a}, too few for an answer; measure \
             files and records of these sizes.",
            weighted.name,
            percent(weighted.covered, 0)
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
        open => format!("; {} of the bytes have no similar cell and are excluded", percent(open, 0)),
    };
    let cached = match weighted.cached_on_one_side {
        share if share < 0.005 => String::new(),
        share => format!(
            "; {} of the time is in cells that a client's cache served on one side only, as users see it",
            percent(share, 0)
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
