//! Every test of a sweep on doubles: what is accessed, counted, verified and reported.
use std::sync::Arc;

use sharebench_doubles::{Fault, FaultyTarget, MemoryTarget};
use sharebench_engine::{Clock, CollectedRun, StartError};
use sharebench_model::{ErrorClass, RunOutcome, StepError, StepResult, Verdict};
use sharebench_plan::{Access, Direction, Plan, Test};
use sharebench_target::{ScriptedReply, ScriptedTarget, Target};

/// Cells of 64 KiB files: 16 records of 4 KiB and 128 of 512 B, so that every test has a stride.
const SIZES: &str = "file_sizes = ['64KiB']\nrecord_sizes = ['512', '4KiB']\nstride = [5]\n";

fn steps_of<'a>(ran: &'a CollectedRun, test: &'a str) -> impl Iterator<Item = &'a StepResult> {
    ran.steps.iter().filter(move |step| step.coordinates.text("test") == Some(test))
}

fn errors(ran: &CollectedRun) -> u64 {
    ran.steps.iter().map(|step| step.measure.error_count()).sum()
}

fn run(sweep: &str, verify: &str, target: impl Target + 'static) -> CollectedRun {
    let text = format!(
        "seed = 7\nrepetitions = 2\nmin_sample_time = '1ms'\ntimeout = '500ms'\nverify = '{verify}'\n[[target]]\nurl = '/a'\n[sweep]\n{sweep}"
    );
    let plan = Plan::parse(&text).unwrap().resolve().unwrap();
    CollectedRun::new(&plan, &[Arc::new(target)], &Clock::start())
}

#[test]
fn every_test_moves_every_byte_as_often_as_it_passes_and_verifies_what_it_reads() {
    for verify in ["stamps", "full", "off"] {
        let target = MemoryTarget::new();
        let ran = run(&format!("{SIZES}tests = ['all']\n"), verify, target.clone());
        assert_eq!(ran.end.as_ref().unwrap().outcome, RunOutcome::Complete, "{:?}", ran.failures);
        assert_eq!(ran.steps.len(), Test::ALL.len() * 2 * 2);
        assert_eq!((errors(&ran), ran.failures.len()), (0, 0), "{:?}", ran.failures);
        for step in &ran.steps {
            let measure = &step.measure;
            let test: Test = step.coordinates.text("test").unwrap().parse().unwrap();
            let record = step.coordinates.number("record_size").unwrap();
            assert_eq!(measure.operations, measure.passes * (65536 / record), "{}", step.coordinates);
            assert_eq!(measure.bytes.total(), measure.passes * 65536, "{}", step.coordinates);
            match test.direction() {
                Direction::Read => assert_eq!(measure.bytes.written, 0),
                Direction::Write => assert_eq!(measure.bytes.read, 0),
                Direction::Mix => assert_eq!(measure.bytes.read, measure.bytes.written),
            }
            assert_eq!(measure.verified, if verify == "off" { 0 } else { measure.bytes.read });
            assert_eq!(measure.service.len(), measure.operations);
            assert!(measure.busy_ns > 0 && measure.busy_ns <= measure.window_ns);
            // A stream of 64 KiB needs one request for the whole file; everything else one per record.
            let requests = if test.access() == Access::Stream { measure.passes } else { measure.operations };
            assert_eq!(measure.wire.unwrap().requests, requests, "{}", step.coordinates);
            let invalid = step.checks.iter().find(|check| check.verdict == Verdict::Invalid);
            assert_eq!(invalid, None);
        }
        assert_eq!(target.names(), Vec::<String>::new());
    }
}

#[test]
fn a_cell_repeats_its_passes_until_its_sample_is_full() {
    let ran = run(&format!("{SIZES}tests = ['all']\n"), "off", MemoryTarget::new());
    for test in Test::ALL {
        // A millisecond of the memory target holds many passes; on a loaded machine not in every cell.
        let most = steps_of(&ran, test.name()).map(|step| step.measure.passes).max();
        assert!(most > Some(1), "{test}: {most:?}");
    }
}

#[test]
fn streams_cut_and_gather_records_into_requests_of_their_buffer() {
    let sweep = "file_sizes = ['96KiB']\nrecord_sizes = ['1KiB', '12KiB', '48KiB']\ntests = ['streams']\nstream_buffer = '20KiB'\n";
    let ran = run(sweep, "full", MemoryTarget::new());
    assert_eq!((ran.steps.len(), errors(&ran)), (4 * 3 * 2, 0), "{:?}", ran.failures);
    for step in &ran.steps {
        let measure = &step.measure;
        let record = step.coordinates.number("record_size").unwrap();
        // Four whole buffers and the 16 KiB that are left.
        assert_eq!(measure.wire.unwrap().requests, measure.passes * 5, "{}", step.coordinates);
        assert_eq!(measure.operations, measure.passes * (96 * 1024 / record));
        assert_eq!(measure.bytes.total(), measure.passes * 96 * 1024);
        assert_eq!(step.coordinates.number("stream_buffer"), Some(20 << 10));
    }
}

