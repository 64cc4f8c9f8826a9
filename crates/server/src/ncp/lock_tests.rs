//! Locks and share modes of front-end clients over every transport, on volumes that block and that do not.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use sharebench_ncp::client::{
    Access, Client, File, Lock, LockRange, Options, TcpTransport, Transport, UdpTransport, block_on,
};
use sharebench_ncp::security::level::Level;
use sharebench_ncp::wire::TransportKind;
use sharebench_ncp::wire::file::{OpenFile, OpenedFile};
use sharebench_ncp::wire::ipx::{Address, IpxPacket, packet_type};
use sharebench_ncp::wire::lock::{LockRecord, flag};
use sharebench_ncp::wire::{Codec, Completion, Pstr};

use super::tests::{LOGIN, memory, options, path, refusal, start, tcp, udp};
use super::*;
use crate::{DeviceOptions, DeviceVolume, DirectoryOptions, DirectoryVolume, ServiceTime};

const RANGE: LockRange = LockRange { start: 1 << 33, length: 100 };
const LONG: Duration = Duration::from_secs(60);

/// A transport over IPX in UDP: each datagram is one packet.
struct IpxTransport {
    udp: UdpTransport,
    own: Address,
    packet: Vec<u8>,
}

impl Transport for IpxTransport {
    fn kind(&self) -> TransportKind {
        TransportKind::IpxInUdp
    }

    fn now(&self) -> Duration {
        self.udp.now()
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, message: &[u8], until: Duration) -> Poll<io::Result<()>> {
        self.packet.clear();
        let to = Address::of_server(0x5348_5242);
        IpxPacket::new(packet_type::NCP, self.own, to, message).unwrap().put(&mut self.packet);
        self.udp.poll_send(cx, &self.packet, until)
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>, until: Duration) -> Poll<io::Result<bool>> {
        self.udp.poll_receive(cx, until)
    }

    fn message(&self) -> &[u8] {
        IpxPacket::decode(self.udp.message()).map_or(&[], |packet| packet.payload)
    }
}

async fn ipx(server: &NcpServer, last: u8) -> Client<IpxTransport> {
    let udp = UdpTransport::connect(server.addr(), LONG).unwrap();
    let own = Address { network: 0, node: [2, 0, 0, 0, 0, last], socket: 0x4010 };
    let transport = IpxTransport { udp, own, packet: Vec::new() };
    Client::connect(transport, Options { buffer: 1024, ..Options::default() }).await.unwrap()
}

#[test]
fn lock_wait_ends_over_ipx() {
    let service = ServiceTime::Fixed(Duration::from_micros(10));
    let blocking = DeviceVolume::new(memory(), DeviceOptions { service, ..DeviceOptions::default() });
    let volumes: [Arc<dyn Volume>; 2] = [Arc::new(memory()), Arc::new(blocking)];
    for volume in volumes {
        let server = NcpServer::start_ipx("127.0.0.1:0".parse().unwrap(), volume, options()).unwrap();
        block_on(async {
            let mut first = ipx(&server, 1).await;
            first.login(LOGIN).await.unwrap();
            first.open(&path(&["SHARE", "FILE"]), Access::CreateNew, false).await.unwrap();
            first.disconnect().await.unwrap();
            contend(ipx(&server, 2).await, ipx(&server, 3).await, &server).await;
        });
    }
}

async fn opened<C: Transport>(client: &mut Client<C>, name: &str) -> File {
    client.login(LOGIN).await.unwrap();
    client.open(&path(&["SHARE", name]), Access::ReadWrite, false).await.unwrap().0
}

/// A client waits for a lock of another one and gets it when that closes its file; other clients are served
/// meanwhile.
async fn contend<C: Transport + Send + 'static, D: Transport>(
    mut holder: Client<D>,
    mut waiter: Client<C>,
    server: &NcpServer,
) {
    let held = opened(&mut holder, "FILE").await;
    let wanted = opened(&mut waiter, "FILE").await;
    assert!(holder.lock(held, RANGE, Lock::Exclusive, Duration::ZERO).await.unwrap());
    assert!(!waiter.lock(wanted, RANGE, Lock::Shared, Duration::ZERO).await.unwrap());
    assert!(!waiter.lock(wanted, RANGE, Lock::Shared, Duration::from_millis(60)).await.unwrap());
    let waiting = std::thread::spawn(move || {
        block_on(async {
            let got = waiter.lock(wanted, RANGE, Lock::Exclusive, LONG).await.unwrap();
            waiter.write(wanted, RANGE.start, b"mine").await.unwrap();
            (got, waiter)
        })
    });
    while server.threads.state.server.waiting() == 0 {
        holder.size(held).await.unwrap();
    }
    holder.write(held, RANGE.start, b"own").await.unwrap();
    holder.close(held).await.unwrap();
    let (got, waiter) = waiting.join().unwrap();
    assert!(got);
    let again = opened_again(&mut holder).await;
    let refused = refusal(holder.read(again, RANGE.start + 99, &mut [0; 2]).await);
    assert_eq!(refused, Completion::IoOnLockedRegion);
    waiter.disconnect().await.unwrap();
    let mut back = [0; 4];
    assert_eq!(holder.read(again, RANGE.start, &mut back).await.unwrap(), 4);
    assert_eq!(&back, b"mine");
    holder.disconnect().await.unwrap();
    assert_eq!((server.connections(), server.threads.state.server.waiting()), (0, 0));
}

