//! Several channels of one SMB session at smbd: binding, use, and the loss of a channel.

use std::future::poll_fn;

use sharebench_doubles::conformance::Suite;
use sharebench_model::{
    DataOp, ErrorClass, Fact, FileRef, MetaOp, MetaYield, OpenHow, Reply, Slot, Stability, TargetFacts,
};
use sharebench_smb::SmbTarget;
use sharebench_target::{Secret, Session, SessionSpec, Target, call};
use sharebench_tests::{Cut, FaultProxy, Smbd, SmbdOptions, needs};

use crate::adapters::{block_on, conform, url};

const RECORD: u32 = 50_000;
const DEPTH: u32 = 8;

fn target(text: &str) -> SmbTarget {
    SmbTarget::from_url(url(text), Secret::new(Smbd::PASSWORD)).unwrap()
}

/// A target at smbd through a proxy that can cut each of its channels.
fn through_proxy(smbd: &Smbd, options: &str) -> (SmbTarget, FaultProxy) {
    let proxy = FaultProxy::start(smbd.port(), Cut::Messages).unwrap();
    let text = format!("smb://{}@127.0.0.1:{}/share?{options}", smbd.user(), proxy.port());
    (target(&text), proxy)
}

async fn open(target: &SmbTarget) -> Box<dyn Session> {
    let spec = SessionSpec { slots: DEPTH, slot_bytes: RECORD, ..SessionSpec::default() };
    target.connect(&spec).await.unwrap()
}

async fn create(session: &mut dyn Session, name: &str) -> FileRef {
    call(session, MetaOp::open(name, OpenHow::CreateNew)).await.unwrap().into_opened().unwrap().0
}

fn byte_of(slot: u32, round: u8) -> u8 {
    slot as u8 * 16 + round
}

fn submit_all(session: &mut dyn Session, file: FileRef, write: Option<u8>) {
    for slot in 0..DEPTH {
        let offset = u64::from(slot * RECORD);
        let op = match write {
            Some(round) => {
                session.buffer(Slot(slot)).fill(byte_of(slot, round));
                DataOp::Write { file, offset, len: RECORD, stability: Stability::Unstable }
            }
            None => DataOp::Read { file, offset, len: RECORD },
        };
        session.submit(Slot(slot), op);
    }
}

async fn replies(session: &mut dyn Session) -> Vec<Reply> {
    let mut replies = Vec::new();
    while replies.len() < DEPTH as usize {
        poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
    }
    replies
}

/// Sends what is submitted, cuts the channel of this index while nothing is answered, and waits for the replies.
async fn replies_after_loss(session: &mut dyn Session, proxy: &FaultProxy, index: usize) -> Vec<Reply> {
    let mut received = Vec::new();
    let answered = poll_fn(|cx| std::task::Poll::Ready(session.poll_replies(cx, &mut received))).await;
    assert!(answered.is_pending(), "the proxy holds everything back");
    proxy.reset_one(index);
    proxy.heal();
    replies(session).await
}

fn channels_of(facts: &TargetFacts) -> (&str, &str) {
    (&facts[Fact::ConnectionsRequested], &facts[Fact::Connections])
}

#[test]
fn several_channels_conform_at_smbd_signed_and_encrypted() {
    needs!(Smbd::NEEDS);
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    for (options, conforms) in [
        ("channels=4&sign=off", false),
        ("channels=2&sign=required&dialect=3.0", false),
        ("channels=3&sign=required", true),
        ("channels=4&encrypt=required", true),
    ] {
        let target = target(&smbd.url("", options));
        let facts = block_on(async {
            let session = open(&target).await;
            let facts = session.facts();
            session.close().await;
            facts
        });
        let (requested, granted) = channels_of(&facts);
        assert_eq!(requested, granted, "{options}: {facts:?}");
        assert_eq!(facts.get(Fact::NotGranted), None);
        if conforms {
            let secret = Some(Smbd::PASSWORD.to_owned());
            conform(&target, &Suite { secret, ..Suite::default() });
        }
    }
}