#[test]
fn what_one_test_writes_every_other_test_can_verify() {
    // All tests share the data file of their size; alignments and buffers leave it in many generations.
    let sweep = "file_sizes = ['64KiB']\nrecord_sizes = ['1KiB', '4KiB']\ntests = ['all']\nstride = [3]\nalign = [0, '512', '6KiB']\nread_percent = [20, 80]\nstream_buffer = '4KiB'\ndepths = [1, 7]\n";
    let ran = run(sweep, "full", MemoryTarget::new());
    assert_eq!(
        (ran.end.clone().unwrap().outcome, errors(&ran)),
        (RunOutcome::Complete, 0),
        "{:?}",
        ran.failures
    );
    for step in &ran.steps {
        assert_eq!(step.measure.verified, step.measure.bytes.read, "{}", step.coordinates);
    }
}

#[test]
fn every_test_that_reads_catches_stale_zero_and_shifted_data() {
    for test in Test::ALL.into_iter().filter(|test| test.direction() != Direction::Write) {
        for fault in [Fault::Stale, Fault::Zero, Fault::Shift(512)] {
            let faulty = FaultyTarget::new(MemoryTarget::new());
            let target = (3..20_000).step_by(3).fold(faulty, |target, nth| target.data(nth, fault));
            // Requests of two records each, so that a stream sends enough requests too.
            let ran = run(
                &format!("{SIZES}tests = ['{test}']\n").replace("stride = [5]\n", stride(test)),
                "stamps",
                target,
            );
            let caught: u64 =
                ran.steps.iter().filter_map(|step| step.measure.errors.get(&ErrorClass::DataMismatch)).sum();
            assert!(caught > 0, "{test} {fault:?}: {:?} {:?}", ran.end, ran.failures);
            assert!(ran.failures.iter().any(|failure| failure.contains("at offset")), "{:?}", ran.failures);
            let spoilt = ran.steps.iter().filter(|step| !step.measure.errors.is_empty());
            assert!(spoilt.into_iter().all(|step| step.verdict() == Verdict::Invalid));
        }
    }
}

/// Axes that only their own tests may have.
fn stride(test: Test) -> &'static str {
    match (test, test.access()) {
        (Test::StrideRead, _) => "stride = [5]\n",
        (_, Access::Stream) => "stream_buffer = '1KiB'\n",
        _ => "",
    }
}

#[test]
fn every_test_that_writes_has_its_lost_writes_caught_by_the_next_read() {
    for test in
        Test::ALL.into_iter().filter(|test| test.writes() && test.start() != sharebench_plan::Start::Fresh)
    {
        let faulty = FaultyTarget::new(MemoryTarget::new());
        let target = (2..200_000).step_by(7).fold(faulty, |target, nth| target.data(nth, Fault::LoseWrite));
        let sweep = format!("{SIZES}tests = ['{test}', 'read']\n").replace("stride = [5]\n", stride(test));
        let ran = run(&sweep, "stamps", target);
        assert!(errors(&ran) > 0, "{test}: {:?} {:?}", ran.end, ran.failures);
    }
}

#[test]
fn a_file_is_made_anew_for_other_records_and_read_before() {
    let sweep =
        format!("{SIZES}tests = ['rewrite']\nserver_cache = ['as-is']\n").replace("stride = [5]\n", "");
    let lossy = || {
        let faulty = FaultyTarget::new(MemoryTarget::new());
        (2..200_000).step_by(7).fold(faulty, |target, nth| target.data(nth, Fault::LoseWrite))
    };
    let ran = run(&sweep, "stamps", lossy());
    assert!(errors(&ran) > 0, "nothing but the change of records reads: {:?} {:?}", ran.end, ran.failures);
    assert_eq!(errors(&run(&sweep, "off", lossy())), 0);
    let reported: Vec<&str> =
        ran.steps.iter().filter_map(|step| step.coordinates.text("record_size")).collect();
    assert!(reported.is_empty() || reported.len() == 4, "{reported:?}");
}

#[test]
fn failed_requests_of_a_stream_are_counted_and_spoil_only_their_records() {
    // Without a read before the first pass, whose failures count and spoil none of its bytes.
    let sweep = "file_sizes = ['64KiB']\nrecord_sizes = ['1KiB']\ntests = ['fread', 'frewrite']\nstream_buffer = '4KiB'\n\
                 server_cache = ['as-is']\n";
    let faulty = FaultyTarget::new(MemoryTarget::new());
    // The file is filled by 64 requests and a flush; afterwards every eleventh fails.
    let target = (70..5000).step_by(11).fold(faulty, |t, nth| t.data(nth, Fault::Fail(ErrorClass::Io)));
    let ran = run(sweep, "full", target);
    assert_eq!(ran.end.as_ref().unwrap().outcome, RunOutcome::Complete);
    for test in ["fread", "frewrite"] {
        let failed: u64 = steps_of(&ran, test).map(|step| step.measure.error_count()).sum();
        let moved: u64 = steps_of(&ran, test).map(|step| step.measure.bytes.total()).sum();
        let passes: u64 = steps_of(&ran, test).map(|step| step.measure.passes).sum();
        assert!(failed > 0, "{test}");
        assert_eq!(moved, passes * 65536 - failed * 4096, "{test}");
    }
    let only_io = ran.steps.iter().flat_map(|step| step.measure.errors.keys());
    assert!(only_io.into_iter().all(|class| *class == ErrorClass::Io), "{:?}", ran.failures);
}

