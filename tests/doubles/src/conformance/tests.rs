//! The suite passes a correct target and names what is wrong with every broken one.

use std::time::Duration;

use super::*;
use crate::faulty::{Fault, FaultyTarget};
use crate::memory::MemoryTarget;
use sharebench_model::ErrorClass;
use sharebench_target::NullTarget;

async fn findings(target: &dyn Target) -> String {
    let suite = Suite { deadline: Duration::from_secs(2), ..Suite::default() };
    suite.run(target).await.expect_err("a broken target passed").to_string()
}

#[tokio::test]
async fn a_correct_target_passes_and_is_left_empty() {
    let target = MemoryTarget::new();
    let suite = Suite { secret: Some("hunter2".into()), ..Suite::default() };
    let summary = suite.run(&target).await.unwrap_or_else(|failures| panic!("{failures}"));
    assert_eq!(summary.passed, Suite::step_names().collect::<Vec<_>>());
    assert!(summary.notes.is_empty(), "{:?}", summary.notes);
    assert!(summary.counted.payload_sent > 3 << 20 && summary.counted.requests > 1000);
    assert_eq!(target.names(), Vec::<String>::new());
}

#[tokio::test]
async fn a_correct_target_passes_with_aligned_records_only() {
    let suite = Suite { alignment: 4096, max_record: 64 << 10, ..Suite::default() };
    suite.run(&MemoryTarget::new()).await.unwrap_or_else(|failures| panic!("{failures}"));
}

#[tokio::test]
async fn a_target_that_moves_no_bytes_fails_every_step_with_content() {
    let found = findings(&NullTarget).await;
    for step in ["facts", "record sizes", "end of file", "overwrite", "set size", "two sessions"] {
        assert!(found.contains(&format!("\n  {step}: ")), "{step} is not among {found}");
    }
}

#[tokio::test]
async fn stale_zero_shifted_and_lost_content_is_caught() {
    for fault in [Fault::Stale, Fault::Zero, Fault::Shift(1), Fault::LoseWrite] {
        let faulty =
            (0..200).fold(FaultyTarget::new(MemoryTarget::new()), |target, nth| target.data(nth, fault));
        let found = findings(&faulty).await;
        for step in ["record sizes", "overwrite", "queue depth", "two sessions"] {
            assert!(found.contains(&format!("\n  {step}: ")), "{fault:?}: {step} is not among {found}");
        }
    }
}

#[tokio::test]
async fn a_missing_reply_is_a_finding_and_the_other_steps_still_run() {
    let found = findings(&FaultyTarget::new(MemoryTarget::new()).data(40, Fault::Never)).await;
    assert!(found.contains("no end within") && !found.contains("rename"), "{found}");
}

#[tokio::test]
async fn an_error_is_reported_with_its_operation() {
    let found =
        findings(&FaultyTarget::new(MemoryTarget::new()).data(3, Fault::Fail(ErrorClass::Stale))).await;
    assert!(found.contains("overwrite: Write {") && found.contains("stale handle"), "{found}");
}

#[tokio::test]
async fn a_lost_connection_is_a_finding() {
    let found = findings(&FaultyTarget::new(MemoryTarget::new()).disconnect_after(30)).await;
    assert!(found.contains("list: ") && found.contains("disconnected"), "{found}");
}
