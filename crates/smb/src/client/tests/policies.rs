//! How requests express policies, byte by byte.

use sharebench_model::{CachePolicy, MetaOp, MetaYield, OpenHow, PolicyCount, SyncPolicy};

use super::*;
use crate::wire::create::{CreateRequest, CreateResponse};
use crate::wire::data::ReadRequest;

/// Fields of one open, one read and one write of ten bytes: create options, requested oplock, READ flags, WRITE flags.
fn fields(policy: IoPolicy, dialect: u16) -> ((u32, u8, u8, u32), PolicyCount) {
    run(async {
        let (mut session, _, mut server) = pair(2, 16, 1 << 20).await;
        session.negotiated.dialect = dialect;
        let client = async {
            let open = MetaOp::Open { path: "f".into(), how: OpenHow::ReadWrite, policy };
            let opened = session.perform_call(open.into()).await.result.unwrap();
            let MetaYield::Opened { file, .. } = opened else { panic!("{opened:?}") };
            read(&mut session, 0, file, 10);
            let stability = Stability::Unstable;
            session.submit(Slot(1), DataOp::Write { file, offset: 0, len: 10, stability });
            let replies = replies(&mut session, 2).await;
            assert!(replies.iter().all(|reply| reply.result == Ok(10)), "{replies:?}");
            session.policy_count()
        };
        let server = async {
            let (header, create) = server.request().await;
            // MS-SMB2 2.2.13: the requested oplock is the fourth byte of the body.
            let options = CreateRequest::decode(&create).unwrap().options;
            let oplock = create[64 + 3];
            let file = FileId { persistent: 5, volatile: 6 };
            let opened = CreateResponse { file, ..CreateResponse::default() };
            server.send(&message(&answer(&header, NtStatus::SUCCESS), |out| opened.encode(out))).await;
            let (read_header, request) = server.request().await;
            let read_flags = ReadRequest::decode(&request).unwrap().flags;
            let (write_header, request) = server.request().await;
            let write_flags = WriteRequest::decode(&request).unwrap().flags;
            server.send(&read_reply(&read_header, &content(0, 10))).await;
            let written = WriteResponse { count: 10, ..WriteResponse::default() };
            server.send(&message(&answer(&write_header, NtStatus::SUCCESS), |out| written.encode(out))).await;
            ((options, oplock, read_flags, write_flags), server)
        };
        let (counted, (fields, _server)) = tokio::join!(client, server);
        (fields, counted)
    })
}

#[test]
fn each_policy_is_said_where_the_specification_wants_it() {
    // CreateOptions: NON_DIRECTORY_FILE 0x40, WRITE_THROUGH 0x02, NO_INTERMEDIATE_BUFFERING 0x08.
    let count = |through, unbuffered| PolicyCount { through, stable: 0, unbuffered };
    for (cache, sync, wanted, counted) in [
        (CachePolicy::Normal, SyncPolicy::Normal, (0x40, 0, 0, 0), count(0, 0)),
        (CachePolicy::NoLocal, SyncPolicy::Normal, (0x40, 0, 0, 0), count(0, 0)),
        (CachePolicy::Normal, SyncPolicy::WriteThrough, (0x42, 0, 0, 0), count(1, 0)),
        (CachePolicy::Unbuffered, SyncPolicy::Normal, (0x48, 0, 1, 2), count(0, 2)),
        (CachePolicy::Unbuffered, SyncPolicy::WriteThrough, (0x4A, 0, 1, 3), count(1, 2)),
    ] {
        assert_eq!(fields(IoPolicy { cache, sync }, 0x0311), (wanted, counted), "{cache} {sync}");
    }
}

#[test]
fn dialects_before_3_0_2_say_unbuffered_in_the_open_only() {
    let both = IoPolicy { cache: CachePolicy::Unbuffered, sync: SyncPolicy::WriteThrough };
    assert_eq!(fields(both, 0x0300).0, (0x4A, 0, 0, 1));
    assert_eq!(fields(both, 0x0202).0, (0x4A, 0, 0, 0));
}
