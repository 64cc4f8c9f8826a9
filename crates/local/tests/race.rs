//! Another process exchanges working directories for links and for other directories while sessions work in them.
#![cfg(target_os = "linux")]
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use sharebench_local::LocalTarget;
use sharebench_local::beneath::Resolution;
use sharebench_model::{ErrorClass, MetaOp, MetaYield, OpError, OpenHow};
use sharebench_target::{Session, SessionSpec, Target, call};

const WORKING: &str = ".sharebench-race-0";
const EXCHANGES: u32 = 10_000;
const FILES: usize = 20;
const BOTH: [Resolution; 2] = [Resolution::Kernel, Resolution::Components];

struct Scratch(PathBuf);

impl Scratch {
    /// A target directory and a directory outside with files that no operation may reach.
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sharebench-race-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("target")).unwrap();
        fs::create_dir(path.join("outside")).unwrap();
        fs::create_dir(path.join("outside/sub")).unwrap();
        for file in 0..FILES {
            fs::write(path.join(format!("outside/file{file}")), b"outside").unwrap();
            fs::write(path.join(format!("outside/sub/file{file}")), b"outside").unwrap();
        }
        Self(path)
    }

    fn target(&self) -> PathBuf {
        self.0.join("target")
    }

    fn assert_outside_untouched(&self) {
        for directory in ["outside", "outside/sub"] {
            let directory = self.0.join(directory);
            let files = fs::read_dir(&directory).unwrap().count();
            assert_eq!(files, FILES + usize::from(directory.join("sub").exists()));
            for file in 0..FILES {
                assert_eq!(fs::read(directory.join(format!("file{file}"))).unwrap(), b"outside");
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Set for the process that exchanges the names; it has the target's path.
const ATTACKED: &str = "SHAREBENCH_TEST_ATTACKED";

/// The process that the tests start; nothing happens where the variable is not set.
#[test]
fn attacker() {
    let Some(target) = std::env::var_os(ATTACKED) else { return };
    let [one, other] = [WORKING, "evil"].map(|name| Path::new(&target).join(name));
    let mut done = 0;
    while done < EXCHANGES {
        done += u32::from(renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).is_ok());
    }
}

fn attack(target: &Path) -> Child {
    let program = std::env::current_exe().unwrap();
    // A test of the harness is named by its path without the crate.
    let (_, module) = module_path!().split_once("::").unwrap();
    let mut command = Command::new(program);
    command.args(["--exact", &format!("{module}::attacker")]).env(ATTACKED, target).stdout(Stdio::null());
    command.spawn().unwrap()
}

async fn open(target: &LocalTarget) -> Box<dyn Session> {
    let spec = SessionSpec { slots: 1, slot_bytes: 4096, ..SessionSpec::default() };
    target.connect(&spec).await.unwrap()
}

async fn create(session: &mut dyn Session, path: String) -> Result<(), OpError> {
    match call(session, MetaOp::open(path, OpenHow::CreateNew)).await? {
        MetaYield::Opened { file, .. } => call(session, MetaOp::Close { file }).await.map(drop),
        other => panic!("{other:?}"),
    }
}

/// Every operation on names, with names that exist outside.
async fn reach_out(session: &mut dyn Session) -> Vec<OpError> {
    let mut results = Vec::new();
    for file in 0..FILES {
        let at = [format!("{WORKING}/file{file}"), format!("{WORKING}/sub/file{file}")];
        for path in at {
            results.push(create(session, path.clone()).await);
            results.push(match call(session, MetaOp::open(path.clone(), OpenHow::ReadWrite)).await {
                Ok(MetaYield::Opened { file, size }) => {
                    assert_eq!(size, 0, "the file outside was opened");
                    call(session, MetaOp::Close { file }).await.map(drop)
                }
                other => other.map(drop),
            });
            results.push(call(session, MetaOp::Stat { path: path.clone() }).await.map(drop));
            let to = format!("{WORKING}/moved{file}");
            results.push(call(session, MetaOp::Rename { from: path.clone(), to }).await.map(drop));
            results.push(call(session, MetaOp::Remove { path }).await.map(drop));
        }
    }
    results.push(call(session, MetaOp::List { path: format!("{WORKING}/sub") }).await.map(drop));
    results.into_iter().filter_map(Result::err).collect()
}

#[tokio::test]
async fn no_operation_follows_a_working_directory_that_is_exchanged_for_a_link() {
    for resolution in BOTH {
        let scratch = Scratch::new("link");
        let target = LocalTarget::new(scratch.target()).with_resolution(resolution);
        let mut session = open(&target).await;
        call(&mut *session, MetaOp::MakeDir { path: WORKING.into() }).await.unwrap();
        call(&mut *session, MetaOp::MakeDir { path: format!("{WORKING}/sub") }).await.unwrap();
        symlink(scratch.0.join("outside"), scratch.target().join("evil")).unwrap();
        let mut attacker = attack(&scratch.target());
        let mut errors = Vec::new();
        while attacker.try_wait().unwrap().is_none() {
            errors.extend(reach_out(&mut *session).await);
            // Another session opens the directory by its name.
            let mut another = open(&target).await;
            errors.extend(reach_out(&mut *another).await);
            another.close().await;
        }
        assert!(attacker.wait().unwrap().success());
        scratch.assert_outside_untouched();
        let known = [ErrorClass::Stale, ErrorClass::NotFound, ErrorClass::Exists, ErrorClass::Refused];
        errors.retain(|error| !known.contains(&error.class));
        assert_eq!(errors, []);
    }
}

#[tokio::test]
async fn a_replaced_working_directory_ends_all_work_in_it_and_is_not_removed() {
    let scratch = Scratch::new("replaced");
    let target = LocalTarget::new(scratch.target());
    let mut session = open(&target).await;
    call(&mut *session, MetaOp::MakeDir { path: WORKING.into() }).await.unwrap();
    assert_eq!(fs::metadata(scratch.target().join(WORKING)).unwrap().mode() & 0o7777, 0o700);
    create(&mut *session, format!("{WORKING}/mine")).await.unwrap();
    fs::rename(scratch.target().join(WORKING), scratch.target().join("away")).unwrap();
    fs::create_dir(scratch.target().join(WORKING)).unwrap();
    fs::write(scratch.target().join(WORKING).join("theirs"), b"theirs").unwrap();
    let start = std::time::Instant::now();
    // Operations go to the directory that is open until the name is examined again.
    let error = loop {
        assert!(start.elapsed() < std::time::Duration::from_secs(60));
        match call(&mut *session, MetaOp::Stat { path: format!("{WORKING}/mine") }).await {
            Ok(_) => assert!(!scratch.target().join(WORKING).join("mine").exists()),
            Err(error) => break error,
        }
    };
    assert!(error.class == ErrorClass::Stale && error.detail.contains("moved or replaced"), "{error}");
    let mut another = open(&target).await;
    for op in [MetaOp::List { path: WORKING.into() }, MetaOp::RemoveDir { path: WORKING.into() }] {
        for session in [&mut session, &mut another] {
            let error = call(&mut **session, op.clone()).await.unwrap_err();
            assert_eq!(error.class, ErrorClass::Stale, "{error}");
        }
    }
    assert_eq!(fs::read(scratch.target().join(WORKING).join("theirs")).unwrap(), b"theirs");
    // A later run of this process finds nobody who has the old one open.
    session.close().await;
    another.close().await;
    let mut session = open(&target).await;
    call(&mut *session, MetaOp::List { path: WORKING.into() }).await.unwrap();
}

#[tokio::test]
async fn a_working_directory_of_another_user_is_not_entered() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scratch = Scratch::new("foreign");
    let mut session = open(&LocalTarget::new(scratch.target())).await;
    for directory in [WORKING.to_owned(), format!(".recycle/{WORKING}"), format!("#recycle/alice/{WORKING}")]
    {
        let theirs = scratch.target().join(&directory);
        fs::create_dir_all(&theirs).unwrap();
        fs::write(theirs.join("file"), b"theirs").unwrap();
        std::os::unix::fs::chown(&theirs, Some(54_321), None).unwrap();
        for op in [
            MetaOp::List { path: directory.clone() },
            MetaOp::Remove { path: format!("{directory}/file") },
            MetaOp::RemoveDir { path: directory.clone() },
        ] {
            let error = call(&mut *session, op).await.unwrap_err();
            assert!(error.class == ErrorClass::Refused && error.detail.contains("user id 54321"), "{error}");
        }
        assert!(theirs.join("file").exists());
    }
}

#[tokio::test]
async fn a_directory_of_ours_in_a_recycle_bin_is_emptied_by_its_path() {
    let scratch = Scratch::new("bin");
    let mut session = open(&LocalTarget::new(scratch.target())).await;
    for bin in [".recycle", "#recycle/alice"] {
        let ours = format!("{bin}/{WORKING}");
        fs::create_dir_all(scratch.target().join(&ours).join("deep")).unwrap();
        for name in ["file", "deep/file"] {
            fs::write(scratch.target().join(&ours).join(name), b"ours").unwrap();
        }
        fs::write(scratch.target().join(bin).join("file"), b"theirs").unwrap();
        let listed = call(&mut *session, MetaOp::List { path: ours.clone() }).await;
        assert!(matches!(&listed, Ok(MetaYield::Entries(entries)) if entries.len() == 2), "{listed:?}");
        for name in ["file", "deep/file"] {
            call(&mut *session, MetaOp::Remove { path: format!("{ours}/{name}") }).await.unwrap();
        }
        for directory in [format!("{ours}/deep"), ours.clone()] {
            call(&mut *session, MetaOp::RemoveDir { path: directory }).await.unwrap();
        }
        let gone = call(&mut *session, MetaOp::Stat { path: ours }).await.unwrap_err();
        assert_eq!(gone.class, ErrorClass::NotFound);
        // A link in the place of a bin is not followed.
        let linked = scratch.target().join("@Recycle");
        std::os::unix::fs::symlink(scratch.target().join(bin), &linked).unwrap();
        assert!(call(&mut *session, MetaOp::Remove { path: "@Recycle/file".into() }).await.is_err());
        assert!(scratch.target().join(bin).join("file").exists());
        fs::remove_file(linked).unwrap();
    }
}

#[tokio::test]
async fn a_part_of_another_owner_is_not_emptied() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scratch = Scratch::new("part");
    let mut session = open(&LocalTarget::new(scratch.target())).await;
    call(&mut *session, MetaOp::MakeDir { path: WORKING.into() }).await.unwrap();
    let part = scratch.target().join(WORKING).join("part");
    fs::create_dir(&part).unwrap();
    fs::write(part.join("file"), b"theirs").unwrap();
    std::os::unix::fs::chown(&part, Some(54_321), None).unwrap();
    for op in [
        MetaOp::List { path: format!("{WORKING}/part") },
        MetaOp::Remove { path: format!("{WORKING}/part/file") },
    ] {
        let error = call(&mut *session, op).await.unwrap_err();
        assert!(error.class == ErrorClass::Refused && error.detail.contains("another owner"), "{error}");
    }
    assert!(part.join("file").exists());
}

#[tokio::test]
async fn names_that_are_not_utf_8_are_listed_opened_and_removed() {
    use std::os::unix::ffi::OsStrExt;
    let scratch = Scratch::new("names");
    let mut session = open(&LocalTarget::new(scratch.target())).await;
    call(&mut *session, MetaOp::MakeDir { path: WORKING.into() }).await.unwrap();
    let name = std::ffi::OsStr::from_bytes(b"a\xffb");
    fs::write(scratch.target().join(WORKING).join(name), b"123").unwrap();
    let listed = call(&mut *session, MetaOp::List { path: WORKING.into() }).await;
    let Ok(MetaYield::Entries(entries)) = listed else { panic!("{listed:?}") };
    let path = format!("{WORKING}/{}", entries[0].name);
    let found = call(&mut *session, MetaOp::Stat { path: path.clone() }).await;
    assert!(matches!(found, Ok(MetaYield::Stat(stat)) if stat.size == 3), "{found:?}");
    call(&mut *session, MetaOp::Remove { path }).await.unwrap();
    call(&mut *session, MetaOp::RemoveDir { path: WORKING.into() }).await.unwrap();
    assert!(!scratch.target().join(WORKING).exists());
}
