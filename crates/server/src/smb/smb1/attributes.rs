//! Attributes with times of DOS and seconds: `QUERY_INFORMATION`, `SET_INFORMATION`, both of version 2, and
//! `QUERY_INFORMATION_DISK` (MS-CIFS 2.2.4.9, 2.2.4.10, 2.2.4.30, 2.2.4.31, 2.2.4.57).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sharebench_smb::NtStatus;
use sharebench_smb::nt1::attributes::{
    DiskResponse, Query2Request, Query2Response, QueryResponse, Set2Request, SetRequest,
};
use sharebench_smb::nt1::message::put_blocks;
use sharebench_smb::nt1::path::names_of;
use sharebench_smb::wire::create::{SHARE_ALL, access};
use sharebench_smb::wire::file_info::{BasicInformation, FileMetadata};

use super::call::{Reached, Smb1Call, put_empty};
use super::create::share_path;
use crate::smb::files::file_info::{describe, file_time, system_time};
use crate::smb::files::set_info::BASIC;
use crate::smb::status::{Outcome, checked};

/// Attributes of MS-CIFS 2.2.1.2.4: read-only, hidden, system, directory, archive.
const DOS_BITS: u32 = 0x37;
/// `FILE_ATTRIBUTE_NORMAL`: clears all others.
const NORMAL: u32 = 0x80;
/// Days from 1970 to 1980, where the dates of DOS start, and seconds of a day.
const DOS_EPOCH_DAYS: i64 = 3652;
const DAY_SECONDS: i64 = 86_400;
/// Unit of `QUERY_INFORMATION_DISK`, in bytes.
const BLOCK_BYTES: u64 = 512;

/// The attributes that DOS knows.
pub(super) fn dos_attributes(found: &FileMetadata) -> u16 {
    (found.attributes & DOS_BITS) as u16
}

/// Seconds since 1970; 0 before it, and the last second of the field after it.
pub(super) fn unix_seconds(time: SystemTime) -> u32 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u32::try_from(since.as_secs()).unwrap_or(u32::MAX))
}

/// Date and time of DOS in UTC (MS-CIFS 2.2.1.4), which the time zone of NEGOTIATE is; zeros before 1980.
pub(super) fn dos_time(time: SystemTime) -> [u8; 4] {
    let seconds = i64::from(unix_seconds(time));
    let days = seconds / DAY_SECONDS;
    if days < DOS_EPOCH_DAYS {
        return [0; 4];
    }
    // The civil date of a day, in years that start in March, so that the leap day is the last one.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let date = (((year - 1980).min(127) << 9) | (month << 5) | day) as u16;
    let of_day = seconds % DAY_SECONDS;
    let time = (((of_day / 3600) << 11) | ((of_day % 3600 / 60) << 5) | (of_day % 60 / 2)) as u16;
    let [date_low, date_high] = date.to_le_bytes();
    let [time_low, time_high] = time.to_le_bytes();
    [date_low, date_high, time_low, time_high]
}

