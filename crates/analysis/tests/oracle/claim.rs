//! What a sentence claims of two systems, read from its words.

/// How the claim states the difference.
#[derive(Debug, Clone, PartialEq)]
pub enum Size {
    /// `is faster than`, without a number.
    Direction,
    /// `12 % faster`, `2.40 times as fast`: a mean.
    Mean(f64),
    /// `5.0 to 43 % faster`: the ratio of each cell.
    Range(f64, f64),
    /// `are about the same: ratio 1.003`.
    Same(f64),
    /// `ratio 0.86` of a comparison that is not resolved.
    Open(f64),
    /// `shows 1.41 times the rate of`: single runs.
    Rate(f64),
}

/// One claim of a sentence.
#[derive(Debug, Clone)]
pub struct Claim<'t> {
    /// The system that the claim is about: the faster one, if it names one.
    pub one: &'t str,
    /// The other one; none where the sentence leaves it out.
    pub other: Option<&'t str>,
    pub size: Size,
    /// Text before its subject, back to the claim before.
    pub before: &'t str,
    /// Text after its words, up to the next claim.
    pub after: &'t str,
    /// True if its number is in percent.
    pub is_percent: bool,
}

impl Claim<'_> {
    /// The first interval after the claim, as ratios.
    pub fn interval(&self) -> Option<[f64; 2]> {
        let own = self.after.split(';').find(|part| part.contains('['))?;
        let (_, rest) = own.split_once('[')?;
        let (low, high) = rest.split_once(']')?.0.split_once(", ")?;
        let bounds = [low.parse().ok()?, high.parse().ok()?];
        Some(if self.is_percent { bounds.map(|percent: f64| 1.0 + percent / 100.0) } else { bounds })
    }

    /// True if the words say that its mean does not hold for each cell.
    pub fn is_on_average(&self) -> bool {
        self.after.split(';').next().is_some_and(|own| own.contains("on average"))
    }
}

/// All claims of a sentence about systems with these names.
pub fn claims<'t>(text: &'t str, names: &'t [String]) -> Vec<Claim<'t>> {
    let mut found: Vec<(usize, usize, Claim<'t>)> = Vec::new();
    for verb in [" is ", " shows ", " are about the same: ratio ", " is not resolved: ratio ", ", ratio "] {
        for (at, _) in text.match_indices(verb) {
            found.extend(claim_at(text, at, verb, names));
        }
    }
    found.extend(same_rates(text, names));
    found.sort_by_key(|(start, ..)| *start);
    let starts: Vec<usize> = found.iter().map(|(start, ..)| *start).collect();
    let mut previous = 0;
    let mut claims = Vec::new();
    for (index, (start, end, claim)) in found.into_iter().enumerate() {
        let next = starts.get(index + 1).copied().unwrap_or(text.len()).max(end);
        claims.push(Claim { before: &text[previous..start], after: &text[end..next], ..claim });
        previous = end;
    }
    claims
}

/// The name that a text ends with.
fn name_before<'n>(text: &str, names: &'n [String]) -> Option<&'n str> {
    let is_end = |name: &&String| {
        let rest = text.strip_suffix(name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with([' ', '\n']))
    };
    names.iter().filter(is_end).max_by_key(|name| name.len()).map(String::as_str)
}

/// The name that a text begins with.
fn name_after<'n>(text: &str, names: &'n [String]) -> Option<&'n str> {
    let is_start = |name: &&String| {
        let rest = text.strip_prefix(name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',', ':', ';', '.', '[']))
    };
    names.iter().filter(is_start).max_by_key(|name| name.len()).map(String::as_str)
}

/// A claim with the bytes from its subject to the end of its words.
type Found<'t> = (usize, usize, Claim<'t>);

fn claim_at<'t>(text: &'t str, at: usize, verb: &str, names: &'t [String]) -> Option<Found<'t>> {
    let rest = &text[at + verb.len()..];
    let one = name_before(&text[..at], names)?;
    let start = at - one.len();
    let claim = |one: &'t str, other: Option<&'t str>, size: Size, is_percent: bool| Claim {
        one,
        other,
        size,
        before: "",
        after: "",
        is_percent,
    };
    let end_of = |rest: &str| text.len() - rest.len();
    match verb {
        " is " => {
            let (size, is_percent, rest) = faster(rest)?;
            let joined = rest.strip_prefix(" than ").or_else(|| rest.strip_prefix(" as "));
            let other = joined.and_then(|rest| name_after(rest, names));
            let end = match (joined, other) {
                (Some(rest), Some(other)) => end_of(rest) + other.len(),
                _ => end_of(rest),
            };
            Some((start, end, claim(one, other, size, is_percent)))
        }
        " shows " => {
            let (ratio, rest) = number(rest)?;
            let other = name_after(rest.strip_prefix(" times the rate of ")?, names)?;
            let end = end_of(rest) + " times the rate of ".len() + other.len();
            Some((start, end, claim(one, Some(other), Size::Rate(ratio), false)))
        }
        _ => {
            let joint = if verb.starts_with(" are") { " and " } else { " against " };
            let first = name_before(text[..start].strip_suffix(joint)?, names)?;
            let (ratio, rest) = number(rest)?;
            let size = if verb.starts_with(" are") { Size::Same(ratio) } else { Size::Open(ratio) };
            let start = start - joint.len() - first.len();
            Some((start, end_of(rest), claim(first, Some(one), size, false)))
        }
    }
}

/// `a and b show the same rate to 0.5 %`.
fn same_rates<'t>(text: &'t str, names: &'t [String]) -> Option<Found<'t>> {
    const WORDS: &str = " show the same rate to 0.5 %";
    let at = text.find(WORDS)?;
    let second = name_before(&text[..at], names)?;
    let start = at - second.len() - " and ".len();
    let first = name_before(&text[..start], names)?;
    let claim = Claim {
        one: first,
        other: Some(second),
        size: Size::Rate(1.0),
        before: "",
        after: "",
        is_percent: false,
    };
    Some((start - first.len(), at + WORDS.len(), claim))
}

/// `12 % faster`, `5.0 to 43 % faster`, `up to 2.40 times as fast`, `faster`.
fn faster(text: &str) -> Option<(Size, bool, &str)> {
    if let Some(rest) = text.strip_prefix("faster") {
        return Some((Size::Direction, false, rest));
    }
    let limit = text.strip_prefix("up to ");
    let (low, rest) = number(limit.unwrap_or(text))?;
    let (low, high, rest) = match rest.strip_prefix(" to ").and_then(number) {
        Some((high, rest)) => (Some(low), high, rest),
        None => (None, low, rest),
    };
    let (is_percent, rest) = match rest.strip_prefix(" % faster") {
        Some(rest) => (true, rest),
        None => (false, rest.strip_prefix(" times as fast")?),
    };
    let ratio = |number: f64| if is_percent { 1.0 + number / 100.0 } else { number };
    let size = match (low, limit) {
        (Some(low), _) => Size::Range(ratio(low), ratio(high)),
        (None, Some(_)) => Size::Range(0.0, ratio(high)),
        (None, None) => Size::Mean(ratio(high)),
    };
    Some((size, is_percent, rest))
}

/// A number at the begin of a text, and the rest.
pub fn number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let digits = text[..end].trim_end_matches('.');
    Some((digits.parse().ok()?, &text[digits.len()..]))
}
