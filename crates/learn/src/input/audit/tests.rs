//! Logs that smbd 4.17.12 wrote of smbclient and of the client of Linux 6.1, with other names and addresses, and shortened.

use std::io::{Cursor, Read};

use proptest::prelude::*;

use crate::analysis::learn;
use crate::input::{InputError, ReadOptions, observe};
use crate::operation::{Access, Action, Observed, Outcome, Protocol};
use crate::server::server_report;

const SMBCLIENT: &str = include_str!("samples/smbclient.txt");
const KERNEL: &str = include_str!("samples/kernel.txt");
const SYSLOG: &str = include_str!("samples/syslog-local.txt");
const SYSLOG_ISO: &str = include_str!("samples/syslog-iso.txt");

fn read(inputs: &[&[u8]]) -> Result<Observed, InputError> {
    let inputs = inputs.iter().zip(1..).map(|(bytes, number)| {
        (format!("log{number}"), Box::new(Cursor::new(bytes.to_vec())) as Box<dyn Read>)
    });
    observe(inputs, &ReadOptions::default())
}

fn observed(text: &str) -> Observed {
    read(&[text.as_bytes()]).unwrap()
}

fn actions(observed: &Observed) -> Vec<Action> {
    observed.operations.iter().map(|operation| operation.action).collect()
}

/// Lines of smbd with a header each, one second apart.
fn smbd(messages: &[&str]) -> String {
    let line = |(second, message): (u32, &&str)| {
        format!("[2026/11/26 10:00:{second:02},  1] a.c:643(do_log)\n  ann|192.0.2.7|{message}\n")
    };
    (0..).zip(messages).map(line).collect()
}

#[test]
fn what_smbclient_did_is_found_among_the_calls_of_smbd() {
    let observed = observed(SMBCLIENT);
    // mkdir project; cd project; put a.bin; put notes.txt; ls
    let project = 0;
    let a = 2;
    let notes = 3;
    let write = |file, bytes| Action::Write { file, offset: 0, bytes, stable: false };
    assert_eq!(
        actions(&observed)[..12],
        [
            Action::Connect,
            Action::MakeDirectory { directory: Some(project) },
            Action::Stat { file: Some(project) },
            Action::Open { file: Some(a), access: Access::Write, created: true },
            write(a, 200_000),
            Action::Close { file: a },
            Action::Open { file: Some(notes), access: Access::Write, created: true },
            write(notes, 6),
            Action::Close { file: notes },
            Action::List { directory: project, entries: 0, first: true },
            Action::Stat { file: Some(project) },
            Action::Space,
        ]
    );
    // cd project; get a.bin; get missing.txt
    assert_eq!(
        actions(&observed)[12..18],
        [
            Action::Connect,
            Action::Stat { file: Some(project) },
            Action::Open { file: Some(a), access: Access::Read, created: false },
            Action::Read { file: a, offset: 0, asked: 200_000, bytes: 200_000 },
            Action::Close { file: a },
            Action::Open { file: None, access: Access::Read, created: false },
        ]
    );
    assert_eq!(observed.operations[17].outcome, Outcome::NotFound);
    // rename notes.txt new.txt; del new.txt; del a.bin; rmdir project, with a listing before each del
    let last: Vec<Action> = actions(&observed)[34..40].to_vec();
    let list = Action::List { directory: project, entries: 0, first: true };
    let remove = |file| Action::Remove { file: Some(file) };
    assert_eq!(
        last,
        [
            Action::Rename { file: Some(notes), replaced: None },
            list,
            remove(notes),
            list,
            remove(a),
            remove(project)
        ]
    );
    // Another account on the same client, which may not make a file there.
    let users: Vec<u32> = observed.users.iter().map(|user| user.client).collect();
    assert_eq!(users, [0, 0]);
    assert!(observed.users.iter().all(|user| user.protocol == Protocol::AuditLog));
    let denied: Vec<u32> = observed
        .operations
        .iter()
        .filter(|operation| matches!(operation.outcome, Outcome::Failed(_)))
        .map(|operation| operation.user)
        .collect();
    assert_eq!(denied, [1]);
    assert_eq!(observed.unseen.not_understood, 0);
    assert_eq!(
        (observed.files[a as usize].extension, observed.files[a as usize].created),
        (Some("binary"), true)
    );
}

