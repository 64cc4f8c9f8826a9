//! DOS dates, times and attributes (docs/protocols/ncp.md 3.2).

use super::{Codec, Reader, WireError};

/// A date and time with a resolution of two seconds, from 1980 to 2107, without a time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DosTime {
    /// (year - 1980) << 9 | month << 5 | day.
    pub date: u16,
    /// hour << 11 | minute << 5 | second / 2.
    pub time: u16,
}

impl DosTime {
    /// The time `seconds` after 1970-01-01 00:00, or the nearest one that DOS can represent.
    pub fn from_unix(seconds: i64) -> Self {
        /// 1980-01-01 and 2107-12-31 23:59:58.
        const RANGE: std::ops::RangeInclusive<i64> = 315_532_800..=4_354_819_198;
        let seconds = seconds.clamp(*RANGE.start(), *RANGE.end());
        let (year, month, day) = civil(seconds.div_euclid(86_400));
        let of_day = seconds.rem_euclid(86_400);
        let date = (year - 1980) << 9 | month << 5 | day;
        let time = ((of_day / 3600) << 11) | ((of_day / 60 % 60) << 5) | (of_day % 60 / 2);
        Self { date: date as u16, time: time as u16 }
    }

    /// Seconds since 1970-01-01 00:00; none for an invalid date or time.
    pub fn to_unix(self) -> Option<i64> {
        let (year, month, day, hour, minute, second) = self.parts();
        let day = days(i64::from(year), i64::from(month), i64::from(day));
        let of_day = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        let seconds = day * 86_400 + of_day;
        // An out-of-range day, month or hour does not survive the round trip.
        (Self::from_unix(seconds) == self).then_some(seconds)
    }

    /// Year, month, day, hour, minute, second.
    pub const fn parts(self) -> (u16, u8, u8, u8, u8, u8) {
        let date = self.date;
        let time = self.time;
        let hour = time >> 11;
        let minute = time >> 5 & 63;
        let second = (time & 31) * 2;
        (
            (date >> 9) + 1980,
            (date >> 5 & 15) as u8,
            (date & 31) as u8,
            hour as u8,
            minute as u8,
            second as u8,
        )
    }
}

/// Year, month and day of a day number counted from 1970-01-01.
fn civil(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// The day number of a date, counted from 1970-01-01: the inverse of [`civil`].
pub(crate) fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

macro_rules! orders {
    ($($(#[$doc:meta])* $name:ident: $first:ident, $second:ident, $to:ident, $from:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl Codec<'_> for $name {
            type Value = DosTime;

            fn put(value: &DosTime, out: &mut Vec<u8>) {
                out.extend_from_slice(&value.$first.$to());
                out.extend_from_slice(&value.$second.$to());
            }

            fn get(reader: &mut Reader<'_>) -> Result<DosTime, WireError> {
                let $first = u16::$from(reader.array()?);
                let $second = u16::$from(reader.array()?);
                Ok(DosTime { $first, $second })
            }
        }
    )*};
}

orders! {
    /// Date, then time, big-endian: classic file information.
    BeDateTime: date, time, to_be_bytes, from_be_bytes;
    /// Time, then date, big-endian: 0x4B.
    BeTimeDate: time, date, to_be_bytes, from_be_bytes;
    /// Date, then time, little-endian: 87/7.
    LeDateTime: date, time, to_le_bytes, from_le_bytes;
    /// Time, then date, little-endian: name-space information.
    LeTimeDate: time, date, to_le_bytes, from_le_bytes;
}

/// Attribute bits of a file (docs/protocols/ncp.md 3.2); the byte form has the low eight.
#[expect(missing_docs, reason = "the names are the field's")]
pub mod attribute {
    pub const READ_ONLY: u32 = 0x01;
    pub const HIDDEN: u32 = 0x02;
    pub const SYSTEM: u32 = 0x04;
    pub const EXECUTE_ONLY: u32 = 0x08;
    pub const DIRECTORY: u32 = 0x10;
    pub const ARCHIVE: u32 = 0x20;
    pub const SHAREABLE: u32 = 0x80;
    pub const TRANSACTIONAL: u32 = 0x1000;
    pub const PURGE: u32 = 0x1_0000;
    pub const RENAME_INHIBIT: u32 = 0x2_0000;
    pub const DELETE_INHIBIT: u32 = 0x4_0000;
    pub const COPY_INHIBIT: u32 = 0x8_0000;
}

/// Search attribute bits: entries that a search returns in addition to ordinary files (docs/protocols/ncp.md 3.2).
#[expect(missing_docs, reason = "the names are the field's")]
pub mod search {
    pub const HIDDEN: u8 = 0x02;
    pub const SYSTEM: u8 = 0x04;
    pub const DIRECTORIES: u8 = 0x10;
    /// All files, no directories.
    pub const ALL_FILES: u8 = 0x06;
}

/// Access bits of an open (docs/protocols/ncp.md 3.2); the byte form has the low eight.
#[expect(missing_docs, reason = "the names are the field's")]
pub mod access {
    pub const READ: u16 = 0x01;
    pub const WRITE: u16 = 0x02;
    pub const DENY_READ: u16 = 0x04;
    pub const DENY_WRITE: u16 = 0x08;
    pub const COMPATIBILITY: u16 = 0x10;
    pub const WRITE_THROUGH: u16 = 0x40;
    pub const DELETE_ON_CLOSE: u16 = 0x0400;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::{bytes, hex};

    /// mars-server-ipx-in-udp-with-burst.pcap, frames 34 and 82: the same times in both byte orders.
    #[test]
    fn timestamp_has_four_wire_forms() {
        let moment = DosTime { date: 0x5d75, time: 0x0e65 };
        assert_eq!(moment.parts(), (2026, 11, 21, 1, 51, 10));
        assert_eq!(bytes::<BeDateTime>(&moment), hex("5d750e65"));
        assert_eq!(bytes::<BeTimeDate>(&moment), hex("0e655d75"));
        assert_eq!(bytes::<LeDateTime>(&moment), hex("755d650e"));
        assert_eq!(bytes::<LeTimeDate>(&moment), hex("650e755d"));
        assert_eq!(LeTimeDate::decode(&hex("650e755d")), Ok(moment));
        assert_eq!(BeDateTime::decode(&hex("5d750e65")), Ok(moment));
    }

    #[test]
    fn unix_time_converts_to_dos_time_within_its_range() {
        assert_eq!(DosTime::from_unix(951_782_400).parts(), (2000, 2, 29, 0, 0, 0));
        assert_eq!(DosTime::from_unix(1_795_225_870).parts(), (2026, 11, 21, 1, 51, 10));
        assert_eq!(DosTime::from_unix(i64::MIN).parts(), (1980, 1, 1, 0, 0, 0));
        assert_eq!(DosTime::from_unix(i64::MAX).parts(), (2107, 12, 31, 23, 59, 58));
    }

    #[test]
    fn valid_timestamps_survive_the_round_trip() {
        for seconds in (315_532_800..4_354_819_198).step_by(86_400 * 13 + 3602) {
            assert_eq!(DosTime::from_unix(seconds).to_unix(), Some(seconds), "{seconds}");
        }
        for (date, time) in
            [(0, 0), (0x5d60, 0), (0x5d00, 0), (0x5c5f, 0), (0x5d75, 24 << 11), (0x5d75, 60 << 5)]
        {
            assert_eq!(DosTime { date, time }.to_unix(), None, "{date:04x} {time:04x}");
        }
    }
}
