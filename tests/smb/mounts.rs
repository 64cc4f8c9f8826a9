//! The SMB client of the Linux kernel at the embedded server: random operations over mounts of all dialects, protections and
//! caches, over several channels, and over connections that are lost.

use std::collections::HashSet;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use sharebench_tests::{Cut, FaultProxy, KernelGuest, Need, Served, Sharebench, Smbd, Way, needs, program};

const RANDOM_OPERATIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/kernel-guest/random-operations");

/// Names and options of the mounts, one per line.
const MOUNTS: &str = "\
2.0 vers=2.0
2.1 vers=2.1
3.0 vers=3.0
3.1.1 vers=3.1.1
sign vers=3.1.1,sign
seal vers=3.1.1,seal
cache=none vers=3.1.1,cache=none
multichannel vers=3.1.1,multichannel,max_channels=4
resilient vers=2.1,resilienthandles";

/// With SMB1, which is served on loopback addresses only.
const SMB1_MOUNTS: &str = "\
1.0 vers=1.0
1.0-cache=none vers=1.0,cache=none";

/// Mounts whose opens survive the loss of a connection. Resilient ones are not among them: the server keeps for minutes what
/// their client forgets with its connection, so that a name that was removed cannot be used again.
const DURABLE_MOUNTS: &str = "\
2.1 vers=2.1
3.1.1 vers=3.1.1";

/// The number of requests for data from one loss of the connection to the next.
const LOST_WITH: u32 = 25;

/// A port in the namespace of the guest, in which nobody else listens.
const PORT: &str = "4450";

/// Number of random operations per mount.
fn count() -> &'static str {
    if std::env::var_os("SHAREBENCH_LONG").is_some() { "20000" } else { "250" }
}

/// Runs the operations over each of the mounts; `losing` says that they lose their connections.
fn run(guest: &KernelGuest, port: &str, mounts: &str, losing: &str) -> std::io::Result<String> {
    let share = format!("//{}/share", KernelGuest::MACHINE);
    let env = [
        ("SHARE", share.as_str()),
        ("PORT", port),
        ("USER", Served::USER),
        ("PASSWD", Smbd::PASSWORD),
        ("MOUNTS", mounts),
        ("RANDOM_OPERATIONS", RANDOM_OPERATIONS),
        ("COUNT", count()),
        ("LOSING", losing),
    ];
    guest.run(include_str!("../kernel-guest/random-mounts"), &env, 12 * KernelGuest::LONG)
}

#[test]
fn random_operations_agree_over_kernel_mounts_of_every_kind() {
    needs!(KernelGuest::NEEDS, [Need::Program("python3")]);
    let sharebench = Sharebench::new().unwrap();
    let guest = KernelGuest::prepare(&[]).unwrap();
    // In the network of the guest, so that the address of the server is one that further channels can use.
    let _server = sharebench.serve_smb_to(&guest, PORT).unwrap();
    let printed = run(&guest, PORT, MOUNTS, "").unwrap();
    println!("{printed}");
    agree(&printed, MOUNTS);
}

#[test]
fn random_operations_agree_over_kernel_mounts_of_smb1() {
    needs!(KernelGuest::NEEDS, [Need::Program("python3")]);
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve_by(&[], "served", &["--smb1"]).unwrap();
    let guest = KernelGuest::prepare(&[served.smb_port]).unwrap();
    let printed = run(&guest, &served.smb_port.to_string(), SMB1_MOUNTS, "").unwrap();
    println!("{printed}");
    agree(&printed, SMB1_MOUNTS);
}

#[test]
fn random_operations_agree_over_kernel_mounts_that_lose_their_connections() {
    needs!(KernelGuest::NEEDS, [Need::Program("python3")]);
    let sharebench = Sharebench::new().unwrap();
    let port = program::free_port().unwrap();
    // Over SMB alone: opens are durable where nobody else changes the volume.
    let _server = sharebench.serve_smb(&[], &format!("127.0.0.1:{port}")).unwrap();
    for mount in DURABLE_MOUNTS.lines() {
        let proxy = FaultProxy::start(port, Cut::Messages).unwrap();
        let guest = KernelGuest::prepare(&[proxy.port()]).unwrap();
        let (lose, losses) = channel();
        let losing = Arc::new(Mutex::new(Losing::new(lose)));
        let theirs = Arc::clone(&losing);
        proxy.tamper(move |way, message| theirs.lock().unwrap().message(way, message));
        let printed = std::thread::scope(|scope| {
            scope.spawn(|| losses.into_iter().for_each(|()| proxy.reset()));
            let printed = run(&guest, &proxy.port().to_string(), mount, "losing");
            // It drops the sender, which ends the thread.
            proxy.heal();
            losing.lock().unwrap().lose = None;
            printed
        });
        let printed = printed.unwrap();
        let losing = losing.lock().unwrap();
        println!("{printed}{} connections lost, {} opens continued", losing.lost, losing.continued);
        agree(&printed, mount);
        assert!(losing.lost >= 3 && losing.continued >= losing.lost, "{mount}");
    }
}

/// What the connections of a mount lose, and what the client does then.
struct Losing {
    lose: Option<Sender<()>>,
    /// Requests for data since the last loss.
    requests: u32,
    lost: u32,
    /// Message ids of CREATE requests that continue a durable open.
    continuing: HashSet<[u8; 8]>,
    continued: u32,
}

impl Losing {
    const CREATE: u16 = 5;
    /// READ and WRITE, which the client repeats. A lost FLUSH is an error of its program.
    const DATA: [u16; 2] = [8, 9];

    fn new(lose: Sender<()>) -> Self {
        Self { lose: Some(lose), requests: 0, lost: 0, continuing: HashSet::new(), continued: 0 }
    }

    /// Loses each n-th request for data, with its connection, before the server has it.
    fn message(&mut self, way: Way, message: Vec<u8>) -> Vec<Vec<u8>> {
        let (Some(status), Some(command), Some(id)) =
            (message.get(12..16), message.get(16..18), message.get(28..36))
        else {
            return vec![message];
        };
        let command = u16::from_le_bytes([command[0], command[1]]);
        let id: [u8; 8] = id.try_into().unwrap();
        match way {
            Way::ToServer if Self::DATA.contains(&command) => {
                self.requests += 1;
                if self.requests >= LOST_WITH
                    && let Some(lose) = &self.lose
                {
                    self.requests = 0;
                    self.lost += 1;
                    self.continuing.clear();
                    lose.send(()).unwrap();
                    return Vec::new();
                }
            }
            Way::ToServer if command == Self::CREATE => {
                let continues = |name: &[u8; 4]| message.windows(4).any(|bytes| bytes == name);
                if continues(b"DH2C") || continues(b"DHnC") {
                    self.continuing.insert(id);
                }
            }
            Way::ToClient if command == Self::CREATE && status == [0; 4] => {
                self.continued += u32::from(self.continuing.remove(&id));
            }
            _ => {}
        }
        vec![message]
    }
}

/// Checks that the operations over each mount gave what the model gave.
fn agree(printed: &str, mounts: &str) {
    for name in mounts.lines().filter_map(|line| line.split(' ').next()) {
        let channels = if name == "multichannel" { 4 } else { 1 };
        let wanted = format!("{name}: {channels} channels: no mismatch: {} operations", count());
        assert!(printed.contains(&wanted), "no '{wanted}' in {printed}");
    }
}
