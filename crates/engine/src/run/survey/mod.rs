//! An inventory of a share: sizes, types and depths of its files. Names are looked at, and never kept.

mod inventory;
mod pending;
mod sample;
mod walk;

use std::time::Duration;

use sharebench_plan::Verify;
use sharebench_target::{SessionSpec, Target};

use crate::data::context::PassContext;
use crate::run::first_connection::connect_first;
use crate::run::start_error::StartError;
use crate::run::survey::walk::{Walk, Walker};
use crate::time::clock::Clock;
use crate::time::deadline::Deadline;
use crate::time::stop::StopSignal;

pub use crate::run::survey::inventory::{Refusal, Survey, SurveyedType};

/// Surveys a target, of which it describes up to `max_files` files. It changes nothing there. Its memory depends on
/// `max_files` and on the number of directories that wait to be listed, but not on the size of the share.
pub fn survey(target: &dyn Target, max_files: u64, timeout: Duration) -> Result<Survey, StartError> {
    let clock = Clock::start();
    let stop = StopSignal::default();
    let found = clock.block_on(async {
        let spec = SessionSpec { slots: 1, slot_bytes: 4096, connect_timeout: timeout, allow_split: false };
        let context = || PassContext::new(&clock, &stop, Verify::Off, Deadline::new(&clock, timeout));
        let session = connect_first(target, &spec).await?;
        let walk = Walk::new(target, &spec, &context, max_files);
        let walked = walk.run(Walker { session, context: context() }).await;
        walked.map_err(|error| StartError::Survey { target: target.url(), error })
    });
    found.unwrap_or_else(|error| Err(StartError::Runtime(error.to_string())))
}

#[cfg(test)]
mod tests {
    use sharebench_doubles::{FaultyTarget, MemoryTarget};
    use sharebench_model::{ErrorClass, MetaOp, OpenHow};
    use sharebench_target::Session;

    use super::*;

    #[test]
    fn a_survey_of_a_large_directory_describes_a_sample_of_it() {
        let target = MemoryTarget::new();
        let clock = Clock::start();
        clock
            .block_on(async {
                let mut session = target.connect(&SessionSpec::default()).await.unwrap();
                session.call(MetaOp::MakeDir { path: "sub".into() }).await.result.unwrap();
                for index in 0..1000 {
                    let open = MetaOp::open(format!("sub/{index}.txt"), OpenHow::CreateNew);
                    let (file, _) = session.call(open).await.result.unwrap().into_opened().unwrap();
                    let size = if index == 0 { u64::MAX } else { index % 2 };
                    session.call(MetaOp::SetSize { file, size }).await.result.unwrap();
                }
            })
            .unwrap();
        let all = survey(&target, 1000, Duration::from_secs(60)).unwrap();
        assert_eq!((all.seen, all.described(), all.directories, all.entries), (1000, 1000, 2, 1001));
        assert_eq!((all.files(), all.empty), (501, 499));
        let part = survey(&target, 300, Duration::from_secs(60)).unwrap();
        assert_eq!((part.seen, part.described()), (1000, 300));
        assert!((100..200).contains(&part.empty), "{}", part.empty);
        assert_eq!(part, survey(&target, 300, Duration::from_secs(60)).unwrap());
    }

    /// Directories with a file of 1, 2, 3, ... bytes each, and a level below each second one.
    async fn make_directories(session: &mut dyn Session, number: u64) {
        for index in 0..number {
            let path = if index % 2 == 0 { format!("{index}") } else { format!("{}/sub", index - 1) };
            session.call(MetaOp::MakeDir { path: path.clone() }).await.result.unwrap();
            let open = MetaOp::open(format!("{path}/{index}.txt"), OpenHow::CreateNew);
            let (file, _) = session.call(open).await.result.unwrap().into_opened().unwrap();
            session.call(MetaOp::SetSize { file, size: index + 1 }).await.result.unwrap();
        }
    }

    fn target_with_directories(number: u64) -> MemoryTarget {
        let target = MemoryTarget::new();
        let made = Clock::start().block_on(async {
            let mut session = target.connect(&SessionSpec::default()).await.unwrap();
            make_directories(session.as_mut(), number).await;
        });
        made.unwrap();
        target
    }

    #[test]
    fn several_sessions_list_each_directory_once() {
        let target = target_with_directories(100);
        let found = survey(&target, 1000, Duration::from_secs(60)).unwrap();
        assert_eq!((found.directories, found.entries, found.seen), (101, 200, 100));
        assert_eq!(found.depths, [(1, 50), (2, 50)].into());
        let bytes: u64 = found.types.values().map(|found| found.bytes).sum();
        assert_eq!(bytes, (1..=100).sum::<u64>());
    }

    #[test]
    fn a_survey_continues_after_a_directory_that_cannot_be_listed() {
        // The first two operations of each session list directories: the top one and another one, or two others.
        let target = FaultyTarget::new(target_with_directories(100)).meta(1, ErrorClass::Refused);
        let found = survey(&target, 1000, Duration::from_secs(60)).unwrap();
        assert!((1..=4).contains(&found.refused), "{}", found.refused);
        assert_eq!(found.refusals.len() as u64, found.refused);
        assert!(found.directories >= 101 - 2 * found.refused, "{}", found.directories);
    }

    #[test]
    fn a_lost_connection_ends_a_survey() {
        for operations in [1, 2, 10] {
            let target = FaultyTarget::new(target_with_directories(100)).disconnect_after(operations);
            let error = survey(&target, 1000, Duration::from_secs(60)).unwrap_err();
            let StartError::Survey { error, .. } = error else { panic!("{error}") };
            assert_eq!(error.class, ErrorClass::Disconnected, "after {operations} operations");
        }
    }
}
