//! Samba's smbd on a loopback port, with users and state of its own.

use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::process::Signal;

use crate::disk::Disk;
use crate::failing::Failing;
use crate::need::Need;
use crate::program::find_program;
use crate::program::{PATIENCE, Program, free_port, run};
use crate::scratch::Scratch;
use crate::slow_calls::SlowCalls;

/// What smbd does about signing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Signing {
    /// Signs when the client wants it.
    #[default]
    Offered,
    /// Rejects clients that do not sign.
    Mandatory,
    /// Does not sign.
    Disabled,
}

/// How smbd is configured.
#[derive(Debug, Clone, Default)]
pub struct SmbdOptions {
    /// `server signing`.
    pub signing: Signing,
    /// Refuses clients that do not encrypt.
    pub encrypted: bool,
    /// Lowest and highest dialect in Samba's words, such as `("SMB2_02", "SMB2_10")`.
    pub dialects: Option<(&'static str, &'static str)>,
    /// Refuses every change of the share.
    pub read_only: bool,
    /// Puts the share on a file system of its own (needs root).
    pub disk: Option<Disk>,
    /// Listens on this address with its network too, such as `10.0.0.1/24`.
    pub address: Option<&'static str>,
    /// Library that makes its system calls fail on request.
    pub failing: Option<Failing>,
    /// Rejects logins with NTLM.
    pub blocks_ntlm: bool,
    /// Makes its calls slow.
    pub slow: Option<SlowCalls>,
    /// Further lines of the section `global`.
    pub lines: &'static str,
    /// Accepts tickets for the keys of this keytab, of a [`Realm`](crate::Realm) that this process runs in.
    pub keytab: Option<PathBuf>,
    /// The only cipher, in Samba's words, such as `AES-256-GCM`.
    pub cipher: Option<&'static str>,
}

/// A running smbd with one share called `share` and one user.
#[derive(Debug)]
pub struct Smbd {
    program: Program,
    scratch: Scratch,
    port: u16,
    user: String,
    options: SmbdOptions,
}

impl Smbd {
    /// Requirements of the machine.
    pub const NEEDS: [Need; 2] = [Need::Program("smbd"), Need::Program("pdbedit")];
    /// The user's password.
    pub const PASSWORD: &str = "open Sesame 42";

    /// Starts the server and waits until it answers.
    pub fn start(options: &SmbdOptions) -> io::Result<Self> {
        // A port can be lost to another program between choosing and binding it.
        Self::attempt(options).or_else(|_| Self::attempt(options))
    }

    fn attempt(options: &SmbdOptions) -> io::Result<Self> {
        let scratch = Scratch::new("smbd")?;
        let port = free_port()?;
        // Without root smbd can only serve as the user it runs as; with root it serves as root.
        let user = run(&["id", "-un"], &[])?.trim().to_owned();
        scratch.directory("share")?;
        for state in ["private", "lock", "state", "cache", "pid", "ncalrpc"] {
            fs::create_dir(scratch.path().join(state))?;
        }
        let config = scratch.file("smb.conf");
        fs::write(&config, configuration(options, scratch.path(), port))?;
        add_user(&config, &user)?;
        let program = spawn(options, &scratch)?;
        let mut smbd = Self { program, scratch, port, user, options: options.clone() };
        smbd.program.wait_for_port(port, PATIENCE)?;
        Ok(smbd)
    }

    /// Ends it at once and starts it again on the same port, with the same state.
    pub fn restart(&mut self) -> io::Result<()> {
        self.signal(Signal::KILL);
        self.program.wait(PATIENCE)?;
        let config = configuration(&self.options, self.scratch.path(), self.port);
        fs::write(self.scratch.file("smb.conf"), config)?;
        self.program = spawn(&self.options, &self.scratch)?;
        self.program.wait_for_port(self.port, PATIENCE)
    }

    /// The same with other lines of the section `global`.
    pub fn restart_with(&mut self, lines: &'static str) -> io::Result<()> {
        self.options.lines = lines;
        self.restart()
    }

    /// Takes the share away from those who use it and from everybody else.
    pub fn remove_share(&self) -> io::Result<()> {
        let config = self.scratch.file("smb.conf");
        let text = fs::read_to_string(&config)?;
        fs::write(&config, text.split("[share]").next().unwrap_or_default())?;
        for message in [&["reload-config"][..], &["close-share", "share"]] {
            let line = [&["smbcontrol", "-s", &config, "smbd"], message].concat();
            run(&line, &[])?;
        }
        Ok(())
    }

