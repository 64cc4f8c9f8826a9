//! The embedded servers judged by other people's clients, and our adapters by the embedded servers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sharebench_doubles::conformance::Suite;
use sharebench_nfs::NfsTarget;
use sharebench_server::{DirectoryOptions, DirectoryVolume, EmbeddedServers, ServeOptions, Volume};
use sharebench_smb::SmbTarget;
use sharebench_target::Secret;
use sharebench_tests::program::run;
use sharebench_tests::{KernelGuest, Need, Scratch, Sharebench, Smbd, SourceTree, needs};

use crate::adapters::{conform, url};
use crate::local::kernel_mounts::{cifs, nfs3};

const USER: &str = "lab";
const EXPORT: &str = "/share";

/// Both servers over a directory, inside this process.
struct Served {
    servers: EmbeddedServers,
    directory: PathBuf,
    scratch: Scratch,
}

impl Served {
    fn start() -> Self {
        let scratch = Scratch::new("served").unwrap();
        let directory = scratch.directory("served").unwrap();
        let volume = DirectoryVolume::open(&directory, &DirectoryOptions::default()).unwrap();
        let volume: Arc<dyn Volume> = Arc::new(volume);
        let any = Some(([127, 0, 0, 1], 0).into());
        let accounts = vec![(USER.to_owned(), Secret::new(Smbd::PASSWORD))];
        let options = ServeOptions { smb: any, nfs: any, accounts, ..ServeOptions::default() };
        let servers = EmbeddedServers::start(&volume, &options).unwrap();
        Self { servers, directory, scratch }
    }

    fn port(&self, protocol: &str) -> u16 {
        self.servers.addr(protocol).unwrap().port()
    }

    /// Creates an empty directory next to the served one.
    fn sibling(&self, name: &str) -> PathBuf {
        self.scratch.directory(name).unwrap()
    }
}

#[test]
fn smbclient_transfers_files_with_the_embedded_server() {
    needs!([Need::Program("smbclient")]);
    let served = Served::start();
    let source = SourceTree::make().unwrap();
    let port = served.port("smb").to_string();
    let credentials = format!("{USER}%{}", Smbd::PASSWORD);
    let back = served.sibling("back");
    let from = source.path().display();
    let to = back.display();
    for commands in [
        format!("prompt off; recurse on; lcd {from}; put big; mput tree"),
        format!("prompt off; recurse on; lcd {to}; get big; mget tree"),
    ] {
        let share = ["smbclient", "//127.0.0.1/share", "-p", &port, "-U", &credentials, "-c", &commands];
        run(&share, &[]).unwrap();
    }
    source.compare(&served.directory, &[]).unwrap();
    source.compare(&back, &[]).unwrap();
}

#[test]
fn nfs_cp_transfers_files_with_the_embedded_server() {
    needs!([Need::Program("nfs-cp")]);
    let served = Served::start();
    let source = SourceTree::make().unwrap();
    let port = served.port("nfs");
    let url =
        |file: &str| format!("nfs://127.0.0.1{EXPORT}/{file}?version=3&nfsport={port}&mountport={port}");
    // nfs-cp knows neither trees nor mkdir: the directories are made where they are served.
    let back = served.sibling("back");
    for number in 0..SourceTree::DIRECTORIES {
        for root in [&served.directory, &back] {
            fs::create_dir_all(root.join(format!("tree/d{number}"))).unwrap();
        }
    }
    let files = (0..SourceTree::FILES).map(|n| format!("tree/d{}/file {n}.dat", n % SourceTree::DIRECTORIES));
    for file in files.chain(["big".to_owned()]) {
        let text = |root: &Path| root.join(&file).display().to_string();
        run(&["nfs-cp", &text(source.path()), &url(&file)], &[]).unwrap();
        run(&["nfs-cp", &url(&file), &text(&back)], &[]).unwrap();
    }
    source.compare(&served.directory, &[]).unwrap();
    source.compare(&back, &[]).unwrap();
}

/// Linux 7.2 as user-mode-linux shows no vDSO to its programs. The system calls of crate rustix without the C library end the program
/// there, with exit code 134, as soon as one of them reads the clock; so this program must not contain them.
#[test]
fn program_reads_the_clock_by_the_c_library() {
    let program = fs::read(Sharebench::new().unwrap().binary()).unwrap();
    let contains = |name: &[u8]| program.windows(name.len()).any(|bytes| bytes == name);
    assert!(contains(b"sharebench_server"), "the program has no names of functions: this test finds nothing");
    assert!(!contains(b"vdso_wrappers"), "rustix was built without its feature use-libc");
}

#[test]
fn kernel_mounts_the_embedded_servers() {
    needs!(KernelGuest::NEEDS);
    let served = Served::start();
    let source = SourceTree::make().unwrap();
    let smb = served.port("smb");
    let nfs = served.port("nfs");
    let guest = KernelGuest::prepare(&[smb, nfs]).unwrap();
    for mount in [cifs(smb, USER, Smbd::PASSWORD), nfs3(nfs, nfs, EXPORT)] {
        let printed = guest.mount_and_compare(&mount, source.path()).unwrap();
        assert!(printed.contains("same: 20000001 bytes and 500 files"), "{printed}");
        source.compare(&served.directory, &["tree/d1/"]).unwrap();
        for left in ["tree", "big"] {
            run(&["rm", "-r", &served.directory.join(left).display().to_string()], &[]).unwrap();
        }
    }
}

#[test]
fn nfs_conforms_at_the_embedded_server() {
    let served = Served::start();
    let port = served.port("nfs");
    let target =
        NfsTarget::from_url(url(&format!("nfs://127.0.0.1:{port}{EXPORT}?mountport={port}"))).unwrap();
    conform(&target, &Suite::default());
    assert_eq!(fs::read_dir(&served.directory).unwrap().count(), 0, "the suite left something");
}

#[test]
fn smb_conforms_at_the_embedded_server() {
    let served = Served::start();
    let port = served.port("smb");
    // This server allows write-through for unbuffered writes only, which dialects know since 3.0.2.
    let old: &[&str] = &["flush and durable write"];
    for (options, skip) in [
        ("sign=off", &[][..]),
        ("sign=required", &[]),
        ("encrypt=required", &[]),
        ("dialect=3.0.2&sign=required", &[]),
        ("dialect=3.0&encrypt=required", old),
        ("dialect=2.1", old),
    ] {
        let text = format!("smb://{USER}@127.0.0.1:{port}/share?{options}");
        let target = SmbTarget::from_url(url(&text), Secret::new(Smbd::PASSWORD)).unwrap();
        conform(&target, &Suite { skip, secret: Some(Smbd::PASSWORD.into()), ..Suite::default() });
    }
    assert_eq!(fs::read_dir(&served.directory).unwrap().count(), 0, "the suite left something");
}
