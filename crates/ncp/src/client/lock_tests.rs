//! Locks of two clients over a link that loses, repeats, delays and reorders packets.

use std::sync::Arc;
use std::time::Duration;

use super::simulated_link::{Link, login};
use super::tests::{path, pattern};
use super::*;
use crate::security::level::Level;
use crate::server::Peer;
use crate::wire::TransportKind;
use crate::wire::large::ClearLarge;
use crate::wire::{Completion, ShortHandle};

const OTHER: Peer = Peer::Stream(2);
const RANGE: LockRange = LockRange { start: 100, length: 50 };

fn refusal<T: std::fmt::Debug>(done: Result<T, ClientError>) -> Completion {
    match done {
        Err(ClientError::Refused { completion, .. }) => completion,
        other => panic!("{other:?}"),
    }
}

/// Two clients with one file open: one over a good link, the other over another link to the same server.
async fn two(
    transport: TransportKind,
    signatures: Level,
    seed: u64,
) -> ((Client<Link>, File), (Client<Link>, File)) {
    let link = Link::new(Level::IfRequested, transport, seed);
    let second = link.second_client(OTHER, seed + 1);
    let mut one = login(link, signatures);
    let mut other = login(second, signatures);
    let name = path("SYS:SHARED");
    let (mine, _) = one.open(&name, Access::Create, false).await.unwrap();
    one.write(mine, 0, &pattern(200)).await.unwrap();
    let (theirs, _) = other.open(&name, Access::ReadWrite, false).await.unwrap();
    ((one, mine), (other, theirs))
}

#[test]
fn lock_is_granted_once_after_its_release() {
    let mut had = 0;
    let mut late = 0;
    let mut busy = 0;
    for seed in 0..1000 {
        let signatures = if seed % 2 == 0 { Level::Always } else { Level::Never };
        let transport = if seed % 3 == 0 { TransportKind::IpxInUdp } else { TransportKind::Udp };
        block_on(async {
            let ((mut one, mine), (mut other, theirs)) = two(transport, signatures, seed).await;
            assert!(one.lock(mine, RANGE, Lock::Exclusive, Duration::ZERO).await.unwrap());
            let LockRange { start, length } = RANGE;
            let release = ClearLarge { file: ShortHandle(mine.0.0), start, length };
            let release = one.connection.request(&release.into()).to_vec();
            let link = other.transport_mut();
            link.faults.lost = 20;
            link.faults.repeated = 20;
            link.faults.delay = Duration::from_millis(50);
            let in_time = seed % 4 != 0;
            let pause = Duration::from_millis(if in_time { 3 * seed } else { 60_000 + seed });
            link.others.insert(link.now() + pause, (Peer::Stream(1), release));
            let locked = other.lock(theirs, RANGE, Lock::Exclusive, Duration::from_secs(20)).await.unwrap();
            assert_eq!(locked, in_time, "seed {seed}");
            busy += other.counts().busy;
            if locked {
                had += 1;
                // A lock that the server counted twice would still exist.
                other.write(theirs, 120, &[7; 10]).await.unwrap();
                let refused = refusal(one.read(mine, 120, &mut [0; 10]).await);
                assert_eq!(refused, Completion::IoOnLockedRegion, "seed {seed}");
                other.unlock(theirs, RANGE).await.unwrap();
                let mut back = [0; 10];
                one.read(mine, 120, &mut back).await.unwrap();
                assert_eq!(back, [7; 10], "seed {seed}");
                assert_eq!(refusal(other.unlock(theirs, RANGE).await), Completion::Failure, "seed {seed}");
            } else {
                late += 1;
                let refused = refusal(other.write(theirs, 149, &[7]).await);
                assert_eq!(refused, Completion::IoOnLockedRegion, "seed {seed}");
            }
            let server = Arc::clone(&one.transport().server);
            assert_eq!(server.waiting(), 0);
            server.disconnect(Peer::Stream(1));
            other.write(theirs, 149, &[7]).await.unwrap();
        });
    }
    assert!(had > 500 && late > 200 && busy > 500, "{had} locks, {late} too late, {busy} times busy");
}

#[test]
fn shared_lock_allows_reading_and_shared_locks() {
    block_on(async {
        let ((mut one, mine), (mut other, theirs)) = two(TransportKind::Udp, Level::Never, 1).await;
        assert!(one.lock(mine, RANGE, Lock::Shared, Duration::ZERO).await.unwrap());
        assert!(
            other
                .lock(theirs, LockRange { start: 149, length: 100 }, Lock::Shared, Duration::ZERO)
                .await
                .unwrap()
        );
        assert!(!other.lock(theirs, RANGE, Lock::Exclusive, Duration::ZERO).await.unwrap());
        other.read(theirs, 100, &mut [0; 50]).await.unwrap();
        assert_eq!(refusal(other.write(theirs, 148, &[1]).await), Completion::IoOnLockedRegion);
        assert_eq!(refusal(other.resize(theirs, 120).await), Completion::IoOnLockedRegion);
        other.resize(theirs, 150).await.unwrap();
        let emptied = other.open(&path("SYS:SHARED"), Access::Create, false).await;
        assert_eq!(refusal(emptied), Completion::FileInUse);
        assert_eq!(refusal(other.delete(&path("SYS:SHARED")).await), Completion::AllFilesInUse);
        one.close(mine).await.unwrap();
        other.write(theirs, 148, &[1]).await.unwrap();
        assert!(
            other
                .lock(theirs, LockRange { start: 0, length: u64::MAX }, Lock::Exclusive, Duration::ZERO)
                .await
                .unwrap()
        );
    });
}
