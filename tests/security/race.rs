//! A local user who exchanges a directory for a symbolic link while sharebench works in it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use sharebench_model::{DataOp, MetaOp, MetaYield, OpenHow, Slot};
use sharebench_target::{DIRECTORY_PREFIX, MARKER, Session, SessionSpec, call, reply_for};
use sharebench_tests::Sharebench;

use crate::attack::Attack;
use crate::escape::{Protocol, SECRET, Stand};

/// Exchanges of each row.
const EXCHANGES: u64 = 10_000;
/// Fewest commands that clean. Code that follows links deletes files outside in one of about five.
const CLEANS: u32 = 30;
/// Files that have the same names inside and outside.
const FILES: usize = 200;
/// Longest time of a row.
const PATIENCE: Duration = Duration::from_secs(300);
/// The attacker's name for the directory or the link, whichever has not the other name.
const EVIL: &str = "evil";

/// The rows, in the order of the table.
pub const ATTACKS: &[Attack] = &[
    Attack { what: RACE, on: "`sharebench clean` of a local directory", needs: &[], act: on_clean },
    Attack { what: RACE, on: "a run in a local directory", needs: &[], act: on_run },
    Attack { what: RACE, on: "embedded SMB", needs: &[], act: || on_server(Protocol::Smb) },
    Attack { what: RACE, on: "embedded NFS", needs: &[], act: || on_server(Protocol::Nfs) },
    Attack { what: RACE, on: "embedded NCP", needs: &[], act: || on_server(Protocol::Ncp) },
    Attack { what: OTHERS, on: "`sharebench clean` of a local directory", needs: &[], act: unmarked },
];

const RACE: &str = "10,000 exchanges of a directory and a link to a directory outside (`RENAME_EXCHANGE`)";
const OTHERS: &str =
    "directories named `.sharebench-...` of another user, without marker, and with names that are not UTF-8";
const SAFE: &str = "nothing outside was read, changed or deleted";

/// Exchanges two names until it is stopped, or until one of them does not exist.
struct Exchanger {
    stop: AtomicBool,
    exchanges: AtomicU64,
}

impl Exchanger {
    fn new() -> Self {
        Self { stop: AtomicBool::new(false), exchanges: AtomicU64::new(0) }
    }

    /// Exchanges the names while `work` runs.
    fn during<T>(&self, one: &Path, other: &Path, work: impl FnOnce() -> T) -> T {
        self.stop.store(false, Ordering::Relaxed);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !self.stop.load(Ordering::Relaxed) {
                    if renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok() {
                        self.exchanges.fetch_add(1, Ordering::Relaxed);
                    } else {
                        std::thread::yield_now();
                    }
                }
            });
            let result = work();
            self.stop.store(true, Ordering::Relaxed);
            result
        })
    }

    fn count(&self) -> u64 {
        self.exchanges.load(Ordering::Relaxed)
    }
}

/// A directory that others can write to, and a directory outside with files that the attacker wants to reach.
struct SharedDirectory {
    sharebench: Sharebench,
    share: PathBuf,
    outside: PathBuf,
}

impl SharedDirectory {
    fn new() -> Self {
        let sharebench = Sharebench::new().unwrap();
        let share = sharebench.home().join("shr");
        let outside = sharebench.home().join("outside");
        for directory in [&share, &outside] {
            fs::create_dir(directory).unwrap();
        }
        for name in names() {
            fs::write(outside.join(name), SECRET).unwrap();
        }
        Self { sharebench, share, outside }
    }

    /// A directory as an earlier run left it, with a link to the directory outside next to it.
    fn lay_out(&self, directory: &Path) {
        remove(directory);
        remove(&self.share.join(EVIL));
        fs::create_dir(directory).unwrap();
        fs::write(directory.join(MARKER), b"").unwrap();
        for name in names() {
            fs::write(directory.join(name), b"").unwrap();
        }
        symlink(&self.outside, self.share.join(EVIL)).unwrap();
    }

