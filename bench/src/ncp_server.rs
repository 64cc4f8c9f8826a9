//! A process with our NCP and NFS servers over one volume in memory, and a bare TCP echo, which reports its resource usage.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use sharebench_server::{
    MemoryVolume, NcpServer, NcpServerOptions, NfsServer, NfsServerOptions, ROOT, Volume,
};

use crate::Failure;
use crate::sample::{Meter, Sample, cpu, rss_kib};
use crate::shape::{FILE_BYTES, Shape};

/// Number of files of 1 MiB, in addition to the large one.
pub const FILES: u64 = 8;
/// Bytes of a request to read 4 KiB by NCP on TCP, unsigned, with 64-bit offsets: headers of transport and packet, and the
/// call.
const REQUEST: usize = 16 + 6 + 16;
/// Bytes of its reply: headers of transport and packet, count and data.
const REPLY: usize = 8 + 8 + 2 + 4096;

/// Resource usage of the process.
pub struct Usage {
    /// CPU time in user and kernel mode.
    pub cpu_ns: u64,
    /// Current resident memory.
    pub rss_kib: u64,
}

/// The server process; dropping it ends the process.
pub struct Served {
    child: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
    ports: Vec<u16>,
}

impl Served {
    /// Starts the process and waits until it serves.
    pub fn start() -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["client", "ncp-server"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let (Some(ask), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes to the server".into());
        };
        let mut served = Self { child, ask, answers: BufReader::new(answers), ports: Vec::new() };
        for word in served.line()?.split_whitespace() {
            served.ports.push(word.parse()?);
        }
        if served.ports.len() == 3 { Ok(served) } else { Err("the server printed no ports".into()) }
    }

    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line)
    }

    /// Returns the URL of NCP.
    pub fn ncp(&self) -> String {
        format!("ncp://127.0.0.1:{}/SHARE", self.ports[0])
    }

    /// Returns the URL of NFSv3.
    pub fn nfs(&self) -> String {
        let port = self.ports[1];
        format!("nfs://127.0.0.1:{port}/export?mountport={port}")
    }

    /// Returns the address of the echo.
    pub fn echo(&self) -> String {
        format!("127.0.0.1:{}", self.ports[2])
    }

    /// Returns the resource usage so far.
    pub fn usage(&mut self) -> Result<Usage, Failure> {
        self.ask.write_all(b"\n")?;
        let line = self.line()?;
        let (cpu_ns, rss_kib) = line.trim().split_once(' ').ok_or("the server printed no usage")?;
        Ok(Usage { cpu_ns: cpu_ns.parse()?, rss_kib: rss_kib.parse()? })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // The process has exited already, or exits now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Main function of the process: prints its ports, and its resource usage for every line of input, until the input ends.
pub fn serve() -> Result<(), Failure> {
    raise_files()?;
    let volume = MemoryVolume::new((FILE_BYTES + (FILES + 1) * (1 << 20)) * 2);
    let mut files: Vec<(String, u64)> = (0..FILES).map(|number| (format!("file{number}"), 1 << 20)).collect();
    files.push(("data".to_owned(), FILE_BYTES));
    let content = vec![7; 1 << 20];
    for (name, bytes) in files {
        let node = volume.create(ROOT, &name, 0o644)?.node;
        for offset in (0..bytes).step_by(1 << 20) {
            volume.write(node, offset, &content, false)?;
        }
    }
    let volume: Arc<dyn Volume> = Arc::new(volume);
    let any: SocketAddr = "127.0.0.1:0".parse()?;
    let ncp = NcpServer::start(any, Arc::clone(&volume), NcpServerOptions::default())?;
    let nfs = NfsServer::start(any, volume, NfsServerOptions::default())?;
    let echo = TcpListener::bind(any)?;
    println!("{} {} {}", ncp.addr().port(), nfs.addr().port(), echo.local_addr()?.port());
    std::thread::spawn(move || answer(&echo));
    for line in std::io::stdin().lines() {
        line?;
        println!("{} {}", cpu().as_nanos(), rss_kib());
    }
    Ok(())
}

/// Receives requests and sends replies with the sizes of a read, for one client after another.
fn answer(listener: &TcpListener) {
    for stream in listener.incoming().flatten() {
        // The client has closed the connection.
        let _ = echo_on(stream);
    }
}

fn echo_on(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = [0; REQUEST];
    let reply = vec![7; REPLY];
    loop {
        stream.read_exact(&mut request)?;
        stream.write_all(&reply)?;
    }
}

/// Client program of the echo.
pub fn echo(addr: &str, shape: &Shape) -> Result<Sample, Failure> {
    let mut stream = TcpStream::connect(addr)?;
    stream.set_nodelay(true)?;
    let request = [7; REQUEST];
    let mut reply = vec![0; REPLY];
    let mut meter = Meter::start(shape);
    while !meter.is_over() {
        stream.write_all(&request)?;
        stream.read_exact(&mut reply)?;
        meter.completed(Instant::now());
    }
    meter.sample()
}

/// Raises the limit of open files to the maximum that the system allows.
pub fn raise_files() -> Result<(), Failure> {
    // SAFETY: both calls get a valid rlimit; getrlimit fills it.
    let raised = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit)
    };
    if raised == 0 { Ok(()) } else { Err(std::io::Error::last_os_error().into()) }
}
