//! The security suite: hostile peers, networks and names against the real program, and where its secrets are found. The outcomes
//! are the table of `docs/security.md`, which this suite writes and compares.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of it is tests, which clippy sees by #[test] only"
)]

mod attack;
mod escape;
mod exhaustion;
mod network;
mod passwords;
mod secrets;

use sharebench_tests::Outcomes;

#[test]
fn every_attack_ends_as_the_table_says() {
    let groups =
        [passwords::ATTACKS, network::ATTACKS, escape::ATTACKS, exhaustion::ATTACKS, secrets::ATTACKS];
    let mut table = Outcomes::new("security.md", &["attack", "on", "what comes of it"]);
    let mut broken = Vec::new();
    for attack in groups.into_iter().flatten() {
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
