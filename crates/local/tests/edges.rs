//! What the suite cannot see: bad paths, misaligned direct I/O, short writes, dropped sessions, the page cache.
#![cfg(target_os = "linux")]
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use sharebench_local::{Engine, LocalTarget};
use sharebench_model::{
    CachePolicy, DataOp, ErrorClass, Fact, FileRef, IoPolicy, MetaOp, MetaYield, OpenHow, Residency,
    SessionOp, Slot, Stability, SyncPolicy,
};
use sharebench_target::{
    CallReply, ConnectError, Session, SessionSpec, Target, TargetUrl, UrlPart, call, reply_for,
};

fn place(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("sharebench-edges-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

async fn open(target: &LocalTarget, slots: u32) -> Box<dyn Session> {
    let spec = SessionSpec { slots, slot_bytes: 64 << 10, ..SessionSpec::default() };
    target.connect(&spec).await.unwrap()
}

async fn refused(target: LocalTarget, slots: u32) -> ConnectError {
    let spec = SessionSpec { slots, ..SessionSpec::default() };
    match target.connect(&spec).await {
        Ok(_) => panic!("{} was accepted", target.url()),
        Err(error) => error,
    }
}

async fn create(session: &mut dyn Session, name: &str) -> FileRef {
    let op = MetaOp::open(name, OpenHow::CreateNew);
    match call(session, op).await {
        Ok(MetaYield::Opened { file, size: 0 }) => file,
        other => panic!("{other:?}"),
    }
}

fn write(file: FileRef, offset: u64, len: u32) -> DataOp {
    DataOp::Write { file, offset, len, stability: Stability::Unstable }
}

#[tokio::test]
async fn a_missing_directory_a_file_and_a_nul_are_named() {
    let dir = place("paths");
    std::fs::write(dir.join("file"), b"x").unwrap();
    let missing = refused(LocalTarget::new(dir.join("none")), 1).await;
    assert_eq!((missing.part, missing.class), (UrlPart::Path, ErrorClass::NotFound));
    assert!(missing.to_string().contains("no such directory") && missing.to_string().contains("/none"));
    let file = refused(LocalTarget::new(dir.join("file")), 1).await;
    assert!(file.part == UrlPart::Path && file.detail.contains("not a directory"), "{file}");
    let nul = refused(LocalTarget::new("/tmp/a\0b"), 1).await;
    assert_eq!(nul.class, ErrorClass::Refused);
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn a_read_only_file_system_is_named() {
    // The kernel's own tree refuses writes everywhere.
    let error = refused(LocalTarget::new("/proc/sys/kernel"), 1).await;
    assert!(matches!(error.class, ErrorClass::ReadOnly | ErrorClass::Refused), "{error}");
    let readonly = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let readonly = readonly.lines().find_map(|line| {
        let fields: Vec<_> = line.split(' ').collect();
        (fields[5].starts_with("ro,") && !fields[4].contains('\\')).then(|| fields[4].to_owned())
    });
    let Some(point) = readonly.filter(|point| std::path::Path::new(point).is_dir()) else { return };
    let error = refused(LocalTarget::new(&point), 1).await;
    assert_eq!((error.part, error.class), (UrlPart::Path, ErrorClass::ReadOnly), "{error}");
}

#[tokio::test]
async fn a_directory_without_permission_is_named() {
    let dir = place("permission");
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o500)).unwrap();
    let spec = SessionSpec::default();
    let outcome = LocalTarget::new(&dir).connect(&spec).await;
    // Root may write everywhere; other users must get an error.
    if let Err(error) = outcome {
        assert!(error.class == ErrorClass::Refused && error.detail.contains("permission"), "{error}");
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn psync_has_no_queue_and_says_so() {
    let error = refused(LocalTarget::new("/tmp").with_engine(Engine::Psync), 8).await;
    assert_eq!(error.part, UrlPart::Option("engine"));
    assert!(error.detail.contains("queue depth 8"), "{error}");
}

#[test]
fn options_are_checked() {
    let parse = |text: &str| LocalTarget::from_url(TargetUrl::parse(text).unwrap());
    let full = parse("file:///tmp?direct=1&engine=uring").unwrap();
    assert_eq!((full.url().as_str(), full.path().to_str()), ("/tmp?direct=1&engine=uring", Some("/tmp")));
    for (text, word) in [
        ("file:///tmp?engine=fast", "engine=fast"),
        ("file:///tmp?direct=yes", "direct=yes"),
        ("file:///tmp?depth=3", "depth="),
        ("nfs://nas/tmp", "not a local path"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(word), "{text}: {error}");
    }
}

#[tokio::test]
async fn facts_name_file_system_and_engine() {
    for (slots, engine) in [(1, "psync"), (4, "uring")] {
        let facts = open(&LocalTarget::new("/dev/shm"), slots).await.facts();
        assert_eq!(
            (facts[Fact::FileSystem].as_str(), facts[Fact::MountPoint].as_str()),
            ("tmpfs", "/dev/shm")
        );
        assert_eq!((facts[Fact::Engine].as_str(), facts[Fact::DirectIo].as_str()), (engine, "no"));
        assert!(facts[Fact::MountOptions].contains("rw") && facts[Fact::BlockSize] == "4096", "{facts:?}");
    }
}

#[tokio::test]
async fn misaligned_direct_io_is_explained() {
    let dir = place("misaligned");
    for engine in [Engine::Psync, Engine::Uring] {
        let target = LocalTarget::new(&dir).with_direct(true).with_engine(engine);
        let mut session = open(&target, 1).await;
        let file = create(&mut *session, engine.name()).await;
        let error = reply_for(&mut *session, Slot(0), write(file, 0, 1000)).await.result.unwrap_err();
        assert_eq!(error.class, ErrorClass::Unsupported, "{error}");
        assert!(error.detail.contains("direct I/O needs offsets and lengths in multiples of"), "{error}");
        session.close().await;
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn a_record_larger_than_its_slot_never_reaches_the_system() {
    let dir = place("large");
    for slots in [1, 2] {
        let mut session = open(&LocalTarget::new(&dir), slots).await;
        let file = create(&mut *session, &format!("f{slots}")).await;
        let reply = reply_for(&mut *session, Slot(0), write(file, 0, (64 << 10) + 1)).await;
        assert_eq!((reply.requests, reply.result.unwrap_err().class), (0, ErrorClass::Refused));
    }
    std::fs::remove_dir_all(dir).unwrap();
}

/// Set for the process that runs under a file size limit.
const LIMITED: &str = "SHAREBENCH_TEST_LIMITED";

/// A file size limit makes writes short first and fail then, like a full disk.
#[test]
fn a_write_that_does_not_fit_is_an_error_and_not_a_short_success() {
    let limits = std::process::Command::new("sh")
        .args(["-c", "ulimit -f 100; trap '' XFSZ; exec \"$0\" --exact edges::limited_writer", &{
            std::env::current_exe().unwrap().display().to_string()
        }])
        .env(LIMITED, "1")
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&limits.stdout);
    assert!(limits.status.success() && shown.contains("1 passed"), "{shown}");
}

/// The process that the test above starts; nothing happens where the variable is not set.
#[tokio::test]
async fn limited_writer() {
    if std::env::var_os(LIMITED).is_none() {
        return;
    }
    let dir = place("limited");
    for slots in [1, 2] {
        let mut session = open(&LocalTarget::new(&dir), slots).await;
        let file = create(&mut *session, &format!("f{slots}")).await;
        // The limit is 50 or 100 KiB, by the shell's block size.
        let mut last = None;
        for record in 0..3 {
            last = Some(reply_for(&mut *session, Slot(0), write(file, record * 60_000, 60_000)).await);
        }
        let error = last.unwrap().result.unwrap_err();
        assert!(error.detail.contains("EFBIG"), "{error}");
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn a_session_dropped_with_operations_in_flight_ends_them_first() {
    let dir = place("dropped");
    let target = LocalTarget::new(&dir).with_direct(true).with_engine(Engine::Uring);
    for round in 0..20 {
        let mut session = open(&target, 16).await;
        let file = create(&mut *session, &format!("f{round}")).await;
        for slot in 0..16 {
            session.buffer(Slot(slot)).fill(slot as u8);
            session.submit(Slot(slot), write(file, u64::from(slot) << 16, 64 << 10));
        }
        if round % 2 == 0 {
            let mut replies = Vec::new();
            std::future::poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
        }
        let busy = call(&mut *session, MetaOp::Close { file }).await;
        assert!(busy.is_ok() || busy.is_err_and(|error| error.class == ErrorClass::Busy));
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn a_slot_in_flight_refuses_a_second_operation() {
    let dir = place("twice");
    let mut session = open(&LocalTarget::new(&dir), 2).await;
    let file = create(&mut *session, "f").await;
    session.submit(Slot(1), write(file, 0, 4096));
    session.submit(Slot(1), write(file, 0, 4096));
    let mut replies = Vec::new();
    while replies.len() < 2 {
        std::future::poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
    }
    assert_eq!(replies.iter().filter(|reply| reply.result.is_ok()).count(), 1);
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn a_dropped_cache_is_empty_and_a_mapped_page_is_reported() {
    let dir = place("cache");
    let target = LocalTarget::new(&dir);
    if !target.capabilities().drop_cache {
        return;
    }
    let mut session = open(&target, 1).await;
    let file = create(&mut *session, "f").await;
    assert_eq!(reply_for(&mut *session, Slot(0), write(file, 0, 40_000)).await.result, Ok(40_000));
    assert_eq!(call(&mut *session, SessionOp::DropCache { file }).await, Ok(MetaYield::Done));
    let reply = session.call(SessionOp::DropCache { file }).await;
    assert!(reply.requests >= 3, "fsync, fadvise and a count: {}", reply.requests);
    // A page that another process maps and uses cannot be dropped.
    let other = std::fs::File::open(dir.join("f")).unwrap();
    // SAFETY: a private read-only mapping of a file that stays as long as the mapping is used.
    let mapped = unsafe {
        let fd = std::os::fd::AsRawFd::as_raw_fd(&other);
        libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, libc::MAP_SHARED, fd, 0)
    };
    assert_ne!(mapped, libc::MAP_FAILED);
    // SAFETY: the mapping is readable and one page long.
    std::hint::black_box(unsafe { mapped.cast::<u8>().read_volatile() });
    let error = call(&mut *session, SessionOp::DropCache { file }).await.unwrap_err();
    assert!(error.class == ErrorClass::Busy && error.detail.contains("pages stay"), "{error}");
    // SAFETY: mapped above, used no more.
    unsafe { libc::munmap(mapped, 4096) };
    assert_eq!(call(&mut *session, SessionOp::DropCache { file }).await, Ok(MetaYield::Done));
    std::fs::remove_dir_all(dir).unwrap();
}

/// Jobs that share a file drop its cache at the same time: each locks pages that the others pass over.
#[test]
fn several_may_drop_the_cache_of_one_file_at_once() {
    const JOBS: usize = 4;
    const ROUNDS: usize = 1000;
    let dir = place("together");
    let target = LocalTarget::new(&dir);
    if !target.capabilities().drop_cache {
        return;
    }
    std::fs::write(dir.join("f"), vec![7; 96 << 10]).unwrap();
    let start = std::sync::Barrier::new(JOBS);
    let job = || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut session = open(&target, 1).await;
            let open =
                MetaOp::Open { path: "f".into(), how: OpenHow::ReadWrite, policy: IoPolicy::default() };
            let opened = session.call(open).await.result;
            let Ok(MetaYield::Opened { file, .. }) = opened else { return vec![opened] };
            let mut results = Vec::new();
            for _ in 0..ROUNDS {
                let _ = std::fs::read(dir.join("f"));
                start.wait();
                results.push(session.call(SessionOp::DropCache { file }).await.result);
                start.wait();
            }
            results
        })
    };
    let mut results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..JOBS).map(|_| scope.spawn(job)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(results.len(), JOBS * ROUNDS);
    results.retain(|result| *result != Ok(MetaYield::Done));
    assert_eq!(results, []);
    std::fs::remove_dir_all(dir).unwrap();
}

fn policy(cache: CachePolicy, sync: SyncPolicy) -> IoPolicy {
    IoPolicy { cache, sync }
}

async fn residency(session: &mut dyn Session, file: FileRef) -> Residency {
    match call(session, SessionOp::Residency { file }).await {
        Ok(MetaYield::Residency(seen)) => seen,
        other => panic!("{other:?}"),
    }
}

async fn create_as(session: &mut dyn Session, name: &str, policy: IoPolicy) -> FileRef {
    match call(session, MetaOp::Open { path: name.into(), how: OpenHow::CreateNew, policy }).await {
        Ok(MetaYield::Opened { file, .. }) => file,
        other => panic!("{other:?}"),
    }
}

/// Memory file systems keep the usual policy only; everything else needs storage below the page cache.
#[tokio::test]
async fn tmpfs_refuses_every_policy_but_the_usual_one_with_a_reason() {
    let target = LocalTarget::new("/dev/shm");
    for wanted in IoPolicy::all().filter(|policy| !policy.is_normal()) {
        let refusal = target.policy(wanted).unwrap_err();
        assert!(refusal.reason.contains("tmpfs"), "{refusal}");
        let mut session = open(&target, 1).await;
        let op = MetaOp::Open { path: "never".into(), how: OpenHow::CreateNew, policy: wanted };
        let error = call(&mut *session, op).await.unwrap_err();
        assert!(error.class == ErrorClass::Unsupported && error.detail.contains("tmpfs"), "{error}");
        assert!(!std::path::Path::new("/dev/shm/never").exists());
    }
    assert!(target.policy(IoPolicy::default()).is_ok());
}

#[tokio::test]
async fn unbuffered_leaves_no_page_and_write_through_no_dirty_one() {
    let dir = place("policies");
    for slots in [1, 4] {
        let target = LocalTarget::new(&dir);
        let direct = policy(CachePolicy::Unbuffered, SyncPolicy::Normal);
        // The machine's temporary directory may be in memory.
        let Ok(terms) = target.policy(direct) else { return };
        assert!(terms.alignment > 1 && 65_536 % terms.alignment == 0, "{terms:?}");
        let mut session = open(&target, slots).await;
        let file = create_as(&mut *session, &format!("direct{slots}"), direct).await;
        for record in 0..4 {
            assert!(
                reply_for(&mut *session, Slot(0), write(file, record << 16, 65_536)).await.result.is_ok()
            );
        }
        let read = DataOp::Read { file, offset: 65_536, len: 65_536 };
        assert_eq!(reply_for(&mut *session, Slot(0), read).await.result, Ok(65_536));
        let seen = residency(&mut *session, file).await;
        assert_eq!((seen.bytes, seen.resident), (4 << 16, 0));

        let through = policy(CachePolicy::Normal, SyncPolicy::WriteThrough);
        let file = create_as(&mut *session, &format!("through{slots}"), through).await;
        assert!(reply_for(&mut *session, Slot(0), write(file, 0, 65_536)).await.result.is_ok());
        let seen = residency(&mut *session, file).await;
        assert_eq!(seen.resident, 65_536, "it is cached all the same");
        assert!(seen.dirty.is_none_or(|dirty| dirty == 0), "{seen:?}");

        let file = create(&mut *session, &format!("plain{slots}")).await;
        assert!(reply_for(&mut *session, Slot(0), write(file, 0, 65_536)).await.result.is_ok());
        assert_eq!(residency(&mut *session, file).await.resident, 65_536);
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn a_local_file_system_has_no_other_cache_to_leave_on() {
    let target = LocalTarget::new(std::env::temp_dir());
    let refusal = target.policy(policy(CachePolicy::NoLocal, SyncPolicy::Normal)).unwrap_err();
    assert!(refusal.axis == "cache" && refusal.to_string().starts_with("cache=no-local: "), "{refusal}");
}

#[tokio::test]
async fn links_are_not_followed_out_of_the_directory() {
    let dir = place("links");
    std::os::unix::fs::symlink("/etc/passwd", dir.join("link")).unwrap();
    let mut session = open(&LocalTarget::new(&dir), 1).await;
    let op = MetaOp::open("link", OpenHow::Read);
    let error = call(&mut *session, op).await.unwrap_err();
    assert!(error.class == ErrorClass::Refused && error.detail.contains("ELOOP"), "{error}");
    let up = MetaOp::Remove { path: "../x".into() };
    assert_eq!(call(&mut *session, up).await.unwrap_err().class, ErrorClass::Refused);
    std::fs::remove_dir_all(dir).unwrap();
}

/// Waits for the replies to `count` operations on names.
async fn called(session: &mut dyn Session, count: usize) -> Vec<CallReply> {
    let mut replies = Vec::new();
    while replies.len() < count {
        std::future::poll_fn(|cx| session.poll_calls(cx, &mut replies)).await;
    }
    replies
}

#[tokio::test]
async fn a_file_in_use_by_another_slot_is_not_closed() {
    let dir = place("used");
    let mut session = open(&LocalTarget::new(&dir), 3).await;
    let file = create(&mut *session, "f").await;
    // The reply is collected by a poll only, so that the slot is in flight until then.
    session.submit_call(Slot(0), MetaOp::SetSize { file, size: 5 }).unwrap();
    let busy = session.submit_call(Slot(1), MetaOp::Close { file }).unwrap_err();
    assert!(busy.class == ErrorClass::Busy && busy.detail.contains("in use"), "{busy}");
    let alone = session.submit_call(Slot(1), MetaOp::List { path: String::new() }).unwrap_err();
    assert_eq!(alone.class, ErrorClass::Unsupported);
    assert_eq!(session.call(MetaOp::Space).await.result.unwrap_err().class, ErrorClass::Busy);
    session.submit(Slot(0), write(file, 0, 10));
    let mut replies = Vec::new();
    std::future::poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
    assert_eq!(replies[0].result.as_ref().unwrap_err().class, ErrorClass::Busy, "the slot has an operation");
    assert_eq!(called(&mut *session, 1).await[0].reply.result, Ok(MetaYield::Done));
    let used = session.threads_cpu();
    assert!(used.total_ns() > 0, "the threads of the slots have worked");
    session.submit_call(Slot(1), MetaOp::Close { file }).unwrap();
    let stale = session.submit_call(Slot(2), MetaOp::SetSize { file, size: 0 }).unwrap_err();
    assert_eq!(stale.class, ErrorClass::Stale);
    assert_eq!(called(&mut *session, 1).await[0].reply.requests, 1);
    assert!(session.threads_cpu().total_ns() > used.total_ns());
    assert_eq!(std::fs::metadata(dir.join("f")).unwrap().len(), 5);
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn a_session_dropped_with_operations_on_names_in_flight_ends_them_first() {
    let dir = place("dropped-names");
    let target = LocalTarget::new(&dir);
    for round in 0..20 {
        let mut session = open(&target, 8).await;
        for slot in 0..8 {
            let op = MetaOp::open(format!("f{round}-{slot}"), OpenHow::CreateNew);
            session.submit_call(Slot(slot), op).unwrap();
        }
        drop(session);
        // No thread of it creates a file any more.
        for slot in 0..8 {
            std::fs::remove_file(dir.join(format!("f{round}-{slot}"))).unwrap();
        }
    }
    std::fs::remove_dir(dir).unwrap();
}

#[tokio::test]
async fn a_directory_that_another_session_made_anew_is_used_at_once() {
    let dir = place("anew");
    let target = LocalTarget::new(&dir);
    let mut session = open(&target, 1).await;
    let mut another = open(&target, 1).await;
    let made = |path: &str| MetaOp::MakeDir { path: path.into() };
    call(&mut *session, made("d")).await.unwrap();
    for round in 0..100 {
        for session in [&mut session, &mut another] {
            let missing = call(&mut **session, MetaOp::Stat { path: "d/none".into() }).await.unwrap_err();
            assert_eq!(missing.class, ErrorClass::NotFound);
        }
        if round % 2 == 0 {
            call(&mut *another, MetaOp::RemoveDir { path: "d".into() }).await.unwrap();
        } else {
            let to = format!("old{round}");
            call(&mut *another, MetaOp::Rename { from: "d".into(), to }).await.unwrap();
        }
        call(&mut *another, made("d")).await.unwrap();
        let file = create(&mut *session, "d/f").await;
        call(&mut *session, MetaOp::Close { file }).await.unwrap();
        std::fs::remove_file(dir.join("d/f")).unwrap();
    }
    std::fs::remove_dir_all(dir).unwrap();
}

/// Operations on a file in a directory, and the system calls that each takes.
async fn requests_of_operations(session: &mut dyn Session) -> Vec<(&'static str, u32)> {
    let created = session.call(MetaOp::open("d/f", OpenHow::CreateNew)).await;
    let Ok(MetaYield::Opened { file, size: 0 }) = created.result else { panic!("{created:?}") };
    let closed = session.call(MetaOp::Close { file }).await;
    let opened = session.call(MetaOp::open("d/f", OpenHow::ReadWrite)).await;
    let Ok(MetaYield::Opened { file, .. }) = opened.result else { panic!("{opened:?}") };
    let mut requests =
        vec![("create", created.requests), ("close", closed.requests), ("open", opened.requests)];
    for (name, op) in [
        ("truncate", MetaOp::SetSize { file, size: 0 }),
        ("stat", MetaOp::Stat { path: "d/f".into() }),
        ("rename", MetaOp::Rename { from: "d/f".into(), to: "d/g".into() }),
        ("times", MetaOp::SetModified { path: "d/g".into(), seconds: 1_000_000_000 }),
        ("link", MetaOp::Link { from: "d/g".into(), to: "d/h".into() }),
        ("remove", MetaOp::Remove { path: "d/g".into() }),
        ("remove", MetaOp::Remove { path: "d/h".into() }),
        ("mkdir", MetaOp::MakeDir { path: "d/e".into() }),
        ("rmdir", MetaOp::RemoveDir { path: "d/e".into() }),
    ] {
        let reply = session.call(op).await;
        assert!(reply.result.is_ok(), "{name}: {reply:?}");
        requests.push((name, reply.requests));
    }
    call(session, MetaOp::Close { file }).await.unwrap();
    requests
}

#[tokio::test]
async fn an_operation_in_a_known_directory_is_one_system_call() {
    let dir = place("calls");
    let mut session = open(&LocalTarget::new(&dir), 1).await;
    call(&mut *session, MetaOp::MakeDir { path: "d".into() }).await.unwrap();
    let mut least = requests_of_operations(&mut *session).await;
    // A second after the directory was opened, it is opened again, so that some operations take more.
    for _ in 0..20 {
        for (least, now) in least.iter_mut().zip(requests_of_operations(&mut *session).await) {
            least.1 = least.1.min(now.1);
        }
    }
    for (name, requests) in least {
        // The length of an existing file is a call of its own.
        assert_eq!(requests, if name == "open" { 2 } else { 1 }, "{name}");
    }
    std::fs::remove_dir_all(dir).unwrap();
}
