//! Leases and durable handles at smbd: granted, broken and acknowledged.

use std::future::poll_fn;
use std::task::Poll;

use sharebench_doubles::conformance::Suite;
use sharebench_model::{Fact, MetaOp, MetaYield, OpenHow};
use sharebench_smb::SmbTarget;
use sharebench_target::{Secret, Session, SessionSpec, Target, call};
use sharebench_tests::{Smbd, SmbdOptions, needs};

use crate::adapters::{block_on, conform, url};

fn target(text: &str) -> SmbTarget {
    SmbTarget::from_url(url(text), Secret::new(Smbd::PASSWORD)).unwrap()
}

async fn open(session: &mut dyn Session, how: OpenHow) {
    let opened = call(session, MetaOp::open("leased", how)).await.unwrap();
    assert!(matches!(opened, MetaYield::Opened { .. }), "{opened:?}");
}

#[test]
fn a_session_with_leases_conforms_and_counts_what_smbd_grants() {
    needs!(Smbd::NEEDS);
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let secret = Some(Smbd::PASSWORD.to_owned());
    let target = target(&smbd.url("", "lease=rh&durable=on"));
    conform(&target, &Suite { secret, ..Suite::default() });
    let facts = target.final_facts();
    assert!(facts[Fact::LeasesGranted].contains("RH "), "{facts:?}");
    let (granted, requested) = facts[Fact::DurableHandlesGranted].split_once(" of ").unwrap();
    let number = |text: &str| text.parse::<u32>().unwrap();
    assert!(number(granted) > 0 && number(granted) <= number(requested), "{facts:?}");
}

#[test]
fn each_choice_is_granted_as_requested_and_none_requests_nothing() {
    needs!(Smbd::NEEDS);
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    for (options, granted) in [
        ("lease=r", "R 1"),
        ("lease=rh", "RH 1"),
        ("lease=rwh", "RWH 1"),
        ("lease=rwh&dialect=2.1", "RWH 1"),
        ("lease=rwh&encrypt=required", "RWH 1"),
    ] {
        let target = target(&smbd.url("", options));
        block_on(async {
            let mut session = target.connect(&SessionSpec::default()).await.unwrap();
            open(&mut *session, OpenHow::CreateNew).await;
            session.close().await;
        });
        assert_eq!(target.final_facts()[Fact::LeasesGranted], granted, "{options}");
        std::fs::remove_file(smbd.share().join("leased")).unwrap();
    }
    assert!(target(&smbd.url("", "lease=none")).final_facts().is_empty());
}

#[test]
fn the_break_of_an_idle_holder_is_acknowledged_so_that_the_other_user_need_not_wait() {
    needs!(Smbd::NEEDS);
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    for options in ["lease=rwh", "lease=rwh&sign=required", "lease=rwh&encrypt=required"] {
        let first = target(&smbd.url("", options));
        let second = target(&smbd.url("", "lease=none"));
        block_on(async {
            let mut holder = first.connect(&SessionSpec::default()).await.unwrap();
            open(&mut *holder, OpenHow::CreateNew).await;
            let mut other = second.connect(&SessionSpec::default()).await.unwrap();
            // smbd waits for the acknowledgment of the holder, who thinks meanwhile.
            let thinking = poll_fn(|cx| {
                holder.poll_keepalive(cx);
                Poll::<()>::Pending
            });
            tokio::select! {
                () = open(&mut *other, OpenHow::Read) => {}
                () = thinking => unreachable!("it never ends"),
            }
            let facts = first.final_facts();
            let counts = (&facts[Fact::LeasesBroken][..], &facts[Fact::LeaseBreaksAcknowledged][..]);
            assert_eq!(counts, ("1", "1"), "{options}: {facts:?}");
            call(&mut *holder, MetaOp::Stat { path: "leased".into() }).await.unwrap();
            other.close().await;
            holder.close().await;
        });
        std::fs::remove_file(smbd.share().join("leased")).unwrap();
    }
}
