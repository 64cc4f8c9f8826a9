//! Locks, share modes, attributes and copies over NCP on a served directory, and what tshark says of the wire.

use std::fs;
use std::time::Duration;

use sharebench_ncp::client::{
    Access, Client, FilePosition, Lock, LockRange, Login, Modification, Options, Path, TcpTransport, block_on,
};
use sharebench_ncp::wire::DosTime;
use sharebench_ncp::wire::dos::access;
use sharebench_ncp::wire::name_space::space;
use sharebench_ncp::wire::semaphore::{
    CloseSemaphore, CloseSemaphoreNew, ExamineSemaphore, ExamineSemaphoreNew, OpenSemaphore,
    OpenSemaphoreNew, OpenedSemaphore, SignalSemaphore, SignalSemaphoreNew, WaitOnSemaphore,
    WaitOnSemaphoreNew,
};
use sharebench_ncp::wire::{Codec, Pstr, Request};
use sharebench_tests::{Capture, Served, Sharebench, Smbd, needs};

const TIMEOUT: Duration = Duration::from_secs(10);
const RANGE: LockRange = LockRange { start: 1 << 32, length: 4096 };

async fn client(served: &Served) -> Client<TcpTransport> {
    let addr = format!("127.0.0.1:{}", served.ncp_port).parse().unwrap();
    let transport = TcpTransport::connect(addr, TIMEOUT).unwrap();
    let mut client = Client::connect(transport, Options::default()).await.unwrap();
    client.login(Login { user: Served::USER, password: Smbd::PASSWORD }).await.unwrap();
    client
}

#[test]
fn two_clients_lock_and_share_a_file_and_tshark_parses_their_packets() {
    needs!(Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let capture = Capture::start_with_datagrams(served.ncp_port).unwrap();
    let name = |name: &str| Path::new(space::LONG, [&b"SHARE"[..], name.as_bytes()]).unwrap();
    block_on(async {
        let mut one = client(&served).await;
        let mut other = client(&served).await;
        let (mine, _) = one.open_denying(&name("file"), Access::CreateNew, access::DENY_READ).await.unwrap();
        assert!(other.open(&name("FILE"), Access::Read, false).await.is_err());
        one.close(mine).await.unwrap();
        let (mine, _) = one.open(&name("file"), Access::ReadWrite, false).await.unwrap();
        let (theirs, _) = other.open(&name("FILE"), Access::ReadWrite, false).await.unwrap();
        assert!(one.lock(mine, RANGE, Lock::Exclusive, Duration::ZERO).await.unwrap());
        assert!(!other.lock(theirs, RANGE, Lock::Shared, Duration::from_millis(100)).await.unwrap());
        assert!(other.write(theirs, RANGE.start, b"not mine").await.is_err());
        let waiting = std::thread::spawn(move || {
            block_on(async {
                let got = other.lock(theirs, RANGE, Lock::Exclusive, TIMEOUT).await.unwrap();
                other.write(theirs, 0, b"locked").await.unwrap();
                other.unlock(theirs, RANGE).await.unwrap();
                other.disconnect().await.unwrap();
                got
            })
        });
        one.unlock(mine, RANGE).await.unwrap();
        assert!(waiting.join().unwrap());
        let (copied, _) = one.open(&name("copy"), Access::CreateNew, false).await.unwrap();
        assert_eq!(
            one.copy(FilePosition { file: mine, offset: 0 }, FilePosition { file: copied, offset: 1 }, 100)
                .await
                .unwrap(),
            6
        );
        let old = Some(DosTime::from_unix(951_782_400));
        let wanted = Modification { read_only: Some(true), modified: old, ..Modification::default() };
        one.modify(&name("copy"), &wanted).await.unwrap();
        one.disconnect().await.unwrap();
    });
    let captured = capture.stop().unwrap();
    let seen = captured.ncp_requests().unwrap();
    // Waiting or not, each lock is one request with one reply.
    let of = |sub: u16| seen.get(&(0x57, sub)).copied().unwrap_or(0);
    assert_eq!((of(67), of(69), of(70), of(7)), (3, 2, 1, 1), "{seen:?}");
    assert_eq!(captured.ncp_oddities().unwrap(), (0, 0), "malformed, replies without request");
    assert_eq!(fs::read(served.directory().join("file")).unwrap(), b"locked");
    let copy = served.directory().join("copy");
    assert_eq!(fs::read(&copy).unwrap(), b"\0locked");
    let known = fs::metadata(&copy).unwrap();
    assert!(known.permissions().readonly());
    assert_eq!(known.modified().unwrap(), std::time::UNIX_EPOCH + Duration::from_secs(951_782_400));
}

/// Every call on an open semaphore, in the classic and the newer form.
fn semaphore_calls(name: &[u8], handle: u32) -> Vec<Request<'static>> {
    let name = Pstr::new(name.to_owned().leak()).unwrap();
    let timeout = 0;
    vec![
        ExamineSemaphore { handle }.into(),
        WaitOnSemaphore { handle, timeout }.into(),
        SignalSemaphore { handle }.into(),
        OpenSemaphoreNew { value: 1, name }.into(),
        ExamineSemaphoreNew { handle }.into(),
        WaitOnSemaphoreNew { handle, timeout }.into(),
        SignalSemaphoreNew { handle }.into(),
        CloseSemaphoreNew { handle }.into(),
        CloseSemaphore { handle }.into(),
    ]
}

#[test]
fn tshark_parses_the_calls_of_semaphores() {
    needs!(Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let capture = Capture::start_with_datagrams(served.ncp_port).unwrap();
    block_on(async {
        let mut one = client(&served).await;
        let open = OpenSemaphore { value: 1, name: Pstr::new(b"NAME").unwrap() }.into();
        let opened = OpenedSemaphore::decode(one.call("open", &open).await.unwrap()).unwrap();
        for call in semaphore_calls(b"NAME", opened.handle) {
            one.call("call", &call).await.unwrap_or_else(|error| panic!("{call:?}: {error}"));
        }
        one.disconnect().await.unwrap();
    });
    let captured = capture.stop().unwrap();
    let seen = captured.ncp_requests().unwrap();
    for call in [0x20, 0x6F].into_iter().flat_map(|code| (0..5).map(move |sub| (code, sub))) {
        assert_eq!(seen.get(&call), Some(&1), "{call:02x?} of {seen:02x?}");
    }
    assert_eq!(captured.ncp_oddities().unwrap(), (0, 0), "malformed, replies without request");
}
