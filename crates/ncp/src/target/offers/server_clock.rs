//! The clock of an NCP server, which sends its local time without a time zone (docs/protocols/ncp.md 2.3).

use std::time::{SystemTime, UNIX_EPOCH};

use crate::wire::dos::days;
use crate::wire::server_info::DateAndTime;

/// Time zones differ by multiples of a quarter of an hour.
const QUARTER_S: i64 = 15 * 60;
/// The largest offset of a time zone.
const MAX_ZONE_S: i64 = 14 * 3600;

/// Seconds since 1970 of a date in the Gregorian calendar, without a time zone; none for a date that does not exist.
fn seconds(time: DateAndTime) -> Option<i64> {
    let year = 1900 + i64::from(time.year);
    let month = i64::from(time.month);
    let day = i64::from(time.day);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || time.hour > 23 || time.minute > 59 {
        return None;
    }
    let second = i64::from(time.hour) * 3600 + i64::from(time.minute) * 60 + i64::from(time.second);
    Some(days(year, month, day) * 86_400 + second)
}

/// The server's time for a reader.
pub(super) fn text(time: DateAndTime) -> String {
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02}, without time zone",
        1900 + u32::from(time.year),
        time.month,
        time.day,
        time.hour,
        time.minute,
        time.second
    )
}

/// The offset of the server's clock. The time zone is assumed to be the one with the smallest remaining offset.
pub(super) fn offset_text(time: DateAndTime, now: SystemTime) -> String {
    let Some(server) = seconds(time) else { return "not a valid date".to_owned() };
    let own = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed());
    let offset = server - own;
    let zone = (offset + QUARTER_S / 2).div_euclid(QUARTER_S) * QUARTER_S;
    if zone.abs() > MAX_ZONE_S {
        return format!("{offset:+} s, which is no time zone");
    }
    let sign = if zone < 0 { '-' } else { '+' };
    let minutes = zone.abs() / 60;
    format!(
        "{:+} s (+- 1 s), if its time zone is UTC{sign}{:02}:{:02}",
        offset - zone,
        minutes / 60,
        minutes % 60
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const CLOCK: DateAndTime =
        DateAndTime { year: 126, month: 11, day: 21, hour: 1, minute: 2, second: 3, weekday: 6 };
    /// The same time in UTC, in seconds since 1970.
    const CLOCK_S: u64 = 1_795_222_923;

    fn offset(own: u64) -> String {
        offset_text(CLOCK, UNIX_EPOCH + Duration::from_secs(own))
    }

    #[test]
    fn dates_are_counted_from_1970() {
        let date = |year, month, day| {
            seconds(DateAndTime { year, month, day, hour: 0, minute: 0, second: 0, weekday: 0 })
        };
        assert_eq!(date(70, 1, 1), Some(0));
        assert_eq!(date(100, 2, 29), Some(11_016 * 86_400));
        assert_eq!(date(100, 3, 1), Some(11_017 * 86_400));
        assert_eq!((date(126, 13, 1), date(126, 0, 1)), (None, None));
        assert_eq!(seconds(CLOCK), Some(CLOCK_S.cast_signed()));
        assert_eq!(text(CLOCK), "2026-11-21 01:02:03, without time zone");
    }

    #[test]
    fn the_time_zone_is_the_one_with_the_smallest_remaining_offset() {
        assert_eq!(offset(CLOCK_S), "+0 s (+- 1 s), if its time zone is UTC+00:00");
        assert_eq!(offset(CLOCK_S + 5 * 3600 + 1800 - 7), "+7 s (+- 1 s), if its time zone is UTC-05:30");
        assert_eq!(offset(CLOCK_S - 2 * 3600 + 9), "-9 s (+- 1 s), if its time zone is UTC+02:00");
        assert!(offset(CLOCK_S + 86_400).contains("no time zone"));
        assert_eq!(offset_text(DateAndTime { month: 0, ..CLOCK }, UNIX_EPOCH), "not a valid date");
    }
}
