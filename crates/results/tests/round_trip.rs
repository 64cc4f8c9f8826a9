//! Whatever a step holds, the store gives it back exactly.

use crate::sample::{Scratch, header, histogram};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use sharebench_model::{
    Check, Coordinates, CpuTime, ErrorClass, Evidence, Fairness, Histogram, IoBytes, JobShare, LoadCounts,
    LoadDetail, LoadUnit, Measure, ObjectiveReport, Part, PolicyCount, ProbeTimes, RankShare, RateBase,
    ReportedFigures, Residency, ResponseSampleSize, ServerEvidence, ServerLoad, SetCheck, SplitBlocks,
    StepResult, TcpCounts, TcpReading, Timeline, UnitObjective, Value, Verdict, WhileProbed, WireCount,
};
use sharebench_results::Store;

fn number() -> impl Strategy<Value = u64> {
    // A step has some hundred of them, and their sum is less than 2^63.
    prop_oneof![Just(0), Just(1 << 53), 0_u64..1 << 53]
}

fn coordinates() -> impl Strategy<Value = Coordinates> {
    let value = prop_oneof![
        number().prop_map(Value::Bytes),
        number().prop_map(Value::Count),
        any::<String>().prop_map(Value::text)
    ];
    btree_map(any::<String>(), value, 0..5).prop_map(|axes| {
        axes.into_iter().fold(Coordinates::new(), |coordinates, (axis, value)| coordinates.with(axis, value))
    })
}

fn times() -> impl Strategy<Value = Histogram> {
    vec((1_u64..3_600_000_000_000, 1_u64..1_000_000), 0..8).prop_map(|times| histogram(&times))
}

fn class() -> impl Strategy<Value = ErrorClass> {
    use ErrorClass as Class;
    proptest::sample::select(vec![
        Class::Refused,
        Class::NotFound,
        Class::Exists,
        Class::NotEmpty,
        Class::NoSpace,
        Class::ReadOnly,
        Class::Stale,
        Class::Busy,
        Class::Timeout,
        Class::Disconnected,
        Class::Protocol,
        Class::DataMismatch,
        Class::Unsupported,
        Class::Io,
    ])
}

fn check() -> impl Strategy<Value = Check> {
    let verdict = proptest::sample::select(vec![Verdict::Valid, Verdict::Warning, Verdict::Invalid]);
    (any::<String>(), verdict, any::<String>())
        .prop_map(|(name, verdict, detail)| Check::new(name, verdict, detail))
}

fn wire() -> impl Strategy<Value = Option<WireCount>> {
    proptest::option::of([number(), number(), number(), number(), number()].prop_map(
        |[requests, sent, received, payload_sent, payload_received]| WireCount {
            requests,
            sent,
            received,
            payload_sent,
            payload_received,
            ..WireCount::default()
        },
    ))
}

fn worth(number: u64) -> ResponseSampleSize {
    ResponseSampleSize { quantile: 0.99, n: number as f64 / 7.0, degrees_of_freedom: 31.0 }
}

fn measure() -> impl Strategy<Value = Measure> {
    let base = proptest::sample::select(vec![RateBase::Busy, RateBase::Window]);
    let numbers = proptest::array::uniform10(number());
    let errors = btree_map(class(), number(), 0..4);
    (numbers, base, wire(), errors, any::<(u32, u32)>(), times(), times(), times()).prop_map(
        |(numbers, rate_base, wire, errors, users, response, service, lag)| Measure {
            window_ns: numbers[0],
            busy_ns: numbers[1],
            rate_base,
            operations: numbers[2],
            transactions: numbers[3],
            bytes: IoBytes { read: numbers[4], written: numbers[5] },
            verified: numbers[6],
            wire: wire.into(),
            errors: errors.into(),
            passes: numbers[9],
            users_assigned: users.0,
            users_reported: users.1,
            shares: vec![JobShare { bytes: numbers[8], ..JobShare::default() }; numbers[7] as usize % 3]
                .into(),
            censored: numbers[7],
            response_sample_size: (0..numbers[7] % 3).map(|_| worth(numbers[0])).collect(),
            response,
            service,
            lag,
            reported: ReportedFigures {
                response_mean_ns: numbers[0].checked_sub(1),
                think_ns: numbers[1].checked_sub(1),
                transaction_bytes: numbers[2].checked_sub(1),
            }
            .into(),
            client_cpu: CpuTime { user_ns: numbers[8], kernel_ns: numbers[9] },
            evidence: evidence(numbers).into(),
            load: load(numbers).into(),
            server: server(numbers).into(),
            ranks: ranks(numbers).into(),
            tcp: tcp(numbers).into(),
        },
    )
}

fn tcp(numbers: [u64; 10]) -> Option<TcpCounts> {
    let reading =
        TcpReading { rtt_us: 7, segments_sent: numbers[3], busy_us: numbers[4], ..TcpReading::default() };
    numbers[2].is_multiple_of(2).then(|| reading.since(TcpReading::default())).flatten()
}

