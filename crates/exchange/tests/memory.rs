//! The memory that a workbook of many steps needs.

#![expect(clippy::unwrap_used, reason = "a test may panic, its helper functions too")]
#![cfg(feature = "xlsx")]

#[path = "../../analysis/tests/counting/mod.rs"]
mod counting;

use counting::{live, peak, restart};
use sharebench_exchange::xlsx;
use sharebench_model::{
    Coordinates, Facts, IoBytes, Measure, RunHeader, RunOutcome, StepResult, TargetIdentity, Value, axis,
};
use sharebench_results::{RunId, RunState, StoredRun};

/// Bytes of memory per step: its rate, and its part of the compressed file.
const MAX_STEP_BYTES: usize = 700;

fn run(steps: u32) -> StoredRun {
    let step = |index: u32| StepResult {
        index,
        target: 0,
        repetition: 0,
        coordinates: Coordinates::new()
            .with(axis::TEST, Value::text("read"))
            .with(axis::FILE_SIZE, Value::Bytes(u64::from(1 + index / 64) << 20))
            .with(axis::RECORD_SIZE, Value::Bytes(u64::from(1 + index % 64) << 12)),
        started_unix_ms: 1_780_000_000_000 + u64::from(index) * 500,
        unmeasured_ms: 0,
        measure: Measure {
            window_ns: 100_000_000 + u64::from(index * 7_919 % 5_003),
            busy_ns: 100_000_000 + u64::from(index * 7_919 % 5_003),
            operations: 1000,
            transactions: 1000,
            bytes: IoBytes { read: 1 << 27, written: 0 },
            ..Measure::default()
        },
        checks: Vec::new().into(),
    };
    let header = RunHeader {
        title: "memory".to_owned(),
        started_unix_ms: 0,
        version: "test".to_owned(),
        plan: String::new(),
        seed: 1,
        steps_planned: steps,
        repeat: None,
        environment: Facts::new(),
        targets: vec![TargetIdentity { name: "nas".to_owned(), url: "nfs://nas/e".to_owned() }],
    };
    StoredRun {
        id: RunId(1),
        header,
        state: RunState::Ended(RunOutcome::Complete),
        facts: vec![Facts::new()],
        steps: (0..steps).map(step).collect(),
    }
}

/// Bytes of the workbook, and the peak of allocated bytes meanwhile.
fn written(steps: u32) -> (usize, usize) {
    let run = run(steps);
    restart();
    let before = live();
    let len = xlsx(&run).unwrap().len();
    (len, peak() - before)
}

#[test]
fn the_rows_of_a_workbook_do_not_stay_in_memory() {
    let (_, few) = written(2048);
    let (len, many) = written(8192);
    let per_step = (many - few) / (8192 - 2048);
    println!("{per_step} bytes of memory per step, {} bytes of the file", len / 8192);
    assert!(per_step <= MAX_STEP_BYTES, "{per_step} bytes per step");
}
