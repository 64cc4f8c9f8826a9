//! The machine and time of a table.

use std::fs;
use std::process::Command;

/// Prints the properties of the machine.
pub fn describe() {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!("- date: {}", output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]));
    println!("- machine: {}, {cores} cores", model.map_or("unknown processor", |(_, model)| model));
    println!("- system: Debian {}, Linux {}", debian(), output("uname", &["-r"]));
    println!("- compiler: {}", output("rustc", &["--version"]));
    let packages = ["fio", "libnfs-dev", "nfs-ganesha", "samba"]
        .map(|name| format!("{name} {}", output("dpkg-query", &["-W", "-f=${Version}", name])));
    println!("- Debian packages: {}", packages.join(", "));
    println!("- crates: nfs3_client 0.9.1, smb2 0.39.0");
}

/// Prints the load average, which includes the measurements of this program.
pub fn print_load(when: &str) {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let one: f64 = load.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(f64::NAN);
    println!("\nLoad average {when}: {one:.2} (one minute).");
    if when == "at the start" && one > 1.0 {
        println!("**Warning: other programs keep this machine busy; trust ratios more than figures.**");
    }
}

/// Writes to most of the free memory. A virtual machine gets memory from its host at the first use, which is several times
/// slower than a page cache, so the first contender would pay for all.
pub fn warm_memory() {
    const CHUNK: usize = 64 << 20;
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib: usize = available.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0);
    let chunks = kib * 1024 / 10 * 8 / CHUNK;
    let held: Vec<Vec<u8>> = (0..chunks).map(|_| vec![1; CHUNK]).collect();
    println!("\nMemory written to before: {} MiB.", std::hint::black_box(&held).len() * CHUNK >> 20);
}

/// Runs `work` with this process and its children on the last CPU only. A request then wakes the server on the same CPU,
/// and no interrupt between CPUs counts as CPU time of the client.
pub fn on_one_cpu<T>(work: impl FnOnce() -> T) -> std::io::Result<T> {
    let before = affinity()?;
    // SAFETY: a cpu_set_t is plain bits, and the index is below its size.
    let one = unsafe {
        let last = (0..libc::CPU_SETSIZE as usize).rev().find(|cpu| libc::CPU_ISSET(*cpu, &before));
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(last.unwrap_or(0), &mut one);
        one
    };
    bind(&one)?;
    let result = work();
    bind(&before)?;
    Ok(result)
}

fn affinity() -> std::io::Result<libc::cpu_set_t> {
    // SAFETY: the kernel writes at most the size it is given.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        match libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) {
            0 => Ok(set),
            _ => Err(std::io::Error::last_os_error()),
        }
    }
}

fn bind(set: &libc::cpu_set_t) -> std::io::Result<()> {
    // SAFETY: the kernel reads the size it is given.
    match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

fn debian() -> String {
    fs::read_to_string("/etc/debian_version").unwrap_or_default().trim().to_owned()
}

fn output(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output();
    output.map_or_else(
        |_| "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}
