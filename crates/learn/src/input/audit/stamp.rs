//! Time stamps at the start of log lines: of smbd, of syslog and of RFC 3339.

/// ns in a second.
pub(super) const SECOND: u64 = 1_000_000_000;
/// Seconds in a day.
pub(super) const DAY_S: u64 = 86_400;
/// The year of dates that have none: a leap year, so that each of them exists.
const ASSUMED_YEAR: u64 = 2000;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Which time stamp a line has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `[2026/11/26 14:33:48.123456,  1] file.c:643(do_log)`: the header of smbd, in local time; messages are in the lines after it.
    Header,
    /// `Nov 26 14:33:48 host tag: message` (RFC 3164 4.1.2): in local time, without a year.
    Local,
    /// `2026-11-26T14:33:48.123456+00:00 host tag: message` (RFC 3339 5.6), as rsyslog and `journalctl -o short-iso-precise`
    /// write it.
    Zoned,
}

/// A time stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) kind: Kind,
    /// ns since 1970; with another zone or year, an instant that has the right distance to others of its log.
    pub(super) time: u64,
    /// Distance of two neighbouring stamps with as many digits, ns.
    pub(super) resolution: u64,
    /// From 1.
    pub(super) month: u8,
    pub(super) day: u8,
}

impl Stamp {
    /// The time stamp at the start of a line, and what follows it.
    pub(super) fn read(line: &[u8]) -> Option<(Self, &[u8])> {
        let mut rest = Digits(line);
        if rest.skip("[") { rest.header() } else { rest.local().or_else(|| rest.zoned()) }
    }
}

/// What is left of a line.
#[derive(Clone, Copy)]
struct Digits<'a>(&'a [u8]);

impl<'a> Digits<'a> {
    fn skip(&mut self, text: &str) -> bool {
        self.0.strip_prefix(text.as_bytes()).map(|rest| self.0 = rest).is_some()
    }

    /// A number of at most `most` digits.
    fn number(&mut self, most: usize) -> Option<u64> {
        let count = self.0.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    fn separated(&mut self, separator: &str, most: usize) -> Option<u64> {
        self.skip(separator).then(|| self.number(most))?
    }

    /// `14:33:48.123456`
    fn time(&mut self) -> Option<TimeOfDay> {
        let hours = self.number(2).filter(|hours| *hours < 24)?;
        let minutes = self.separated(":", 2).filter(|minutes| *minutes < 60)?;
        // 60 is a leap second.
        let seconds = self.separated(":", 2).filter(|seconds| *seconds <= 60)?;
        let whole = ((hours * 60 + minutes) * 60 + seconds) * SECOND;
        if !self.skip(".") {
            return Some(TimeOfDay { ns: whole, resolution: SECOND });
        }
        let before = self.0.len();
        let fraction = self.number(9)?;
        let resolution = 10u64.pow(9u32.saturating_sub((before - self.0.len()) as u32));
        Some(TimeOfDay { ns: whole + fraction * resolution, resolution })
    }

    /// Year, month and day with a separator.
    fn date(&mut self, separator: &str) -> Option<Date> {
        let year = self.number(4)?;
        let month = self.separated(separator, 2)?;
        let day = self.separated(separator, 2)?;
        Date::new(year, month, day)
    }

    fn header(mut self) -> Option<(Stamp, &'a [u8])> {
        let date = self.date("/")?;
        let time = self.skip(" ").then(|| self.time())??;
        self.skip(",").then_some((date.stamp(Kind::Header, time), self.0))
    }

    fn local(mut self) -> Option<(Stamp, &'a [u8])> {
        let month = MONTHS.iter().position(|name| self.0.starts_with(name.as_bytes()))? as u64 + 1;
        self.0 = self.0.get(3..)?;
        // A day of one digit has a space before it.
        let day = self.skip(" ").then(|| {
            self.skip(" ");
            self.number(2)
        })??;
        let time = self.skip(" ").then(|| self.time())??;
        let stamp = Date::new(ASSUMED_YEAR, month, day)?.stamp(Kind::Local, time);
        self.skip(" ").then_some((stamp, self.0))
    }

    fn zoned(mut self) -> Option<(Stamp, &'a [u8])> {
        let date = self.date("-")?;
        let time = self.skip("T").then(|| self.time())??;
        let offset_s = if self.skip("Z") {
            0
        } else {
            let is_east = self.skip("+");
            if !is_east && !self.skip("-") {
                return None;
            }
            let hours = self.number(2).filter(|hours| *hours < 24)?;
            self.skip(":");
            let seconds = (hours * 60 + self.number(2).filter(|minutes| *minutes < 60)?) * 60;
            if is_east { seconds.cast_signed() } else { -seconds.cast_signed() }
        };
        let mut stamp = date.stamp(Kind::Zoned, time);
        stamp.time = stamp.time.saturating_add_signed(-offset_s * SECOND.cast_signed());
        self.skip(" ").then_some((stamp, self.0))
    }
}

/// A time of day.
#[derive(Debug, Clone, Copy)]
struct TimeOfDay {
    /// Since midnight.
    ns: u64,
    resolution: u64,
}

/// A date.
struct Date {
    /// Since 1970.
    days: u64,
    month: u8,
    day: u8,
}

impl Date {
    /// None for dates that do not exist, and for those before 1970 or after 2399.
    fn new(year: u64, month: u64, day: u64) -> Option<Self> {
        let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let february = if is_leap { 29 } else { 28 };
        let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let length = *lengths.get(month.checked_sub(1)? as usize)?;
        if !(1970..2400).contains(&year) || day == 0 || day > length {
            return None;
        }
        let before = year - 1;
        let since_year_1 = before * 365 + before / 4 - before / 100 + before / 400;
        let months: u64 = lengths.iter().take(month as usize - 1).sum();
        // 1 January 1970 is 719,162 days after 1 January of year 1.
        let days = since_year_1 - 719_162 + months + day - 1;
        Some(Self { days, month: month as u8, day: day as u8 })
    }

