//! Two live servers whose ratio changes over the map of cells: by the size of records, and by the size of files.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sharebench_server::{
    CacheOptions, DeviceOptions, DeviceVolume, EmbeddedServers, MemoryVolume, ServeOptions, ServiceTime,
    Volume,
};
use sharebench_tests::Sharebench;

/// Starts an NFS server in this process whose device needs this time for a request.
fn served(service_ms: u64, options: DeviceOptions) -> EmbeddedServers {
    let service = ServiceTime::Fixed(Duration::from_millis(service_ms));
    let options = DeviceOptions { service, log_capacity: 0, ..options };
    let volume: Arc<dyn Volume> = Arc::new(DeviceVolume::new(MemoryVolume::new(64 << 20), options));
    let any = Some(([127, 0, 0, 1], 0).into());
    EmbeddedServers::start(&volume, &ServeOptions { nfs: any, ..ServeOptions::default() }).unwrap()
}

fn url(servers: &EmbeddedServers) -> String {
    let port = servers.addr("nfs").unwrap().port();
    format!("nfs://127.0.0.1:{port}/share?mountport={port}")
}

/// The only comparison of a sweep over two servers, the second one over the first one, with its sections.
fn compared(servers: [&EmbeddedServers; 2], sizes: &[&str]) -> Value {
    let sharebench = Sharebench::new().unwrap();
    let [usual, changing] = servers.map(url);
    let line = ["sweep", &usual, &changing, "--quiet", "--tests", "read,random-read"];
    // Twelve repetitions name single cells.
    let amount = ["--repetitions", "12", "plan:min_sample_time=30ms"];
    let _ = sharebench.run(&[&line[..], &amount, sizes].concat()).unwrap().expect_success();
    let shown = sharebench.run(&["show", "last", "--format", "json"]).unwrap().expect_success().stdout;
    serde_json::from_str(&shown).unwrap()
}

/// The verdict is `depends`, and each cell with this size on an axis lies in a part of its direction.
fn assert_reversed(analysis: &Value, axis: &str, [faster, slower]: [u64; 2]) {
    let comparison = &analysis["comparisons"][0];
    let text = comparison["verdict"]["text"].as_str().unwrap();
    assert_eq!(comparison["verdict"]["outcome"], "depends", "{text}");
    let parts = comparison["differences"]["parts"].as_array().unwrap();
    let mut cells = 0;
    for part in parts {
        for (section, rows) in
            part["sections"].as_array().unwrap().iter().zip(part["rows"].as_array().unwrap())
        {
            for row in rows.as_array().unwrap() {
                let section = &analysis["sections"][section.as_u64().unwrap() as usize];
                let row = &section["rows"][row.as_u64().unwrap() as usize];
                let size = row["coordinates"][axis]["bytes"].as_u64().unwrap();
                let planted = [(faster, "faster"), (slower, "slower")];
                let direction = planted.iter().find(|(of, _)| *of == size).map(|(_, direction)| *direction);
                assert_eq!(direction, part["direction"].as_str(), "{axis} of {size} bytes: {text}");
                cells += 1;
            }
        }
    }
    assert_eq!(cells, 4, "both tests at both sizes: {text}");
}

#[test]
fn reversal_by_record_size_is_the_verdict() {
    // 4 ms for each request against 1 ms and 20 MB/s: 4 KiB take 1.2 ms, 256 KiB take 14 ms.
    let by_request = served(4, DeviceOptions::default());
    let by_byte = served(1, DeviceOptions { bytes_per_s: Some(20_000_000), ..DeviceOptions::default() });
    let sizes = ["--file-sizes", "512KiB", "--record-sizes", "4KiB,256KiB"];
    let analysis = compared([&by_request, &by_byte], &sizes);
    assert_reversed(&analysis, "record_size", [4 << 10, 256 << 10]);
}

#[test]
fn reversal_by_file_size_is_the_verdict() {
    // 4 ms for each request against a cache of 512 KiB in front of 16 ms.
    let uncached = served(4, DeviceOptions::default());
    let cache = CacheOptions { bytes: 512 << 10, ..CacheOptions::default() };
    let cached = served(16, DeviceOptions { cache, ..DeviceOptions::default() });
    let sizes = ["--file-sizes", "256KiB,4MiB", "--record-sizes", "64KiB"];
    let analysis = compared([&uncached, &cached], &sizes);
    assert_reversed(&analysis, "file_size", [256 << 10, 4 << 20]);
}
