//! The cells that a claim is about, read from its words.

use super::cell::{At, Cell};
use super::claim::{Claim, Size, number};

/// The tests of a claim.
#[derive(Debug, Clone, PartialEq)]
pub enum Tests {
    /// All of the sweeps; without a sweep of the depth studies, without these of the loads.
    All,
    /// These titles.
    Titles(Vec<String>),
    /// This number of tests, which the sentence does not name.
    Number(usize),
}

/// The positions of a claim on one axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    axis: String,
    from: Option<At>,
    to: Option<At>,
}

/// What a claim is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Scope {
    pub tests: Tests,
    pub place: Vec<Span>,
    /// Number of cells that the sentence states.
    pub cells: Option<usize>,
}

impl Scope {
    /// True if the place of the claim contains a cell of the right test.
    pub fn has_place_of(&self, cell: &Cell) -> bool {
        self.place.iter().all(|span| cell.place.get(&span.axis).is_some_and(|at| span.contains(at)))
    }
}

impl Span {
    fn contains(&self, at: &At) -> bool {
        match (at, &self.from, &self.to) {
            (At::Number(at), from, to) => {
                let bound = |end: &Option<At>, open: f64| match end {
                    Some(At::Number(bound)) => *bound,
                    _ => open,
                };
                (bound(from, f64::NEG_INFINITY)..=bound(to, f64::INFINITY)).contains(at)
            }
            (word, from, to) => [from, to].into_iter().flatten().any(|end| end == word),
        }
    }
}

/// Figures of loads and weighted times, which no cell of the tables has.
const NO_CELLS: [&str; 7] = [
    "one connection was the limit",
    ", capacity: ",
    "response time: ",
    " that meet ",
    "For your files",
    "as users see it: ",
    "with equal shares of",
];

/// The scope of a claim; none if it is not about the cells of the tables. `is_depends`: it is one of the parts of a verdict.
pub fn of_claim(claim: &Claim<'_>, titles: &[String], is_depends: bool) -> Result<Option<Scope>, String> {
    let before = claim.before;
    if NO_CELLS.iter().any(|words| before.contains(words)) {
        return Ok(None);
    }
    if let Some((_, over)) = before.rsplit_once("Over ") {
        return Ok(Some(all(number(over).map(|(cells, _)| cells as usize))));
    }
    if before.ends_with("Overall, ") {
        return Ok(Some(all(count_after(claim.after, "over "))));
    }
    let is_other_test = before.ends_with("; ") && claim.after.starts_with(" in ");
    let is_verdict = is_depends || is_other_test || before.is_empty() || before.ends_with("inconclusive: ");
    if is_verdict { verdict(claim, titles).map(Some) } else { finding(claim, titles).map(Some) }
}

fn all(cells: Option<usize>) -> Scope {
    Scope { tests: Tests::All, place: Vec::new(), cells }
}

/// `read: ` and `read, records of 64KiB and more: `.
fn finding(claim: &Claim<'_>, titles: &[String]) -> Result<Scope, String> {
    let unread = || format!("its tests cannot be read: {:?}", claim.before);
    let (tests, rest) = tests_at(claim.before, titles).ok_or_else(unread)?;
    if rest == ": " {
        return Ok(Scope { tests, place: Vec::new(), cells: count_after(claim.after, "over ") });
    }
    let place = rest.strip_prefix(", ").and_then(|rest| rest.strip_suffix(": ")).ok_or_else(unread)?;
    let place = if place == "in all cells" { Vec::new() } else { spans(place, ", ").ok_or_else(unread)? };
    Ok(Scope { tests, place, cells: count_after(claim.after, "(") })
}

/// ` in read for records of 64KiB and more, [11, 14]`, ` [33, 38] for files of 64KiB`, ` in 14 of 48 cells`.
fn verdict(claim: &Claim<'_>, titles: &[String]) -> Result<Scope, String> {
    let mut rest = claim.after;
    if claim.size == Size::Direction
        && let Some(of) =
            rest.strip_prefix(" in ").filter(|of| of.starts_with("all ") || starts_with_share(of))
    {
        let count = number(of.strip_prefix("all ").or_else(|| Some(of.split_once(" of ")?.1)).unwrap_or(of));
        return Ok(all(count.map(|(cells, _)| cells as usize)));
    }
    rest = rest.strip_prefix(" on average").unwrap_or(rest);
    if let Some(bounds) = rest.strip_prefix(" [") {
        rest = bounds.split_once(']').map_or(bounds, |(_, rest)| rest);
    }
    let mut scope = all(None);
    if let Some((tests, after)) = rest.strip_prefix(" in ").and_then(|rest| tests_at(rest, titles)) {
        scope.tests = tests;
        rest = after;
    }
    if let Some(place) = rest.strip_prefix(" for ").or_else(|| rest.strip_prefix(" at ")) {
        let end =
            [", ", " (", ";", " ["].iter().filter_map(|end| place.find(end)).min().unwrap_or(place.len());
        let words = &place[..end];
        scope.place = spans(words, " with ").ok_or_else(|| format!("its place cannot be read: {words:?}"))?;
    }
    let is_whole = scope.tests == Tests::All && scope.place.is_empty();
    scope.cells = count_after(claim.after, "(").filter(|_| is_whole);
    Ok(scope)
}

