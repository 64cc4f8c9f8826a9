//! SMB1 and SMB2 see each other's share modes, locks and pending removals; locks of SMB1 belong to processes.

use sharebench_model::{ErrorClass, MetaOp, MetaYield, OpenHow};
use sharebench_smb::SmbTarget;
use sharebench_smb::nt1::path::{SearchAttributes, put_name};
use sharebench_smb::wire::create::options;
use sharebench_target::{Secret, SessionSpec, Target, TargetUrl, call};

use super::*;

/// The `NT_CANCEL` of a message.
fn cancellation(message: &[u8]) -> Vec<u8> {
    let mut cancel = message[..32].to_vec();
    cancel[4] = command::NT_CANCEL;
    cancel.extend_from_slice(&[0; 3]);
    cancel
}

#[test]
fn locks_belong_to_a_process_and_a_file_and_may_wait_until_they_are_cancelled_or_late() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        let fid = raw.create("file", (disposition::CREATE, SHARE_ALL)).unwrap();
        let other = raw.create("file", (disposition::OPEN, SHARE_ALL)).unwrap();
        assert_eq!(raw.lock(fid, 7, (0, 10), 0), NtStatus::SUCCESS);
        assert_eq!(raw.lock(fid, 8, (5, 1), 0), NtStatus::LOCK_NOT_GRANTED, "another process");
        assert_eq!(raw.lock(other, 7, (5, 1), 0), NtStatus::LOCK_NOT_GRANTED, "another open");
        assert_eq!(raw.lock(other, 7, (5, 1), 0), NtStatus::FILE_LOCK_CONFLICT, "at the same place again");
        assert_eq!(raw.write(other, 0, b"x"), NtStatus::FILE_LOCK_CONFLICT);
        assert_eq!(raw.write(fid, 0, b"x"), NtStatus::SUCCESS);
        assert_eq!(raw.lock(other, 7, (5, 1), 50), NtStatus::FILE_LOCK_CONFLICT, "after its time");
        // One that waits for ever is cancelled by a message with the same ids.
        let waiting = raw.lock_message(other, 7, (5, 1), u32::MAX);
        raw.send(&waiting);
        raw.send(&cancellation(&waiting));
        assert_eq!(raw.receive().unwrap().status(), NtStatus::CANCELLED);
        // Or granted once the range is free.
        let waiting = raw.lock_message(other, 7, (5, 1), u32::MAX);
        raw.send(&waiting);
        let close = raw.message(command::CLOSE, &CloseRequest { fid, last_write: 0 }, |_| {});
        raw.send(&close);
        let statuses = [raw.receive().unwrap(), raw.receive().unwrap()].map(|reply| reply.status());
        assert_eq!(statuses, [NtStatus::SUCCESS; 2]);
        let third = raw.create("file", (disposition::OPEN, SHARE_ALL)).unwrap();
        assert_eq!(raw.lock(third, 7, (5, 1), 0), NtStatus::LOCK_NOT_GRANTED, "it is locked");
    });
}

#[test]
fn a_cancellation_is_not_lost_if_a_worker_answers_it_before_its_lock() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        let fid = raw.create("file", (disposition::CREATE, SHARE_ALL)).unwrap();
        assert_eq!(raw.lock(fid, 7, (0, 10), 0), NtStatus::SUCCESS);
        for round in 0..500 {
            let waiting = raw.lock_message(fid, 8, (5, 1), u32::MAX);
            raw.send(&waiting);
            raw.send(&cancellation(&waiting));
            assert_eq!(raw.receive().unwrap().status(), NtStatus::CANCELLED, "round {round}");
        }
    });
}

#[test]
fn share_modes_and_removals_apply_between_both_protocols() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        let url = TargetUrl::parse(&format!("smb://{}/share", server.addr())).unwrap();
        let target = SmbTarget::from_url(url, Secret::default()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let fid = raw.create("file", (disposition::CREATE, 0)).unwrap();
        runtime.block_on(async {
            let mut session = target.connect(&SessionSpec::default()).await.unwrap();
            let error = call(&mut *session, MetaOp::open("file", OpenHow::Read)).await.unwrap_err();
            assert_eq!(error.class, ErrorClass::Busy, "{error}");
            assert_eq!(raw.close(fid), NtStatus::SUCCESS);
            let opened = call(&mut *session, MetaOp::open("file", OpenHow::Read)).await.unwrap();
            let MetaYield::Opened { file, .. } = opened else { panic!("{opened:?}") };
            let words = SearchAttributes { attributes: 6 };
            let deleted = raw.call(command::DELETE, &words, |out| put_name("\\file", 0, out));
            assert_eq!(deleted.status(), NtStatus::SHARING_VIOLATION, "somebody has it open");
            let words = CreateRequest {
                options: options::DELETE_ON_CLOSE,
                ..create_words(disposition::OPEN, SHARE_ALL)
            };
            let opened = raw.call(command::NT_CREATE_ANDX, &words, |out| put_text("file", 0, out));
            assert_eq!(raw.close(opened.words::<CreateResponse>().fid), NtStatus::SUCCESS);
            // It is removed with the last close.
            assert_eq!(raw.create("file", (disposition::OPEN, SHARE_ALL)), Err(NtStatus::DELETE_PENDING));
            call(&mut *session, MetaOp::Close { file }).await.unwrap();
            session.close().await;
        });
        assert_eq!(raw.create("file", (disposition::OPEN, SHARE_ALL)), Err(NtStatus::OBJECT_NAME_NOT_FOUND));
    });
}
