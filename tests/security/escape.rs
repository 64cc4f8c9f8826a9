//! Names that lead outside a served directory, sent to every embedded server.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use sharebench_model::{DataOp, MetaOp, MetaYield, OpenHow, Slot};
use sharebench_ncp::target::NcpTarget;
use sharebench_nfs::NfsTarget;
use sharebench_smb::SmbTarget;
use sharebench_target::{Secret, SessionSpec, Target, TargetUrl, call, reply_for};
use sharebench_tests::{Cut, FaultProxy, Served, Sharebench, Smbd, Way};

use crate::attack::Attack;

/// Content that no client may read.
pub const SECRET: &[u8] = b"content outside";

/// Names that lead outside: upwards, absolute, by links, and by links in another case. SMB and NCP separate with `\`.
const OUT: [&str; 12] = [
    "..",
    "../outside/secret",
    "..\\outside\\secret",
    "here/../../outside/secret",
    "here\\..\\..\\outside\\secret",
    "/etc/passwd",
    "\\etc\\passwd",
    "door/secret",
    "door\\secret",
    "DOOR\\SECRET",
    "window",
    "WINDOW",
];

/// Names that mean devices, streams or other names on DOS and Windows.
const RESERVED: [&str; 6] = ["CON", "NUL", "COM1.txt", "file:x:$EA", "trailing. ", "aux.c"];

/// The rows, in the order of the table.
pub const ATTACKS: &[Attack] = &[
    Attack { what: LEAD_OUT, on: "embedded SMB", needs: &[], act: || lead_out(Protocol::Smb) },
    Attack { what: LEAD_OUT, on: "embedded NFS", needs: &[], act: || lead_out(Protocol::Nfs) },
    Attack { what: LEAD_OUT, on: "embedded NCP", needs: &[], act: || lead_out(Protocol::Ncp) },
    Attack { what: MEAN, on: "embedded SMB", needs: &[], act: || reserved(Protocol::Smb) },
    Attack { what: MEAN, on: "embedded NFS", needs: &[], act: || reserved(Protocol::Nfs) },
    Attack { what: MEAN, on: "embedded NCP", needs: &[], act: || reserved(Protocol::Ncp) },
];

const LEAD_OUT: &str = "12 names that lead outside (`..`, absolute, links, other case), each opened, created, removed, renamed from and to";
const MEAN: &str = "6 names of devices, streams and other names (`CON`, `file:x:$EA`, `trailing. `), created";

/// A protocol of the embedded servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Smb,
    Nfs,
    Ncp,
}

/// A served directory with a sibling and links to it, a client, and a proxy that replaces names in its requests.
pub struct Stand {
    sharebench: Sharebench,
    served: Served,
    proxy: FaultProxy,
    protocol: Protocol,
}

impl Stand {
    /// Serves a new directory.
    pub fn new(protocol: Protocol) -> Self {
        let sharebench = Sharebench::new().unwrap();
        let served = sharebench.serve("served").unwrap();
        let outside = sharebench.home().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), SECRET).unwrap();
        fs::create_dir(served.directory().join("here")).unwrap();
        symlink(&outside, served.directory().join("door")).unwrap();
        symlink(outside.join("secret"), served.directory().join("window")).unwrap();
        let (port, cut) = match protocol {
            Protocol::Smb => (served.smb_port, Cut::Messages),
            Protocol::Nfs => (served.nfs_port, Cut::Messages),
            Protocol::Ncp => (served.ncp_port, Cut::Bytes),
        };
        let proxy = FaultProxy::start(port, cut).unwrap();
        Self { sharebench, served, proxy, protocol }
    }

    /// The served directory.
    pub fn directory(&self) -> &Path {
        self.served.directory()
    }

    /// A client through the proxy.
    pub fn target(&self) -> Box<dyn Target> {
        let port = self.proxy.port();
        let secret = Secret::new(Smbd::PASSWORD);
        let url = |text: String| TargetUrl::parse(&text).unwrap();
        match self.protocol {
            Protocol::Smb => {
                let text = format!("smb://{}@127.0.0.1:{port}/share?sign=off", Served::USER);
                Box::new(SmbTarget::from_url(url(text), secret).unwrap())
            }
            Protocol::Nfs => {
                let text = format!("nfs://127.0.0.1:{port}/share?mountport={}", self.served.nfs_port);
                Box::new(NfsTarget::from_url(url(text)).unwrap())
            }
            Protocol::Ncp => {
                let text = format!("ncp://{}@127.0.0.1:{port}/SHARE?sign=0", Served::USER);
                Box::new(NcpTarget::from_url(url(text), secret).unwrap())
            }
        }
    }

    /// Performs an operation with a placeholder of the same length, which the proxy replaces by `name`. Returns true if the
    /// server executed it.
    fn attempt(&self, name: &str, op: impl FnOnce(String) -> MetaOp) -> bool {
        let target = self.target();
        let stand_in = "Q".repeat(name.len());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let done = runtime.block_on(async {
            self.proxy.heal();
            let spec = SessionSpec {
                slots: 1,
                slot_bytes: 4096,
                connect_timeout: Duration::from_secs(20),
                ..SessionSpec::default()
            };
            let mut session = target.connect(&spec).await.unwrap();
            let from = self.on_the_wire(&stand_in);
            let to = self.on_the_wire(name);
            self.proxy.tamper(move |way, mut message| {
                if way == Way::ToServer {
                    replace(&mut message, &from, &to);
                }
                vec![message]
            });
            let wanted = call(&mut *session, op(stand_in));
            let Ok(done) = tokio::time::timeout(Duration::from_secs(20), wanted).await else { return false };
            if let Ok(MetaYield::Opened { file, .. }) = done {
                let read = DataOp::Read { file, offset: 0, len: SECRET.len() as u32 };
                let _ = reply_for(&mut *session, Slot(0), read).await;
                assert_ne!(&session.buffer(Slot(0))[..SECRET.len()], SECRET, "{name} was read");
                let _ = call(&mut *session, MetaOp::Close { file }).await;
            }
            done.is_ok()
        });
        self.proxy.heal();
        done
    }

    fn on_the_wire(&self, name: &str) -> Vec<u8> {
        match self.protocol {
            Protocol::Smb => name.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Protocol::Nfs | Protocol::Ncp => name.as_bytes().to_vec(),
        }
    }

    /// Checks that the directory outside has not changed.
    pub fn assert_outside_untouched(&self) {
        let home = self.sharebench.home();
        assert_eq!(listed(&home.join("outside")), ["secret"]);
        assert_eq!(fs::read(home.join("outside/secret")).unwrap(), SECRET);
    }

    /// Checks that nothing outside has changed, and that the links are what they were.
    fn assert_untouched(&self) {
        let home = self.sharebench.home();
        self.assert_outside_untouched();
        assert_eq!(listed(home), ["outside", "served", "served.log"]);
        assert_eq!(
            fs::read_link(self.served.directory().join("window")).unwrap(),
            home.join("outside/secret")
        );
    }
}

