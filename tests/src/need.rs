//! Requirements of a test, and the report of a skipped test.

use std::io::Write;
use std::path::Path;

use crate::program::find_program;

/// A requirement of a test that the machine must meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A program in the search path (sbin directories included).
    Program(&'static str),
    /// A file, such as a module or a device.
    File(&'static str),
    /// A module of Python.
    PythonModule(&'static str),
    /// A module of Node.
    NodeModule(&'static str),
    /// The rights of root.
    Root,
    /// Permission to create a network namespace with two interfaces.
    NetworkNamespace,
    /// The program with MPI, and the launcher of its processes.
    Mpi,
    /// A temporary directory on a disk, so that there is storage below the page cache.
    Disk,
}

impl Need {
    /// Returns why the requirement is not met, or `None` if it is.
    pub fn unmet(self) -> Option<String> {
        match self {
            Self::Program(name) => find_program(name).is_none().then(|| format!("{name} is not installed")),
            Self::File(path) => (!Path::new(path).exists()).then(|| format!("{path} does not exist")),
            Self::Disk => {
                on_memory(&std::env::temp_dir()).then(|| "the temporary directory is in memory".into())
            }
            Self::PythonModule(name) => {
                (!crate::python::has_module(name)).then(|| format!("Python's {name} is not installed"))
            }
            Self::NodeModule(name) => {
                (!crate::node::has_module(name)).then(|| format!("Node's {name} is not installed"))
            }
            Self::NetworkNamespace => crate::network::unmet(),
            Self::Mpi if !cfg!(feature = "mpi") => {
                Some("the tests were built without `--features sharebench-tests/mpi`".into())
            }
            Self::Mpi => Self::Program("mpirun").unmet(),
            Self::Root => (!rustix::process::geteuid().is_root()).then(|| "it needs root".into()),
        }
    }
}

/// Returns true if the file system of a directory is in memory (proc(5)).
fn on_memory(directory: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let above = mounts.filter(|(point, _)| directory.starts_with(point));
    above.max_by_key(|(point, _)| point.len()).is_some_and(|(_, kind)| matches!(kind, "tmpfs" | "ramfs"))
}

/// Returns true if every requirement is met. Otherwise the test `test` must return at once: it is reported as skipped, on
/// standard error and in the file named by `SHAREBENCH_SKIPS`.
///
/// # Panics
/// If `CI` is set, where no test may be skipped.
pub fn met(test: &str, needs: &[Need]) -> bool {
    let Some(reason) = needs.iter().find_map(|need| need.unmet()) else { return true };
    let line = format!("SKIPPED: {test}: {reason}");
    assert!(std::env::var_os("CI").is_none_or(|ci| ci.is_empty()), "{line}, which CI does not allow");
    report(&line);
    false
}

/// Reports that the machine was too noisy for a test. CI allows this skip too, because no installation prevents it.
///
/// # Panics
/// When the list of skips cannot be written.
pub fn too_noisy(test: &str, reason: &str) {
    report(&format!("SKIPPED: {test}: too noisy: {reason}"));
}

/// Reports that the machine does not allow a test, such as control groups inside a container. CI allows this skip too.
///
/// # Panics
/// When the list of skips cannot be written.
pub fn not_allowed(test: &str, reason: &str) {
    report(&format!("SKIPPED: {test}: not allowed here: {reason}"));
}

/// Reports that something is missing that no package contains, and that CI lacks as well.
///
/// # Panics
/// When the list of skips cannot be written.
pub fn not_available(test: &str, reason: &str) {
    report(&format!("SKIPPED: {test}: {reason}"));
}

fn report(line: &str) {
    eprintln!("{line}");
    if let Some(path) = std::env::var_os("SHAREBENCH_SKIPS") {
        let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
        // One write per line, so that lines of parallel tests do not mix.
        opened
            .and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
            .expect("the list of skips");
    }
}

/// Returns from the test if the machine does not meet a requirement: `needs!(Smbd::NEEDS);`
#[macro_export]
macro_rules! needs {
    ($($needs:expr),+ $(,)?) => {
        $(if !$crate::need::met(
            std::thread::current().name().unwrap_or(module_path!()),
            &$needs,
        ) {
            return;
        })+
    };
}
