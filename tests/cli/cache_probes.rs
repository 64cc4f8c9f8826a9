//! `sweep --cache-probes`: where the bytes came from, against servers that know it, and servers that lie about it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sharebench_server::{
    CacheOptions, DeviceOptions, DeviceVolume, EmbeddedServers, MemoryVolume, ServeOptions, ServiceTime,
    Volume,
};
use sharebench_target::Secret;
use sharebench_tests::{Sharebench, Smbd, SmbdOptions, needs};

/// Starts a server in this process: a device of half a millisecond with a cache of `bytes`.
fn served(cache: u64) -> EmbeddedServers {
    let service = ServiceTime::LogNormal { median: Duration::from_micros(500), sigma: 0.35, seed: 1 };
    let cache = CacheOptions { bytes: cache, ..CacheOptions::default() };
    let options = DeviceOptions { service, servers: 4, cache, log_capacity: 0, ..DeviceOptions::default() };
    let volume: Arc<dyn Volume> = Arc::new(DeviceVolume::new(MemoryVolume::new(256 << 20), options));
    let any = Some(([127, 0, 0, 1], 0).into());
    let accounts = vec![("lab".to_owned(), Secret::new(Smbd::PASSWORD))];
    EmbeddedServers::start(&volume, &ServeOptions { nfs: any, smb: any, accounts, ..ServeOptions::default() })
        .unwrap()
}

/// Sweeps, and gives the bands of every cell with its file size.
fn bands(sharebench: &Sharebench, words: &[&str]) -> Vec<(u64, Value)> {
    let usual =
        ["sweep", "--quiet", "--repetitions", "1", "plan:min_sample_time=20ms", "--record-sizes", "64KiB"];
    let probes = ["--tests", "read", "plan:cache_probes.count=60"];
    let _ = sharebench.run(&[&usual[..], &probes, words].concat()).unwrap().expect_success();
    let shown = sharebench.run(&["show", "last", "--format", "json"]).unwrap().expect_success().stdout;
    let analysis: Value = serde_json::from_str(&shown).unwrap();
    let rows = analysis["sections"][0]["rows"].as_array().unwrap();
    let of = |row: &Value| {
        let size = row["coordinates"]["file_size"]["bytes"].as_u64().unwrap();
        (size, row["outcomes"][0]["cache_shares"].clone())
    };
    rows.iter().map(of).collect()
}

#[test]
fn reads_are_attributed_to_server_cache_and_storage() {
    let servers = served(8 << 20);
    let sharebench = Sharebench::new().unwrap();
    let port = servers.addr("nfs").unwrap().port();
    let url = format!("nfs://127.0.0.1:{port}/share?mountport={port}");
    let found = bands(
        &sharebench,
        &[&url, "--file-sizes", "2MiB,32MiB", "--cache-probes", "24MiB", "plan:cache_probes.distance=1MiB"],
    );
    for (size, bands) in &found {
        // Two of eight MiB stay; of a file four times the cache, read from end to end, nothing is left.
        let truth = if *size == 2 << 20 { 0.0 } else { 1.0 };
        assert_eq!(bands["client"]["high"], 0.0);
        if bands["grade"] == "C" {
            // On a machine so busy that hot and cold reads overlap, the program must report that instead of guessing.
            let note = bands["note"].as_str().unwrap();
            assert!(note.contains("not separable"), "{bands}");
            println!("refused on this machine: {note}");
            continue;
        }
        let low = bands["storage"]["low"].as_f64().unwrap();
        let high = bands["storage"]["high"].as_f64().unwrap();
        assert_eq!(bands["grade"], "B");
        assert!(low - 0.1 <= truth && truth <= high + 0.1, "{size} bytes: {bands}");
    }
    assert_eq!(found.len(), 2);
    let text = sharebench.run(&["show", "last"]).unwrap().expect_success().stdout;
    assert!(text.contains("% client / ") || text.contains("not separable"), "{text}");
}

#[test]
fn servers_that_ignore_unbuffered_reads_are_detected() {
    let servers = served(64 << 20);
    let sharebench = Sharebench::new().unwrap();
    let url = format!("smb://lab@127.0.0.1:{}/share", servers.addr("smb").unwrap().port());
    // The whole reserve fits the cache, from which it is served as ever.
    let found = bands(&sharebench, &[&url, "--file-sizes", "1MiB", "--cache-probes", "unbuffered"]);
    assert_refused(&found[0].1);
    needs!(Smbd::NEEDS);
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let found =
        bands(&sharebench, &[&smbd.url("", ""), "--file-sizes", "1MiB", "--cache-probes", "unbuffered"]);
    assert_refused(&found[0].1);
}

fn assert_refused(bands: &Value) {
    assert_eq!(bands["grade"], "C", "{bands}");
    assert!(bands["note"].as_str().unwrap().starts_with("server cache and storage not separable"), "{bands}");
}

#[test]
fn target_without_cache_probes_reports_the_reason() {
    let sharebench = Sharebench::new().unwrap();
    let refused = |words: &[&str], word: &str| {
        let ended = sharebench.run(&[&["sweep", "nfs://127.0.0.1:1/x"], words].concat()).unwrap();
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(word), "{}", ended.stderr);
    };
    refused(&["--cache-probes", "warm"], "--cache-probes");
    refused(&["--cache-probes", "pre-step-cmd"], "--cache-probes");
    refused(&["--cache-probes", "1GiB", "plan:cache_probes.count=3"], "cache_probes.count");
    refused(&["--cache-probes", "1GiB", "--bypass", "nas=smb://h/s"], "no target 'nas'");
    refused(&["plan:cache_probes.distance=1MiB"], "cache_probes.cold");
}
