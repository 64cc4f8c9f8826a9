//! Oplocks over SMB1: granted, broken by clients of both protocols, and acknowledged without a reply.

use sharebench_model::{ErrorClass, Fact, MetaOp, MetaYield, OpenHow, SessionOp};
use sharebench_smb::SmbTarget;
use sharebench_smb::nt1::file::{
    KEEP_LEVEL_II, OPLOCK_RELEASE, REQUEST_BATCH_OPLOCK, REQUEST_OPLOCK, UNSOLICITED,
};
use sharebench_target::{Secret, SessionSpec, Target, TargetUrl, call};

use super::*;

/// `OpLockLevel` of a response.
const NONE: u8 = 0;
const EXCLUSIVE: u8 = 1;
const BATCH: u8 = 2;
const LEVEL_II: u8 = 3;
const WANTS_BATCH: u32 = REQUEST_OPLOCK | REQUEST_BATCH_OPLOCK;

fn open_message(raw: &mut Raw, flags: u32) -> Vec<u8> {
    let words = CreateRequest { flags, ..create_words(disposition::OPEN_IF, SHARE_ALL) };
    raw.message(command::NT_CREATE_ANDX, &words, |out| put_text("file", 0, out))
}

/// Opens the file, and returns its number and the level that was granted.
fn open(raw: &mut Raw, flags: u32) -> (u16, u8) {
    let message = open_message(raw, flags);
    raw.send(&message);
    opened(raw)
}

fn opened(raw: &mut Raw) -> (u16, u8) {
    let reply = raw.receive().unwrap();
    assert_eq!((reply.header.command, reply.status()), (command::NT_CREATE_ANDX, NtStatus::SUCCESS));
    let words: CreateResponse = reply.words();
    (words.fid, words.oplock)
}

/// The next message, which breaks the oplock of a file; returns the level that the client may keep.
fn broken(raw: &mut Raw, fid: u16) -> u8 {
    let message = raw.receive().unwrap();
    let header = message.header;
    assert_eq!((header.command, header.flags, header.mid), (command::LOCKING_ANDX, 0, UNSOLICITED));
    assert_eq!(header.tid, raw.tid);
    let words: LockRequest = message.words();
    assert_eq!((words.fid, words.kind, words.locks, words.unlocks), (fid, OPLOCK_RELEASE, 0, 0));
    words.oplock
}

fn acknowledge(raw: &mut Raw, fid: u16, oplock: u8) {
    let words = LockRequest { andx: NO_ANDX, fid, kind: OPLOCK_RELEASE, oplock, ..LockRequest::default() };
    let message = raw.message(command::LOCKING_ANDX, &words, |_| {});
    raw.send(&message);
}

#[test]
fn an_open_waits_for_the_acknowledgment_of_a_break_which_has_no_reply() {
    on_both(|server| {
        let mut holder = Raw::log_in(server.addr());
        let mut other = Raw::log_in(server.addr());
        let (fid, level) = open(&mut holder, REQUEST_OPLOCK);
        assert_eq!(level, EXCLUSIVE);
        assert_eq!(holder.close(fid), NtStatus::SUCCESS);
        let (fid, level) = open(&mut holder, WANTS_BATCH);
        assert_eq!(level, BATCH);
        let waiting = open_message(&mut other, WANTS_BATCH);
        other.send(&waiting);
        assert_eq!(broken(&mut holder, fid), KEEP_LEVEL_II);
        acknowledge(&mut holder, fid, KEEP_LEVEL_II);
        let (theirs, level) = opened(&mut other);
        assert_eq!(level, LEVEL_II);
        // A write ends what others cache of their reads, and is not acknowledged.
        assert_eq!(other.write(theirs, 0, b"changed"), NtStatus::SUCCESS);
        assert_eq!(broken(&mut holder, fid), 0);
        // These change nothing and have no reply: there is no break, and no such file.
        acknowledge(&mut holder, fid, 0);
        acknowledge(&mut holder, fid + 100, 0);
        assert_eq!(holder.read(fid, 0, 7), Ok(b"changed".to_vec()));
        assert_eq!(open(&mut holder, 0).1, NONE);
    });
}