    /// TCP port on `127.0.0.1`.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Name of the user that may log in with [`Self::PASSWORD`].
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The process that accepts connections; each has a child of it.
    pub fn pid(&self) -> u32 {
        self.program.pid()
    }

    /// The share's directory as this process sees it.
    pub fn share(&self) -> PathBuf {
        let share = self.scratch.path().join("share");
        if self.options.disk.is_none() { share } else { self.program.path(&share) }
    }

    /// URL of a directory of the share; `options` without `?`.
    pub fn url(&self, directory: &str, options: &str) -> String {
        let gap = if options.is_empty() { "" } else { "?" };
        format!("smb://{}@127.0.0.1:{}/share/{directory}{gap}{options}", self.user, self.port)
    }

    /// Sends a signal to all processes of the server. After SIGSTOP, connections stay open without replies.
    pub fn signal(&self, signal: Signal) {
        self.program.signal_group(signal);
    }
}

fn spawn(options: &SmbdOptions, scratch: &Scratch) -> io::Result<Program> {
    let smbd = find_program("smbd").ok_or(io::ErrorKind::NotFound)?;
    let config = scratch.file("smb.conf");
    // Only smbd itself is to fail.
    let failing = options.failing.as_ref().map(Failing::library);
    let library = failing.or_else(|| options.slow.as_ref().map(SlowCalls::library));
    let preload = library.map_or(String::new(), |library| format!("LD_PRELOAD={library} "));
    let line = format!("{preload}exec {smbd} -F --no-process-group -s {config}");
    // The file system lives in a mount namespace of smbd's own and goes with it.
    let (shell, line) = match &options.disk {
        None => (vec!["sh", "-c"], line),
        Some(disk) => {
            let mount = disk.mount(&scratch.file("share"));
            (vec!["unshare", "--mount", "sh", "-c"], format!("{mount} && {line}"))
        }
    };
    let words: Vec<&str> = shell.into_iter().chain([line.as_str()]).collect();
    let failing = options.failing.as_ref().map(Failing::switch);
    let switch = failing.or_else(|| options.slow.as_ref().map(SlowCalls::switch));
    let env: Vec<(&str, &str)> = switch.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Program::start(&words, &env, &scratch.path().join("stdout"))
}

fn add_user(config: &str, user: &str) -> io::Result<()> {
    let password = Smbd::PASSWORD;
    let line = format!("printf '%s\\n%s\\n' '{password}' '{password}' | pdbedit -s {config} -t -a -u {user}");
    run(&["sh", "-c", &line], &[]).map(drop)
}

fn configuration(options: &SmbdOptions, scratch: &Path, port: u16) -> String {
    let signing = match options.signing {
        Signing::Offered => "default",
        Signing::Mandatory => "mandatory",
        Signing::Disabled => "disabled",
    };
    let encryption = if options.encrypted { "required" } else { "default" };
    let (lowest, highest) = options.dialects.unwrap_or(("SMB2_02", "SMB3_11"));
    let address = options.address.unwrap_or_default();
    let writable = if options.read_only { "no" } else { "yes" };
    let ntlm = if options.blocks_ntlm { "disabled" } else { "ntlmv2-only" };
    let home = scratch.display();
    let lines = options.lines;
    let kerberos = options.keytab.as_ref().map_or(String::new(), |keytab| {
        let realm = crate::Realm::NAME;
        let keytab = keytab.display();
        format!(" realm = {realm}\n kerberos method = dedicated keytab\n dedicated keytab file = {keytab}\n")
    });
    let cipher = options
        .cipher
        .map_or(String::new(), |cipher| format!(" server smb3 encryption algorithms = {cipher}\n"));
    format!(
        "[global]
 workgroup = LAB
 server role = standalone server
 smb ports = {port}
 interfaces = 127.0.0.1/8 {address}
 bind interfaces only = yes
 disable netbios = yes
 disable spoolss = yes
 load printers = no
 map to guest = never
 private dir = {home}/private
 lock directory = {home}/lock
 state directory = {home}/state
 cache directory = {home}/cache
 pid directory = {home}/pid
 ncalrpc dir = {home}/ncalrpc
 passdb backend = tdbsam:{home}/private/passdb.tdb
 log file = {home}/log
 log level = 1
 ntlm auth = {ntlm}
 server signing = {signing}
 server smb encrypt = {encryption}
 server min protocol = {lowest}
 server max protocol = {highest}
 server multi channel support = yes
{kerberos}{cipher}{lines}
[share]
 path = {home}/share
 writable = {writable}
"
    )
}
