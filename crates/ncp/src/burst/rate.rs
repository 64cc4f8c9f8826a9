//! Rate control of bursts: a window and a gap that adapt to loss (docs/protocols/ncp.md 4.5).

use std::time::Duration;

use super::CALL_LEN;

/// The unit of the gap on the wire.
pub const GAP_UNIT: Duration = Duration::from_micros(100);
/// The longest gap.
pub const MAX_GAP: Duration = Duration::from_millis(100);
/// Resolution of the timers that pace the packets of a burst.
const TIMER_TICK: Duration = Duration::from_millis(1);
/// Bytes of the first window, as Novell's clients use.
const FIRST_WINDOW: usize = 4096;
/// Packets of the smallest window. One packet would be an ordinary call.
const MIN_PACKETS: usize = 2;
/// Bursts without loss after which the gap shrinks.
const CLEAN_BURSTS: u32 = 16;
/// The largest number of spacings that are kept of a burst.
const MAX_SPACINGS: usize = 64;

/// Rounds a gap up to the unit of the wire; at most [`MAX_GAP`].
fn round_up(gap: Duration) -> Duration {
    let units = gap.as_nanos().div_ceil(GAP_UNIT.as_nanos());
    let units = u32::try_from(units).unwrap_or(u32::MAX);
    GAP_UNIT.saturating_mul(units).min(MAX_GAP)
}

/// When the next packet of a burst may depart, after one that was due at `previous` and departs at `now`.
///
/// Timers of sockets have a resolution of a millisecond. A gap of whole milliseconds is a pause that is never shorter.
/// Another gap, which a rate control has computed, is kept on average: a packet that departs late shortens the next
/// pause.
pub fn next_departure(previous: Duration, now: Duration, gap: Duration) -> Duration {
    let whole = gap.subsec_nanos().is_multiple_of(TIMER_TICK.subsec_nanos());
    let base = if whole { now } else { previous.max(now.saturating_sub(TIMER_TICK)).min(now) };
    base + gap
}

/// The times between fragments of a burst as they arrive. Their median is the time that the slowest part of the path
/// takes for a packet, when the sender is faster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArrivalSpacing {
    last: Option<Duration>,
    spacings: Vec<Duration>,
}

impl ArrivalSpacing {
    /// Notes the arrival of a fragment.
    pub fn note(&mut self, now: Duration) {
        if let Some(last) = self.last.replace(now)
            && self.spacings.len() < MAX_SPACINGS
        {
            self.spacings.push(now.saturating_sub(last));
        }
    }

    /// The median spacing, rounded up to the unit of the wire; none before the second fragment.
    pub fn median(&self) -> Option<Duration> {
        let mut spacings = self.spacings.clone();
        spacings.sort_unstable();
        spacings.get(spacings.len() / 2).map(|spacing| round_up(*spacing))
    }
}

/// The values of a parameter in use: the first, the lowest and the highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsedRange<T> {
    /// The first value.
    pub first: T,
    /// The lowest value.
    pub lowest: T,
    /// The highest value.
    pub highest: T,
}

impl<T: Copy + Ord> UsedRange<T> {
    /// A range of one value.
    pub const fn new(value: T) -> Self {
        Self { first: value, lowest: value, highest: value }
    }

    fn note(&mut self, value: T) {
        self.lowest = self.lowest.min(value);
        self.highest = self.highest.max(value);
    }

    /// The range of both; the first value stays.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            first: self.first,
            lowest: self.lowest.min(other.lowest),
            highest: self.highest.max(other.highest),
        }
    }
}

/// Windows and gaps that bursts used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BurstUse {
    /// Data bytes per burst.
    pub window: UsedRange<usize>,
    /// Pause between packets.
    pub gap: UsedRange<Duration>,
}

impl BurstUse {
    /// The ranges of both; the first values stay.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self { window: self.window.merge(other.window), gap: self.gap.merge(other.gap) }
    }
}

/// What happened to a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BurstOutcome {
    /// Fragments of the burst.
    pub packets: usize,
    /// Fragments that were requested again.
    pub lost: usize,
    /// The time that the path takes for a packet, if it is known.
    pub spacing: Option<Duration>,
}

/// Which parameters adapt, and the limits of a rate control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateOptions {
    /// Data bytes of a full fragment.
    pub fragment_len: usize,
    /// The largest window in data bytes; the window itself unless it adapts.
    pub window: usize,
    /// Whether the window adapts.
    pub adapts_window: bool,
    /// The gap, unless it adapts.
    pub gap: Duration,
    /// Whether the gap adapts.
    pub adapts_gap: bool,
}

