//! What security costs, measured (docs/results/kerberos.md). The figures need a quiet machine, so that these tests are no part of
//! `./test`:
//!
//!     cargo test --release -p sharebench-tests --test kerberos costs -- --ignored --nocapture --test-threads=1
//!
//! Rates are compared in paired slices of one run (docs/design/cells.md, Slices). The CPU time of the client is that of
//! the operations of a step; that of the server is what its processes consume per further byte.

mod cpu;
mod goals;
mod kernel;
mod logins;
mod peers;
mod transfers;

use sharebench_tests::{Ganesha, KernelGuest, Need, Realm, Smbd, needs};

use self::peers::Peers;

/// Rounds of every figure, which is the median of them.
const ROUNDS: usize = 5;

#[test]
#[ignore = "measures: for a quiet machine"]
fn what_transfers_cost_at_each_level() {
    needs!(Realm::NEEDS, Smbd::NEEDS, Ganesha::NEEDS);
    let Some(realm) = Realm::enter("costs::what_transfers_cost_at_each_level") else { return };
    println!("{}", transfers::table(&Peers::start(&realm)));
}

#[test]
#[ignore = "measures: for a quiet machine"]
fn what_a_login_costs_by_each_method() {
    needs!(Realm::NEEDS, Smbd::NEEDS, Ganesha::NEEDS);
    let Some(realm) = Realm::enter("costs::what_a_login_costs_by_each_method") else { return };
    println!("{}", logins::table(&logins::rows(&realm, &Peers::start(&realm))));
}

#[test]
#[ignore = "measures: for a quiet machine"]
fn the_figures_that_have_a_goal() {
    needs!(Realm::NEEDS, Smbd::NEEDS, Ganesha::NEEDS);
    let Some(realm) = Realm::enter("costs::the_figures_that_have_a_goal") else { return };
    let peers = Peers::start(&realm);
    println!("{}", goals::table(&peers, &logins::rows(&realm, &peers)));
}

#[test]
#[ignore = "measures: for a quiet machine"]
fn reads_next_to_the_kernel_client() {
    needs!(Realm::NEEDS, Smbd::NEEDS, Ganesha::NEEDS, KernelGuest::NEEDS, [Need::Program("rpc.gssd")]);
    let Some(realm) = Realm::enter("costs::reads_next_to_the_kernel_client") else { return };
    println!("{}", kernel::table(&realm, &Peers::start(&realm)));
}

/// The middle of some figures.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A figure with three significant digits.
fn digits(figure: f64) -> String {
    let magnitude = if figure == 0.0 { 0 } else { figure.abs().log10().floor() as i32 };
    format!("{figure:.*}", (2 - magnitude).clamp(0, 3) as usize)
}
