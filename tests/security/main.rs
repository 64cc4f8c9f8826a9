//! The security suite: malicious peers, networks and names against the real program, and a search for its secrets. The table in
//! `docs/results/security.md` contains the outcomes; this suite writes and compares it.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the whole file is test code, which clippy recognises only by #[test]"
)]

mod attack;
mod escape;
mod exhaustion;
mod limits;
mod network;
mod pages;
mod passwords;
mod race;
mod secrets;
mod smb_connection;
mod smb_requests;
mod stalls;
mod terminal_text;

use sharebench_tests::Outcomes;

#[test]
fn outcome_of_every_attack_equals_the_table() {
    let groups = [
        passwords::ATTACKS,
        network::ATTACKS,
        smb_requests::ATTACKS,
        escape::ATTACKS,
        race::ATTACKS,
        exhaustion::ATTACKS,
        limits::ATTACKS,
        stalls::ATTACKS,
        pages::ATTACKS,
        terminal_text::ATTACKS,
        secrets::ATTACKS,
    ];
    let mut table = Outcomes::new("security.md", &["attack", "on", "outcome"]);
    let mut broken = Vec::new();
    let only = std::env::var("SHAREBENCH_TEST_ONLY").unwrap_or_default();
    for attack in groups.into_iter().flatten() {
        if !format!("{}, {}", attack.what, attack.on).contains(&only) {
            table.skip();
            continue;
        }
        match attack.run() {
            attack::Row::Ran(outcome) => {
                table.add(vec![attack.what.to_owned(), attack.on.to_owned(), outcome]);
            }
            attack::Row::Skipped => table.skip(),
            attack::Row::Broken(why) => {
                table.skip();
                broken.push(format!("{}, {}: {why}", attack.what, attack.on));
            }
        }
    }
    let settled = table.settle();
    assert!(broken.is_empty(), "{}\n{settled:?}", broken.join("\n"));
    settled.unwrap_or_else(|difference| panic!("{difference}"));
}