#[test]
fn files_that_a_kernel_keeps_open_are_closed_once_each() {
    let observed = observed(KERNEL);
    let file = 3;
    let events: Vec<char> = observed
        .operations
        .iter()
        .filter_map(|operation| match operation.action {
            Action::Open { file: Some(of), .. } if of == file => Some('O'),
            Action::Close { file: of } if of == file => Some('C'),
            Action::Read { file: of, .. } if of == file => Some('R'),
            Action::Write { file: of, .. } if of == file => Some('W'),
            _ => None,
        })
        .collect();
    // The descriptors for attributes, listings and looks at the path are not among them.
    assert_eq!(events.into_iter().collect::<String>(), "OWOCCORRROOORRWOCCOC");
    let reads: Vec<(u64, u32)> = observed
        .operations
        .iter()
        .filter_map(|operation| match operation.action {
            Action::Read { offset, bytes, .. } => Some((offset, bytes)),
            _ => None,
        })
        .collect();
    assert_eq!(reads, [(0, 4096), (4096, 4096), (8192, 4096), (0, 4096), (1000, 3096)]);
    let flushes = observed.operations.iter().filter(|o| matches!(o.action, Action::Flush { .. })).count();
    assert_eq!(flushes, 5);
    assert!(actions(&observed).contains(&Action::Other("set size")));
}

#[test]
fn syslog_shows_the_same_as_smbd_with_its_own_resolution() {
    let exact = observed(SYSLOG_ISO);
    assert_eq!(exact.started, 1_795_704_287);
    assert_eq!((exact.unseen.resolution_ns, exact.operations[1].start), (1_000, 545_000));
    let coarse = observed(SYSLOG);
    assert_eq!(actions(&coarse), actions(&exact));
    assert_eq!(actions(&exact)[..12], actions(&observed(SMBCLIENT))[..12]);
    // Without a year there is no wall clock.
    assert_eq!((coarse.started, coarse.unseen.resolution_ns), (0, 1_000_000_000));
    assert_eq!(coarse.duration, 2_000_000_000);
    assert_eq!(learn(&coarse).gap, 1_000_000_000);
}

#[test]
fn response_times_are_not_known_rather_than_zero() {
    let report = server_report(&observed(SMBCLIENT));
    assert!(report.kinds.iter().all(|kind| kind.response.is_empty()));
    assert!(report.slowest_users.is_empty() && report.usual_user_p95.is_none());
    assert_eq!(report.unseen.without_duration, report.operations);
    assert_eq!(report.unseen.without_reply, 0);
    assert_eq!(report.bytes, (200_006, 200_006));
    let read = report.kinds.iter().find(|kind| kind.operation == "read").unwrap();
    assert_eq!((read.count, read.failed), (2, 0));
}

#[test]
fn what_made_a_file_is_seen_by_the_search_before_it() {
    let observed = observed(&smbd(&[
        "openat|fail (No such file or directory)|r|/srv/new.txt",
        "openat|ok|w|/srv/new.txt",
        "create_file|ok|0x2|file|open_if|/srv/new.txt",
        "strict_lock_check|fail (Resource temporarily unavailable)|/srv/new.txt:0-10:1",
        "close|ok|/srv/new.txt",
        "openat|ok|r|/srv/new.txt",
        "create_file|ok|0x3|file|open_if|/srv/new.txt",
        "brl_lock_windows|ok|/srv/new.txt:0-10. type=1.",
        "brl_unlock_windows|fail (Success)|/srv/new.txt:0-10:1",
        "create_file|ok|0x100|file|open|/srv/new.txt",
        "create_file|fail (Permission denied)|0x1|dir|create|/srv/d",
        "create_file|no",
        "pread_send|ok|/srv/new.txt",
    ]));
    let file = 0;
    let open = |created| Action::Open { file: Some(file), access: Access::Write, created };
    let found: Vec<(Action, Outcome)> =
        observed.operations.iter().map(|operation| (operation.action, operation.outcome)).collect();
    assert_eq!(
        found,
        [
            (open(true), Outcome::Done),
            (Action::Write { file, offset: 0, bytes: 10, stable: false }, Outcome::Failed(1)),
            (Action::Close { file }, Outcome::Done),
            (open(false), Outcome::Done),
            (Action::Lock { file, release: false }, Outcome::Done),
            (Action::Lock { file, release: true }, Outcome::Done),
            (Action::SetAttributes { file }, Outcome::Done),
            (Action::MakeDirectory { directory: None }, Outcome::Failed(1)),
        ]
    );
    assert!(observed.files[0].created);
}