async fn opened_again<C: Transport>(client: &mut Client<C>) -> File {
    client.open(&path(&["SHARE", "FILE"]), Access::ReadWrite, false).await.unwrap().0
}

fn file_on(server: &NcpServer) {
    block_on(async {
        let mut client = tcp(server.addr(), Level::Never).await;
        client.login(LOGIN).await.unwrap();
        client.open(&path(&["SHARE", "FILE"]), Access::CreateNew, false).await.unwrap();
    });
}

#[test]
fn lock_wait_ends_on_release_and_delays_nobody() {
    let service = ServiceTime::Fixed(Duration::from_micros(10));
    let blocking = DeviceVolume::new(memory(), DeviceOptions { service, ..DeviceOptions::default() });
    for server in [start(memory(), options()), start(blocking, options())] {
        file_on(&server);
        let addr = server.addr();
        block_on(async {
            contend(tcp(addr, Level::Never).await, tcp(addr, Level::Always).await, &server).await;
            contend(udp(addr, Level::Always).await, tcp(addr, Level::Never).await, &server).await;
            contend(tcp(addr, Level::Never).await, udp(addr, Level::Always).await, &server).await;
        });
    }
}

#[test]
fn lock_wait_ends_with_its_client_and_lost_holder_releases_its_locks() {
    let server = start(memory(), options());
    file_on(&server);
    block_on(async {
        let mut holder = tcp(server.addr(), Level::Never).await;
        let held = opened(&mut holder, "FILE").await;
        assert!(holder.lock(held, RANGE, Lock::Exclusive, Duration::ZERO).await.unwrap());
        // A client whose timeout is shorter than the wait leaves.
        let transport = TcpTransport::connect(server.addr(), LONG).unwrap();
        let hasty = Options { timeout: Duration::from_secs(3), ..Options::default() };
        let mut client = Client::connect(transport, hasty).await.unwrap();
        client.login(LOGIN).await.unwrap();
        let name = Pstr::new(b"SHARE:FILE").unwrap();
        let open = OpenFile { directory: 0, search: 6, access: 3, path: name };
        let file = OpenedFile::decode(client.call("open", &open.into()).await.unwrap()).unwrap().file;
        let range = LockRecord { flag: flag::EXCLUSIVE, file, start: 5, length: 100, timeout: u16::MAX };
        assert!(
            holder
                .lock(held, LockRange { start: 50, length: 1 }, Lock::Exclusive, Duration::ZERO)
                .await
                .unwrap()
        );
        assert!(client.call("lock", &range.into()).await.is_err());
        drop(client);
        while server.connections() > 1 {
            holder.size(held).await.unwrap();
        }
        assert_eq!(server.threads.state.server.waiting(), 0);
        drop(holder);
        let mut next = tcp(server.addr(), Level::Never).await;
        let file = opened(&mut next, "FILE").await;
        assert!(next.lock(file, RANGE, Lock::Exclusive, LONG).await.unwrap());
    });
}

/// Hard links and names in another case are the same file.
#[test]
fn share_modes_apply_to_every_name_of_a_file() {
    let directory = std::env::temp_dir().join(format!("sharebench-ncp-shared-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("FILE"), b"content").unwrap();
    std::fs::hard_link(directory.join("FILE"), directory.join("LINK")).unwrap();
    let server = start(DirectoryVolume::open(&directory, &DirectoryOptions::default()).unwrap(), options());
    block_on(async {
        let mut one = tcp(server.addr(), Level::Never).await;
        let held = opened(&mut one, "FILE").await;
        assert!(
            one.lock(held, LockRange { start: 0, length: 4 }, Lock::Exclusive, Duration::ZERO).await.unwrap()
        );
        let mut other = udp(server.addr(), Level::Never).await;
        for name in ["LINK", "file", "FILE"] {
            let file = opened(&mut other, name).await;
            let refused = refusal(other.read(file, 3, &mut [0; 2]).await);
            assert_eq!(refused, Completion::IoOnLockedRegion, "{name}");
            assert_eq!(refusal(other.delete(&path(&["SHARE", name])).await), Completion::AllFilesInUse);
        }
        one.close(held).await.unwrap();
        other.delete(&path(&["SHARE", "LINK"])).await.unwrap();
    });
    std::fs::remove_dir_all(&directory).unwrap();
}
