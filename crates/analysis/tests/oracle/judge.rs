//! Sentences against cells.

use super::cell::Cell;
use super::claim::{Claim, Size, claims, number};
use super::scope::{Scope, Tests, of_claim};

/// Differences up to this share are none (the default of `--tolerance`).
const TOLERANCE: f64 = 0.02;
/// Digits of a sentence are rounded.
const ROUNDED: f64 = 0.006;
/// The smallest part of a percent that a sentence about a limit may hide by its digits.
const LIMIT_ROUNDED: (f64, f64) = (1.05, 0.005);

/// Names of the systems of these cells.
pub fn names(cells: &[Cell]) -> Vec<String> {
    let mut names: Vec<String> = cells.iter().flat_map(|cell| cell.pair.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// What is wrong with these sentences.
pub fn all(cells: &[Cell], sentences: &[String]) -> Vec<String> {
    let names = names(cells);
    let mut titles: Vec<String> = cells.iter().map(|cell| cell.test.clone()).collect();
    titles.dedup();
    let page = Page { cells, titles };
    sentences.iter().flat_map(|sentence| page.sentence(sentence, &names)).collect()
}

struct Page<'a> {
    cells: &'a [Cell],
    titles: Vec<String>,
}

/// Words of claims about cells.
const CLAIMING: [&str; 4] = [" % faster", " times as fast", " are about the same", " times the rate of "];
/// Sentences with such words that are not about the ratios of cells.
const OTHER: [&str; 4] = ["Time: ", "For your files", " response time: ", " needs queue depth "];

impl Page<'_> {
    fn sentence(&self, text: &str, names: &[String]) -> Vec<String> {
        // A printed table does not say which cells a mean excludes.
        if text.contains(" Excluded: ") && self.cells.iter().any(|cell| cell.rounding > 0.0) {
            return Vec::new();
        }
        let claims = claims(text, names);
        let claiming = CLAIMING.iter().any(|words| text.contains(words));
        if claims.is_empty() && claiming && !OTHER.iter().any(|words| text.contains(words)) {
            return vec![format!("{text}\n  cannot be read")];
        }
        let subjects: Vec<&str> = claims.iter().map(|claim| claim.one).collect();
        let mut found = Vec::new();
        for claim in &claims {
            let pair = self.pair(claim, &subjects);
            match of_claim(claim, &self.titles, text.starts_with("depends on ")) {
                Err(unread) => found.push(unread),
                Ok(Some(scope)) => {
                    found.extend(pair.iter().flat_map(|pair| self.claim(claim, &scope, *pair)));
                }
                Ok(None) => {}
            }
        }
        found.extend(self.limits(text, &claims, &subjects));
        found.into_iter().map(|wrong| format!("{text}\n  {wrong}")).collect()
    }

    /// The two systems of a claim, the one that it is about first.
    fn pair<'t>(&self, claim: &Claim<'t>, subjects: &[&'t str]) -> Option<[&'t str; 2]> {
        let other = claim.other.or_else(|| subjects.iter().copied().find(|other| *other != claim.one))?;
        let known = self.cells.iter().any(|cell| cell.is_of(claim.one, other));
        (known && claim.one != other).then_some([claim.one, other])
    }

    /// The cells of two systems that take part in means.
    fn of_pair(&self, [one, other]: [&str; 2], wanted: impl Fn(&Cell) -> bool) -> Vec<&Cell> {
        let mut cells: Vec<&Cell> =
            self.cells.iter().filter(|cell| cell.is_of(one, other) && wanted(cell)).collect();
        if cells.iter().any(|cell| cell.interval.is_some()) {
            cells.retain(|cell| cell.interval.is_some());
        }
        if cells.iter().any(|cell| !cell.is_cached) {
            cells.retain(|cell| !cell.is_cached);
        }
        cells
    }

    /// The cells of the view that the verdict is about.
    fn of_verdict(&self, pair: [&str; 2]) -> Vec<&Cell> {
        let views = ["sweep", "depth", "load"].map(|view| self.of_pair(pair, |cell| cell.view == view));
        views.into_iter().find(|cells| !cells.is_empty()).unwrap_or_default()
    }

    fn claim(&self, claim: &Claim<'_>, scope: &Scope, pair: [&str; 2]) -> Vec<String> {
        let of_tests = |tests: &[String]| {
            self.of_pair(pair, |cell| tests.contains(&cell.test) && scope.has_place_of(cell))
        };
        let cells: Vec<&Cell> = match &scope.tests {
            Tests::Titles(titles) => of_tests(titles),
            Tests::All => self.of_verdict(pair).into_iter().filter(|cell| scope.has_place_of(cell)).collect(),
            Tests::Number(number) => {
                let judged =
                    |title: &&String| contradicting(claim, &of_tests(&[(*title).clone()])).is_empty();
                let holding = self.titles.iter().filter(judged).count();
                let wrong = format!("it holds in {holding} tests only");
                return if holding < *number { vec![wrong] } else { Vec::new() };
            }
        };
        if cells.is_empty() {
            return vec!["it is about no cell of the tables".to_owned()];
        }
        judge(claim, &cells, scope.cells)
    }

    /// What a sentence says of the largest difference that a cell may have.
    fn limits(&self, text: &str, claims: &[Claim<'_>], subjects: &[&str]) -> Vec<String> {
        let mut wrong = Vec::new();
        let limit = |words: &str| share(text.split_once(words)?.1);
        let mut beyond = |words: &str, pair: [&str; 2], is_against: &dyn Fn(f64, [f64; 2]) -> bool| {
            let Some(share) = limit(words) else { return };
            let share = share * LIMIT_ROUNDED.0 + LIMIT_ROUNDED.1;
            for cell in self.of_verdict(pair) {
                if cell.seen_by(pair[0]).1.is_some_and(|interval| is_against(share, interval)) {
                    wrong.push(format!("{words}.. contradicts {cell}"));
                }
            }
        };
        let either = |share: f64, [low, high]: [f64; 2]| low > 1.0 + share || high < 1.0 / (1.0 + share);
        let opposite = |share: f64, [_, high]: [f64; 2]| high < 1.0 / (1.0 + share);
        if let Some(pair) = claims.first().and_then(|claim| self.pair(claim, subjects)) {
            beyond("no cell differs by more than ", pair, &either);
            beyond("nothing opposite beyond ", pair, &opposite);
        }
        let named = |cell: &&Cell| text.starts_with(&format!("{}/{}: ", cell.pair[0], cell.pair[1]));
        if let Some(cell) = self.cells.iter().find(named) {
            let pair = [cell.pair[0].as_str(), cell.pair[1].as_str()];
            beyond("no part of the map is known to differ by more than ", pair, &either);
            beyond("a single cell may still differ by ", pair, &either);
        }
        wrong
    }
}

/// What is wrong with a claim about these cells.
fn judge(claim: &Claim<'_>, cells: &[&Cell], stated: Option<usize>) -> Vec<String> {
    let mut wrong = contradicting(claim, cells);
    if let Some(stated) = stated.filter(|stated| *stated != cells.len()) {
        wrong.push(format!("it states {stated} cells of {}", cells.len()));
    }
    let share = 1.0 / cells.len() as f64;
    let mean = cells.iter().map(|cell| share * cell.seen_by(claim.one).0.ln()).sum::<f64>().exp();
    let rounding = cells.iter().map(|cell| share * cell.rounding).sum::<f64>();
    wrong.extend(apart(claim, mean, ROUNDED + rounding));
    wrong
}

/// The cells whose whole interval contradicts a claim about each of them.
fn contradicting(claim: &Claim<'_>, cells: &[&Cell]) -> Vec<String> {
    let edge = 1.0 + TOLERANCE;
    let each = !claim.is_on_average();
    let against = |cell: &&&Cell| {
        let Some([low, high]) = cell.seen_by(claim.one).1 else { return false };
        let low = low * (1.0 - cell.rounding);
        let high = high * (1.0 + cell.rounding);
        match claim.size {
            Size::Mean(_) => each && high < 1.0 / edge,
            Size::Range(least, most) => high < least.max(1.0) / edge || low > most * edge,
            Size::Same(_) => each && (low > edge || high < 1.0 / edge),
            Size::Direction => claim.after.starts_with(" in all ") && high < 1.0 / edge,
            Size::Open(_) | Size::Rate(_) => false,
        }
    };
    cells.iter().filter(against).map(|cell| format!("contradicts {cell}")).collect()
}

/// What a claim states of the mean of its cells, if that is another one.
fn apart(claim: &Claim<'_>, mean: f64, rounding: f64) -> Option<String> {
    let stated = match claim.size {
        Size::Mean(stated) | Size::Same(stated) | Size::Open(stated) | Size::Rate(stated) => stated,
        // `; nfs is faster in copy-all`: the mean of a test.
        Size::Direction if claim.after.starts_with(" in ") && !claim.after.contains(" cells: ") => {
            return (mean < 1.0).then(|| format!("the mean of its cells is {mean:.3}"));
        }
        Size::Direction | Size::Range(..) => return None,
    };
    let near = |bound: f64| (mean / bound).ln().abs() < rounding;
    let holds = match claim.interval() {
        Some([low, high]) => (low..=high).contains(&mean) || near(low) || near(high),
        None => near(stated) || (mean - stated).abs() < rounding,
    };
    (!holds).then(|| format!("the mean of its cells is {mean:.3}"))
}

/// `6 %` and `2.40 times` as a share.
fn share(text: &str) -> Option<f64> {
    let (number, unit) = number(text)?;
    if unit.starts_with(" %") {
        Some(number / 100.0)
    } else {
        unit.starts_with(" times").then_some(number - 1.0)
    }
}