    fn stamp(&self, kind: Kind, time: TimeOfDay) -> Stamp {
        let TimeOfDay { ns, resolution } = time;
        let time = self.days * DAY_S * SECOND + ns;
        Stamp { kind, time, resolution, month: self.month, day: self.day }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<(Kind, u64, u64, &str)> {
        let (stamp, rest) = Stamp::read(line.as_bytes())?;
        Some((stamp.kind, stamp.time, stamp.resolution, std::str::from_utf8(rest).unwrap()))
    }

    #[test]
    fn the_time_stamps_of_smbd_syslog_and_journalctl_are_read() {
        // date -u -d '2026-11-26T14:33:48' +%s
        let at = 1_795_703_628 * SECOND;
        assert_eq!(
            read("[2026/11/26 14:33:48.123456,  1, pid=7] a.c:643(do_log)"),
            Some((Kind::Header, at + 123_456_000, 1000, "  1, pid=7] a.c:643(do_log)"))
        );
        assert_eq!(read("[2026/11/26 14:33:48,  0] a.c"), Some((Kind::Header, at, SECOND, "  0] a.c")));
        let zoned = Some((Kind::Zoned, at + 5_000_000, 1_000_000, "host a: b"));
        assert_eq!(read("2026-11-26T14:33:48.005Z host a: b"), zoned);
        assert_eq!(read("2026-11-26T15:33:48.005+01:00 host a: b"), zoned);
        assert_eq!(read("2026-11-26T10:03:48.005-0430 host a: b"), zoned);
        let (kind, time, resolution, rest) = read("Feb 29 00:00:01 host a: b").unwrap();
        assert_eq!((kind, resolution, rest), (Kind::Local, SECOND, "host a: b"));
        // date -u -d 2000-02-29T00:00:01 +%s
        assert_eq!(time, 951_782_401 * SECOND);
        assert!(read("Nov  1 14:33:48 host a: b").is_some());
    }

    #[test]
    fn other_lines_have_none() {
        for line in [
            "",
            "[",
            "[pid 7] 1.0 close(3) = 0 <0.1>",
            "1795703628.1 close(3) = 0",
            "2026-13-01T00:00:00Z a",
            "2026-02-29T00:00:00Z a",
            "2026-01-01T24:00:00Z a",
            "2026-01-01T00:00:00 a",
            "1969-01-01T00:00:00Z a",
            "Nov 31 00:00:00 a",
            "Nov 26 14:33:48",
            "Nov",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