/// The rate control of the bursts in one direction.
///
/// The window starts with 4 KiB. It doubles with each burst that filled it and arrived completely, until a loss shows
/// that the path holds no more; then it grows by one packet. A loss first widens the gap to the time that the path
/// takes for a packet, so that the next burst does not overrun the queue again. If the gap is as wide already, the
/// window shrinks to 7/8. After 16 bursts without loss the gap shrinks by an eighth, because the path may have become
/// faster. The order of the two reactions and the factor 7/8 are those known of requesters; the others are choices of
/// sharebench (docs/protocols/ncp.md 4.5).
///
/// It does no I/O and has no clock: its owner reports each burst.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateControl {
    options: RateOptions,
    /// The window in packets.
    packets: usize,
    gap: Duration,
    /// True once a loss has ended the doubling of the window.
    limited: bool,
    /// Bursts since the last loss.
    clean: u32,
    used: BurstUse,
}

impl RateControl {
    /// The control before the first burst.
    pub fn new(options: RateOptions) -> Self {
        let first = (FIRST_WINDOW + CALL_LEN).div_ceil(options.fragment_len.max(1));
        let gap = if options.adapts_gap { Duration::ZERO } else { options.gap };
        let used = BurstUse { window: UsedRange::new(0), gap: UsedRange::new(gap) };
        let mut control = Self { options, packets: first, gap, limited: false, clean: 0, used };
        control.packets = first.clamp(MIN_PACKETS, control.max_packets());
        control.used.window = UsedRange::new(control.window());
        control
    }

    /// Packets of the largest window.
    fn max_packets(&self) -> usize {
        let RateOptions { window, fragment_len, .. } = self.options;
        (window + CALL_LEN).div_ceil(fragment_len.max(1)).max(MIN_PACKETS)
    }

    /// Data bytes of the next burst.
    pub fn window(&self) -> usize {
        let most = self.options.window;
        if self.options.adapts_window {
            // The call precedes the data of a write, and its packets must not be one more.
            (self.packets * self.options.fragment_len).saturating_sub(CALL_LEN).min(most)
        } else {
            most
        }
    }

    /// Pause between the packets of the next burst.
    pub const fn gap(&self) -> Duration {
        self.gap
    }

    /// The windows and gaps used so far.
    pub const fn used(&self) -> BurstUse {
        self.used
    }

    /// Adapts to the outcome of a burst.
    pub fn note_burst(&mut self, burst: BurstOutcome) {
        if burst.lost == 0 {
            self.speed_up(burst.packets);
        } else {
            self.slow_down(burst.spacing);
        }
        self.used.window.note(self.window());
        self.used.gap.note(self.gap);
    }

    fn speed_up(&mut self, packets: usize) {
        self.clean += 1;
        // A burst that did not fill the window shows nothing of a larger one.
        if self.options.adapts_window && packets >= self.packets {
            let more = if self.limited { self.packets + 1 } else { self.packets * 2 };
            self.packets = more.min(self.max_packets());
        }
        if self.options.adapts_gap && self.clean.is_multiple_of(CLEAN_BURSTS) {
            let shorter = self.gap.saturating_sub((self.gap / 8).max(GAP_UNIT));
            self.gap = round_up(shorter);
        }
    }