#[test]
fn a_close_ends_the_wait_as_an_acknowledgment_does_and_so_does_the_end_of_the_connection() {
    on_both(|server| {
        let mut other = Raw::log_in(server.addr());
        for closes in [true, false] {
            let mut holder = Raw::log_in(server.addr());
            let (fid, level) = open(&mut holder, WANTS_BATCH);
            assert_eq!(level, BATCH, "{closes}");
            let waiting = open_message(&mut other, 0);
            other.send(&waiting);
            assert_eq!(broken(&mut holder, fid), KEEP_LEVEL_II);
            if closes {
                assert_eq!(holder.close(fid), NtStatus::SUCCESS);
            }
            drop(holder);
            let (theirs, _) = opened(&mut other);
            assert_eq!(other.close(theirs), NtStatus::SUCCESS);
        }
    });
}

#[test]
fn a_client_without_level_ii_is_neither_granted_it_nor_left_with_it() {
    on_both(|server| {
        let mut holder = Raw::log_in_with(server.addr(), 0);
        let mut other = Raw::log_in_with(server.addr(), 0);
        let (fid, _) = open(&mut holder, WANTS_BATCH);
        let waiting = open_message(&mut other, WANTS_BATCH);
        other.send(&waiting);
        assert_eq!(broken(&mut holder, fid), 0);
        acknowledge(&mut holder, fid, 0);
        assert_eq!(opened(&mut other).1, NONE);
    });
}

#[test]
fn clients_of_smb1_and_smb2_break_the_caches_of_each_other() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        let (fid, level) = open(&mut raw, WANTS_BATCH);
        assert_eq!(level, BATCH);
        let url = TargetUrl::parse(&format!("smb://{}/share", server.addr())).unwrap();
        let target = SmbTarget::from_url(url, Secret::default()).unwrap();
        let addr = server.addr();
        let changer = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut session = target.connect(&SessionSpec::default()).await.unwrap();
                let opened = call(&mut *session, MetaOp::open("file", OpenHow::Read)).await.unwrap();
                let MetaYield::Opened { file, .. } = opened else { panic!("{opened:?}") };
                call(&mut *session, MetaOp::Close { file }).await.unwrap();
                let leased = SessionOp::OpenLeased { path: "other".into() };
                let missing = call(&mut *session, leased).await.unwrap_err();
                assert_eq!(missing.class, ErrorClass::NotFound);
                call(&mut *session, MetaOp::open("other", OpenHow::CreateNew)).await.unwrap();
                session.close().await;
            });
        });
        assert_eq!(broken(&mut raw, fid), KEEP_LEVEL_II);
        acknowledge(&mut raw, fid, KEEP_LEVEL_II);
        changer.join().unwrap();

        // The client of SMB1 is the one of this project, which awaits the break.
        let url = TargetUrl::parse(&format!("smb://{addr}/share?dialect=nt1")).unwrap();
        let target = SmbTarget::from_url(url, Secret::default()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut session = target.connect(&SessionSpec::default()).await.unwrap();
            let held = call(&mut *session, SessionOp::OpenLeased { path: "other".into() }).await.unwrap();
            let MetaYield::OpenedToCache { file, .. } = held else { panic!("{held:?}") };
            let opener = std::thread::spawn(move || {
                let mut raw = Raw::log_in(addr);
                raw.create("other", (disposition::OPEN, SHARE_ALL)).unwrap();
            });
            call(&mut *session, SessionOp::AwaitRecall { file }).await.unwrap();
            opener.join().unwrap();
            call(&mut *session, SessionOp::GiveBack { file }).await.unwrap();
            assert!(call(&mut *session, SessionOp::AwaitRecall { file }).await.is_err(), "it is broken");
            call(&mut *session, MetaOp::Close { file }).await.unwrap();
            session.close().await;
        });
        let facts = target.final_facts();
        let fact = |fact: Fact| facts[fact].as_str();
        assert_eq!(fact(Fact::OplocksGranted), "batch 1");
        assert_eq!((fact(Fact::OplocksBroken), fact(Fact::OplockBreaksAcknowledged)), ("1", "1"));
    });
}
