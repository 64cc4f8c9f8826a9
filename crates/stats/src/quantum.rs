//! Known answer K17 (docs/measure/measurement-rules.md K17): the resolution of a clock, inferred from the times that it gave.
//!
//! A DOS timer ticks 18.2065 times a second, a mains clock 50 or 60 times, Windows 64 times, old Unix 100
//! times; a program may print its times in hundredths of a second in addition.

/// Lengths of a tick that clocks and printed tables have, seconds, longest first.
const TICKS: [f64; 8] = [1.0, 0.1, 65_536.0 / 1_193_182.0, 0.02, 1.0 / 60.0, 0.015_625, 0.01, 0.001];
/// Share of the times that must fit.
const FITTING: f64 = 0.95;
/// Fewest times for an inference.
const FEWEST: usize = 10;
/// A tick that arbitrary times fit with this share carries no information.
const BY_CHANCE: f64 = 0.5;

/// A time as printed: bounds of the true time, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeRange {
    /// Shortest.
    pub low: f64,
    /// Longest.
    pub high: f64,
}

impl TimeRange {
    /// The time in which `work` was done at a rate printed as a whole number, rounded or cut.
    pub fn of_rate(work: f64, rate: f64) -> Self {
        Self { low: work / (rate + 1.0), high: work / (rate - 0.5) }
    }
}

/// A tick that times are multiples of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantum {
    /// Its length, seconds.
    pub seconds: f64,
    /// Share of the times that are a multiple of it, within what printing took away.
    pub share: f64,
    /// Share of arbitrary times that would be.
    pub by_chance: f64,
}

/// The ticks that these times fit: first the tick of the printed values, then a longer one of the clock itself (a DOS
/// tick printed in hundredths of a second). Empty if the times fit no tick.
pub fn clock_quanta(times: &[TimeRange]) -> Vec<Quantum> {
    let Some(first) = longest(times, 0.0, 0.0) else { return Vec::new() };
    // A printed difference of two cut instants is off by up to one unit either way.
    let second = longest(times, first.seconds, first.seconds);
    std::iter::once(first).chain(second).collect()
}

/// The longest tick above `above` that the times fit, each widened by `margin`.
fn longest(times: &[TimeRange], margin: f64, above: f64) -> Option<Quantum> {
    if times.len() < FEWEST {
        return None;
    }
    let n = times.len() as f64;
    // The longest tick first: times that fit 20 ms also fit 10 ms and 1 ms.
    TICKS.into_iter().filter(|tick| *tick > above * 1.01).find_map(|tick| {
        let fits = |t: &&TimeRange| ((t.low - margin) / tick).ceil() <= ((t.high + margin) / tick).floor();
        let share = times.iter().filter(fits).count() as f64 / n;
        let width = |t: &TimeRange| ((t.high - t.low + 2.0 * margin) / tick).min(1.0);
        let by_chance = times.iter().map(width).sum::<f64>() / n;
        // Short ticks fit anything within the precision of printing, so the share by chance has to be small.
        (share >= FITTING && by_chance <= BY_CHANCE).then_some(Quantum { seconds: tick, share, by_chance })
    })
}

#[cfg(test)]
mod tests {
    use sharebench_model::Random;

    use super::*;

    /// Times that a clock of this tick would show, printed to the microsecond.
    fn ticking(tick: f64) -> Vec<TimeRange> {
        let mut random = Random::new(17, 0);
        let time = |_| {
            let shown = (random.unit() * 3.0 / tick).ceil() * tick;
            let printed = (shown * 1e6).round() / 1e6;
            TimeRange { low: printed - 5e-7, high: printed + 5e-7 }
        };
        (0..60).map(time).collect()
    }

    fn show(what: &str, quanta: &[Quantum]) {
        for q in quanta {
            println!(
                "K17 {what}: tick {:.3} ms, {:.0} % of the times fit ({:.0} % would by chance)",
                q.seconds * 1e3,
                q.share * 100.0,
                q.by_chance * 100.0
            );
        }
    }

    #[test]
    fn synthetic_clocks_are_recognised() {
        for tick in [0.015_625, 0.01, 1.0 / 60.0, 0.001] {
            let found = clock_quanta(&ticking(tick));
            show("synthetic", &found);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!((found[0].seconds - tick).abs() < 1e-9 && found[0].share > 0.99);
        }
        let mut random = Random::new(18, 0);
        let free: Vec<TimeRange> = (0..200)
            .map(|_| 0.2 + 3.0 * random.unit())
            .map(|time| TimeRange { low: time - 5e-7, high: time + 5e-7 })
            .collect();
        assert_eq!(clock_quanta(&free), []);
        assert_eq!(clock_quanta(&free[..5]), []);
    }

    #[test]
    fn a_table_of_1993_betrays_the_dos_timer_and_another_of_the_same_day_does_not() {
        // Doupnik's IOzone runs of 1993 (file in MB, bytes/s): a DOS client of NetWare 3.11, ..
        let dos = [
            (1.0, [293_718, 406_424, 532_272, 635_500, 765_383, 258_269, 374_491, 453_929, 579_323, 659_481]),
            (2.0, [296_207, 406_424, 530_924, 647_269, 293_718, 268_865, 366_634, 459_901, 569_878, 266_813]),
        ];
        let found = clock_quanta(&ranges(&dos));
        show("DOS client of 1993", &found);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!((found[0].seconds - 0.01).abs() < 1e-9, "printed in hundredths: {found:?}");
        assert!((found[1].seconds - 0.054_925).abs() < 1e-6, "read from the DOS timer: {found:?}");
        assert!(found[1].by_chance < 0.4);
        // .. and a local disk of Unix: hundredths of a second are all there is.
        let unix = [
            (
                1.0,
                [
                    606_113, 1_807_889, 812_849, 3_084_047, 1_028_015, 4_369_066, 1_205_259, 4_194_304,
                    1_344_328, 4_032_984,
                ],
            ),
            (
                2.0,
                [
                    624_152, 1_839_607, 838_860, 2_995_931, 1_038_194, 4_462_025, 1_255_779, 4_279_902,
                    1_327_311, 4_369_066,
                ],
            ),
        ];
        let found = clock_quanta(&ranges(&unix));
        show("Unix of 1993", &found);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!((found[0].seconds - 0.01).abs() < 1e-9);
    }

    fn ranges<const N: usize>(table: &[(f64, [i32; N])]) -> Vec<TimeRange> {
        let row = |(megabytes, rates): &(f64, [i32; N])| {
            let work = megabytes * 1_048_576.0;
            rates.map(|rate| TimeRange::of_rate(work, f64::from(rate)))
        };
        table.iter().flat_map(row).collect()
    }
}