    fn slow_down(&mut self, spacing: Option<Duration>) {
        self.clean = 0;
        let wanted = spacing.map_or(Duration::ZERO, round_up);
        if self.options.adapts_gap && wanted > self.gap {
            self.gap = wanted;
        } else if self.options.adapts_window && self.packets > MIN_PACKETS {
            self.limited = true;
            self.packets = (self.packets * 7 / 8).max(MIN_PACKETS);
        } else if self.options.adapts_gap {
            self.gap = round_up(self.gap + (self.gap / 8).max(GAP_UNIT));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADAPTIVE: RateOptions = RateOptions {
        fragment_len: 1436,
        window: 61_440,
        adapts_window: true,
        gap: Duration::ZERO,
        adapts_gap: true,
    };
    const SPACING: Duration = Duration::from_micros(1214);

    fn burst(control: &RateControl, lost: usize, spacing: Option<Duration>) -> BurstOutcome {
        BurstOutcome { packets: (control.window() + CALL_LEN).div_ceil(1436), lost, spacing }
    }

    #[test]
    fn window_doubles_until_the_largest_and_shrinks_by_an_eighth_after_the_gap_was_widened() {
        let mut control = RateControl::new(ADAPTIVE);
        let mut windows = vec![control.window()];
        for _ in 0..5 {
            control.note_burst(burst(&control, 0, Some(SPACING)));
            windows.push(control.window());
        }
        assert_eq!(windows, [3 * 1436 - 24, 6 * 1436 - 24, 12 * 1436 - 24, 24 * 1436 - 24, 61_440, 61_440]);
        assert_eq!(control.gap(), Duration::ZERO);
        control.note_burst(burst(&control, 9, Some(SPACING)));
        assert_eq!((control.window(), control.gap()), (61_440, Duration::from_micros(1300)));
        control.note_burst(burst(&control, 1, Some(SPACING)));
        assert_eq!((control.window(), control.gap()), (37 * 1436 - 24, Duration::from_micros(1300)));
        control.note_burst(burst(&control, 0, Some(SPACING)));
        assert_eq!(control.window(), 38 * 1436 - 24, "one packet more");
        let used = control.used();
        assert_eq!((used.window.first, used.window.lowest, used.window.highest), (4284, 4284, 61_440));
        assert_eq!((used.gap.first, used.gap.highest), (Duration::ZERO, Duration::from_micros(1300)));
    }

    #[test]
    fn gap_shrinks_after_bursts_without_loss() {
        let mut control = RateControl::new(ADAPTIVE);
        control.note_burst(burst(&control, 1, Some(SPACING)));
        for _ in 0..CLEAN_BURSTS - 1 {
            control.note_burst(burst(&control, 0, None));
        }
        assert_eq!(control.gap(), Duration::from_micros(1300));
        control.note_burst(burst(&control, 0, None));
        assert_eq!(control.gap(), Duration::from_micros(1200));
        for _ in 0..100 * CLEAN_BURSTS {
            control.note_burst(burst(&control, 0, None));
        }
        assert_eq!(control.gap(), Duration::ZERO);
        for _ in 0..1000 {
            control.note_burst(burst(&control, 1, None));
        }
        assert_eq!((control.window(), control.gap()), (2 * 1436 - 24, MAX_GAP));
    }

    #[test]
    fn fixed_parameters_stay() {
        let gap = Duration::from_millis(2);
        let fixed = RateOptions { adapts_window: false, adapts_gap: false, gap, ..ADAPTIVE };
        let mut control = RateControl::new(fixed);
        for lost in [0, 5, 0, 7] {
            control.note_burst(burst(&control, lost, Some(SPACING)));
            assert_eq!((control.window(), control.gap()), (61_440, gap));
        }
        let mut windows = RateControl::new(RateOptions { adapts_gap: false, ..ADAPTIVE });
        windows.note_burst(burst(&windows, 1, Some(SPACING)));
        assert_eq!((windows.window(), windows.gap()), (2 * 1436 - 24, Duration::ZERO));
        let mut gaps = RateControl::new(RateOptions { adapts_window: false, ..ADAPTIVE });
        gaps.note_burst(burst(&gaps, 1, Some(SPACING)));
        gaps.note_burst(burst(&gaps, 1, Some(SPACING)));
        assert_eq!((gaps.window(), gaps.gap()), (61_440, Duration::from_micros(1500)));
    }

    #[test]
    fn window_that_is_not_filled_does_not_grow() {
        let mut control = RateControl::new(ADAPTIVE);
        control.note_burst(BurstOutcome { packets: 2, lost: 0, spacing: None });
        assert_eq!(control.window(), 3 * 1436 - 24);
    }

    #[test]
    fn median_of_spacings_is_rounded_up() {
        let mut spacing = ArrivalSpacing::default();
        assert_eq!(spacing.median(), None);
        for at in [0, 1214, 2428, 40_000, 41_214] {
            spacing.note(Duration::from_micros(at));
        }
        assert_eq!(spacing.median(), Some(Duration::from_micros(1300)));
    }

    #[test]
    fn gap_below_the_resolution_of_timers_is_kept_on_average() {
        let us = Duration::from_micros;
        assert_eq!(next_departure(us(0), us(900), us(300)), us(300), "the timer was late");
        assert_eq!(next_departure(us(0), us(5000), us(300)), us(4300), "by more than a tick");
        assert_eq!(next_departure(us(0), us(900), us(2000)), us(2900));
    }
}