#[test]
fn a_short_read_is_a_data_error_in_every_test() {
    for test in ["read", "backward-read", "stride-read", "random-mix", "fread"] {
        let sweep =
            format!("{SIZES}tests = ['{test}']\n").replace("stride = [5]\n", stride(test.parse().unwrap()));
        let sweep = sweep.replace("'512', ", "");
        // The file is filled by 16 writes, or 64 of a stream's buffer, and a flush.
        let mut script = vec![ScriptedReply::all(); 65];
        script.push(ScriptedReply::short(100));
        let target = ScriptedTarget::new(script);
        let ran = run(&sweep, "off", target);
        assert!(
            steps_of(&ran, test).any(|step| step.measure.errors.contains_key(&ErrorClass::DataMismatch)),
            "{test}: {:?}",
            ran.failures
        );
    }
}

#[test]
fn a_mapping_is_refused_where_there_is_none_and_nothing_is_made() {
    let ran = run(
        &format!("{SIZES}tests = ['read', 'mmap-read']\n").replace("stride = [5]\n", ""),
        "off",
        ScriptedTarget::new([]),
    );
    let Err(StartError::Beyond { problem, .. }) = &ran.end else { panic!("{:?}", ran.end) };
    assert!(problem.contains("mmap-read") && problem.contains("scripted"), "{problem}");
}

/// Every request test and mapping that two jobs can share.
const SHAREABLE: &str = "tests = ['requests', 'mmap']\nstride = [3]\njobs = [1, 3]\n";

#[test]
fn concurrent_jobs_transfer_all_bytes_and_report_their_shares() {
    for (sweep, tests) in [
        (format!("{SIZES}tests = ['all']\njobs = [1, 3]\ndepths = [1, 2]\n"), 10 * 2 + 10),
        (
            format!(
                "file_sizes = ['64KiB']\nrecord_sizes = ['512', '4KiB']\n{SHAREABLE}shared_file = true\n"
            ),
            16,
        ),
    ] {
        let target = MemoryTarget::new();
        let ran = run(&sweep, "full", target.clone());
        assert_eq!(ran.end.clone().unwrap().outcome, RunOutcome::Complete, "{:?}", ran.failures);
        assert_eq!((ran.steps.len(), errors(&ran)), (tests * 2 * 2 * 2, 0), "{:?}", ran.failures);
        let shared = sweep.contains("shared_file");
        for step in &ran.steps {
            let measure = &step.measure;
            let jobs = step.coordinates.number("jobs").unwrap();
            assert_eq!(u64::from(measure.users_assigned), jobs);
            assert_eq!((measure.users_reported, measure.shares.len() as u64), (measure.users_assigned, jobs));
            let sum = |of: fn(&sharebench_model::JobShare) -> u64| measure.shares.iter().map(of).sum::<u64>();
            assert_eq!(sum(|share| share.bytes), measure.bytes.total());
            assert_eq!(sum(|share| share.operations), measure.operations);
            assert_eq!(sum(|share| share.passes), measure.passes);
            let rounds = measure.shares[0].passes;
            assert!(
                rounds > 0 && measure.shares.iter().all(|share| share.passes == rounds),
                "{}",
                step.coordinates
            );
            let files = if shared { 1 } else { jobs };
            assert_eq!(measure.bytes.total(), rounds * files * 65536, "{}", step.coordinates);
            assert_eq!(measure.verified, measure.bytes.read, "{}", step.coordinates);
            assert!(measure.shares.iter().all(|share| share.worked_ns <= measure.window_ns));
            assert_eq!(measure.base_ns(), measure.window_ns);
            assert_eq!(step.checks.iter().find(|check| check.verdict == Verdict::Invalid), None);
            assert!(step.checks.iter().any(|check| check.name == "jobs"));
        }
        assert_eq!(target.names(), Vec::<String>::new());
    }
}

#[test]
fn jobs_detect_wrong_data_and_a_lost_job_ends_the_run() {
    let sweep =
        "file_sizes = ['64KiB']\nrecord_sizes = ['4KiB']\ntests = ['read', 'random-mix']\njobs = [3]\n";
    let faulty =
        (2..5000).step_by(5).fold(FaultyTarget::new(MemoryTarget::new()), |t, nth| t.data(nth, Fault::Zero));
    let ran = run(sweep, "stamps", faulty);
    assert!(
        errors(&ran) > 0 && ran.failures.iter().any(|failure| failure.contains("zeros")),
        "{:?}",
        ran.failures
    );

    let target = MemoryTarget::new();
    let ran = run(sweep, "stamps", FaultyTarget::new(target.clone()).disconnect_after(30));
    let outcome = ran.end.unwrap().outcome;
    assert!(
        matches!(&outcome, RunOutcome::Incomplete(StepError::TargetLost { reason: why, .. }) if why.contains("disconnected")),
        "{outcome:?}"
    );
}
