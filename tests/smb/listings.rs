//! Two SMB clients of the Linux kernel that cache listings at the embedded server, under leases of directories.

use sharebench_tests::{KernelGuest, Need, Served, Sharebench, Smbd, needs};

const RANDOM_LISTINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/kernel-guest/random-listings");
/// A port in the namespace of the guest, in which nobody else listens.
const PORT: &str = "4450";

/// The number after some words.
fn number_after(printed: &str, words: &str) -> u64 {
    let (_, rest) = printed.split_once(words).unwrap();
    rest.split(|letter: char| !letter.is_ascii_digit()).next().unwrap().parse().unwrap()
}

#[test]
fn listings_of_two_kernel_clients_agree_while_each_caches_them() {
    needs!(KernelGuest::NEEDS, [Need::Program("python3")]);
    let sharebench = Sharebench::new().unwrap();
    let guest = KernelGuest::prepare(&[]).unwrap();
    let _server = sharebench.serve_smb_to(&guest, PORT).unwrap();
    let share = format!("//{}/share", KernelGuest::MACHINE);
    let changes = if std::env::var_os("SHAREBENCH_LONG").is_some() { "2000" } else { "60" };
    for (options, close_timeout) in
        [("vers=3.0", "0"), ("vers=3.1.1", "0"), ("vers=3.1.1,seal", "0"), ("vers=3.1.1", "1")]
    {
        let env = [
            ("SHARE", share.as_str()),
            ("PORT", PORT),
            ("USER", Served::USER),
            ("PASSWD", Smbd::PASSWORD),
            ("OPTIONS", options),
            ("CLOSE_TIMEOUT", close_timeout),
            ("RANDOM_LISTINGS", RANDOM_LISTINGS),
            ("SEED", "7"),
            ("COUNT", changes),
        ];
        let script = include_str!("../kernel-guest/two-clients");
        let printed = guest.run(script, &env, 3 * KernelGuest::LONG).unwrap();
        println!("{options}: {printed}");
        assert!(printed.contains(&format!("no mismatch: {changes} changes")), "{printed}");
        let listings = number_after(&printed, &format!("{changes} changes, "));
        let requests = number_after(&printed, "requests for listings: ");
        // Each listing without a cache needs at least one request.
        assert!(0 < requests && requests < listings, "{printed}");
    }
}
