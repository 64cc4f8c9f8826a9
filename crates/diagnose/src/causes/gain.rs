//! What the removal of a cause gains: time of an operation, and the factor that follows from it.

use serde::{Serialize, Serializer};
use sharebench_stats::{Estimate, Interval};

use crate::operations::Operation;

/// What a stream saves time of.
const BYTE: &str = "byte of a stream";
/// Largest factor that is computed.
const MAX_FACTOR: f64 = 100.0;
/// Share of the time that remains, below which a computed factor is stated as a lower bound.
const KNOWN_REST: f64 = 0.1;
/// A computed rest may be too short by this factor: what is computed as saved contains work that a fast operation needs as well.
const UNKNOWN_WORK: f64 = 2.0;

/// The time that a change saves.
#[derive(Debug, Clone, PartialEq)]
pub struct Saving {
    /// Of what: the name of an operation, or what else takes that time once.
    pub per: &'static str,
    /// Its time now, nanoseconds; none where the share alone is known.
    pub total_ns: Option<f64>,
    /// Share of that time that the change saves, 0 to 1.
    pub share: Estimate,
}

impl Saving {
    /// An operation whose median is `total_ns` loses `saved_ns`.
    pub(super) fn new(operation: Operation, total_ns: f64, saved_ns: Estimate) -> Self {
        Self::per(operation.name(), total_ns, saved_ns)
    }

    /// The same of something that is no operation, such as a log-in.
    pub(super) fn per(per: &'static str, total_ns: f64, saved_ns: Estimate) -> Self {
        let share = saved_ns.map(|ns| if total_ns > 0.0 { (ns / total_ns).clamp(0.0, 1.0) } else { 0.0 });
        Self { per, total_ns: Some(total_ns), share }
    }

    /// A share of something whose time was not measured as such.
    pub(super) fn share(per: &'static str, share: f64) -> Self {
        Self { per, total_ns: None, share: exactly(share.clamp(0.0, 1.0)) }
    }

    /// An operation gets faster by `factor`.
    pub(super) fn by_factor(operation: Operation, total_ns: Option<f64>, factor: Estimate) -> Self {
        Self { per: operation.name(), total_ns, share: factor.map(share_of) }
    }

    /// A stream that moves `bytes_per_s` gets faster by `factor`.
    pub(super) fn of_stream(bytes_per_s: f64, factor: Estimate) -> Self {
        let total_ns = (bytes_per_s > 0.0).then(|| 1e9 / bytes_per_s);
        Self { per: BYTE, total_ns, share: factor.map(share_of) }
    }

    /// The saved time, nanoseconds.
    pub fn saved_ns(&self) -> Option<Estimate> {
        let total_ns = self.total_ns?;
        Some(self.share.map(|share| share * total_ns))
    }

    /// True for a stream, whose time is that of each byte.
    pub fn is_of_stream(&self) -> bool {
        self.per == BYTE
    }
}

impl Serialize for Saving {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// The saving with the time that follows from it, for readers who do not want to multiply.
        #[derive(Serialize)]
        struct Fields {
            per: &'static str,
            total_ns: Option<f64>,
            saved_ns: Option<Estimate>,
            share: Estimate,
        }
        let Self { per, total_ns, share } = *self;
        Fields { per, total_ns, saved_ns: self.saved_ns(), share }.serialize(serializer)
    }
}

/// What a change would gain.
///
/// The gain is a time. The factor follows from it: total divided by the rest. Where the rest is small, its error is the error
/// of the factor, and a computed factor is then stated as a lower bound (docs/design/diagnosis.md).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gain {
    /// An A/B comparison or paired samples measured it.
    Measured {
        /// What gets faster.
        what: &'static str,
        /// By how much.
        factor: Estimate,
        /// The time that this saves.
        saving: Saving,
    },
    /// From the latency budget, if the cause is removed completely.
    Computed {
        /// What gets faster.
        what: &'static str,
        /// By how much, at most a hundredfold: 1 where the gain is no time.
        factor: f64,
        /// The factor that is certain, where the rest is too small to be known well.
        factor_at_least: Option<f64>,
        /// The time that this saves; none where the gain is no time.
        saving: Option<Saving>,
    },
}

impl Gain {
    /// A comparison measured this factor of a stream.
    pub(super) fn measured_stream(what: &'static str, bytes_per_s: f64, factor: Estimate) -> Self {
        Self::Measured { what, factor, saving: Saving::of_stream(bytes_per_s, factor) }
    }

