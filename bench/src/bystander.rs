//! Servers of the table's own in a process of their own, whose CPU time and memory can be read from outside.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use sharebench_server::{EmbeddedServers, MemoryVolume, ROOT, ServeOptions, Volume};

use crate::Failure;
use crate::shape::FILE_BYTES;

/// Name of the embedded servers' volume.
const VOLUME: &str = "bench";

/// A running server process; dropping it ends it.
pub struct Bystander {
    child: Child,
    ports: Vec<u16>,
}

impl Bystander {
    /// Embedded NFS and NCP servers over one volume in memory, with the file `data` in it.
    pub fn files() -> Result<Self, Failure> {
        Self::start(&["files"])
    }

    /// Bare sockets: every `request` bytes are answered by `reply` bytes.
    pub fn echo(request: usize, reply: usize) -> Result<Self, Failure> {
        Self::start(&["echo", &request.to_string(), &reply.to_string()])
    }

    fn start(words: &[&str]) -> Result<Self, Failure> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("server")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let ports: Result<Vec<u16>, _> = line.split_whitespace().map(str::parse).collect();
        Ok(Self { child, ports: ports? })
    }

    fn port(&self, index: usize) -> u16 {
        self.ports.get(index).copied().unwrap_or(0)
    }

    /// URL of the volume over NFS.
    pub fn nfs(&self) -> String {
        format!("nfs://127.0.0.1:{0}/{VOLUME}?mountport={0}&uid=0&gid=0", self.port(0))
    }

    /// URL of the volume over NCP on TCP, `options` behind the question mark.
    pub fn ncp(&self, options: &str) -> String {
        format!("ncp://127.0.0.1:{}/{}?{options}", self.port(1), VOLUME.to_uppercase())
    }

    /// Port of the bare sockets.
    pub fn echo_port(&self) -> u16 {
        self.port(0)
    }

    /// CPU time of all its threads so far, user and kernel, nanoseconds.
    pub fn cpu_ns(&self) -> Result<u64, Failure> {
        let mut total = 0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let text = fs::read_to_string(thread?.path().join("schedstat"))?;
            total += text.split_whitespace().next().unwrap_or("0").parse::<u64>()?;
        }
        Ok(total)
    }

    /// Resident memory, KiB.
    pub fn resident_kib(&self) -> Result<u64, Failure> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        Ok(line.and_then(|line| line.split_whitespace().next()).unwrap_or("0").parse()?)
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The server program: prints its ports and serves until its input ends.
pub fn serve(words: &[String]) -> Result<(), Failure> {
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["files"] => {
            let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(4 * FILE_BYTES));
            let file = volume.create(ROOT, "data", 0o644)?.node;
            let block = vec![7; 1 << 20];
            for offset in (0..FILE_BYTES).step_by(block.len()) {
                volume.write(file, offset, &block, false)?;
            }
            let any = Some(([127, 0, 0, 1], 0).into());
            let options = ServeOptions { nfs: any, ncp: any, name: VOLUME.into(), ..ServeOptions::default() };
            let servers = EmbeddedServers::start(&volume, &options)?;
            let port = |protocol| servers.addr(protocol).map_or(0, |addr| addr.port());
            println!("{} {}", port("nfs"), port("ncp"));
            until_input_ends()
        }
        ["echo", request, reply] => {
            let (request, reply) = (request.parse()?, reply.parse()?);
            let listener = TcpListener::bind("127.0.0.1:0")?;
            println!("{}", listener.local_addr()?.port());
            // One thread for one client after another: the time of a thread that has ended cannot be read.
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let _ = answer(stream, request, reply);
                }
            });
            until_input_ends()
        }
        _ => Err(format!("no server is called {words:?}").into()),
    }
}

fn answer(mut stream: TcpStream, request: usize, reply: usize) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut asked, reply) = (vec![0; request], vec![7; reply]);
    loop {
        stream.read_exact(&mut asked)?;
        stream.write_all(&reply)?;
    }
}

fn until_input_ends() -> Result<(), Failure> {
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