#[test]
fn a_server_without_multichannel_grants_one_channel_and_the_run_reports_it() {
    needs!(Smbd::NEEDS);
    let dialects = Some(("SMB2_02", "SMB2_10"));
    let smbd = Smbd::start(&SmbdOptions { dialects, ..SmbdOptions::default() }).unwrap();
    let target = target(&smbd.url("", "channels=4"));
    let facts = block_on(async { open(&target).await.facts() });
    assert_eq!(channels_of(&facts), ("4", "1"));
    assert!(facts[Fact::NotGranted].contains("announces no multichannel"), "{facts:?}");
}

#[test]
fn the_loss_of_a_channel_costs_no_operation() {
    needs!(Smbd::NEEDS);
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    for options in ["sign=off", "sign=required", "encrypt=required"] {
        let (target, proxy) = through_proxy(&smbd, &format!("channels=4&{options}"));
        block_on(async {
            let mut session = open(&target).await;
            assert_eq!(proxy.accepted(), 4);
            let file = create(&mut *session, "kept").await;
            // Two of the eight requests are on each of the four channels.
            for (round, index) in [(1, 3), (2, 0)] {
                proxy.swallow();
                submit_all(&mut *session, file, Some(round));
                let written = replies_after_loss(&mut *session, &proxy, index).await;
                assert!(written.iter().all(|reply| reply.result == Ok(RECORD)), "{options}: {written:?}");
                let repeated = written.iter().filter(|reply| reply.requests >= 2).count();
                assert!(repeated >= 2, "{options}: {written:?}");
            }
            proxy.swallow();
            submit_all(&mut *session, file, None);
            let read = replies_after_loss(&mut *session, &proxy, 0).await;
            for reply in read {
                assert_eq!(reply.result, Ok(RECORD), "{options}");
                let wanted = byte_of(reply.slot.0, 2);
                assert!(session.buffer(reply.slot).iter().all(|byte| *byte == wanted), "{:?}", reply.slot);
            }
            assert_eq!(target.final_facts()[Fact::ConnectionsLost], "3");
            let stored = std::fs::read(smbd.share().join("kept")).unwrap();
            assert!((0..DEPTH).all(|slot| stored[(slot * RECORD) as usize] == byte_of(slot, 2)));
            // The last connection is the session.
            submit_all(&mut *session, file, None);
            proxy.reset();
            let lost = replies(&mut *session).await;
            let class = |reply: &Reply| reply.result.clone().map_err(|error| error.class);
            assert!(lost.iter().any(|reply| class(reply) == Err(ErrorClass::Disconnected)), "{lost:?}");
        });
        std::fs::remove_file(smbd.share().join("kept")).unwrap();
    }
}

#[test]
fn operations_on_names_survive_the_loss_of_their_channel() {
    needs!(Smbd::NEEDS);
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let (target, proxy) = through_proxy(&smbd, "channels=5");
    block_on(async {
        let mut session = open(&target).await;
        let lose = async |session: &mut dyn Session, op: MetaOp| {
            proxy.swallow();
            // The call is polled first, so that its request is on its way when the channel is cut.
            let cut = async {
                proxy.reset_one(0);
                proxy.heal();
            };
            tokio::join!(call(session, op.clone()), cut).0.unwrap_or_else(|error| panic!("{op:?}: {error}"))
        };
        let opened = lose(&mut *session, MetaOp::open("new", OpenHow::CreateNew)).await;
        let MetaYield::Opened { file, .. } = opened else { panic!("{opened:?}") };
        lose(&mut *session, MetaOp::Close { file }).await;
        lose(&mut *session, MetaOp::Rename { from: "new".into(), to: "old".into() }).await;
        let listed = lose(&mut *session, MetaOp::List { path: String::new() }).await;
        let MetaYield::Entries(entries) = listed else { panic!("{listed:?}") };
        assert_eq!(entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["old"]);
        assert_eq!(target.final_facts()[Fact::ConnectionsLost], "4");
        call(&mut *session, MetaOp::Remove { path: "old".into() }).await.unwrap();
        session.close().await;
    });
}
