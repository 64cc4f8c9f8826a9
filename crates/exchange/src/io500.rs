//! Results of IO500: the lines `[RESULT]` of its output or of `result_summary.txt`, and the score.
//!
//! Written from published outputs of the years 2020 to 2026; its source was never read.

use sharebench_model::{Check, Coordinates, Facts, IoBytes, Measure, RateBase, Value, Verdict, axis};

use crate::rate::{RateUnit, milli_per_s};
use crate::source::{Source, SourceRun, SourceStep};
use crate::{ImportError, text};

/// Fact: the score, as the file states it.
const SCORE_FACT: &str = "io500_score";

/// True when the text looks like the output of IO500.
pub(crate) fn looks_like(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with("[RESULT]"))
}

/// Reads the text that IO500 printed.
pub(crate) fn read(text: &str) -> Result<Source, ImportError> {
    let mut source = Source::default();
    let mut steps = Vec::new();
    let mut zeros = 0;
    for (number, line) in text::lines(text) {
        let line = line.trim_start();
        if line.starts_with("IO500 version ") {
            source.program = Some(line.to_owned());
        } else if let Some(rest) = line.strip_prefix("[RESULT]") {
            match result(rest).map_err(|problem| ImportError::at(number, problem))? {
                Some(step) => steps.push(step),
                None => zeros += 1,
            }
        } else if let Some(score) = line.strip_prefix("[SCORE").and_then(|rest| rest.split_once(']')) {
            source.facts.insert(SCORE_FACT.to_owned(), score.1.trim().to_owned());
        }
    }
    if steps.is_empty() {
        return Err(ImportError::whole("there is no line '[RESULT]' with a rate above zero"));
    }
    if zeros > 0 {
        source.notes.push(format!("{zeros} phases with a rate of zero were left out"));
    }
    source.runs =
        vec![SourceRun { name: String::new(), targets: vec![(String::new(), Facts::new())], steps }];
    Ok(source)
}

/// `ior-easy-write  7.732005 GiB/s  : time 323.364 seconds`, at its end perhaps `[INVALID]`; none for a rate of zero.
fn result(line: &str) -> Result<Option<SourceStep>, String> {
    let words: Vec<&str> = line.split_whitespace().filter(|word| *word != ":").collect();
    let [phase, rate, unit, "time", seconds, ..] = words.as_slice() else {
        return Err(format!("'{}' is not a phase with rate, unit and time", line.trim()));
    };
    // Bytes(1000) multiplies by 1000: kIOPS in operations.
    let (factor, in_bytes) = match *unit {
        "GiB/s" => (1 << 30, true),
        "GB/s" => (1_000_000_000, true),
        "kIOPS" | "kiops" => (1000, false),
        other => return Err(format!("'{other}' is neither GiB/s nor kIOPS")),
    };
    let milli = milli_per_s(rate, RateUnit::Bytes(factor))?;
    if milli == 0 {
        return Ok(None);
    }
    let nanos = milli_per_s(seconds, RateUnit::Bytes(1))?.saturating_mul(1_000_000).max(1);
    let amount = u128::from(milli) * u128::from(nanos) / 1_000_000_000_000;
    let amount = u64::try_from(amount).unwrap_or(u64::MAX).max(1);
    let bytes = if in_bytes { amount } else { 0 };
    let operations = if in_bytes { 0 } else { amount };
    let written = phase.ends_with("write");
    let measure = Measure {
        window_ns: nanos,
        busy_ns: nanos,
        rate_base: RateBase::Reported { milli },
        operations,
        transactions: operations,
        bytes: IoBytes { read: if written { 0 } else { bytes }, written: if written { bytes } else { 0 } },
        ..Measure::default()
    };
    let mut step = SourceStep::new(Coordinates::new().with(axis::TEST, Value::text(*phase)), measure);
    if line.contains("[INVALID]") {
        let detail = "IO500 marks the phase as invalid by its rules";
        step.checks.push(Check::new("io500", Verdict::Warning, detail));
    }
    Ok(Some(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "IO500 version io500-sc24_v1 (standard)
[RESULT]       ior-easy-write        7.732005 GiB/s  : time 323.364 seconds
[RESULT]    mdtest-easy-write       18.238768 kIOPS : time 332.486 seconds [INVALID]
[      ]            timestamp        0.000000 kIOPS : time 0.000 seconds
[RESULT]                 find        0.000000 kIOPS : time 0.000 seconds
[SCORE ] Bandwidth 0.966020 GiB/s : IOPS 10.054338 kiops : TOTAL 3.116520 [INVALID]
";

    #[test]
    fn phases_have_their_rates_and_the_score_is_a_fact() {
        assert!(looks_like(SUMMARY));
        let source = read(SUMMARY).unwrap();
        let [ior, mdtest] = source.runs[0].steps.as_slice() else { panic!("{source:?}") };
        let rate = ior.measure.throughput().unwrap();
        assert!((rate / (7.732_005 * f64::from(1 << 30)) - 1.0).abs() < 1e-9, "{rate}");
        assert_eq!((ior.measure.bytes.read, ior.measure.operation_rate()), (0, None));
        assert_eq!(mdtest.measure.operation_rate(), Some(18_238.768));
        assert_eq!(mdtest.measure.window_ns, 332_486_000_000);
        assert_eq!(mdtest.checks[0].verdict, Verdict::Warning);
        assert!(source.facts[SCORE_FACT].contains("TOTAL 3.116520"), "{:?}", source.facts);
        assert_eq!(source.notes, ["1 phases with a rate of zero were left out"]);
    }

    #[test]
    fn a_line_that_is_cut_is_an_error() {
        let cut = read("[RESULT] ior-easy-write 7.7\n").unwrap_err();
        assert_eq!(cut.line, Some(1));
        let unit = read("[RESULT] find 7.7 apples : time 1.0 seconds\n").unwrap_err();
        assert!(unit.problem.contains("apples"), "{unit}");
    }
}
