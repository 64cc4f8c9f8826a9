//! A small test network: a server and several clients, each in its own network namespace with a shaped link to a bridge.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{fs, io, process, thread};

use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::need::Need;
use crate::program::find_program;
use crate::program::{Program, run};
use crate::scratch::Scratch;

/// How clients are connected.
#[derive(Debug, Clone, Copy)]
pub struct Wiring {
    /// Number of clients.
    pub clients: u32,
    /// Rate of each link and direction, as `tc` writes it.
    pub rate: &'static str,
    /// Rate of the last client's link.
    pub last_rate: &'static str,
    /// Offset in seconds of the monotonic clock of the last client but one.
    pub ahead_s: u32,
}

/// The network namespaces; dropping it removes them.
#[derive(Debug)]
pub struct Lab {
    name: String,
    clients: u32,
    home: Scratch,
}

impl Lab {
    /// Requirements of the machine.
    pub const NEEDS: [Need; 5] = [
        Need::Root,
        Need::NetworkNamespace,
        Need::Program("tc"),
        Need::Program("unshare"),
        Need::Program("setpriv"),
    ];
    /// The server's address and network.
    pub const SERVER: &str = "10.97.0.100/24";

    /// Runs a test on a thread in the server's network.
    ///
    /// # Panics
    /// When the test does, or the networks cannot be made.
    pub fn within<T: Send>(wiring: Wiring, test: impl FnOnce(&Lab) -> T + Send) -> T {
        let inside = || {
            // SAFETY: open files are not unshared, and nothing of this process points into its network.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.expect("a network of the server's own");
            let lab = Self::wire(wiring).expect("networks of the clients");
            test(&lab)
        };
        thread::scope(|scope| scope.spawn(inside).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn wire(wiring: Wiring) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("sblab{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let lab = Self { name, clients: wiring.clients, home: Scratch::new("lab")? };
        let ip =
            |line: &str| run(&[&["ip"], &line.split(' ').collect::<Vec<_>>()[..]].concat(), &[]).map(drop);
        ip("link set lo up")?;
        ip("link add hub type bridge")?;
        ip(&format!("addr add {} dev hub", Self::SERVER))?;
        ip("link set hub up")?;
        for client in 0..wiring.clients {
            let space = lab.space(client);
            let rate = if client + 1 == wiring.clients { wiring.last_rate } else { wiring.rate };
            ip(&format!("netns add {space}"))?;
            ip(&format!("link add port{client} type veth peer name eth0 netns {space}"))?;
            ip(&format!("link set port{client} master hub up"))?;
            ip(&format!("-n {space} link set lo up"))?;
            ip(&format!("-n {space} addr add 10.97.0.{}/24 dev eth0", client + 1))?;
            ip(&format!("-n {space} link set eth0 up"))?;
            let shape =
                |end: &str| format!("qdisc add dev {end} root tbf rate {rate} burst 64kb latency 100ms");
            let tc = |place: &[&str], line: &str| {
                run(&[place, &line.split(' ').collect::<Vec<_>>()[..]].concat(), &[]).map(drop)
            };
            tc(&["tc"], &shape(&format!("port{client}")))?;
            tc(&["tc", "-n", &space], &shape("eth0"))?;
        }
        lab.write_agent(wiring)?;
        Ok(lab)
    }

    /// Writes the launch agent of mpirun, which enters the network of a client and sets its host name.
    fn write_agent(&self, wiring: Wiring) -> io::Result<()> {
        let name = &self.name;
        let ahead = wiring.ahead_s;
        let shifted = wiring.clients.saturating_sub(2);
        let script = format!(
            "#!/bin/sh\nhost=$1; shift\nahead=0; [ \"$host\" = c{shifted} ] && ahead={ahead}\n\
             exec ip netns exec {name}-$host unshare --uts --time --monotonic $ahead --fork --kill-child \
             sh -c \"hostname $host; exec $*\"\n"
        );
        let agent = self.home.file("agent");
        fs::write(&agent, script)?;
        run(&["chmod", "+x", &agent], &[]).map(drop)
    }

    /// The client's network by its name.
    fn space(&self, client: u32) -> String {
        format!("{}-c{client}", self.name)
    }

    /// Returns the mpirun command that starts one rank of the following program on each client.
    pub fn mpirun(&self) -> Vec<String> {
        let hosts: Vec<String> = (0..self.clients).map(|client| format!("c{client}:1")).collect();
        let words = [
            "mpirun",
            "--allow-run-as-root",
            "-np",
            &self.clients.to_string(),
            "--host",
            &hosts.join(","),
            "--mca",
            "plm_rsh_agent",
            &self.home.file("agent"),
            "--mca",
            "plm_rsh_no_tree_spawn",
            "1",
            "--mca",
            "btl",
            "tcp,self",
            "--mca",
            "btl_tcp_if_include",
            "10.97.0.0/24",
            "--mca",
            "oob_tcp_if_include",
            "10.97.0.0/24",
            "--mca",
            "orte_tmpdir_base",
            &self.home.file(""),
        ]
        .map(str::to_owned);
        words.to_vec()
    }

    /// Starts a command line in the background.
    pub fn start(&self, words: &[String], env: &[(&str, &str)], log: &Path) -> io::Result<Program> {
        Program::start(&words.iter().map(String::as_str).collect::<Vec<_>>(), env, log)
    }

    /// Kills the programs of that name in the network of a client and returns their number.
    pub fn kill(&self, client: u32, program: &str) -> io::Result<usize> {
        let pids = run(&["ip", "netns", "pids", &self.space(client)], &[])?;
        let is = |pid: &&str| {
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == program)
        };
        let found: Vec<&str> = pids.split_whitespace().filter(is).collect();
        for pid in &found {
            run(&["kill", "-KILL", pid], &[])?;
        }
        Ok(found.len())
    }

    /// Returns the directory for files of the test.
    pub fn home(&self) -> &Scratch {
        &self.home
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for client in 0..self.clients {
            let space = self.space(client);
            if let Some(ip) = find_program("ip") {
                // What is left in it ends first, so that it can go.
                let _ = run(&["sh", "-c", &format!("{ip} netns pids {space} | xargs -r kill -KILL")], &[]);
                thread::sleep(Duration::from_millis(1));
                let _ = run(&[&ip, "netns", "del", &space], &[]);
            }
        }
    }
}
