//! SMB sessions that expire with their tickets while users continue to work.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sharebench_gss::{AcceptorKeys, Identity, SharedCredential};
use sharebench_model::{
    DataOp, ErrorClass, Fact, FileRef, MetaOp, MetaYield, OpError, OpenHow, Reply, Slot, Stability,
};
use sharebench_server::{EmbeddedServers, MemoryVolume, ServeOptions, Volume};
use sharebench_smb::SmbTarget;
use sharebench_target::{Secret, Session, SessionSpec, Target, call};
use sharebench_tests::{Realm, Smbd, SmbdOptions, needs};

use crate::adapters::{block_on, url};

const RECORD: u32 = 20_000;
const DEPTH: u32 = 8;
/// Lifetime of tickets. A login over a busy machine must fit into it.
const LIFETIME: &str = "8 seconds";
/// Longest time until a session is renewed.
const DEADLINE: Duration = Duration::from_secs(120);

/// A realm whose tickets for this user live for seconds, and whose servers tolerate a second more.
fn short_lived(realm: &Realm, user: &str) {
    realm.administer(&format!("modprinc -maxlife \"{LIFETIME}\" {user}\n")).unwrap();
    realm.tolerate(1).unwrap();
}

fn target(text: &str) -> SmbTarget {
    SmbTarget::from_url(url(text), Secret::new("")).unwrap()
}

async fn replies(session: &mut dyn Session) -> Vec<Reply> {
    let mut replies = Vec::new();
    while replies.len() < DEPTH as usize {
        poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
    }
    replies
}

/// Writes and reads with every slot, and makes and removes a directory; the first error ends it.
async fn work(session: &mut dyn Session, file: FileRef, round: u64) -> Result<(), OpError> {
    let byte = |slot: u32| (round as u8).wrapping_mul(8).wrapping_add(slot as u8);
    for writes in [true, false] {
        for slot in 0..DEPTH {
            let offset = u64::from(slot * RECORD);
            let stability = Stability::Unstable;
            let op = if writes {
                session.buffer(Slot(slot)).fill(byte(slot));
                DataOp::Write { file, offset, len: RECORD, stability }
            } else {
                DataOp::Read { file, offset, len: RECORD }
            };
            session.submit(Slot(slot), op);
        }
        for reply in replies(session).await {
            assert_eq!(reply.result.clone()?, RECORD);
            assert!(session.buffer(reply.slot).iter().all(|found| *found == byte(reply.slot.0)), "{reply:?}");
        }
    }
    // Each of them fails if it is performed twice.
    let path = format!("directory-{round}");
    call(session, MetaOp::MakeDir { path: path.clone() }).await?;
    call(session, MetaOp::RemoveDir { path }).await.map(drop)
}

async fn open(target: &SmbTarget) -> (Box<dyn Session>, FileRef) {
    let spec = SessionSpec {
        slots: DEPTH,
        slot_bytes: RECORD,
        connect_timeout: Duration::from_secs(60),
        ..SessionSpec::default()
    };
    let mut session = target.connect(&spec).await.unwrap();
    let open = MetaOp::open("file", OpenHow::CreateNew);
    let MetaYield::Opened { file, .. } = call(&mut *session, open).await.unwrap() else { panic!("no file") };
    (session, file)
}

/// Works until the server has let the session expire.
fn works_on(target: &SmbTarget) {
    let renewed = || -> u64 {
        target.final_facts().get(Fact::LoginsRenewed).map_or(0, |number| number.parse().unwrap())
    };
    block_on(async {
        let (mut session, file) = open(target).await;
        let began = Instant::now();
        let mut round = 0;
        while renewed() == 0 {
            work(&mut *session, file, round).await.unwrap_or_else(|error| panic!("round {round}: {error}"));
            round += 1;
            assert!(began.elapsed() < DEADLINE, "no renewal in {round} rounds");
        }
        work(&mut *session, file, round).await.unwrap();
        println!("{}: {} renewals in {round} rounds, {:?}", target.url(), renewed(), target.final_facts());
        call(&mut *session, MetaOp::Close { file }).await.unwrap();
        call(&mut *session, MetaOp::Remove { path: "file".into() }).await.unwrap();
        session.close().await;
    });
}

const OPTIONS: [&str; 3] = ["sign=required", "encrypt=required", "sign=required&channels=3"];

#[test]
fn users_continue_while_smbd_lets_their_sessions_expire() {
    needs!(Realm::NEEDS, Smbd::NEEDS);
    let Some(realm) = Realm::enter("expiry::users_continue_while_smbd_lets_their_sessions_expire") else {
        return;
    };
    let own = sharebench_tests::program::run(&["id", "-un"], &[]).unwrap();
    short_lived(&realm, own.trim());
    let smbd = Smbd::start(&SmbdOptions { keytab: Some(realm.keytab()), ..SmbdOptions::default() }).unwrap();
    for options in OPTIONS {
        let text = smbd.url("", &format!("auth=kerberos&{options}")).replace("127.0.0.1", "localhost");
        let tickets = SharedCredential::new(Identity::keytab(&realm.user_keytab(), smbd.user()));
        works_on(&target(&text).with_tickets(tickets));
    }
}

#[test]
fn users_continue_while_our_server_lets_their_sessions_expire_and_an_expired_cache_is_named() {
    needs!(Realm::NEEDS);
    let test =
        "expiry::users_continue_while_our_server_lets_their_sessions_expire_and_an_expired_cache_is_named";
    let Some(realm) = Realm::enter(test) else { return };
    short_lived(&realm, "alice");
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(64 << 20));
    let keys = Some(AcceptorKeys::read(&realm.keytab()).unwrap());
    let smb = Some(([127, 0, 0, 1], 0).into());
    let servers =
        EmbeddedServers::start(&volume, &ServeOptions { smb, keys, ..ServeOptions::default() }).unwrap();
    let port = servers.addr("smb").unwrap().port();
    let text = |options: &str| format!("smb://alice@localhost:{port}/share?auth=kerberos&{options}");
    for options in OPTIONS {
        let tickets = SharedCredential::new(Identity::keytab(&realm.user_keytab(), "alice"));
        works_on(&target(&text(options)).with_tickets(tickets));
    }
    realm.log_in(&["alice"]).unwrap();
    let target = target(&text("sign=required"));
    block_on(async {
        let (mut session, file) = open(&target).await;
        let began = Instant::now();
        let mut round = 0;
        let error = loop {
            assert!(began.elapsed() < DEADLINE, "the session does not expire");
            match work(&mut *session, file, round).await {
                Ok(()) => round += 1,
                Err(error) => break error,
            }
        };
        println!("{error}");
        assert_eq!(error.class, ErrorClass::Disconnected, "{error}");
        for words in ["STATUS_NETWORK_SESSION_EXPIRED", "login cannot be renewed", "expired: run kinit again"]
        {
            assert!(error.to_string().contains(words), "{error}");
        }
    });
}
