//! A process with one embedded server over memory: for thousands of users, with a known service time, or with many files.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use sharebench_server::{
    DeviceOptions, DeviceVolume, EmbeddedServers, MemoryVolume, ROOT, ServeOptions, ServiceTime, Volume,
};
use sharebench_target::Secret;
use sharebench_tests::Smbd;

use crate::Failure;

/// More clients than any table has, so that the server refuses none.
const MAX_CLIENTS: u16 = 20_000;
/// Most bytes of the files and names. Memory is used for what there is.
const CAPACITY: u64 = 4 << 30;
/// The account of the clients.
const USER: &str = "lab";
/// The directory with many files, which are called `file-0` and so on.
pub const FULL: &str = "full";
/// The directory with `file-0` alone.
pub const SPARSE: &str = "sparse";

/// The server process; dropping it ends the process.
pub struct Served {
    child: Child,
    /// The process exits when this is closed.
    _hold: ChildStdin,
    protocol: String,
    port: u16,
}

impl Served {
    /// Starts the process and waits until it serves.
    pub fn start(protocol: &str) -> Result<Self, Failure> {
        Self::start_by(&std::env::current_exe()?, protocol)
    }

    /// Starts another build of this program.
    pub fn start_by(program: &Path, protocol: &str) -> Result<Self, Failure> {
        Self::spawn(program, protocol, &["0", "1", "0"])
    }

    /// Starts the process with a device that takes this long for each request, and serves several at the same time.
    pub fn with_service_time(protocol: &str, service: Duration, servers: usize) -> Result<Self, Failure> {
        let words = [&service.as_micros().to_string(), &servers.to_string(), "0"];
        Self::spawn(&std::env::current_exe()?, protocol, &words)
    }

    /// Starts the process with this many files in the directory [`FULL`].
    pub fn with_files(protocol: &str, files: usize) -> Result<Self, Failure> {
        Self::spawn(&std::env::current_exe()?, protocol, &["0", "1", &files.to_string()])
    }

    fn spawn(program: &Path, protocol: &str, words: &[&str; 3]) -> Result<Self, Failure> {
        let mut command = Command::new(program);
        command
            .args(["client", "load-server", protocol])
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let (Some(hold), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes to the server".into());
        };
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let port = line.trim().parse().map_err(|_| "the server printed no port")?;
        Ok(Self { child, _hold: hold, protocol: protocol.to_owned(), port })
    }

    /// Returns the process id of the server.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the URL of the server.
    pub fn url(&self) -> String {
        let port = self.port;
        match self.protocol.as_str() {
            "nfs" => format!("nfs://127.0.0.1:{port}/share?mountport={port}"),
            "smb" => format!("smb://{USER}@127.0.0.1:{port}/share"),
            _ => format!("ncp://{USER}@127.0.0.1:{port}/SHARE"),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // The process has exited already, or exits now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Main function of the process: prints the port and serves until the end of its input. `files` are those of [`FULL`].
pub fn serve(protocol: &str, service: Duration, servers: usize, files: usize) -> Result<(), Failure> {
    crate::ncp_server::raise_files()?;
    let any: Option<SocketAddr> = Some("127.0.0.1:0".parse()?);
    let wanted = |name: &str| any.filter(|_| name == protocol);
    let options = ServeOptions {
        smb: wanted("smb"),
        nfs: wanted("nfs"),
        ncp: wanted("ncp"),
        max_clients: Some(MAX_CLIENTS),
        accounts: vec![(USER.to_owned(), Secret::new(Smbd::PASSWORD))],
        ..ServeOptions::default()
    };
    let memory = MemoryVolume::new(CAPACITY);
    if files > 0 {
        for (directory, files) in [(FULL, files), (SPARSE, 1)] {
            let directory = memory.make_directory(ROOT, directory, 0o777)?.node;
            for file in 0..files {
                memory.create(directory, &format!("file-{file}"), 0o666)?;
            }
        }
    }
    let volume: Arc<dyn Volume> = if service.is_zero() {
        Arc::new(memory)
    } else {
        let service = ServiceTime::Fixed(service);
        let device = DeviceOptions { service, servers, ..DeviceOptions::default() };
        Arc::new(DeviceVolume::new(memory, device))
    };
    let servers = EmbeddedServers::start(&volume, &options)?;
    println!("{}", servers.addr(protocol).ok_or("no such protocol")?.port());
    for line in std::io::stdin().lines() {
        line?;
    }
    Ok(())
}
