//! NFS-Ganesha on loopback ports, without rpcbind, D-Bus or systemd.

use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::process::Signal;

use crate::disk::Disk;
use crate::failing::Failing;
use crate::need::Need;
use crate::program::{PATIENCE, Program, free_ports, run};
use crate::scratch::Scratch;
use crate::slow_calls::SlowCalls;

/// How ganesha is configured.
// Each of them is a setting of its own.
#[allow(clippy::struct_excessive_bools)]
#[derive(Debug, Clone, Default)]
pub struct GaneshaOptions {
    /// Makes the export read-only.
    pub read_only: bool,
    /// File system of the export, instead of a directory.
    pub disk: Option<Disk>,
    /// Listens on every address, instead of on `127.0.0.1`.
    pub everywhere: bool,
    /// Library that makes its system calls fail on request.
    pub failing: Option<Failing>,
    /// Versions of NFS, such as `4`, instead of `3,4`.
    pub versions: Option<&'static str>,
    /// Makes its calls slow.
    pub slow: Option<SlowCalls>,
    /// Bytes of the largest READ and WRITE, instead of 1 MiB.
    pub transfer: Option<u32>,
    /// Squashing of the export, instead of none, such as `Root_Squash`.
    pub squash: Option<&'static str>,
    /// Commits every write at once.
    pub commits: bool,
    /// Security flavor of the export in ganesha's words, such as `krb5`, instead of `sys`.
    pub flavor: Option<&'static str>,
    /// Accepts tickets for the keys of this keytab, of a [`Realm`](crate::Realm) that this process runs in.
    pub keytab: Option<PathBuf>,
    /// Answers version 3 and MOUNT over UDP as well.
    pub udp: bool,
}

/// A running ganesha with one export, for NFS v3 and v4 over TCP.
#[derive(Debug)]
pub struct Ganesha {
    program: Program,
    scratch: Scratch,
    port: u16,
    mount_port: u16,
    options: GaneshaOptions,
}

/// Ganesha registers its programs at rpcbind and exits without one. No client here uses rpcbind, because the tests
/// pass the ports, so this replacement only confirms registrations.
const RPCBIND_STUB: &str = "
int svc_reg(void) { return 1; }
int svc_unreg(void) { return 1; }
int rpcb_set(void) { return 1; }
int rpcb_unset(void) { return 1; }
";

/// Its file.
const STUB: &str = "rpcbind.so";

impl Ganesha {
    /// Requirements of the machine.
    pub const NEEDS: [Need; 4] = [
        Need::Root,
        Need::Program("ganesha.nfsd"),
        Need::Program("gcc"),
        Need::File("/usr/lib/x86_64-linux-gnu/ganesha/libfsalvfs.so"),
    ];

    /// Starts the server and waits until it answers.
    pub fn start(options: &GaneshaOptions) -> io::Result<Self> {
        // A port can be lost to another program between choosing and binding it.
        Self::attempt(options).or_else(|_| Self::attempt(options))
    }

    fn attempt(options: &GaneshaOptions) -> io::Result<Self> {
        let scratch = Scratch::new("ganesha")?;
        let [port, mount_port] = free_ports()?;
        scratch.directory("export")?;
        fs::create_dir(scratch.path().join("recovery"))?;
        let config = scratch.file("ganesha.conf");
        fs::write(&config, configuration(options, scratch.path(), port, mount_port))?;
        build_stub(&scratch)?;
        let program = spawn(options, &scratch)?;
        let mut ganesha = Self { program, scratch, port, mount_port, options: options.clone() };
        ganesha.wait_until_ready()?;
        Ok(ganesha)
    }

    fn wait_until_ready(&mut self) -> io::Result<()> {
        let serves_mount = self.options.versions.is_none_or(|versions| versions.contains('3'));
        for port in [serves_mount.then_some(self.mount_port), Some(self.port)].into_iter().flatten() {
            let ready = self.program.wait_for_port(port, PATIENCE);
            ready.map_err(|error| {
                let log = fs::read_to_string(self.scratch.file("log"));
                io::Error::other(format!("{error}\n{}", log.unwrap_or_default()))
            })?;
        }
        Ok(())
    }

    /// Kills the server and starts it again on the same ports, with the same export.
    pub fn restart(&mut self) -> io::Result<()> {
        self.signal(Signal::KILL);
        self.program.wait(PATIENCE)?;
        self.program = spawn(&self.options, &self.scratch)?;
        self.wait_until_ready()
    }

    /// TCP port of NFS on `127.0.0.1`.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// TCP port of the MOUNT protocol on `127.0.0.1`.
    pub fn mount_port(&self) -> u16 {
        self.mount_port
    }

    /// Name of the export as clients mount it.
    pub fn export(&self) -> String {
        self.scratch.file("export")
    }

    /// The server's process.
    pub fn pid(&self) -> u32 {
        self.program.pid()
    }

