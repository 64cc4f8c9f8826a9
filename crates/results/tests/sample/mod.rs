//! Runs made up for the tests.

use std::collections::BTreeMap;

use sharebench_model::{
    Check, Coordinates, CpuTime, ErrorClass, Evidence, Facts, Histogram, IoBytes, JobShare, LoadDetail,
    Measure, ProbeTimes, RankShare, RateBase, ReportedFigures, ResponseSampleSize, RunHeader, ServerEvidence,
    StepResult, TargetIdentity, TcpReading, Value, Verdict, WhileProbed, WireCount, axis,
};

/// A file name of this process, removed with its companions when dropped.
pub struct Scratch(pub std::path::PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let file = format!("sharebench-results-{name}-{}.db", std::process::id());
        let scratch = Self(std::env::temp_dir().join(file));
        scratch.remove();
        scratch
    }

    #[allow(dead_code, reason = "not every test file uses it")]
    pub fn remove(&self) {
        for end in ["", "-journal", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{end}", self.0.display()));
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.remove();
    }
}

pub fn header() -> RunHeader {
    let target = |name: &str, url: &str| TargetIdentity { name: name.into(), url: url.into() };
    RunHeader {
        title: "a \"quoted\", title".into(),
        started_unix_ms: 1_700_000_000_123,
        version: "0.1.0".into(),
        plan: "[[step]]\n".into(),
        seed: u64::MAX,
        steps_planned: 4,
        repeat: None,
        environment: Facts::from([("kernel".into(), "6.1".into())]),
        targets: vec![target("smb", "smb://nas/share"), target("local", "/tmp")],
    }
}

pub fn histogram(times: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::new();
    for (nanos, count) in times {
        histogram.record_n(*nanos, *count);
    }
    histogram
}

#[allow(dead_code, reason = "not every test file uses it")]
pub fn step(index: u32) -> StepResult {
    let coordinates = Coordinates::new()
        .with(axis::TEST, Value::text("read, again"))
        .with(axis::RECORD_SIZE, Value::Bytes(65_536))
        .with(axis::QUEUE_DEPTH, Value::Count(8));
    let wire = index.is_multiple_of(2).then_some(WireCount {
        requests: 1001,
        sent: 120_000,
        received: 65_700_000,
        payload_sent: 7,
        payload_received: 65_536_000,
        ..WireCount::default()
    });
    let measure = Measure {
        window_ns: 2_000_000_000,
        busy_ns: 1_500_000_000,
        rate_base: RateBase::Busy,
        operations: 1000 + u64::from(index),
        transactions: 1000,
        bytes: IoBytes { read: 65_536_000, written: 7 },
        verified: 65_536_000,
        wire: wire.into(),
        errors: BTreeMap::from([(ErrorClass::Timeout, 2), (ErrorClass::NotFound, 1)]).into(),
        passes: 12,
        users_assigned: 3,
        users_reported: 2,
        shares: vec![JobShare { bytes: 9, operations: 8, passes: 7, worked_ns: 6 }].into(),
        censored: 1,
        response: histogram(&[(1_000_000, 900), (9_000_000, 100)]),
        response_sample_size: vec![ResponseSampleSize {
            quantile: 0.95,
            n: 123.25 + f64::from(index),
            degrees_of_freedom: 49.0,
        }]
        .into(),
        service: histogram(&[(900_000, 1000)]),
        lag: Histogram::new(),
        reported: ReportedFigures {
            response_mean_ns: Some(7),
            think_ns: Some(0),
            transaction_bytes: (index > 0).then_some(9),
        }
        .into(),
        client_cpu: CpuTime { user_ns: 5, kernel_ns: 6 },
        evidence: Evidence { grown: Some(0), flush_ns: 7, flushes: 1, ..Evidence::default() }.into(),
        load: LoadDetail::default().into(),
        tcp: TcpReading { rtt_us: 41, ..TcpReading::default() }.since(TcpReading::default()).into(),
        server: ServerEvidence {
            probes: ProbeTimes {
                ahead: vec![1, 2],
                distances: vec![3, 4],
                next: vec![5],
                hot: vec![3],
                cold: vec![1 << 40],
                cold_again: vec![6],
                known_hot: vec![],
            },
            own_times_comparable: true,
            without_probes: index.is_multiple_of(2).then(|| "no road".to_owned()),
            cold_passes: 1,
            storage_read: Some(65_536),
            while_probed: Some(WhileProbed { read: 4096, storage_read: 512 }),
        }
        .into(),
        ranks: vec![RankShare { rank: 1, host: "c2".into(), users: 3, late_ns: 4, ..RankShare::default() }]
            .into(),
    };
    let check = Check::new("little", Verdict::Warning, "N is 3, X*R is 2");
    StepResult {
        index,
        target: index % 2,
        repetition: 0,
        coordinates,
        started_unix_ms: 1_700_000_001_000 + u64::from(index),
        unmeasured_ms: 40 + index,
        measure,
        checks: vec![check].into(),
    }
}
