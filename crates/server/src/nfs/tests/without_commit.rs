//! The client adapter at a server that does not have COMMIT.

use sharebench_model::{DataOp, ErrorClass, MetaOp, MetaYield, OpenHow, Slot, Stability};
use sharebench_target::{SessionSpec, Target, call, reply_for};

use super::peers::altering_peer;
use super::{run, target_at};

const WRITE: u32 = 7;
const COMMIT: u32 = 21;
const LEN: u32 = 512;
const NFS3ERR_NOTSUPP: u32 = 10_004;
const UNSTABLE: u32 = 0;
const FILE_SYNC: u32 = 2;
/// `PROC_UNAVAIL` (RFC 5531, 9).
const UNAVAILABLE: u32 = 3;

/// A server that answers each WRITE with this `stable_how`, and COMMIT with these words after the verifier of the reply.
fn peer(committed: u32, commit: &'static [u32]) -> u16 {
    altering_peer(move |request, reply| {
        let word = |at: usize| u32::from_be_bytes(request[at..at + 4].try_into().unwrap());
        let result: &[u32] = match (word(12), word(20)) {
            (100_003, COMMIT) => commit,
            // Success, no attributes, and a verifier.
            (100_003, WRITE) => &[0, 0, 0, 0, LEN, committed, 7, 7],
            _ => return,
        };
        // xid, reply, accepted, no verifier.
        let words = [&[word(0), 1, 0, 0, 0], result].concat();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        *reply = [&(0x8000_0000 | bytes.len() as u32).to_be_bytes()[..], &bytes].concat();
    })
}

#[test]
fn writes_that_are_stored_at_once_need_no_commit() {
    let rows: [(u32, &[u32], bool); 4] = [
        (FILE_SYNC, &[0, NFS3ERR_NOTSUPP, 0, 0], true),
        (FILE_SYNC, &[UNAVAILABLE], true),
        (UNSTABLE, &[0, NFS3ERR_NOTSUPP, 0, 0], false),
        (UNSTABLE, &[UNAVAILABLE], false),
    ];
    for (committed, commit, measured) in rows {
        let port = peer(committed, commit);
        run(async {
            let spec = SessionSpec { slots: 1, slot_bytes: LEN, ..SessionSpec::default() };
            let mut session = target_at(port, "/any").connect(&spec).await.unwrap();
            let opened = call(&mut *session, MetaOp::open("f", OpenHow::ReadWrite)).await.unwrap();
            let MetaYield::Opened { file, .. } = opened else { panic!("{opened:?}") };
            session.buffer(Slot(0));
            let write = DataOp::Write { file, offset: 0, len: LEN, stability: Stability::Unstable };
            assert_eq!(reply_for(&mut *session, Slot(0), write).await.result, Ok(LEN));
            let flushed = reply_for(&mut *session, Slot(0), DataOp::Flush { file }).await.result;
            if measured {
                assert_eq!(flushed, Ok(0), "{committed} {commit:?}");
            } else {
                assert_eq!(flushed.unwrap_err().class, ErrorClass::Unsupported, "{committed} {commit:?}");
            }
            session.close().await;
        });
    }
}
