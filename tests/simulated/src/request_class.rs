//! Which requests a stage or a factor of a simulated server concerns.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// A class of requests, such as reads of 64 KiB and more in files of at most 1 MiB. The default contains all requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestClass {
    /// Only reads (false) or only writes (true).
    pub writes: Option<bool>,
    /// Bytes of a request.
    pub records: RangeInclusive<u32>,
    /// Bytes of the file: the end of the last byte that was ever written to a file of its name.
    pub files: RangeInclusive<u64>,
    /// Only requests that begin where the last request to their file ended, or at its start (true), or only others (false).
    pub sequential: Option<bool>,
}

impl Default for RequestClass {
    fn default() -> Self {
        Self { writes: None, records: 0..=u32::MAX, files: 0..=u64::MAX, sequential: None }
    }
}

impl RequestClass {
    pub(super) fn contains(&self, asked: &Asked) -> bool {
        let known = asked.known;
        self.writes.is_none_or(|writes| writes == asked.write)
            && self.records.contains(&asked.bytes)
            && self.files.contains(&known.size)
            && self.sequential.is_none_or(|sequential| sequential == known.is_continued)
    }
}

/// A request as it arrives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub session: u32,
    pub file: u64,
    pub offset: u64,
    pub bytes: u32,
    pub write: bool,
    /// Requests data from storage, bypassing the cache.
    pub unbuffered: bool,
    /// From the session whose bytes' origin is wanted: the first.
    pub workload: bool,
    /// What is known of its file.
    pub known: FileUse,
}

/// What the server knows of a file when a request for it arrives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FileUse {
    /// Bytes, the request included.
    size: u64,
    /// The request begins where the last one ended, or at the start of the file.
    is_continued: bool,
}

/// What the server knows of all files, by the hash of their names.
#[derive(Debug, Clone, Default)]
pub(super) struct FileUses {
    /// Size, and the end of the last request.
    files: BTreeMap<u64, (u64, u64)>,
}

impl FileUses {
    /// Records a request.
    pub fn record(&mut self, file: u64, offset: u64, bytes: u32) -> FileUse {
        let (size, last_end) = self.files.entry(file).or_default();
        let end = offset + u64::from(bytes);
        let is_continued = offset == 0 || offset == *last_end;
        *size = (*size).max(end);
        *last_end = end;
        FileUse { size: *size, is_continued }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(bytes: u32, write: bool, known: FileUse) -> Asked {
        Asked { session: 0, file: 0, offset: 0, bytes, write, unbuffered: false, workload: true, known }
    }

    #[test]
    fn default_class_contains_every_request() {
        assert!(RequestClass::default().contains(&asked(0, true, FileUse::default())));
    }

    #[test]
    fn size_of_a_file_is_the_end_of_its_last_byte_and_is_kept() {
        let mut uses = FileUses::default();
        let large = RequestClass { files: 1_000..=u64::MAX, ..RequestClass::default() };
        let mut is_large =
            |file, offset, bytes| large.contains(&asked(bytes, true, uses.record(file, offset, bytes)));
        assert!(!is_large(1, 0, 999));
        assert!(is_large(1, 999, 1));
        assert!(is_large(1, 0, 10), "all requests to a large file");
        assert!(!is_large(2, 0, 10), "another file");
    }

    #[test]
    fn sequential_requests_continue_the_last_one_of_their_file_or_begin_at_its_start() {
        let mut uses = FileUses::default();
        let sequential = RequestClass { sequential: Some(true), ..RequestClass::default() };
        let mut continues =
            |file, offset| sequential.contains(&asked(10, false, uses.record(file, offset, 10)));
        let of_one: Vec<bool> = [0, 10, 20, 50, 60, 0].map(|offset| continues(1, offset)).into();
        assert_eq!(of_one, [true, true, true, false, true, true]);
        assert!(!continues(2, 10), "of another file");
    }

    #[test]
    fn writes_and_record_sizes_select_requests() {
        let writes = RequestClass { writes: Some(true), records: 1_000..=2_000, ..RequestClass::default() };
        let contains = |bytes, write| writes.contains(&asked(bytes, write, FileUse::default()));
        assert_eq!(
            [contains(1_000, true), contains(2_000, true), contains(999, true), contains(2_001, true)],
            [true, true, false, false]
        );
        assert!(!contains(1_500, false));
    }
}
