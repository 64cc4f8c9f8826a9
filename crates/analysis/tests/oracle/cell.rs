//! The ratio of two systems in one cell of a page.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// Where a cell lies on an axis: a size in bytes or a number, or a word.
#[derive(Debug, Clone, PartialEq)]
pub enum At {
    Number(f64),
    Word(String),
}

/// The ratio of two systems in one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The later and the earlier system: the ratio is that of the first over the second.
    pub pair: [String; 2],
    /// Title of its section.
    pub test: String,
    /// `sweep`, `depth` or `load`.
    pub view: String,
    /// Its positions by axis.
    pub place: BTreeMap<String, At>,
    /// The ratio.
    pub value: f64,
    /// Its 95 % interval; none of fewer than six repetitions.
    pub interval: Option<[f64; 2]>,
    /// True if a client's cache served it.
    pub is_cached: bool,
    /// What the digits of a table leave open, as a share of the ratio.
    pub rounding: f64,
}

impl Cell {
    /// The ratio and its interval from the side of a system of the pair.
    pub fn seen_by(&self, system: &str) -> (f64, Option<[f64; 2]>) {
        if self.pair[0] == system {
            return (self.value, self.interval);
        }
        (1.0 / self.value, self.interval.map(|[low, high]| [1.0 / high, 1.0 / low]))
    }

    /// True if these are its systems, in any order.
    pub fn is_of(&self, one: &str, other: &str) -> bool {
        self.pair == [one, other] || self.pair == [other, one]
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = &self.pair;
        write!(f, "{a}/{b} in {} {:?}: {:.3} {:.3?}", self.test, self.place, self.value, self.interval)
    }
}

/// All cells with a ratio of an analysis in JSON (docs/schemas/compare-1.json).
pub fn of_json(analysis: &Value) -> Vec<Cell> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let names: Vec<String> = list(&analysis["systems"])
        .iter()
        .map(|s| s["name"].as_str().unwrap_or_default().to_owned())
        .collect();
    let side = |value: &Value| names[value.as_u64().map_or(0, |index| index as usize)].clone();
    let pairs: Vec<[String; 2]> =
        list(&analysis["comparisons"]).iter().map(|c| [side(&c["a"]), side(&c["b"])]).collect();
    let mut cells = Vec::new();
    for section in list(&analysis["sections"]) {
        for row in list(&section["rows"]) {
            for (pair, ratio) in pairs.iter().zip(list(&row["ratios"])) {
                let typical = &ratio["typical"];
                let Some(value) = typical["value"].as_f64() else { continue };
                let bound = |end: &str| typical["interval"][end].as_f64();
                cells.push(Cell {
                    pair: pair.clone(),
                    test: section["title"].as_str().unwrap_or_default().to_owned(),
                    view: section["view"].as_str().unwrap_or_default().to_owned(),
                    place: place(&row["coordinates"]),
                    value,
                    interval: bound("low").zip(bound("high")).map(|(low, high)| [low, high]),
                    is_cached: ratio["client_cached"] == true,
                    rounding: 0.0,
                });
            }
        }
    }
    cells
}

fn place(coordinates: &Value) -> BTreeMap<String, At> {
    let axes = coordinates.as_object().into_iter().flatten();
    let at = |value: &Value| match (value.as_f64(), value.as_str()) {
        (Some(number), _) => At::Number(number),
        (None, word) => At::Word(word.unwrap_or_default().to_owned()),
    };
    // Each value is an object with its kind: {"bytes": 4096}.
    let inner = |value: &Value| value.as_object().and_then(|kind| kind.values().next()).map(at);
    axes.filter_map(|(axis, value)| Some((axis.clone(), inner(value)?))).collect()
}
