//! Traces as strace 6.1 prints them.

use std::io::Cursor;

use crate::input::{InputError, ReadOptions, observe};
use crate::operation::{Access, Action, Observed, Outcome, Protocol};

fn observed(trace: &str, below: Option<&str>) -> Result<Observed, InputError> {
    let input = ("trace".to_owned(), Box::new(Cursor::new(trace.to_owned())) as Box<dyn std::io::Read>);
    observe(
        std::iter::once(input),
        &ReadOptions { below: below.map(str::to_owned), ..ReadOptions::default() },
    )
}

fn actions(trace: &str) -> Vec<(Action, Outcome)> {
    let observed = observed(trace, Some("/srv")).unwrap();
    observed.operations.iter().map(|operation| (operation.action, operation.outcome)).collect()
}

#[test]
fn a_file_is_followed_from_open_to_close() {
    let trace = r#"100 1700000000.000001 openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3 <0.000010>
100 1700000000.000100 openat(AT_FDCWD, "/srv/a \"b\", c.txt", O_RDWR|O_CREAT|O_EXCL, 0644) = 4 <0.000020>
100 1700000000.000200 write(4, "x, (y) \" z"..., 4096) = 4096 <0.000030>
100 1700000000.000300 pread64(4, "data"..., 512, 1024) = 512 <0.000005>
100 1700000000.000400 lseek(4, 0, SEEK_SET) = 0 <0.000001>
100 1700000000.000500 read(4, ""..., 8192) = 4096 <0.000005>
100 1700000000.000600 fsync(4) = 0 <0.002000>
100 1700000000.003000 close(4) = 0 <0.000002>
100 1700000000.004000 +++ exited with 0 +++
"#;
    let file = 0;
    assert_eq!(
        actions(trace),
        [
            (Action::Open { file: Some(file), access: Access::Write, created: true }, Outcome::Done),
            (Action::Write { file, offset: 0, bytes: 4096, stable: false }, Outcome::Done),
            (Action::Read { file, offset: 1024, asked: 512, bytes: 512 }, Outcome::Done),
            (Action::Read { file, offset: 0, asked: 8192, bytes: 4096 }, Outcome::Done),
            (Action::Flush { file }, Outcome::Done),
            (Action::Close { file }, Outcome::Done),
        ]
    );
    let observed = observed(trace, Some("/srv")).unwrap();
    assert_eq!(observed.users[0].protocol, Protocol::SystemCalls);
    let flush = &observed.operations[4];
    assert_eq!((flush.start, flush.end), (599_000, Some(2_599_000)));
    assert!(observed.files[0].created && observed.files[0].extension == Some("text"));
    assert_eq!(observed.started, 1_700_000_000);
}

#[test]
fn threads_share_descriptors_and_interrupted_calls_are_joined() {
    let trace = r#"[pid   10] 1.000000 openat(AT_FDCWD, "/srv/d", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY) = 3 <0.000010>
[pid   10] 1.001000 getdents64(3, 0x5581 /* 12 entries */, 32768) = 400 <0.000010>
[pid   10] 1.001100 getdents64(3, 0x5581 /* 0 entries */, 32768) = 0 <0.000010>
[pid   10] 1.002000 clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD, exit_signal=0}, 88) = 11 <0.000100>
[pid   11] 1.003000 openat(3, "f", O_WRONLY|O_APPEND <unfinished ...>
[pid   10] 1.003100 newfstatat(3, "g", 0x7ffd, AT_SYMLINK_NOFOLLOW) = -1 ENOENT (No such file or directory) <0.000010>
[pid   11] 1.003500 <... openat resumed>) = 4 <0.000500>
[pid   10] 1.004000 write(4, "a", 1) = 1 <0.000010>
[pid   10] 1.005000 write(4, "b", 1) = 1 <0.000010>
[pid   10] 1.006000 renameat2(3, "f", AT_FDCWD, "/srv/h", RENAME_NOREPLACE) = 0 <0.000010>
[pid   10] 1.007000 unlink("/srv/h") = 0 <0.000010>
[pid   10] 1.008000 read(4, <unfinished ...>
"#;
    let observed = observed(trace, Some("/srv")).unwrap();
    assert_eq!(observed.users.len(), 1);
    assert_eq!(observed.unseen.without_reply, 1);
    let found: Vec<Action> = observed.operations.iter().map(|operation| operation.action).collect();
    let Action::List { directory, entries: 12, first: true } = found[0] else { panic!("{found:?}") };
    assert!(observed.files[directory as usize].directory);
    let Action::Open { file: Some(file), access: Access::Write, created: false } = found[1] else {
        panic!("{found:?}")
    };
    assert_eq!(found[2], Action::Stat { file: None });
    assert_eq!(observed.operations[1].end, Some(2_500_000 + 1_000_000));
    assert_eq!(found[3], Action::Write { file, offset: 0, bytes: 1, stable: false });
    assert_eq!(found[4], Action::Write { file, offset: 1, bytes: 1, stable: false });
    assert_eq!(found[5], Action::Rename { file: Some(file), replaced: None });
    assert_eq!(found[6], Action::Remove { file: Some(file) });
}

