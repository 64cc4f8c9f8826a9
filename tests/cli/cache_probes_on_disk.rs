//! `sweep --cache-probes` at real servers with their own disks, compared with the disk reads that the kernel counted.
//!
//! A program on the server reads part of each cell's file, so that this part stays in memory. The rest is dropped, and the
//! memory of the server is too small to keep it. The long form prints a table:
//!
//!     SHAREBENCH_LONG=1 cargo test -p sharebench-tests --test end_to_end on_disk -- --nocapture

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use sharebench_tests::{
    ControlGroup, Disk, Ganesha, GaneshaOptions, LoopDisk, Need, Sharebench, Smbd, SmbdOptions, need, needs,
};

/// Bytes of the disks.
const DISK: u64 = 1 << 30;
/// Bytes of memory for a server and its page cache.
const MEMORY: u64 = 64 << 20;
/// Record size, and maximum read-ahead of the kernel: its counter then equals the records that were not in memory.
const RECORD: u64 = 64 << 10;

/// Command that keeps the first N of each 64 records in memory and drops the rest of the cell's file.
const WARM: &str = r#"
for file in DIR/.sharebench-*/data-*; do
    dd of="$file" oflag=nocache conv=notrunc,fdatasync count=0 status=none
    records=$(($(stat -c %s "$file") / 65536)) at=0
    while [ N -gt 0 ] && [ $at -lt $records ]; do
        dd if="$file" of=/dev/null bs=64k skip=$at count=N status=none
        at=$((at + 64))
    done
done
"#;

/// A server on loopback.
enum Server {
    Smbd(Smbd),
    Ganesha(Ganesha),
}

impl Server {
    fn start(smb: bool, device: Option<String>) -> Self {
        let disk = Some(device.map_or(Disk::Memory(DISK), Disk::Device));
        if smb {
            Self::Smbd(Smbd::start(&SmbdOptions { disk, ..SmbdOptions::default() }).unwrap())
        } else {
            let options = GaneshaOptions { disk, ..GaneshaOptions::default() };
            Self::Ganesha(Ganesha::start(&options).unwrap())
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Smbd(_) => "smbd",
            Self::Ganesha(_) => "ganesha",
        }
    }

    fn pid(&self) -> u32 {
        match self {
            Self::Smbd(smbd) => smbd.pid(),
            Self::Ganesha(ganesha) => ganesha.pid(),
        }
    }

    fn url(&self) -> String {
        match self {
            Self::Smbd(smbd) => smbd.url("", ""),
            Self::Ganesha(ganesha) => ganesha.url("", ""),
        }
    }

    fn directory(&self) -> PathBuf {
        match self {
            Self::Smbd(smbd) => smbd.share(),
            Self::Ganesha(ganesha) => ganesha.directory(),
        }
    }
}

/// Storage of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Storage {
    /// A tmpfs: there is no storage below the cache.
    Memory,
    Disk,
    /// A disk limited to this number of bytes per second by the control group of the server.
    Throttled(u64),
    /// A disk whose reads take this number of microseconds longer.
    Slow(u64),
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.pad("tmpfs"),
            Self::Disk => f.pad("disk"),
            Self::Throttled(rate) => f.pad(&format!("disk, {} MB/s", rate / 1_000_000)),
            Self::Slow(delay) => f.pad(&format!("disk, {delay} us slower")),
        }
    }
}

/// A server with its disk and limits. The fields are dropped in this order: the server releases the disk first.
struct Ground {
    server: Server,
    group: ControlGroup,
    disk: Option<LoopDisk>,
}

impl Ground {
    /// Starts the server, or reports the reason and returns `None` if this machine does not allow it.
    fn make(smb: bool, storage: Storage, read_ahead: u64) -> Option<Self> {
        let group = match ControlGroup::make(MEMORY) {
            Ok(group) => group,
            Err(error) => {
                need::not_allowed("bands_on_disk", &error.to_string());
                return None;
            }
        };
        let delay = if let Storage::Slow(delay) = storage { delay } else { 0 };
        let disk = || LoopDisk::make(DISK, read_ahead, Duration::from_micros(delay)).unwrap();
        let disk = (storage != Storage::Memory).then(disk);
        let server = Server::start(smb, disk.as_ref().map(|disk| disk.device().to_owned()));
        // Files on a tmpfs count as memory of the server.
        if disk.is_some() {
            group.take(server.pid()).unwrap();
        }
        let ground = Self { server, group, disk };
        if let (Storage::Throttled(rate), Some(disk)) = (storage, &ground.disk) {
            ground.group.throttle(&disk.number().unwrap(), rate).unwrap();
        }
        Some(ground)
    }

    /// Sweeps with `kept` of each 64 records in memory, and returns the bands of each cell by its test.
    fn sweep(&self, kept: u32, sweep: &[&str]) -> Vec<(String, Value)> {
        let sharebench = Sharebench::new().unwrap();
        let directory = self.server.directory();
        let warm = WARM.replace('N', &kept.to_string()).replace("DIR", directory.to_str().unwrap());
        let url = self.server.url();
        let counter = self
            .disk
            .as_ref()
            .map(|disk| format!("plan:cache_probes.server_disk_stat={}", disk.counter().display()));
        let counted: Vec<&str> = counter.iter().map(String::as_str).collect();
        let usual =
            ["sweep", "--quiet", &url, "--repetitions", "1", "plan:min_sample_time=20ms", "--record-sizes"];
        let line = [&usual[..], &["64KiB", "--pre-step-cmd", &warm], &counted, sweep].concat();
        let _ = sharebench.run(&line).unwrap().expect_success();
        let shown = sharebench.run(&["show", "last", "--format", "json"]).unwrap().expect_success().stdout;
        let analysis: Value = serde_json::from_str(&shown).unwrap();
        let of = |section: &Value| {
            let title = section["title"].as_str().unwrap().to_owned();
            (title, section["rows"][0]["outcomes"][0]["cache_shares"].clone())
        };
        analysis["sections"].as_array().unwrap().iter().map(of).collect()
    }
}

