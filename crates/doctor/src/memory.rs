//! Free page reporting: whether the hypervisor takes memory that was free for a while.
//!
//! A virtual machine may report free memory to its host (`VIRTIO_BALLOON_F_PAGE_REPORTING`, Virtio 1.2, 5.5.6.7).
//! The host takes the memory and must provide it again at the next use. Writes to the page cache then ran at 0.4
//! instead of 5 GB/s after two idle seconds.

use std::fs;

use crate::finding::Finding;
use crate::system_files;

const MEMORY: &str = "writes to caches and files in memory, and the first of two compared targets: the host takes idle memory; \
                      disable free page reporting in the hypervisor";
const BALLOONS: &str = "/sys/bus/virtio/drivers/virtio_balloon";
const ORDER: &str = "/sys/module/page_reporting/parameters/page_reporting_order";
/// Number of the feature bit, counted from 0.
const PAGE_REPORTING: usize = 5;

/// Reads the features of this machine's balloons.
pub(crate) fn memory() -> Finding {
    if !system_files::EXIST {
        return Finding::unknown("memory", "only Linux reports it", MEMORY);
    }
    let devices = system_files::entries(BALLOONS).into_iter().flatten();
    let features = devices.filter_map(|device| fs::read_to_string(device.path().join("features")).ok());
    let order = system_files::text(ORDER).ok().and_then(|text| text.trim().parse().ok());
    let largest = system_files::text("/proc/buddyinfo").ok().and_then(|text| largest_order(&text));
    judge(&features.collect::<Vec<_>>(), order, largest)
}

/// `Node 0, zone   Normal   216   55 ...`, proc(5): free blocks of 1 page, of 2, of 4 and so on.
fn largest_order(buddyinfo: &str) -> Option<u32> {
    let words = buddyinfo.lines().next()?.split_ascii_whitespace().count();
    words.checked_sub(5)?.try_into().ok()
}

/// Judges the features of all balloons, which are strings of 0 and 1 with bit 0 first.
///
/// `order` is the size of the smallest reported blocks and `largest` that of the largest blocks which this kernel
/// manages, both as a power of two of pages.
fn judge(features: &[String], order: Option<u32>, largest: Option<u32>) -> Finding {
    let reporting = features.iter().any(|bits| bits.as_bytes().get(PAGE_REPORTING) == Some(&b'1'));
    let (kept, measured) = match order {
        _ if !reporting => (true, "free memory stays with this machine".to_owned()),
        Some(order) if largest.is_some_and(|largest| order > largest) => {
            (true, format!("blocks of 2^{order} pages are returned to the host, but this kernel has none"))
        }
        Some(order) => (
            false,
            format!("free blocks of 2^{order} pages and more are returned to the host until their next use"),
        ),
        None => (false, "free memory is returned to the host until its next use".to_owned()),
    };
    Finding::read("memory", kept, measured, MEMORY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status;

    #[test]
    fn balloon_that_reports_free_pages_is_a_warning() {
        let reporting = ["01100101000".to_owned()];
        let finding = judge(&reporting, Some(9), Some(10));
        assert_eq!(finding.status, Status::Warn);
        assert!(finding.measured.contains("blocks of 2^9 pages"), "{}", finding.measured);
        assert_eq!(judge(&reporting, None, Some(10)).status, Status::Warn);
        assert_eq!(judge(&reporting, Some(11), Some(10)).status, Status::Pass);
        assert_eq!(
            judge(&reporting, Some(11), None).status,
            Status::Warn,
            "the largest block size is unknown"
        );
        assert_eq!(judge(&reporting, Some(13), Some(13)).status, Status::Warn, "pages of 64 KiB");
        for other in [vec![], vec!["0110000".to_owned()], vec!["01".to_owned()]] {
            assert_eq!(judge(&other, Some(9), Some(10)).status, Status::Pass);
        }
    }

    #[test]
    fn largest_block_is_the_last_column() {
        let line = "Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      2";
        assert_eq!(largest_order(line), Some(10));
        assert_eq!((largest_order(""), largest_order("Node 0,")), (None, None));
    }
}