/// The instant of a date and time of DOS; none for zeros and dates that do not exist.
fn of_dos_time(bytes: &[u8]) -> Option<SystemTime> {
    let [date_low, date_high, time_low, time_high] = *bytes.first_chunk()?;
    let date = i64::from(u16::from_le_bytes([date_low, date_high]));
    let time = u64::from(u16::from_le_bytes([time_low, time_high]));
    let year = 1980 + (date >> 9);
    let month = date >> 5 & 15;
    let day = date & 31;
    if !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    let year = year - i64::from(month <= 2);
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let era = year / 400;
    let of_era = year % 400;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let of_day = (time >> 11) * 3600 + (time >> 5 & 63) * 60 + (time & 31) * 2;
    let seconds = u64::try_from(days * DAY_SECONDS).ok()? + of_day;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

impl Smb1Call<'_> {
    fn path(&self) -> Outcome<String> {
        let names = names_of(self.bytes(), self.is_unicode());
        names.first().map(|name| share_path(name)).ok_or(NtStatus::INVALID_PARAMETER)
    }

    /// `QUERY_INFORMATION`.
    pub(super) fn query_information(&self, body: &mut Vec<u8>) -> Reached<()> {
        let path = self.path()?;
        let volume = self.server.volume.as_ref();
        let attributes = self.with_path(&path, access::READ_ATTRIBUTES, 0, SHARE_ALL, |open| {
            Ok(checked(open.attributes(volume))?)
        })?;
        let response = QueryResponse {
            attributes: dos_attributes(&describe(volume, &attributes)),
            modified: unix_seconds(attributes.modified),
            size: u32::try_from(attributes.size).unwrap_or(u32::MAX),
            reserved: [0; 10],
        };
        put_blocks(&response, body, |_| {});
        Ok(())
    }

    /// `SET_INFORMATION`.
    pub(super) fn set_information(&self, body: &mut Vec<u8>) -> Reached<()> {
        let words: SetRequest = self.words()?;
        let path = self.path()?;
        let attributes = u32::from(words.attributes) & DOS_BITS;
        let modified = UNIX_EPOCH + Duration::from_secs(u64::from(words.modified));
        let basic = BasicInformation {
            modified: if words.modified == 0 { 0 } else { file_time(modified) },
            attributes: if attributes == 0 { NORMAL } else { attributes },
            ..BasicInformation::default()
        };
        self.with_path(&path, access::WRITE_ATTRIBUTES, 0, SHARE_ALL, |open| {
            let mut information = Vec::new();
            // A directory has no attribute that makes it an ordinary file.
            let attributes = if open.directory { basic.attributes & !NORMAL } else { basic.attributes };
            BasicInformation { attributes, ..basic }.encode(&mut information);
            self.server.set_file_information(BASIC, open, &information)?;
            Ok(())
        })?;
        put_empty(body);
        Ok(())
    }

    /// `QUERY_INFORMATION2`.
    pub(super) fn query_information2(&self, body: &mut Vec<u8>) -> Outcome<()> {
        let words: Query2Request = self.words()?;
        let open = self.file(words.fid)?;
        let volume = self.server.volume.as_ref();
        let found = describe(volume, &checked(open.attributes(volume))?);
        let mut times = [0; 12];
        for (location, time) in times.chunks_exact_mut(4).zip([found.created, found.accessed, found.modified])
        {
            location.copy_from_slice(&system_time(time).map_or([0; 4], dos_time));
        }
        let response = Query2Response {
            times,
            size: u32::try_from(found.end_of_file).unwrap_or(u32::MAX),
            allocation: u32::try_from(found.allocation).unwrap_or(u32::MAX),
            attributes: dos_attributes(&found),
        };
        put_blocks(&response, body, |_| {});
        Ok(())
    }

    /// `SET_INFORMATION2`.
    pub(super) fn set_information2(&self, body: &mut Vec<u8>) -> Outcome<()> {
        let words: Set2Request = self.words()?;
        let open = self.file(words.fid)?;
        let mut times = words.times.chunks_exact(4).map(|bytes| of_dos_time(bytes).map_or(0, file_time));
        let mut next = || times.next().unwrap_or_default();
        let basic = BasicInformation {
            created: next(),
            accessed: next(),
            modified: next(),
            ..BasicInformation::default()
        };
        let mut information = Vec::new();
        basic.encode(&mut information);
        // With SMB1, the right to write includes the right to set times.
        open.require(access::WRITE_DATA | access::WRITE_ATTRIBUTES)?;
        self.server.set_file_information(BASIC, &open, &information)?;
        put_empty(body);
        Ok(())
    }

    /// `QUERY_INFORMATION_DISK`, in units that make the numbers fit.
    pub(super) fn query_disk(&self, body: &mut Vec<u8>) -> Outcome<()> {
        let space = checked(self.server.volume.space())?;
        let blocks = space.total_bytes / BLOCK_BYTES;
        let unit_blocks = blocks.div_ceil(u64::from(u16::MAX)).next_power_of_two().clamp(1, 1 << 15);
        let units = |bytes: u64| u16::try_from(bytes / BLOCK_BYTES / unit_blocks).unwrap_or(u16::MAX);
        let response = DiskResponse {
            units: units(space.total_bytes),
            unit_blocks: unit_blocks as u16,
            block_bytes: BLOCK_BYTES as u16,
            free: units(space.free_bytes),
            reserved: 0,
        };
        put_blocks(&response, body, |_| {});
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::{dos_time, of_dos_time};

    #[test]
    fn times_of_dos_round_trip_to_two_seconds() {
        // 2024-02-29 12:34:56.
        let leap = UNIX_EPOCH + Duration::from_secs(1_709_210_096);
        assert_eq!(dos_time(leap), [0x5D, 0x58, 0x5C, 0x64]);
        for seconds in [315_532_800, 946_684_798, 951_782_400, 1_709_210_096, 4_102_444_800] {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(of_dos_time(&dos_time(time)), Some(time), "{seconds}");
        }
        assert_eq!(dos_time(UNIX_EPOCH), [0; 4]);
        assert_eq!((of_dos_time(&[0; 4]), of_dos_time(&[1])), (None, None));
    }
}
