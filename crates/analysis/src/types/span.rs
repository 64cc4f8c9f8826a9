//! A part of an axis, and its words.

use serde::{Deserialize, Serialize};
use sharebench_model::{Value, axis};

/// A part of an axis; none at an end where it reaches the end of what was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Which axis.
    pub axis: String,
    /// First position.
    pub from: Option<Value>,
    /// Last position.
    pub to: Option<Value>,
}

/// Values of an axis, and the indices from and to, end excluded.
type AxisRange<'a> = (&'a [Option<Value>], (usize, usize));

/// The parts of a rectangle: per axis its values and the indices from and to (end excluded).
pub(crate) fn spans_of(axes: &[String], parts: [AxisRange<'_>; 2]) -> Vec<Span> {
    let span = |(axis, (values, (from, to))): (&String, AxisRange<'_>)| {
        // One position of several is stated as it is, also at an end of the axis.
        let is_single = to == from + 1 && values.len() > 1;
        let is_open = |reaches_end: bool| reaches_end && !is_single;
        Span {
            axis: axis.clone(),
            from: if is_open(from == 0) { None } else { values[from].clone() },
            to: if is_open(to == values.len()) { None } else { values[to - 1].clone() },
        }
    };
    axes.iter().zip(parts).map(span).collect()
}

impl Span {
    /// True when it is the whole axis.
    pub fn is_whole(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// `records of 128KiB and more`, `files up to 8MiB`, `10 users and more`.
    pub(crate) fn words(&self) -> String {
        let (before, after) = noun(&self.axis);
        let from = self.from.as_ref();
        let to = self.to.as_ref();
        let value = |value: &Value| format!("{value}{after}");
        let part = match (from, to) {
            (None, None) => return format!("all of {}", self.axis.replace('_', " ")),
            (Some(from), None) => format!("{} and more", value(from)),
            (None, Some(to)) => format!("up to {}", value(to)),
            (Some(from), Some(to)) if from == to => value(from),
            (Some(from), Some(to)) => format!("{from} to {}", value(to)),
        };
        match (before, from) {
            ("", _) => part,
            // "files up to 8MiB", but "files of 8MiB and more".
            (noun, None) => format!("{noun} {part}"),
            (noun @ ("files" | "records"), _) => format!("{noun} of {part}"),
            (noun, _) => format!("{noun} {part}"),
        }
    }
}

/// Words before and after a value of an axis.
fn noun(axis: &str) -> (&str, &str) {
    match axis {
        axis::FILE_SIZE => ("files", ""),
        axis::RECORD_SIZE => ("records", ""),
        axis::USERS => ("", " users"),
        axis::JOBS => ("", " jobs"),
        axis::RATE => ("", " starts/s"),
        axis::QUEUE_DEPTH => ("depth", ""),
        other => (other, ""),
    }
}

/// The words of a place: what it covers of each axis that it does not cover as a whole.
pub(crate) fn place_words(place: &[Span]) -> String {
    let parts: Vec<String> = place.iter().filter(|span| !span.is_whole()).map(Span::words).collect();
    if parts.is_empty() { "in all cells".to_owned() } else { parts.join(", ") }
}

/// One position of an axis in words: `records of 4KiB`, `10 users`.
pub(crate) fn position_words(axis: &str, value: Option<&Value>) -> String {
    match value {
        None => format!("no {}", axis.replace('_', " ")),
        Some(value) => {
            let span = Span { axis: axis.to_owned(), from: Some(value.clone()), to: Some(value.clone()) };
            span.words()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_axes_read_as_one_would_say_them() {
        let span =
            |axis: &str, from: Option<Value>, to: Option<Value>| Span { axis: axis.to_owned(), from, to };
        let small = Value::Bytes(4096);
        let large = Value::Bytes(1 << 20);
        let words = |s: Span| s.words();
        assert_eq!(words(span("record_size", Some(large.clone()), None)), "records of 1MiB and more");
        assert_eq!(words(span("file_size", None, Some(small.clone()))), "files up to 4KiB");
        assert_eq!(words(span("record_size", Some(small.clone()), Some(large))), "records of 4KiB to 1MiB");
        assert_eq!(words(span("users", None, Some(Value::Count(8)))), "up to 8 users");
        assert_eq!(words(span("queue_depth", Some(Value::Count(4)), None)), "depth 4 and more");
        let whole = span("file_size", None, None);
        assert_eq!(
            place_words(&[whole.clone(), span("record_size", None, Some(small))]),
            "records up to 4KiB"
        );
        assert_eq!(place_words(&[whole]), "in all cells");
        assert_eq!(position_words("file_size", Some(&Value::Bytes(8 << 20))), "files of 8MiB");
    }
}
