//! Faults of this machine: name resolution, quota, other work, and the size of packets.

use std::io;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use sharebench_tests::{BusyLoop, Ganesha, GaneshaOptions, Need, SlowCall, SlowCalls, Smbd, SmbdOptions};

use crate::fault::{Condition, Fault, FaultyServer, Planted};

const SMBD: &[Need] = &[Need::Program("smbd"), Need::Program("pdbedit"), Need::Program("gcc")];
const ROOT: &[Need] =
    &[Need::Root, Need::Program("smbd"), Need::Program("pdbedit"), Need::Program("taskset")];

fn smbd() -> io::Result<Planted> {
    let smbd = Smbd::start(&SmbdOptions::default())?;
    Ok(Planted::new(smbd.url("", "")).keeping(smbd))
}

/// The resolver of this machine needs a second.
fn slow_resolver(condition: Condition) -> io::Result<Planted> {
    let mut planted = smbd()?;
    planted.url = planted.url.replacen("127.0.0.1", "localhost", 1);
    if condition.is_faulty() {
        let slow = SlowCalls::new(SlowCall::Address, 1_000_000)?;
        planted.env = vec![("LD_PRELOAD", slow.library()), slow.switch()];
        planted = planted.keeping(slow);
    }
    Ok(planted)
}

/// Three loops share one processor with the client.
fn starved(condition: Condition) -> io::Result<Planted> {
    let mut planted = smbd()?;
    planted.words = ["taskset", "-c", "0"].map(str::to_owned).to_vec();
    if condition.is_faulty() {
        // Pinned like the client: the loops run on threads of their own, which a shell starts.
        let script = "for n in 1 2 3; do taskset -c 0 sh -c 'while :; do :; done' & done; wait";
        let scratch = sharebench_tests::Scratch::new("loops")?;
        let program =
            sharebench_tests::Program::start(&["sh", "-c", script], &[], &scratch.path().join("log"))?;
        planted = planted.keeping((program, scratch));
    }
    Ok(planted)
}

/// A control group with 30 % of one processor, in the first version of control groups or the second.
fn quota(condition: Condition) -> io::Result<Planted> {
    let mut planted = smbd()?;
    if condition.is_faulty() {
        let script = "g=/sys/fs/cgroup; [ -e $g/cgroup.controllers ] && { echo +cpu >$g/cgroup.subtree_control; } || g=$g/cpu; \
                      g=$g/sharebench-quota-$$; mkdir $g; \
                      if [ -e $g/cpu.max ]; then echo '30000 100000' >$g/cpu.max; else echo 100000 >$g/cpu.cfs_period_us; \
                      echo 30000 >$g/cpu.cfs_quota_us; fi; \
                      (echo $(exec sh -c 'echo $PPID') >$g/cgroup.procs; exec \"$@\"); s=$?; rmdir $g; exit $s";
        planted.words = ["sh", "-c", script, "sh"].map(str::to_owned).to_vec();
    }
    Ok(planted)
}

/// An exporter that reports the CPU time of the server, which spins before each reply.
fn busy_server(condition: Condition) -> io::Result<Planted> {
    let slow = condition.is_faulty().then(|| SlowCalls::new(SlowCall::SendBusy, 3_000)).transpose()?;
    let ganesha = Ganesha::start(&GaneshaOptions { slow, ..GaneshaOptions::default() })?;
    let port = exporter(ganesha.pid())?;
    let mut planted = Planted::new(ganesha.url("", ""));
    planted.flags = ["--server-metrics".to_owned(), format!("http://127.0.0.1:{port}/metrics")].to_vec();
    Ok(planted.keeping(ganesha))
}

/// Serves the CPU time of a process and its children for as long as this program runs.
fn exporter(pid: u32) -> io::Result<u16> {
    const TICKS_PER_S: f64 = 100.0;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let seconds = move || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks: f64 = fields.get(11..15)?.iter().filter_map(|field| field.parse::<f64>().ok()).sum();
        Some(ticks / TICKS_PER_S)
    };
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let body = format!("process_cpu_seconds_total {}\n", seconds().unwrap_or(0.0));
            let _ = write!(stream, "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n{body}");
        }
    });
    Ok(port)
}

/// Three loops and that of the benchmark: neither the client nor the server has a CPU for itself.
fn both_loops(condition: Condition) -> io::Result<Planted> {
    let planted = smbd()?;
    Ok(if condition.is_faulty() {
        planted.keeping((BusyLoop::start(), BusyLoop::start(), BusyLoop::start()))
    } else {
        planted
    })
}

const AT_SMBD: FaultyServer = FaultyServer { name: "smbd", needs: SMBD };
const AT_SMBD_AS_ROOT: FaultyServer = FaultyServer { name: "smbd", needs: ROOT };
const AT_GANESHA: FaultyServer = FaultyServer { name: "ganesha", needs: &Ganesha::NEEDS };

/// The table.
pub const FAULTS: &[Fault] = &[
    AT_SMBD.fault(
        "resolver-client",
        "resolving the name takes 1 s",
        &["slow-name-resolution"],
        true,
        slow_resolver,
    ),
    AT_SMBD_AS_ROOT.fault(
        "loops-client",
        "three loops on the CPU of the client",
        &["client-busy"],
        false,
        starved,
    ),
    AT_SMBD.fault("crowded-client", "four loops on two CPUs", &["client-busy"], false, both_loops),
    AT_SMBD_AS_ROOT.fault("quota-client", "a quota of 30 % of one CPU", &["client-throttled"], false, quota),
    AT_GANESHA.fault(
        "busy-ganesha",
        "each reply costs 3 ms of the server's CPU, --server-metrics",
        &["busy-server"],
        false,
        busy_server,
    ),
];
