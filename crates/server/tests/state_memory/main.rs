//! What hostile clients can make each server remember, in bytes of the allocator: docs/results/security.md has the table.

#![expect(
    clippy::unwrap_used,
    reason = "the whole program is test code, which clippy recognises only by #[test]"
)]

#[path = "../../../analysis/tests/counting/mod.rs"]
#[expect(dead_code, reason = "other tests also use the maximum")]
mod counting;
mod ncp;
mod nfs;
mod smb;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sharebench_ncp::client::{Client, ClientError, Options, TcpTransport, block_on};
use sharebench_ncp::wire::Completion;
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_server::{EmbeddedServers, EventLog, MemoryVolume, ServeOptions, StateBudget, Volume};
use sharebench_smb::NtStatus;

/// The budget of the servers in this test. What they really allocate is in proportion to the budget.
const BUDGET: usize = 4 << 20;
/// Maximum memory of all clients of the servers of a volume, in bytes.
const MAX_BYTES: usize = 256 << 20;
/// How long a client waits for a reply.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Buffers, threads and tables that do not depend on the budget.
const FIXED_BYTES: usize = 512 << 10;

/// The allocator counts for all tests of this program: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A server, what its clients do, and the function that does it until the server refuses it.
#[derive(Clone)]
pub struct Attack {
    server: &'static str,
    what: &'static str,
    /// The statuses that the server may answer to a request beyond the budget; nothing where it forgets something instead.
    refusals: &'static [u32],
    run: Hoarder,
}

/// Starts a server with a budget, lets clients hoard, and calls `attacked` while all of it is still there. Returns the statuses of the
/// requests that the server has refused.
type Hoarder = fn(StateBudget, attacked: &mut dyn FnMut()) -> Vec<u32>;

/// The server allocates at most as many bytes for its clients as it may, however many clients there are.
#[test]
fn hostile_clients_cause_at_most_256_mib_at_every_server() {
    let _alone = ALONE.lock().unwrap();
    let attacks = [&nfs::ATTACKS[..], &smb::ATTACKS, &ncp::ATTACKS].concat();
    let mut wrong = Vec::new();
    for attack in attacks {
        let budget = StateBudget::new(BUDGET, || {});
        let before = counting::live();
        let mut measured = None;
        let attacked = &mut || measured = Some((counting::live() - before, budget.used()));
        let refusals = BTreeSet::from_iter((attack.run)(budget.clone(), attacked));
        let (allocated, charged) = measured.unwrap();
        // With the default budget, in proportion.
        let of_default = allocated.saturating_sub(FIXED_BYTES) as f64 / BUDGET as f64;
        let most = (of_default * StateBudget::DEFAULT_BYTES as f64) as usize + FIXED_BYTES;
        let line = format!(
            "{}: {}: {} KiB charged, {} KiB allocated of {} KiB; at most {} MiB with the default budget; refused \
             with {refusals:x?}",
            attack.server,
            attack.what,
            charged >> 10,
            allocated >> 10,
            BUDGET >> 10,
            most >> 20,
        );
        println!("{line}");
        let is_expected = refusals.is_empty() == attack.refusals.is_empty()
            && refusals.iter().all(|status| attack.refusals.contains(status));
        if most > MAX_BYTES || !(BUDGET / 2..=BUDGET).contains(&charged) || !is_expected {
            wrong.push(line);
        }
        assert_eq!(budget.used(), 0, "{}: everything is returned", attack.what);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn one_client_leaves_half_of_the_budget_to_others() {
    let _alone = ALONE.lock().unwrap();
    let smb = smb::one_client as fn(StateBudget, &mut dyn FnMut());
    for (server, run) in [("SMB", smb), ("NFS", nfs::one_client)] {
        let budget = StateBudget::new(BUDGET, || {});
        let mut used = 0;
        run(budget.clone(), &mut || used = budget.used());
        assert!((BUDGET * 4 / 10..=BUDGET * 6 / 10).contains(&used), "{server}: {used} of {BUDGET} bytes");
        assert_eq!(budget.used(), 0, "{server}: everything is returned");
    }
}

/// All servers of a volume have one budget: what NCP clients hoard is missing for clients of the others until they have gone.
#[test]
fn state_of_ncp_clients_leaves_nothing_to_clients_of_smb_and_nfs_until_they_have_gone() {
    let _alone = ALONE.lock().unwrap();
    let budget = StateBudget::new(BUDGET, || {});
    let smb = smb::serve(budget.clone());
    let nfs = nfs::serve(budget.clone());
    let mut of_smb = smb::Client::log_in(smb.addr()).unwrap();
    let mut of_nfs = nfs::Client::connect(nfs.addr());
    let (id, session) = of_nfs.confirmed(b"one");
    let mut opens = (2..).map(|number| of_nfs.open(1, id, b"owner", Some((session, number))));
    ncp::hoard_handles(budget, &mut || {
        assert_eq!(of_smb.open(), Err(NtStatus::INSUFFICIENT_RESOURCES));
        assert_eq!(opens.next(), Some(Some(Nfs4Status::Nospc.code())));
    });
    assert_eq!((of_smb.open(), opens.next()), (Ok(()), Some(None)));
}

/// The budget of the program, and the line for its operator.
#[test]
fn servers_started_together_share_a_budget_and_log_what_it_refuses() {
    let _alone = ALONE.lock().unwrap();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    let log = EventLog::new(move |line| log.lock().unwrap().push(line.to_owned()));
    let any = Some(([127, 0, 0, 1], 0).into());
    let options = ServeOptions { smb: any, nfs: any, ncp: any, log, ..ServeOptions::default() };
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(1 << 20));
    let servers = EmbeddedServers::start(&volume, &options).unwrap();
    let [smb, nfs, ncp] = ["smb", "nfs", "ncp"].map(|protocol| servers.addr(protocol).unwrap());
    let mut hoarder = nfs::Client::connect(nfs);
    assert_eq!(hoarder.sessions(256), Nfs4Status::Delay.code());
    let expected = "serve: refused 1 request: the server is at its limit of 192 MiB for the state of clients";
    assert_eq!(*lines.lock().unwrap(), [expected]);
    // A few clients of the others have the bytes that were too few for the last session.
    let mut clients = Vec::new();
    let refused = (0..1000).find_map(|_| smb::Client::log_in(smb).map(|client| clients.push(client)).err());
    assert_eq!(refused, Some(NtStatus::INSUFFICIENT_RESOURCES));
    let mut clients = Vec::new();
    let refused = (0..1000).find_map(|_| {
        let transport = TcpTransport::connect(ncp, TIMEOUT).unwrap();
        block_on(Client::connect(transport, Options::default())).map(|client| clients.push(client)).err()
    });
    let is_full =
        |error| matches!(error, ClientError::Refused { completion: Completion::NoConnectionSlot, .. });
    assert!(refused.is_some_and(is_full));
}