#[test]
fn a_copy_within_the_kernel_is_a_read_and_a_write() {
    let trace = r#"1 1.0 openat(AT_FDCWD</>, "/srv/a.log", O_RDONLY) = 3</srv/a.log> <0.1>
1 1.1 openat(AT_FDCWD</>, "/srv/b.log", O_WRONLY|O_CREAT|O_TRUNC, 0644) = 4</srv/b.log> <0.1>
1 1.2 copy_file_range(3</srv/a.log>, NULL, 4</srv/b.log>, [4096] => [4196], 9223372035781033984, 0) = 100 <0.1>
1 1.3 sendfile(4</srv/b.log>, 3</srv/a.log>, NULL, 50) = 50 <0.1>
"#;
    let found: Vec<Action> = actions(trace).into_iter().map(|(action, _)| action).collect();
    let [
        Action::Open { file: Some(from), .. },
        Action::Open { file: Some(to), created: true, .. },
        rest @ ..,
    ] = &found[..]
    else {
        panic!("{found:?}")
    };
    let read = |offset, bytes| Action::Read { file: *from, offset, asked: bytes, bytes };
    let write = |offset, bytes| Action::Write { file: *to, offset, bytes, stable: false };
    assert_eq!(rest, [read(0, 100), write(4096, 100), read(100, 50), write(0, 50)]);
}

#[test]
fn a_process_takes_its_descriptors_with_it() {
    let trace = r#"1 1.0 openat(AT_FDCWD</>, "/srv/a", O_RDONLY) = 3</srv/a> <0.1>
1 1.1 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD, child_tidptr=0x7f) = 2 <0.1>
2 1.2 read(3</srv/a>, "x", 10) = 1 <0.1>
2 1.3 +++ exited with 0 +++
2 1.4 read(3</dev/pts/0>, "x", 10) = 1 <0.1>
1 1.5 read(3</srv/a>, "x", 20) = 1 <0.1>
"#;
    let asked = |(action, _): (Action, Outcome)| match action {
        Action::Read { asked, .. } => Some(asked),
        _ => None,
    };
    assert_eq!(actions(trace).into_iter().filter_map(asked).collect::<Vec<_>>(), [10, 20]);
}

#[test]
fn what_cannot_be_used_is_named() {
    let without = "1 1.0 openat(AT_FDCWD, \"/srv/f\", O_RDONLY) = 3\n";
    assert!(matches!(observed(without, None), Err(InputError::NoDurations { .. })));
    let elsewhere = "1 1.0 openat(AT_FDCWD, \"/srvx/f\", O_RDONLY) = 3 <0.1>\n";
    let error = observed(elsewhere, Some("/srv/")).unwrap_err().to_string();
    assert_eq!(error, "no operation on a file below /srv/ in the traces");
    assert!(matches!(observed(elsewhere, Some("srv")), Err(InputError::NotAbsolute { .. })));
    assert!(matches!(observed("hello\nworld\n", None), Err(InputError::NotUnderstood { .. })));
    let relative = "1 1.0 chdir(\"/elsewhere\") = 0 <0.1>\n1 1.05 openat(AT_FDCWD</srv/d>, \"/lib/x\", O_RDONLY) = 3</lib/x> <0.1>\n1 1.1 mkdir(\"../e\", 0777) = 0 <0.1>\n1 1.2 stat(\"e\", {st_mode=S_IFREG|0644, st_size=77, ...}) = 0 <0.1>\n";
    let observed = observed(relative, Some("/srv")).unwrap();
    assert_eq!(observed.operations.len(), 2);
    assert!(observed.files.iter().any(|file| file.size == Some(77)));
}
