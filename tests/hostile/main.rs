//! Hostile servers against the real program: `sweep`, `learn`, `clean` and `probe` end, in time and in bounded memory, and
//! do not panic. The table in `docs/results/hostile-servers.md` has the exit codes; this suite writes and compares it.

#![expect(
    clippy::unwrap_used,
    reason = "the whole file is test code, which clippy recognises only by #[test]"
)]

mod measure;
mod mode;
mod ncp;
mod nfs;
mod nfs_v4;
mod proxy;
mod share_list;
mod smb;
mod smb_cipher;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use sharebench_tests::{Outcomes, Sample, Sharebench, need};

use crate::measure::{Command, Measured, peak_kib, run};
use crate::mode::Mode;

/// Without `SHAREBENCH_LONG`, one mode in N runs.
const SAMPLED: u64 = 8;
/// Runs at a time. Most of them wait for a timeout.
const AT_A_TIME: usize = 48;
/// Maximum memory of this process in KiB. A proxy that reserves what a hostile length announces takes gigabytes.
const MAX_OWN_KIB: u64 = 512 << 10;

/// A run, by the indices of its mode and its command.
#[derive(Clone, Copy)]
struct Job {
    mode: usize,
    command: Command,
}

#[test]
fn every_run_at_a_hostile_server_ends_in_time_and_in_bounded_memory() {
    let sample = Sample::one_in(SAMPLED);
    let columns = ["server", "what it does"].into_iter().chain(Command::ALL.map(Command::name));
    let mut table = Outcomes::new("hostile-servers.md", &columns.collect::<Vec<_>>());
    let all: Vec<Mode> = [nfs::MODES.to_vec(), nfs_v4::modes(), smb::modes(), ncp::modes()].concat();
    let is_wanted = |mode: &Mode| {
        let name = format!("{}: {}", mode.protocol.name(), mode.what);
        sample.contains(&name) && need::met(&name, mode.needs())
    };
    let modes: Vec<Mode> = all.iter().copied().filter(is_wanted).collect();
    sample.announce("hostile", modes.len(), all.len());
    if modes.len() < all.len() {
        table.skip();
    }
    let results = measure_all(&modes);
    let mut broken = Vec::new();
    for (mode, results) in modes.iter().zip(&results) {
        let name = format!("{}: {}", mode.protocol.name(), mode.what);
        let cells = results.iter().map(|measured| measured.outcome.clone());
        table.add([mode.protocol.name().to_owned(), mode.what.to_owned()].into_iter().chain(cells).collect());
        for (command, measured) in Command::ALL.iter().zip(results) {
            let line = format!("{name}: {}", command.name());
            println!(
                "{:>5.1} s {:>3} MiB  {line}: {}",
                measured.took.as_secs_f64(),
                measured.peak_kib >> 10,
                measured.outcome
            );
            broken.extend(measured.broken.iter().map(|rule| format!("{line}: {rule}")));
        }
    }
    let own_kib = peak_kib(std::process::id()).unwrap_or_default();
    println!("{} modes, {} MiB in this process", modes.len(), own_kib >> 10);
    if own_kib > MAX_OWN_KIB {
        broken.push(format!("this suite takes {} MiB", own_kib >> 10));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    table.settle().unwrap_or_else(|difference| panic!("{difference}"));
}

/// Measures every mode with every command. The endless ones come first and by themselves, because their clients use all of the
/// machine and would delay those that must end in time; then the slow ones begin, so that the others run while those wait.
fn measure_all(modes: &[Mode]) -> Vec<Vec<Measured>> {
    let mut jobs: Vec<Job> = (0..modes.len())
        .flat_map(|mode| Command::ALL.into_iter().map(move |command| Job { mode, command }))
        .collect();
    jobs.sort_by_key(|job| (!modes[job.mode].is_endless, !modes[job.mode].is_slow));
    let server = Sharebench::new().unwrap();
    let served = server.serve("served").unwrap();
    // Failed logins delay the later ones of the same address (docs/results/security.md).
    let locking = server.serve("locking").unwrap();
    let measure = |sharebench: &Sharebench, job: Job, number: usize| {
        let mode = &modes[job.mode];
        let at = if mode.spoils_login { &locking } else { &served };
        run(sharebench, at, mode, job.command, number)
    };
    let turn = AtomicUsize::new(0);
    let done: Mutex<Vec<(Job, Measured)>> = Mutex::default();
    let endless = jobs.iter().filter(|job| modes[job.mode].is_endless).count();
    for end in [endless, jobs.len()] {
        thread::scope(|scope| {
            for _ in 0..AT_A_TIME {
                scope.spawn(|| {
                    let sharebench = Sharebench::new().unwrap();
                    while let Ok(number) = turn.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
                        (next < end).then_some(next + 1)
                    }) {
                        let measured = measure(&sharebench, jobs[number], number);
                        done.lock().unwrap().push((jobs[number], measured));
                    }
                });
            }
        });
    }
    let mut results: Vec<Vec<Measured>> = modes.iter().map(|_| Vec::new()).collect();
    let mut done = done.into_inner().unwrap();
    // On a slow machine the runs delay each other by more than the server may: a late one is judged by a run alone.
    let sharebench = Sharebench::new().unwrap();
    for (number, (job, measured)) in
        (jobs.len()..).zip(done.iter_mut().filter(|(_, measured)| measured.is_late))
    {
        *measured = measure(&sharebench, *job, number);
    }
    done.sort_by_key(|(job, _)| Command::ALL.iter().position(|command| *command == job.command));
    for (job, measured) in done {
        results[job.mode].push(measured);
    }
    results
}