    fn assert_untouched(&self) {
        let mut found: Vec<_> =
            fs::read_dir(&self.outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        found.sort();
        let mut wanted: Vec<_> = names().map(std::ffi::OsString::from).collect();
        wanted.sort();
        assert_eq!(found, wanted, "the directory outside has other files");
        for name in names() {
            assert_eq!(fs::read(self.outside.join(name)).unwrap(), SECRET);
        }
    }
}

/// Removes a directory or a link, not what the link leads to.
fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Names of files in the attacked directory, among them one that runs make.
fn names() -> impl Iterator<Item = String> {
    (0..FILES).map(|index| if index == 0 { "new".to_owned() } else { format!("secret{index}") })
}

fn on_clean() -> String {
    let shared = SharedDirectory::new();
    let directory = shared.share.join(format!("{DIRECTORY_PREFIX}99999999-0"));
    let exchanger = Exchanger::new();
    let end = Instant::now() + PATIENCE;
    let mut cleans = 0;
    while exchanger.count() < EXCHANGES || cleans < CLEANS {
        assert!(Instant::now() < end, "{} exchanges, {cleans} commands", exchanger.count());
        cleans += 1;
        shared.lay_out(&directory);
        let ended = exchanger.during(&directory, &shared.share.join(EVIL), || {
            shared.sharebench.run(&["clean", "shr"]).unwrap()
        });
        assert!(matches!(ended.code, Some(0 | 3)), "{:?}: {}", ended.code, ended.text());
        shared.assert_untouched();
    }
    SAFE.to_owned()
}

fn on_run() -> String {
    let shared = SharedDirectory::new();
    let exchanger = Exchanger::new();
    let end = Instant::now() + PATIENCE;
    let mut stopped = 0;
    while exchanger.count() < EXCHANGES || stopped == 0 {
        assert!(Instant::now() < end, "{} exchanges, {stopped} runs", exchanger.count());
        let mut run = shared
            .sharebench
            .start(
                &[
                    "sweep",
                    "shr",
                    "--file-sizes=64KiB",
                    "--record-sizes=4KiB",
                    "--tests=write,read",
                    "--repetitions=20",
                    "plan:min_sample_time=20ms",
                ],
                "run.log",
            )
            .unwrap();
        let mut directory = None;
        while directory.is_none() && !run.has_ended() {
            directory = listed(&shared.share).into_iter().find(|name| name.starts_with(DIRECTORY_PREFIX));
        }
        let directory = shared.share.join(directory.unwrap_or_else(|| panic!("{}", run.output())));
        let _ = symlink(&shared.outside, shared.share.join(EVIL));
        let status = exchanger.during(&directory, &shared.share.join(EVIL), || run.wait(PATIENCE).unwrap());
        let output = run.output();
        assert!(!output.contains("panicked"), "{output}");
        // A run that looks only while the names are in order completes; the next one is unlucky.
        stopped += u32::from(status.code() == Some(3) && output.contains("moved or replaced"));
        shared.assert_untouched();
        for name in listed(&shared.share) {
            remove(&shared.share.join(name));
        }
    }
    format!("{SAFE}; the run stops with exit 3: \"moved or replaced\"")
}

fn listed(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

fn on_server(protocol: Protocol) -> String {
    let stand = Stand::new(protocol);
    let exchanger = Exchanger::new();
    let one = stand.directory().join("here");
    let other = stand.directory().join("door");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let rounds = exchanger.during(&one, &other, || {
        runtime.block_on(async {
            let spec = SessionSpec {
                slots: 1,
                slot_bytes: 4096,
                connect_timeout: Duration::from_secs(60),
                ..SessionSpec::default()
            };
            let mut session = stand.target().connect(&spec).await.unwrap();
            let end = Instant::now() + PATIENCE;
            let mut rounds = 0;
            while exchanger.count() < EXCHANGES || rounds < 200 {
                assert!(Instant::now() < end, "{} exchanges, {rounds} rounds", exchanger.count());
                reach_out(&mut *session).await;
                rounds += 1;
            }
            session.close().await;
            rounds
        })
    });
    assert!(rounds >= 200);
    stand.assert_outside_untouched();
    SAFE.to_owned()
}

/// Reads, changes, creates, renames and removes names that exist outside.
async fn reach_out(session: &mut dyn Session) {
    let path = || "here/secret".to_owned();
    if let Ok(MetaYield::Opened { file, .. }) = call(session, MetaOp::open(path(), OpenHow::ReadWrite)).await
    {
        let read = DataOp::Read { file, offset: 0, len: SECRET.len() as u32 };
        let _ = reply_for(session, Slot(0), read).await;
        assert_ne!(&session.buffer(Slot(0))[..SECRET.len()], SECRET, "the file outside was read");
        let _ = call(session, MetaOp::SetSize { file, size: 3 }).await;
        let _ = call(session, MetaOp::Close { file }).await;
    }
    let _ = call(session, MetaOp::Remove { path: path() }).await;
    let _ = call(session, MetaOp::Rename { from: path(), to: "here/taken".into() }).await;
    if let Ok(MetaYield::Opened { file, .. }) = call(session, MetaOp::open(path(), OpenHow::CreateNew)).await
    {
        let _ = call(session, MetaOp::Close { file }).await;
    }
}

/// Directories that `clean` must leave alone, next to one that it must remove.
fn unmarked() -> String {
    use std::os::unix::ffi::OsStrExt;
    let shared = SharedDirectory::new();
    let directory = |name: &str| shared.share.join(format!("{DIRECTORY_PREFIX}{name}"));
    fs::create_dir(directory("0-theirs")).unwrap();
    fs::write(directory("0-theirs").join("file"), SECRET).unwrap();
    shared.lay_out(&directory("1-0"));
    let odd = std::ffi::OsStr::from_bytes(b"not \xff UTF-8");
    fs::create_dir(directory("1-0").join(odd)).unwrap();
    fs::write(directory("1-0").join(odd).join(odd), b"").unwrap();
    shared.lay_out(&directory("2-0"));
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(directory("2-0"), Some(54_321), Some(54_321)).unwrap();
    }
    let ended = shared.sharebench.run(&["clean", "shr"]).unwrap();
    let text = ended.text();
    assert_eq!(ended.code, Some(3), "{text}");
    assert!(
        directory("0-theirs").join("file").exists() && text.contains("not removed .sharebench-0-theirs"),
        "{text}"
    );
    assert!(!directory("1-0").exists() && text.contains("removed .sharebench-1-0"), "{text}");
    assert_eq!(directory("2-0").exists(), is_root, "{text}");
    assert!(!is_root || text.contains("user id 54321"), "{text}");
    shared.assert_untouched();
    "exit 3: they stay, with owner and reason; the caller's own directories are removed".to_owned()
}