/// Number of correct and of all cells, by the separation of hot and cold reads.
#[derive(Debug, Default)]
struct Score {
    clear: (u32, u32),
    fair: (u32, u32),
    low: (u32, u32),
    refused: u32,
}

impl Score {
    /// Prints a cell and counts it.
    fn enter(&mut self, cell: &str, bands: &Value, truth: Option<f64>) {
        let percent =
            |value: &Value| value.as_f64().map_or("-".into(), |share| format!("{:.1}", 100.0 * share));
        let seen = &bands["storage_evidence"];
        let counted = |when: &str| percent(&seen[when]);
        let truth = seen["while_probed"].as_f64().map(|share| share.min(1.0)).or(truth);
        let (shown, error) = if let (Some(storage), Some(truth)) = (seen["probes"].as_f64(), truth) {
            let off = (storage - truth).abs();
            let separation = bands["separation"].as_f64().unwrap();
            let (class, limit) = match separation {
                0.9.. => (&mut self.clear, 0.05),
                0.7.. => (&mut self.fair, 0.10),
                _ => (&mut self.low, 0.10),
            };
            class.0 += 1;
            class.1 += u32::from(off <= limit);
            let width = 196.0 * seen["error"].as_f64().unwrap();
            (format!("{:.1} ±{width:.1} (J {separation:.2})", storage * 100.0), format!("{:.1}", off * 100.0))
        } else {
            self.refused += 1;
            (format!("rejected: {}", seen["rejected"].as_str().unwrap_or("no probes")), String::new())
        };
        println!("| {cell} | {} | {} | {shown} | {error} |", counted("timed"), counted("while_probed"));
    }
}

/// Storage, read-ahead of the kernel, and numbers of records kept in memory of each 64.
fn grid() -> [(Storage, u64, &'static [u32]); 5] {
    const SHARES: &[u32] = &[0, 19, 45, 64];
    [
        (Storage::Memory, RECORD, &[0]),
        (Storage::Disk, RECORD, SHARES),
        // The default read-ahead of the kernel fetches records that random reads do not request.
        (Storage::Disk, 128 << 10, &[19]),
        (Storage::Throttled(40_000_000), RECORD, &[19]),
        (Storage::Slow(1500), RECORD, SHARES),
    ]
}

/// The long form: both servers on tmpfs, on a disk and on slow disks, with several shares of the file in memory.
fn every_cell() {
    needs!(Ganesha::NEEDS, LoopDisk::SLOW);
    let load = || std::fs::read_to_string("/proc/loadavg").unwrap();
    println!("load average {}", load());
    println!(
        "| server | storage | read-ahead | kept | test | disk, timed % | probed % | probes % | points off |"
    );
    println!("|---|---|---:|---:|---|---:|---:|---|---:|");
    let sweep = [
        "--file-sizes",
        "256MiB",
        "--tests",
        "read,random-read",
        "--cache-probes",
        "128MiB",
        "--verify",
        "off",
    ];
    let mut score = Score::default();
    for smb in [true, false] {
        for (storage, read_ahead, kept) in grid() {
            let Some(ground) = Ground::make(smb, storage, read_ahead) else { return };
            for kept in kept {
                for (test, bands) in ground.sweep(*kept, &sweep) {
                    let server = ground.server.name();
                    let share = kept * 100 / 64;
                    let ahead = read_ahead >> 10;
                    let cell = format!("{server} | {storage} | {ahead} KiB | {share} % | {test}");
                    score.enter(&cell, &bands, (storage == Storage::Memory).then_some(0.0));
                }
            }
        }
    }
    println!("load average {}", load());
    let Score { clear, fair, low, refused } = score;
    println!(
        "J >= 0.9: {} of {} within 5 points; J 0.7..0.9: {} of {} within 10; J 0.5..0.7: {} of {} within 10; {refused} refused",
        clear.1, clear.0, fair.1, fair.0, low.1, low.0
    );
    assert!(
        10 * clear.1 >= 9 * clear.0 && 10 * fair.1 >= 9 * fair.0,
        "outside docs/measure/measurement-rules.md 2.4"
    );
}

#[test]
fn storage_share_equals_the_reads_of_the_server_s_disk() {
    needs!(Smbd::NEEDS, LoopDisk::NEEDS, [Need::Program("dd")]);
    if std::env::var_os("SHAREBENCH_LONG").is_some() {
        return every_cell();
    }
    let Some(ground) = Ground::make(true, Storage::Disk, RECORD) else { return };
    let sweep = [
        "--file-sizes",
        "64MiB",
        "--tests",
        "random-read",
        "--cache-probes",
        "96MiB",
        "plan:cache_probes.count=60",
    ];
    let (_, bands) = ground.sweep(32, &sweep).remove(0);
    let counted = |when: &str| bands["storage_evidence"][when].as_f64().unwrap_or_else(|| panic!("{bands}"));
    assert_eq!(bands["grade"], "A", "{bands}");
    assert!((counted("timed") - 0.5).abs() < 0.05, "half of the file was in memory: {bands}");
    // From the second pass on the server's own memory holds some of the other half.
    assert!((0.0..=0.55).contains(&counted("while_probed")), "{bands}");
    assert!(
        bands["storage_evidence"]["probes"].is_number() != bands["storage_evidence"]["rejected"].is_string(),
        "{bands}"
    );
}