    /// The export's directory as this process sees it.
    pub fn directory(&self) -> PathBuf {
        let export = self.scratch.path().join("export");
        if self.options.disk.is_none() { export } else { self.program.path(&export) }
    }

    /// URL of a directory of the export; `options` are added to the mount port.
    pub fn url(&self, directory: &str, options: &str) -> String {
        let gap = if options.is_empty() { "" } else { "&" };
        let port = self.port;
        let export = self.export();
        let mount_port = self.mount_port;
        format!("nfs://127.0.0.1:{port}{export}/{directory}?mountport={mount_port}{gap}{options}")
    }

    /// URL of a directory of the export for NFS version 4, whose paths begin at the pseudo root.
    pub fn url4(&self, directory: &str, version: &str) -> String {
        format!("nfs://127.0.0.1:{}/export/{directory}?vers={version}", self.port)
    }

    /// Sends a signal to all processes of the server. After SIGSTOP, connections stay open without replies.
    pub fn signal(&self, signal: Signal) {
        self.program.signal_group(signal);
    }
}

fn build_stub(scratch: &Scratch) -> io::Result<()> {
    let source = scratch.file("rpcbind.c");
    let library = scratch.file(STUB);
    fs::write(&source, RPCBIND_STUB)?;
    run(&["gcc", "-shared", "-fPIC", "-o", &library, &source], &[]).map(drop)
}

fn spawn(options: &GaneshaOptions, scratch: &Scratch) -> io::Result<Program> {
    let log = scratch.file("log");
    let pid = scratch.file("pid");
    let config = scratch.file("ganesha.conf");
    let failing = options.failing.as_ref().map(Failing::library);
    let library = failing.or_else(|| options.slow.as_ref().map(SlowCalls::library));
    let failing = library.map_or(String::new(), |library| format!(":{library}"));
    let preload = format!("LD_PRELOAD={}{failing}", scratch.file(STUB));
    let line = format!("{preload} exec ganesha.nfsd -F -f {config} -L {log} -p {pid} -N NIV_EVENT");
    // A mount namespace of its own holds the file system, and an empty /run keeps it off a
    // D-Bus or rpcbind of the machine.
    let disk =
        options.disk.as_ref().map_or(String::new(), |disk| disk.mount(&scratch.file("export")) + " &&");
    let line = format!("mount -t tmpfs tmpfs /run && {disk} {line}");
    let failing = options.failing.as_ref().map(Failing::switch);
    let switch = failing.or_else(|| options.slow.as_ref().map(SlowCalls::switch));
    let env: Vec<(&str, &str)> = switch.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Program::start(&["unshare", "--mount", "sh", "-c", &line], &env, &scratch.path().join("stdout"))
}

fn configuration(options: &GaneshaOptions, scratch: &Path, port: u16, mount_port: u16) -> String {
    let access = if options.read_only { "RO" } else { "RW" };
    let address = if options.everywhere { "0.0.0.0" } else { "127.0.0.1" };
    let home = scratch.display();
    let versions = options.versions.unwrap_or("3,4");
    let flavor = options.flavor.unwrap_or("sys");
    let transfer = options.transfer.unwrap_or(1 << 20);
    let squash = options.squash.unwrap_or("No_Root_Squash");
    let commits = options.commits;
    let udp = options.udp;
    let transports = if udp { "TCP,UDP" } else { "TCP" };
    let kerberos = match &options.keytab {
        Some(keytab) => format!(
            "Active_krb5 = true; PrincipalName = nfs@localhost; KeytabPath = {}; CCacheDir = {home}/ccache;",
            keytab.display()
        ),
        None => "Active_krb5 = false;".to_owned(),
    };
    format!(
        "NFS_CORE_PARAM {{ Bind_addr = {address}; NFS_Port = {port}; MNT_Port = {mount_port};
 Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = {udp}; Protocols = {versions};
 mount_path_pseudo = false; RPC_Max_Connections = 10000;
 Plugins_Dir = \"/usr/lib/x86_64-linux-gnu/ganesha/\"; }}
NFS_KRB5 {{ {kerberos} }}
NFSv4 {{ Minor_Versions = 0,1,2; Graceless = true; Lease_Lifetime = 10; RecoveryBackend = fs;
 RecoveryRoot = \"{home}/recovery\"; Only_Numeric_Owners = true; PNFS_MDS = false; PNFS_DS = false; }}
EXPORT {{ Export_Id = 1; Path = {home}/export; Pseudo = /export; Access_Type = {access};
 Squash = {squash}; NFS_Commit = {commits}; SecType = {flavor}; Protocols = {versions}; Transports = {transports}; PrivilegedPort = false;
 MaxRead = {transfer}; MaxWrite = {transfer}; PrefRead = {transfer}; PrefWrite = {transfer};
 FSAL {{ Name = VFS; }} }}
"
    )
}