fn load(numbers: [u64; 10]) -> LoadDetail {
    if numbers[1].is_multiple_of(2) {
        return LoadDetail::default();
    }
    let mut response = Histogram::new();
    response.record_n(numbers[2], 1 + numbers[3] % 1000);
    let part = Part { count: numbers[4], missed: numbers[5], response, ..Part::named("copy \"x\"") };
    let mut fairness = Fairness::default();
    fairness.add(numbers[6] % 1_000_000);
    let objective = ObjectiveReport { wanted: "p95<1s".into(), kept: true, detail: "p95 2 ms".into() };
    let mut timeline = Timeline::over(1_000_000_000);
    timeline.moved(numbers[0] % 1_000_000_000, numbers[1] % 1_000_000);
    timeline.failed(numbers[2] % 1_000_000_000);
    let mut split = SplitBlocks::default();
    split.add(100_000, 2);
    let source = "node_cpu_seconds_total".to_owned();
    LoadDetail {
        window_unix_ms: numbers[3],
        timeline,
        split,
        wire_operations: numbers[6],
        server: Some(ServerLoad { cpu: 0.25, cores: numbers[4].is_multiple_of(2).then_some(4), source }),
        transactions: vec![part.clone()],
        operations: vec![part],
        fairness,
        sessions_lost: numbers[7],
        without_session_ns: numbers[8],
        users_with_session: numbers[8] as u32,
        think_ns: numbers[9],
        objective: Some(objective),
        unit: numbers[7].is_multiple_of(2).then(|| LoadUnit {
            name: "stream".into(),
            transaction: "frame".into(),
            objective: UnitObjective::Missed { most_ppm: numbers[8] as u32 },
            with_deadline: vec!["read \"x\"".into()],
            paced: true,
            scale: numbers[9].is_multiple_of(2).then(|| "1%".into()),
        }),
        set_check: SetCheck { files: numbers[0], bytes: numbers[1], wrong: numbers[2], unread: numbers[3] },
        users_per_session: 4,
        left_out: [("Deltree: \"x\"".to_owned(), numbers[4])].into(),
        outside: numbers[5].is_multiple_of(2).then_some(LoadCounts {
            transactions: numbers[6],
            operations: numbers[7],
            bytes: IoBytes { read: numbers[8], written: numbers[9] },
            wire: WireCount { requests: numbers[0], payload_sent: numbers[1], ..WireCount::default() },
        }),
    }
}

fn ranks(numbers: [u64; 10]) -> Vec<RankShare> {
    let share = |rank| RankShare {
        rank,
        host: "c1 \"x\"".into(),
        users: 3,
        users_reported: 2,
        operations: numbers[0],
        transactions: numbers[1],
        bytes: IoBytes { read: numbers[2], written: numbers[3] },
        errors: numbers[4],
        response: Histogram::new(),
        late_ns: numbers[5],
        clock_error_ns: numbers[6],
    };
    (0..(numbers[7] % 3) as u32).map(share).collect()
}

fn server(numbers: [u64; 10]) -> ServerEvidence {
    if numbers[2].is_multiple_of(2) {
        return ServerEvidence::default();
    }
    let probes = ProbeTimes { ahead: numbers.to_vec(), hot: vec![numbers[0]; 3], ..ProbeTimes::default() };
    let while_probed = Some(WhileProbed { read: numbers[5], storage_read: numbers[6] });
    ServerEvidence {
        probes,
        own_times_comparable: true,
        without_probes: None,
        cold_passes: numbers[3],
        storage_read: Some(numbers[4]),
        while_probed,
    }
}

fn evidence(numbers: [u64; 10]) -> Evidence {
    let seen = Residency { bytes: numbers[0], resident: numbers[1], dirty: Some(numbers[2]) };
    Evidence {
        before: numbers[3].is_multiple_of(2).then_some(seen),
        grown: numbers[4].is_multiple_of(2).then_some(numbers[4]),
        dirty: None,
        drops: numbers[1],
        sent: PolicyCount { through: numbers[5], stable: numbers[6], unbuffered: numbers[7] },
        flushes: numbers[8],
        flush_ns: numbers[9],
        close_ns: numbers[0],
    }
}

fn step() -> impl Strategy<Value = StepResult> {
    let instant = 0_u64..253_402_300_800_000;
    (any::<[u32; 4]>(), coordinates(), instant, measure(), vec(check(), 0..3)).prop_map(
        |([index, target, repetition, unmeasured_ms], coordinates, started_unix_ms, measure, checks)| {
            StepResult {
                index,
                target,
                repetition,
                coordinates,
                started_unix_ms,
                unmeasured_ms,
                measure,
                checks: checks.into(),
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_step_comes_back_as_it_went_in(step in step(), seed in number(), started_unix_ms in number()) {
        let file = Scratch::new("property");
        let mut store = Store::open(&file.0).unwrap();
        let header = sharebench_model::RunHeader { seed, started_unix_ms, ..header() };
        let run = store.begin_run(&header).unwrap();
        store.record_step(run, &step).unwrap();
        let stored = store.load(run).unwrap();
        prop_assert_eq!(stored.header, header);
        prop_assert_eq!(stored.steps, vec![step]);
    }
}
