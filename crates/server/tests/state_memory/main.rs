//! What hostile clients can make each server remember, in bytes of the allocator: docs/security.md has the table.

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

use std::sync::Mutex;

use sharebench_server::StateBudget;

/// The budget of the servers in this test. What they really allocate is in proportion to the budget.
const BUDGET: usize = 4 << 20;
/// Maximum memory of all clients of the servers of a volume, in bytes.
const MAX_BYTES: usize = 256 << 20;
/// Buffers, threads and tables that do not depend on the budget.
const FIXED_BYTES: usize = 512 << 10;

/// The allocator counts for all tests of this program: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A server, what its clients do, and the function that does it until the server refuses it.
#[derive(Clone)]
pub struct Attack {
    server: &'static str,
    what: &'static str,
    run: Hoarder,
}

/// Starts a server with a budget, lets clients hoard, and calls `attacked` while all of it is still there.
type Hoarder = fn(StateBudget, attacked: &mut dyn FnMut());

/// The server allocates at most as many bytes for its clients as it may, however many clients there are.
#[test]
fn hostile_clients_cause_at_most_256_mib_at_every_server() {
    let _alone = ALONE.lock().unwrap();
    let attacks = [&nfs::ATTACKS[..], &smb::ATTACKS, &ncp::ATTACKS].concat();
    let mut exceeded = Vec::new();
    for attack in attacks {
        let budget = StateBudget::new(BUDGET, || {});
        let before = counting::live();
        let mut measured = None;
        (attack.run)(budget.clone(), &mut || measured = Some((counting::live() - before, budget.used())));
        let (allocated, charged) = measured.unwrap();
        // With the default budget, in proportion.
        let of_default = allocated.saturating_sub(FIXED_BYTES) as f64 / BUDGET as f64;
        let most = (of_default * StateBudget::DEFAULT_BYTES as f64) as usize + FIXED_BYTES;
        let line = format!(
            "{}: {}: {} KiB charged, {} KiB allocated of {} KiB; at most {} MiB with the default budget",
            attack.server,
            attack.what,
            charged >> 10,
            allocated >> 10,
            BUDGET >> 10,
            most >> 20,
        );
        println!("{line}");
        if most > MAX_BYTES || !(BUDGET / 2..=BUDGET).contains(&charged) {
            exceeded.push(line);
        }
        assert_eq!(budget.used(), 0, "{}: everything is returned", attack.what);
    }
    assert!(exceeded.is_empty(), "{}", exceeded.join("\n"));
}

#[test]
fn one_client_leaves_half_of_the_budget_to_others() {
    let _alone = ALONE.lock().unwrap();
    let servers: [(&str, Hoarder); 2] = [("SMB", smb::one_client), ("NFS", nfs::one_client)];
    for (server, run) in servers {
        let budget = StateBudget::new(BUDGET, || {});
        let mut used = 0;
        run(budget.clone(), &mut || used = budget.used());
        assert!((BUDGET * 4 / 10..=BUDGET * 6 / 10).contains(&used), "{server}: {used} of {BUDGET} bytes");
        assert_eq!(budget.used(), 0, "{server}: everything is returned");
    }
}
