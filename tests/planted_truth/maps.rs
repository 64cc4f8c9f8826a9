//! Two servers whose ratio changes over the map of cells: by file size, by record size, in one cell, by the kind of cost.

use sharebench_model::{Coordinates, axis};
use sharebench_simulated::{Device, RequestClass, Service};

use crate::properties::{MIB, PARALLEL, Property, QUIET, pair, record, test, us, usual};

/// Three sizes of files and of records, so that each row of properties has 27 cells.
const MAP: &str = "[sweep]\nfile_sizes = ['256KiB', '1MiB', '4MiB']\nrecord_sizes = ['4KiB', '16KiB', '64KiB']\n\
                   tests = ['read', 'random-read', 'rewrite']\n";

const KIB: u32 = 1 << 10;

fn file(at: &Coordinates) -> u64 {
    at.number(axis::FILE_SIZE).unwrap_or(0)
}

/// Requests to files of these sizes.
fn files(files: std::ops::RangeInclusive<u64>) -> RequestClass {
    RequestClass { files, ..RequestClass::default() }
}

/// Requests of these sizes.
fn records(records: std::ops::RangeInclusive<u32>) -> RequestClass {
    RequestClass { records, ..RequestClass::default() }
}

/// The usual server, and one that needs other times for small and for large of something; in between both are equal.
fn reversal(
    name: &'static str,
    small: impl Fn() -> RequestClass + Sync + 'static,
    large: impl Fn() -> RequestClass + Sync + 'static,
    ratio: impl Fn(&Coordinates) -> f64 + Sync + 'static,
) -> Property {
    let second = move |seed| usual(seed).scaled(small(), 1.0 / 1.35).scaled(large(), 1.0 / 0.7);
    // The second server does become slower with the size.
    Property { falls: true, exact: true, ..pair(name, MAP, usual, second, ratio) }
}

/// The ratio of a reversal from a place below 0, at 0, or above it.
fn reversed(place: std::cmp::Ordering) -> f64 {
    match place {
        std::cmp::Ordering::Less => 1.35,
        std::cmp::Ordering::Equal => 1.0,
        std::cmp::Ordering::Greater => 0.7,
    }
}

/// Time of a request in microseconds of a server that pays for bytes rather than for requests: the same as the usual one's
/// with records of 16 KiB.
fn time_by_bytes(bytes: f64) -> f64 {
    100.0 + 300.0 * bytes / f64::from(16 * KIB)
}

pub fn maps() -> Vec<Property> {
    vec![
        reversal(
            "reversal by file size: +35 % at 256 KiB, -30 % at 4 MiB",
            || files(0..=512 << 10),
            || files(2 * MIB..=u64::MAX),
            |at| reversed(file(at).cmp(&MIB)),
        ),
        reversal(
            "reversal by record size: +35 % at 4 KiB, -30 % at 64 KiB",
            || records(0..=8 * KIB),
            || records(32 * KIB..=u32::MAX),
            |at| reversed(record(at).total_cmp(&f64::from(16 * KIB))),
        ),
        pair(
            "one slow cell: sequential reads of 64 KiB in files of 4 MiB, -33 %",
            MAP,
            usual,
            |seed| {
                let reads = RequestClass {
                    writes: Some(false),
                    sequential: Some(true),
                    ..records(64 * KIB..=64 * KIB)
                };
                usual(seed).scaled(RequestClass { files: 4 * MIB..=4 * MIB, ..reads }, 1.5)
            },
            |at| {
                let is_slow = test(at) == "read"
                    && file(at) == 4 * MIB
                    && (record(at) - f64::from(64 * KIB)).abs() < 1.0;
                if is_slow { 1.0 / 1.5 } else { 1.0 }
            },
        ),
        pair(
            "cost per request against cost per byte: +129 % at 4 KiB, -69 % at 64 KiB",
            MAP,
            |seed| {
                let fixed = Service::Lognormal(us(400.0), QUIET);
                Device::new(seed).without_log().service_center(PARALLEL, fixed)
            },
            |seed| {
                let sizes = [4 * KIB, 16 * KIB, 64 * KIB];
                let by_bytes = Service::Lognormal(us(400.0), QUIET);
                let device = Device::new(seed).without_log().service_center(PARALLEL, by_bytes);
                sizes.into_iter().fold(device, |device, bytes| {
                    device.scaled(records(bytes..=bytes), time_by_bytes(f64::from(bytes)) / 400.0)
                })
            },
            |at| 400.0 / time_by_bytes(record(at)),
        ),
    ]
}