    /// The budget gives this saving.
    pub(super) fn computed(what: &'static str, saving: Saving) -> Self {
        let rest = 1.0 - saving.share.value;
        let longest = 1.0 - saving.share.interval.map_or(saving.share.value, |interval| interval.low);
        let factor = |rest: f64| 1.0 / rest.max(1.0 / MAX_FACTOR);
        let factor_at_least = (rest < KNOWN_REST).then(|| factor(longest.max(rest) * UNKNOWN_WORK));
        Self::Computed { what, factor: factor(rest), factor_at_least, saving: Some(saving) }
    }

    /// A stream gets faster by this factor, computed.
    pub(super) fn computed_stream(what: &'static str, bytes_per_s: f64, factor: f64) -> Self {
        Self::computed(what, Saving::of_stream(bytes_per_s, exactly(factor)))
    }

    /// Nothing gets faster.
    pub(super) const fn no_time(what: &'static str) -> Self {
        Self::Computed { what, factor: 1.0, factor_at_least: None, saving: None }
    }
}

/// A value without a known interval.
pub(super) const fn exactly(value: f64) -> Estimate {
    Estimate { value, interval: None, n: 1 }
}

/// The share of its time that something saves that gets faster by `factor`; 0 if it gets slower.
fn share_of(factor: f64) -> f64 {
    if factor > 1.0 { 1.0 - 1.0 / factor } else { 0.0 }
}

/// An estimate through a falling function, whose bounds change sides.
pub(super) fn falling(estimate: Estimate, fall: impl Fn(f64) -> f64) -> Estimate {
    let turn = |interval: Interval| Interval::new(fall(interval.high), fall(interval.low));
    Estimate { value: fall(estimate.value), interval: estimate.interval.map(turn), n: estimate.n }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, interval: Some(Interval::new(low, high)), n: 40 }
    }

    fn parts(gain: &Gain) -> (f64, Option<f64>) {
        match gain {
            Gain::Computed { factor, factor_at_least, .. } => (*factor, *factor_at_least),
            Gain::Measured { factor, .. } => (factor.value, None),
        }
    }

    #[test]
    fn factor_of_a_small_rest_is_a_lower_bound() {
        let saving = Saving::new(Operation::SmallRead, 5_000.0, known(4_900.0, 4_875.0, 4_950.0));
        let (factor, at_least) = parts(&Gain::computed("small reads", saving.clone()));
        assert!((factor - 50.0).abs() < 1e-6, "{factor}");
        assert!((at_least.unwrap() - 20.0).abs() < 1e-6, "the longest rest is 125, and may be twice as long");
        assert!((saving.saved_ns().unwrap().value - 4_900.0).abs() < 1e-6);
    }

    #[test]
    fn factor_of_a_long_rest_is_stated_as_it_is() {
        let saving = Saving::new(Operation::SmallRead, 100.0, known(50.0, 40.0, 60.0));
        assert_eq!(parts(&Gain::computed("small reads", saving)), (2.0, None));
    }

    #[test]
    fn factors_end_at_a_hundred_and_shares_at_all_of_the_time() {
        let saving = Saving::new(Operation::SmallRead, 100.0, known(130.0, 90.0, 140.0));
        assert!((saving.share.value - 1.0).abs() < 1e-9);
        let (factor, at_least) = parts(&Gain::computed("small reads", saving));
        assert!((factor - 100.0).abs() < 1e-9 && at_least.unwrap() < 10.0, "{factor} {at_least:?}");
        let none = Saving::new(Operation::SmallRead, 0.0, known(1.0, 0.0, 2.0));
        assert!(none.share.value.abs() < f64::EPSILON);
    }

    #[test]
    fn stream_saves_time_of_each_byte() {
        let saving = Saving::of_stream(200e6, known(2.5, 2.0, 4.0));
        assert!((saving.share.value - 0.6).abs() < 1e-9 && saving.is_of_stream());
        assert_eq!(saving.share.interval, Some(Interval::new(0.5, 0.75)));
        assert!((saving.saved_ns().unwrap().value - 3.0).abs() < 1e-9, "of 5 ns");
        let slower = Saving::of_stream(200e6, exactly(0.8));
        assert!(slower.share.value.abs() < f64::EPSILON);
    }

    #[test]
    fn falling_functions_swap_the_bounds() {
        let turned = falling(known(2.0, 1.0, 4.0), |value| 1.0 / value);
        assert_eq!(turned.interval, Some(Interval::new(0.25, 1.0)));
    }
}