fn listed(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn replace(message: &mut [u8], from: &[u8], to: &[u8]) {
    let mut at = 0;
    while at + from.len() <= message.len() {
        if message[at..].starts_with(from) {
            message[at..at + to.len()].copy_from_slice(to);
            at += from.len();
        } else {
            at += 1;
        }
    }
}

fn lead_out(protocol: Protocol) -> String {
    let stand = Stand::new(protocol);
    let mine = || {
        fs::write(stand.served.directory().join("mine"), b"mine").unwrap();
        "mine".to_owned()
    };
    let mut done = Vec::new();
    for name in OUT {
        // In NFS a backslash is an ordinary character.
        if protocol == Protocol::Nfs && name.contains('\\') {
            continue;
        }
        // On a case-sensitive volume the name of a link in another case is free.
        let free = protocol == Protocol::Nfs && name == "WINDOW";
        // In NFS a link is a name inside the volume, which may be removed and renamed as any other.
        let fixed = protocol != Protocol::Nfs || name != "window";
        let attempts: [(&str, bool); 6] = [
            ("opened", stand.attempt(name, |path| MetaOp::open(path, OpenHow::ReadWrite))),
            ("created", !free && stand.attempt(name, |path| MetaOp::open(path, OpenHow::CreateNew))),
            ("made", !free && stand.attempt(name, |path| MetaOp::MakeDir { path })),
            ("removed", fixed && stand.attempt(name, |path| MetaOp::Remove { path })),
            (
                "renamed from",
                fixed && stand.attempt(name, |from| MetaOp::Rename { from, to: "here/taken".into() }),
            ),
            ("renamed to", fixed && !free && stand.attempt(name, |to| MetaOp::Rename { from: mine(), to })),
        ];
        stand.assert_untouched();
        done.extend(attempts.iter().filter(|(_, done)| *done).map(|(what, _)| format!("{name} {what}")));
    }
    if done.is_empty() {
        "all rejected; nothing outside was read or changed".to_owned()
    } else {
        done.join(", ")
    }
}

fn reserved(protocol: Protocol) -> String {
    let stand = Stand::new(protocol);
    let mut taken = Vec::new();
    for name in RESERVED {
        if stand.attempt(name, |path| MetaOp::open(path, OpenHow::CreateNew)) {
            taken.push(name);
            // The file has this name, or the name that the protocol converts it to.
            assert!(listed(stand.served.directory()).len() > 3, "{name} is nowhere");
        }
        stand.assert_untouched();
    }
    match taken.len() {
        0 => "all rejected".to_owned(),
        len if len == RESERVED.len() => {
            "plain files of these names inside the volume, as on any Unix file system".to_owned()
        }
        _ => format!("plain files inside the volume: `{}`; the others rejected", taken.join("`, `")),
    }
}
