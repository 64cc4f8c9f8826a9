//! What the tests of the adapters share: a runtime, the conformance suite, and a little work to count.

use std::future::Future;
use std::time::Duration;

use sharebench_doubles::conformance::{Suite, Summary};
use sharebench_model::{DataOp, MetaOp, MetaYield, OpenHow, Slot, Stability, WireCount};
use sharebench_target::{SessionSpec, Target, TargetUrl, call, reply_for};

/// Runs a future as a user would: on a runtime that never leaves its thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub fn url(text: &str) -> TargetUrl {
    TargetUrl::parse(text).unwrap()
}

/// The conformance suite; every finding is in the panic's message.
pub fn conform(target: &dyn Target, suite: &Suite) -> Summary {
    let summary = block_on(suite.run(target)).unwrap_or_else(|failures| panic!("{failures}"));
    println!("{}: {summary:?}", target.url());
    summary
}

/// How many of each request [`work`] makes, for comparison with what was seen on the wire.
pub const READS: u64 = 40;
pub const WRITES: u64 = 25;
pub const FLUSHES: u64 = 2;

/// Bytes of each READ and WRITE of [`work`].
pub const RECORD: u32 = 3000;

/// Opens a session, writes and reads a file with records of 3000 bytes, and gives the session's own count
/// of its whole life but the closing.
pub fn work(target: &dyn Target) -> WireCount {
    work_until_close(target, || ()).0
}

/// Does what [`work`] does, and `observe` before it closes the session. One more read is that of a whole file, where the
/// session has a request for it.
pub fn work_until_close<T>(target: &dyn Target, observe: impl FnOnce() -> T) -> (WireCount, T) {
    block_on(async {
        let spec = SessionSpec {
            slots: 4,
            slot_bytes: RECORD,
            connect_timeout: Duration::from_secs(10),
            allow_split: false,
        };
        let mut session = target.connect(&spec).await.unwrap();
        let open = MetaOp::open("counted", OpenHow::CreateNew);
        let MetaYield::Opened { file, .. } = call(&mut *session, open).await.unwrap() else {
            panic!("an open yields a file")
        };
        let offset = |number: u64| number * u64::from(RECORD);
        for number in 0..WRITES {
            session.buffer(Slot(0)).fill(number as u8);
            let stability = Stability::Unstable;
            let write = DataOp::Write { file, offset: offset(number), len: RECORD, stability };
            assert_eq!(reply_for(&mut *session, Slot(0), write).await.result, Ok(RECORD));
        }
        for _ in 0..FLUSHES {
            assert!(reply_for(&mut *session, Slot(0), DataOp::Flush { file }).await.result.is_ok());
        }
        for number in 0..READS {
            let slot = Slot((number % 4) as u32);
            let read = DataOp::Read { file, offset: offset(number % WRITES), len: RECORD };
            assert_eq!(reply_for(&mut *session, slot, read).await.result, Ok(RECORD));
            assert!(session.buffer(slot).iter().all(|byte| u64::from(*byte) == number % WRITES));
        }
        call(&mut *session, MetaOp::Close { file }).await.unwrap();
        if session.reads_whole_files() {
            assert_eq!(session.read_file("counted", RECORD).await.result, Ok(RECORD));
            assert!(session.buffer(Slot(0))[..RECORD as usize].iter().all(|byte| *byte == 0));
        }
        call(&mut *session, MetaOp::Remove { path: "counted".into() }).await.unwrap();
        let wire = session.wire();
        let observed = observe();
        session.close().await;
        (wire, observed)
    })
}
