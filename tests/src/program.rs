//! A program in the background that does not outlive the test.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Maximum time for a program to start or to exit, on a slow machine that sometimes stalls.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Ports below the ephemeral ports of the system (ip(7), `ip_local_port_range`): no connection, and no
/// server that requests any port, gets one of these between its choice and its use.
const PORTS: Range<u16> = 10_000..30_000;

/// A running program in its own process group. Dropping it kills the group. The program also ends with the thread that
/// started it, so that an aborted test run leaves no processes.
#[derive(Debug)]
pub struct Program {
    child: Child,
    name: String,
    log: PathBuf,
}

impl Program {
    /// Starts `line[0]` with the rest as arguments, in the environment `env`; both outputs go to `log`.
    pub fn start(line: &[&str], env: &[(&str, &str)], log: &Path) -> io::Result<Self> {
        use std::os::unix::process::CommandExt;
        let output = File::create(log)?;
        // A program that is started by nohup would ignore SIGHUP.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--", "env", "--default-signal=HUP"])
            .args(line)
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .spawn()?;
        Ok(Self { child, name: line.join(" "), log: log.to_owned() })
    }

    /// Process id, also of the group.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A path in the mount namespace of the program, as this process sees it.
    pub fn path(&self, path: &Path) -> PathBuf {
        let root = format!("/proc/{}/root", self.pid());
        Path::new(&root).join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Returns its output so far.
    pub fn output(&self) -> String {
        std::fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Sends a signal to the program itself, not to its group; nothing happens if it is gone.
    pub fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Sends a signal to the program and its child processes.
    pub fn signal_group(&self, signal: Signal) {
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }

    /// Returns true if it has exited.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Waits for its exit.
    pub fn wait(&mut self, limit: Duration) -> io::Result<ExitStatus> {
        let mut status = None;
        if poll(limit, || {
            status = self.child.try_wait().transpose();
            status.is_some()
        }) {
            return status.unwrap_or_else(|| self.child.wait());
        }
        Err(self.failure(&format!("still runs after {limit:?}")))
    }

    /// Waits until a TCP port of `127.0.0.1` answers.
    pub fn wait_for_port(&mut self, port: u16, limit: Duration) -> io::Result<()> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        self.wait_until(&format!("answers on port {port}"), limit, || TcpStream::connect(address).is_ok())
    }

    /// Waits until it has printed `text`.
    pub fn wait_for_output(&mut self, text: &str, limit: Duration) -> io::Result<()> {
        let log = self.log.clone();
        let printed =
            || std::fs::read(&log).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text));
        self.wait_until(&format!("prints '{text}'"), limit, printed)
    }

    fn wait_until(&mut self, what: &str, limit: Duration, mut done: impl FnMut() -> bool) -> io::Result<()> {
        let mut gone = false;
        let reached = poll(limit, || {
            gone = matches!(self.child.try_wait(), Ok(Some(_)));
            gone || done()
        });
        // A port that answers after the program has gone belongs to somebody else.
        if reached && !gone {
            return Ok(());
        }
        Err(self.failure(&format!("{} before it {what}", if gone { "ended" } else { "took too long" })))
    }

    fn failure(&self, problem: &str) -> io::Error {
        io::Error::other(format!("'{}' {problem}; it printed:\n{}", self.name, self.output()))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.signal_group(Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Calls `done` every 20 ms; returns true if it became true in time.
pub fn poll(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if done() {
            return true;
        }
        if Instant::now() > end {
            return false;
        }
        sleep(Duration::from_millis(20));
    }
}

/// Returns a TCP port that is free now, and that this process returns only once. Another process may still take it
/// before the server binds it; the caller then retries.
pub fn free_port() -> io::Result<u16> {
    static TURN: AtomicU32 = AtomicU32::new(0);
    /// Distance between the first ports of consecutive processes.
    const APART: u32 = 211;
    let width = u32::from(PORTS.end - PORTS.start);
    for _ in 0..width {
        let turn = TURN.fetch_add(1, Ordering::Relaxed);
        let port = PORTS.start + (process::id().wrapping_mul(APART).wrapping_add(turn) % width) as u16;
        if TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

/// Returns several different free ports.
pub fn free_ports<const COUNT: usize>() -> io::Result<[u16; COUNT]> {
    let mut ports = [0; COUNT];
    for port in &mut ports {
        *port = free_port()?;
    }
    Ok(ports)
}

/// Runs a command and returns both outputs, or an error if it fails.
pub fn run(line: &[&str], env: &[(&str, &str)]) -> io::Result<String> {
    let output =
        Command::new(line[0]).args(&line[1..]).envs(env.iter().copied()).stdin(Stdio::null()).output()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    Err(io::Error::other(format!("'{}' failed ({}):\n{text}", line.join(" "), output.status)))
}

/// Returns the path of a program, if it is installed.
pub fn find_program(name: &str) -> Option<String> {
    let search = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    search.split(':').map(|folder| format!("{folder}/{name}")).find(|path| Path::new(path).is_file())
}