/// `14 of 48 cells`.
fn starts_with_share(text: &str) -> bool {
    let of = number(text).and_then(|(_, rest)| rest.strip_prefix(" of ")).and_then(number);
    of.is_some_and(|(_, rest)| rest.starts_with(" cell"))
}

/// `over 12 cells`, `(12 cells`, `(11 of 12 cells`.
fn count_after(text: &str, lead: &str) -> Option<usize> {
    let counts = text.match_indices(lead).filter_map(|(at, _)| {
        let (count, rest) = number(&text[at + lead.len()..])?;
        let rest = match rest.strip_prefix(" of ").and_then(number) {
            Some((_, rest)) => rest,
            None => rest,
        };
        (rest.starts_with(" cell") || rest.starts_with(" load step")).then_some(count as usize)
    });
    counts.take(1).next()
}

/// `read`, `read and write`, `3 tests`, `3 of 4 tests`, and the rest of the text.
fn tests_at<'t>(text: &'t str, titles: &[String]) -> Option<(Tests, &'t str)> {
    if let Some((count, rest)) = number(text) {
        let rest = rest.strip_prefix(" of ").and_then(number).map_or(rest, |(_, rest)| rest);
        if let Some(rest) = rest.strip_prefix(" tests") {
            return Some((Tests::Number(count as usize), rest));
        }
    }
    let title = |text: &'t str| {
        let is_start = |title: &&String| {
            let rest = text.strip_prefix(title.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',', ':', ';']))
        };
        let longest = titles.iter().filter(is_start).max_by_key(|title| title.len())?;
        Some((longest.clone(), &text[longest.len()..]))
    };
    let (first, mut rest) = title(text)?;
    let mut listed = vec![first];
    while let Some((next, after)) =
        rest.strip_prefix(" and ").or_else(|| rest.strip_prefix(", ")).and_then(title)
    {
        listed.push(next);
        rest = after;
    }
    Some((Tests::Titles(listed), rest))
}

/// `files up to 1MiB, records of 64KiB and more`.
fn spans(text: &str, between: &str) -> Option<Vec<Span>> {
    text.split(between).map(span).collect()
}

fn span(text: &str) -> Option<Span> {
    for (words, axis) in [(" user", "users"), (" job", "jobs"), (" starts/s", "rate")] {
        if let Some((values, rest)) = text.split_once(words) {
            let more = if rest.ends_with("and more") { " and more" } else { "" };
            return range(axis, &format!("{values}{more}"));
        }
    }
    let (noun, rest) = text.split_once(' ')?;
    let axis = match noun {
        "files" => "file_size",
        "records" => "record_size",
        "depth" => "queue_depth",
        other => other,
    };
    range(axis, rest.strip_prefix("of ").unwrap_or(rest))
}

/// `up to 8MiB`, `128KiB and more`, `4KiB to 1MiB`, `64KiB`.
fn range(axis: &str, text: &str) -> Option<Span> {
    let span = |from: Option<At>, to: Option<At>| Span { axis: axis.to_owned(), from, to };
    Some(if let Some(to) = text.strip_prefix("up to ") {
        span(None, Some(value(to)?))
    } else if let Some(from) = text.strip_suffix(" and more") {
        span(Some(value(from)?), None)
    } else if let Some((from, to)) = text.split_once(" to ") {
        span(Some(value(from)?), Some(value(to)?))
    } else {
        span(Some(value(text)?), Some(value(text)?))
    })
}

/// `64KiB`, `20`, `unbuffered`.
pub fn value(text: &str) -> Option<At> {
    let Some((size, unit)) = number(text) else { return Some(At::Word(text.to_owned())) };
    let factor = match unit {
        "" | "B" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(At::Number(size * factor))
}
