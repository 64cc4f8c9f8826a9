//! A Linux kernel as an ordinary process: its cifs and nfs clients mount what is served to it.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use crate::need::Need;
use crate::program::{PATIENCE, Program, run};
use crate::relay::Relay;
use crate::scratch::Scratch;

/// A network namespace with a link to one guest, which each [`Self::run`] boots.
#[derive(Debug)]
pub struct KernelGuest {
    /// Keeps the namespace alive; the kernel removes it, including the link, after its last process.
    holder: Program,
    /// The kernel, its modules and the shim.
    folder: PathBuf,
    scratch: Scratch,
    _doors: Vec<Relay>,
}

impl KernelGuest {
    /// Requirements of the machine.
    pub const NEEDS: [Need; 7] = [
        Need::Root,
        Need::File("/dev/net/tun"),
        Need::Program("ip"),
        Need::Program("gcc"),
        Need::Program("modprobe"),
        Need::Program("mount.cifs"),
        Need::Program("mount.nfs"),
    ];
    /// Address of this machine in the network of the guest.
    pub const MACHINE: &str = "10.77.0.1";
    /// Timeout of a guest that boots, mounts and measures.
    pub const LONG: Duration = Duration::from_secs(600);

    /// Unpacks the kernel 6.1 below `.peers` if that has not been done, and makes a namespace from which the given ports of
    /// this machine's loopback can be reached at [`Self::MACHINE`].
    pub fn prepare(ports: &[u16]) -> io::Result<Self> {
        Self::prepare_of("bookworm", &[], ports)
    }

    /// As [`Self::prepare`], with a kernel 6.12, whose NFS has TLS, and `tlshd`.
    pub fn prepare_with_tls(ports: &[u16]) -> io::Result<Self> {
        Self::prepare_of("trixie", &["ktls-utils"], ports)
    }

    fn prepare_of(suite: &str, packages: &[&str], ports: &[u16]) -> io::Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.peers/guests").join(suite);
        let command: [&str; 4] = [&Self::tool("install"), &text(&folder), suite, "user-mode-linux"];
        run(&[&command, packages].concat(), &[])?;
        let scratch = Scratch::new("guest")?;
        let wire = format!(
            "ip link set lo up && ip tuntap add dev tap0 mode tap && ip addr add {}/24 dev tap0 && \
             ip link set tap0 txqueuelen 10000 up && echo ready && exec sleep infinity",
            Self::MACHINE
        );
        let mut holder =
            Program::start(&["unshare", "--net", "sh", "-c", &wire], &[], &scratch.path().join("namespace"))?;
        holder.wait_for_output("ready", PATIENCE)?;
        let doors = ports.iter().map(|port| Relay::open(holder.pid(), *port)).collect::<io::Result<_>>()?;
        Ok(Self { holder, folder, scratch, _doors: doors })
    }

    /// The words that run a command in the network of the guest, with which a server is reached at [`Self::MACHINE`].
    pub fn enter(&self) -> [String; 5] {
        let pid = self.holder.pid().to_string();
        ["nsenter", "--target", &pid, "--net", "--"].map(str::to_owned)
    }

    /// The path of a program or script for the guest.
    pub fn tool(name: &str) -> String {
        text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("kernel-guest").join(name))
    }

    /// The folder of the kernel and its modules, as the guest sees it too.
    pub fn folder(&self) -> String {
        text(&self.folder)
    }

    /// Boots the guest, runs the text of a shell script in it as root, and gives what it printed; an error
    /// when its exit status is not 0. `/run` and `/mnt` can be written, everything else is the machine's.
    pub fn run(&self, script: &str, env: &[(&str, &str)], limit: Duration) -> io::Result<String> {
        self.run_under(&[], script, env, limit)
    }

    /// As [`Self::run`]; the words of `prefix` execute the guest, for example in a group that counts its CPU time.
    pub fn run_under(
        &self,
        prefix: &[&str],
        script: &str,
        env: &[(&str, &str)],
        limit: Duration,
    ) -> io::Result<String> {
        let path = self.scratch.file("script");
        let seconds = limit.as_secs().to_string();
        fs::write(&path, script)?;
        let boot = Self::tool("boot");
        let folder = text(&self.folder);
        let [nsenter, target, pid, net, end] = self.enter();
        let enter = [&nsenter, &target, &pid, &net, &end, "timeout", "--signal=KILL", &seconds];
        let die_with_us = ["setpriv", "--pdeathsig", "KILL", "--"];
        let line = [prefix, &enter, &die_with_us, &[&boot, &folder, "tap0", &path]].concat();
        let names: Vec<&str> = env.iter().map(|(name, _)| *name).collect();
        let names = names.join(" ");
        // What hangs is shown before the guest is killed.
        let patience = limit.as_secs().saturating_sub(30).to_string();
        let ours = [("GUEST_ENV", names.as_str()), ("GUEST_PATIENCE", &patience)];
        let env: Vec<_> = env.iter().copied().chain(ours).collect();
        run(&line, &env)
    }

    /// Mounts a share in the guest with the command `mount`, copies `big` and `tree` of the directory `source` to
    /// it, mounts it afresh and compares; gives what was printed.
    pub fn mount_and_compare(&self, mount: &str, source: &Path) -> io::Result<String> {
        let script = fs::read_to_string(Self::tool("mount-and-compare"))?;
        self.run(&script, &[("MOUNT", mount), ("SOURCE", &text(source))], Self::LONG)
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