#[test]
fn dates_without_a_year_continue_at_its_end() {
    let log = |dates: [&str; 3]| {
        let messages =
            ["openat|ok|r|/a", "create_file|ok|0x2|file|create|/a", "strict_lock_check|ok|/a:0-1:1"];
        let line = |(date, message): (&str, &str)| {
            format!(
                "{date} host smbd_audit[7]: ann|::1|{message}\n{date} host smbd_audit[7]: ann|::1|close|ok|/b\n"
            )
        };
        dates.into_iter().zip(messages).map(line).collect::<String>()
    };
    let seconds = |dates| observed(&log(dates)).duration / 1_000_000_000;
    assert_eq!(seconds(["Dec 31 23:59:58", "Dec 31 23:59:59", "Jan  1 00:00:01"]), 3);
    assert_eq!(seconds(["Feb 28 12:00:00", "Feb 28 13:00:00", "Mar  1 12:00:00"]), 86_400);
    assert_eq!(seconds(["Feb 28 12:00:00", "Feb 29 12:00:00", "Mar  1 12:00:00"]), 2 * 86_400);
    assert_eq!(seconds(["Dec 31 23:59:59", "Jan  1 00:00:01", "Dec 31 23:59:59"]), 2);
}

#[test]
fn lines_of_two_processes_in_another_order_are_no_step_of_the_clock() {
    let line =
        |time: &str, message: &str| format!("[2026/11/26 10:00:{time},  1] a.c:1(f)\n  ann|::1|{message}\n");
    let log = [
        line("01.000000", "openat|ok|r|/a"),
        line("01.500000", "create_file|ok|0x80|file|open|/a"),
        line("01.400000", "close|ok|/a"),
        line("01.600000", "disk_free|ok|/a"),
    ];
    let observed = observed(&log.concat());
    let starts: Vec<u64> = observed.operations.iter().map(|operation| operation.start).collect();
    assert_eq!(starts, [500_000_000, 600_000_000]);
    assert_eq!(observed.unseen.clock_steps, 0);
}

#[test]
fn what_cannot_be_used_is_named() {
    let error = |text: &str| read(&[text.as_bytes()]).unwrap_err().to_string();
    assert!(
        error("Nov 26 10:00:00 host cron[1]: a|b\n").starts_with("log1: a log without lines of full_audit")
    );
    let no_address = "Nov 26 10:00:00 host smbd_audit: ann|share|openat|ok|r|/a\n";
    assert!(error(no_address).ends_with("use: full_audit:prefix = %u|%I"));
    assert!(error(&smbd(&["openat|ok|r|/a"])).starts_with("no lines of create_file in the logs"));
    let opens = ["openat|ok|r|/a", "create_file|ok|0x1|file|open|/a", "close|ok|/a"];
    assert!(error(&smbd(&opens)).starts_with("no lines of strict_lock_check in the logs"));
    assert!(error(&smbd(&opens[..2])).starts_with("no lines of close in the logs"));
    // Without files there is nothing to read.
    let directory = ["openat|ok|r|/a", "create_file|ok|0x81|dir|open|/a", "fdopendir|ok|/a", "close|ok|/a"];
    assert_eq!(actions(&observed(&smbd(&directory))).len(), 1);
    let trace = "1 1.0 openat(AT_FDCWD, \"/srv/f\", O_RDONLY) = 3 <0.1>\n";
    let mixed = read(&[SMBCLIENT.as_bytes(), trace.as_bytes()]).unwrap_err().to_string();
    assert_eq!(
        mixed,
        "log1 is a log of full_audit, but log2 is a trace of system calls: read them one at a time"
    );
    // Rotated files are one log.
    assert!(read(&[SMBCLIENT.as_bytes(), smbd(&["close|ok|/a"]).as_bytes()]).is_ok());
}

proptest! {
    #[test]
    fn no_bytes_are_a_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        cut in any::<prop::sample::Index>(),
    ) {
        for text in [SMBCLIENT, SYSLOG, SYSLOG_ISO] {
            let mut bytes = text.as_bytes().to_vec();
            for (at, byte) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            bytes.truncate(cut.index(bytes.len()));
            if let Ok(observed) = read(&[&bytes]) {
                learn(&observed);
            }
        }
    }
}
