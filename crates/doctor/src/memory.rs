//! Whether memory that was free for a while is still this machine's.
//!
//! A virtual machine may give free memory back to its host: `VIRTIO_BALLOON_F_PAGE_REPORTING`, Virtio 1.2, 5.5.6.7. The host
//! brings it again at the next use. Writes into the page cache were seen at 0.4 instead of 5 GB/s after two seconds of rest.

use std::fs;

use crate::finding::Finding;

const MEMORY: &str = "writes into caches and files in memory, and whichever of two contenders comes first: memory that rested is \
                      the host's; turn free page reporting off at the hypervisor";
const BALLOONS: &str = "/sys/bus/virtio/drivers/virtio_balloon";
const ORDER: &str = "/sys/module/page_reporting/parameters/page_reporting_order";
/// The feature bit, the first one being 0.
const PAGE_REPORTING: usize = 5;

/// Reads the features of this machine's balloons.
pub(crate) fn memory() -> Finding {
    let devices = fs::read_dir(BALLOONS).into_iter().flatten().flatten();
    let features = devices.filter_map(|device| fs::read_to_string(device.path().join("features")).ok());
    let order = fs::read_to_string(ORDER).ok().and_then(|text| text.trim().parse().ok());
    let largest = fs::read_to_string("/proc/buddyinfo").ok().and_then(|text| largest_order(&text));
    judge(&features.collect::<Vec<_>>(), order, largest)
}

/// `Node 0, zone   Normal   216   55 ...`, proc(5): free blocks of 1 page, of 2, of 4 and so on.
fn largest_order(buddyinfo: &str) -> Option<u32> {
    let words = buddyinfo.lines().next()?.split_ascii_whitespace().count();
    words.checked_sub(5)?.try_into().ok()
}

/// `features` are strings of 0 and 1, bit 0 first; `order` is that of the smallest blocks that are given back, `largest`
/// that of the largest which this kernel keeps: powers of two of pages.
fn judge(features: &[String], order: Option<u32>, largest: Option<u32>) -> Finding {
    let reporting = features.iter().any(|bits| bits.as_bytes().get(PAGE_REPORTING) == Some(&b'1'));
    let (kept, seen) = match order {
        _ if !reporting => (true, "what is free stays this machine's".to_owned()),
        Some(order) if largest.is_some_and(|largest| order > largest) => {
            (true, format!("blocks of 2^{order} pages go back to the host, and there are none"))
        }
        Some(order) => (
            false,
            format!(
                "free blocks of 2^{order} pages and more go back to the host, and come again at their next use"
            ),
        ),
        None => (false, "free memory goes back to the host, and comes again at its next use".to_owned()),
    };
    Finding::read("memory", kept, seen, MEMORY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Light;

    #[test]
    fn a_balloon_that_reports_free_pages_is_told() {
        let reporting = ["01100101000".to_owned()];
        let told = judge(&reporting, Some(9), Some(10));
        assert_eq!(told.light, Light::Warn);
        assert!(told.seen.contains("blocks of 2^9 pages"), "{}", told.seen);
        assert_eq!(judge(&reporting, None, Some(10)).light, Light::Warn);
        assert_eq!(judge(&reporting, Some(11), Some(10)).light, Light::Pass);
        assert_eq!(judge(&reporting, Some(11), None).light, Light::Warn, "how large blocks get is not known");
        assert_eq!(judge(&reporting, Some(13), Some(13)).light, Light::Warn, "pages of 64 KiB");
        for other in [vec![], vec!["0110000".to_owned()], vec!["01".to_owned()]] {
            assert_eq!(judge(&other, Some(9), Some(10)).light, Light::Pass);
        }
    }

    #[test]
    fn the_largest_block_is_the_last_column() {
        let line = "Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      2";
        assert_eq!(largest_order(line), Some(10));
        assert_eq!((largest_order(""), largest_order("Node 0,")), (None, None));
    }
}
