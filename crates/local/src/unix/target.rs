//! A directory as a target: options, checks at connect, and the choice of engine.

use std::ffi::CString;
use std::fmt;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::beneath::Resolution;
use sharebench_client_core::OpenFileTable;
use sharebench_model::{ErrorClass, Fact, IoPolicy, TargetFacts};
use sharebench_target::{
    CallDepth, Capabilities, ConnectError, Connecting, PolicyRefusal, PolicyTerms, Session, SessionSpec,
    Target, TargetUrl, UrlError, UrlPart,
};

use super::counter::Counter;
use super::directories::Directories;
use super::known_directories::KnownDirectories;
use super::mount::Mount;
use super::policy::Policies;
use super::psync::PsyncSession;
use super::session_core::SessionCore;
use super::sys;
use super::uring::UringSession;
use crate::buffers::Buffers;
use crate::error_code::ErrorCode;
use crate::options::{MAX_DEPTH, MAX_RECORD, check_slots, take_direct};

/// Operations on names in flight: each has a thread, and may have a file open.
const MAX_CALL_DEPTH: u32 = 512;

/// How data operations reach the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// `psync` at queue depth 1, `uring` above.
    #[default]
    Auto,
    /// `pread` and `pwrite`; queue depth 1 only.
    Psync,
    /// `io_uring` at every depth.
    Uring,
}

impl Engine {
    /// As typed in `engine=`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Psync => "psync",
            Self::Uring => "uring",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A local or mounted directory as a target. It must exist and be writable when a session is opened.
///
/// It holds the path and the options. Each session opens the directory anew and works relative to it, so that a mount
/// that the pre-step command replaces is found by the next session. All sessions agree on the identity of the working
/// directories that they have open; clones of the target share this knowledge.
#[derive(Debug, Clone)]
pub struct LocalTarget {
    path: PathBuf,
    engine: Engine,
    direct: bool,
    resolution: Resolution,
    known: Arc<KnownDirectories>,
}

impl LocalTarget {
    /// A directory with cached I/O.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let resolution = Resolution::of_this_kernel();
        Self { path: path.into(), engine: Engine::Auto, direct: false, resolution, known: Arc::default() }
    }

    /// The same target with another way to open paths than the kernel's best: for tests of old kernels.
    #[must_use]
    pub fn with_resolution(mut self, resolution: Resolution) -> Self {
        self.resolution = resolution;
        self
    }

    /// The same target with this I/O engine.
    #[must_use]
    pub fn with_engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// The same target with or without direct I/O (`O_DIRECT`), which bypasses the page cache.
    #[must_use]
    pub fn with_direct(mut self, direct: bool) -> Self {
        self.direct = direct;
        self
    }

    /// Takes `file:///dir?direct=1&engine=auto|psync|uring`, or a bare path.
    pub fn from_url(mut url: TargetUrl) -> Result<Self, UrlError> {
        let direct = take_direct(&mut url)?;
        let engine = match url.take("engine").as_deref() {
            None | Some("auto") => Engine::Auto,
            Some("psync") => Engine::Psync,
            Some("uring") => Engine::Uring,
            Some(other) => return Err(url.error(format!("engine={other}: use auto, psync or uring"))),
        };
        url.refuse_leftovers()?;
        Ok(Self::new(url.path).with_engine(engine).with_direct(direct))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn error(&self, part: UrlPart, class: ErrorClass, detail: impl Into<String>) -> ConnectError {
        ConnectError { url: self.url(), part, class, detail: detail.into() }
    }

    fn path_error(&self, errno: ErrorCode) -> ConnectError {
        let detail = match errno.0 {
            libc::ENOENT => format!("there is no such directory{}; {}", self.server_hint(), errno.name()),
            libc::ENOTDIR => format!("not a directory; {}", errno.name()),
            libc::EACCES | libc::EPERM => format!("no permission to create files there; {}", errno.name()),
            libc::EROFS => format!("the file system is mounted read-only; {}", errno.name()),
            _ => errno.name(),
        };
        self.error(UrlPart::Path, errno.class(), detail)
    }

    /// The URLs to write, where the path may be meant as the name of a server.
    fn server_hint(&self) -> String {
        let mut names = self.path.components();
        match names.next() {
            Some(Component::Normal(name)) => {
                let host = name.to_string_lossy();
                format!(
                    "; a server is written smb://{host}/SHARE, nfs://{host}/EXPORT or ncp://{host}/VOLUME"
                )
            }
            _ => String::new(),
        }
    }

    /// The root directory, which is there and writable.
    fn open_root(&self) -> Result<OwnedFd, ConnectError> {
        let path = CString::new(self.path.as_os_str().as_bytes())
            .map_err(|_| self.error(UrlPart::Path, ErrorClass::Refused, "the path holds a NUL byte"))?;
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let here = std::fs::File::open("/").map_err(|_| self.path_error(ErrorCode(libc::EIO)))?;
        // An absolute path ignores the directory given; a relative one is made absolute below.
        let absolute = if self.path.is_absolute() { None } else { std::env::current_dir().ok() };
        let path = match absolute {
            None => path,
            Some(dir) => CString::new(dir.join(&self.path).as_os_str().as_bytes()).unwrap_or(path),
        };
        let root = sys::openat(here.as_fd(), &path, flags).map_err(|errno| self.path_error(errno))?;
        sys::may_write(root.as_fd()).map_err(|errno| self.path_error(errno))?;
        Ok(root)
    }

    fn mount(&self) -> Option<Mount> {
        let path = self.path.canonicalize().ok()?;
        Mount::new(&path, &std::fs::read_to_string("/proc/self/mountinfo").ok()?)
    }

    fn enter(&self, engine: Engine) -> Result<SessionCore, ConnectError> {
        let root = self.open_root()?;
        let mut facts = TargetFacts::new();
        let mount = self.mount();
        let policies = Policies::look(&root, mount.as_ref(), self.direct);
        if let Err(refusal) = policies.flags(IoPolicy::default()) {
            return Err(self.error(UrlPart::Option("direct"), ErrorClass::Unsupported, refusal.reason));
        }
        if let Some(mount) = &mount {
            mount.write_facts(&mut facts);
        }
        // A counter without values now will not have any later.
        let counter = mount.as_ref().and_then(Counter::from_mount).filter(|counter| counter.read().is_some());
        if let Some(counter) = &counter {
            facts.state(Fact::WireCounter, counter.source());
        }
        let block = sys::block_size(root.as_raw_fd()).unwrap_or(sys::DEFAULT_BLOCK);
        facts.state(Fact::BlockSize, block.to_string());
        facts.state(Fact::DirectIo, if self.direct { "yes" } else { "no" });
        facts.state(Fact::DirectIoUnit, policies.unit.to_string());
        facts.state(Fact::Engine, engine.to_string());
        Ok(SessionCore {
            directories: Directories::new(root, self.resolution, Arc::clone(&self.known)),
            files: OpenFileTable::default(),
            facts,
            policies,
            direct: false,
            drop_cache: drops_cache(mount.as_ref()),
            overlay: mount.is_some_and(|mount| mount.kind == "overlay"),
            mappings: Vec::new(),
            listing: None,
            counter,
            requests: 0,
        })
    }

    fn open(&self, spec: &SessionSpec) -> Result<Box<dyn Session>, ConnectError> {
        let engine = match (self.engine, spec.slots) {
            (Engine::Auto, 0 | 1) => Engine::Psync,
            (Engine::Auto, _) => Engine::Uring,
            (Engine::Psync, 2..) => {
                let detail = format!("queue depth {} needs engine=uring; psync has 1", spec.slots);
                return Err(self.error(UrlPart::Option("engine"), ErrorClass::Unsupported, detail));
            }
            (engine, _) => engine,
        };
        check_slots(spec)
            .map_err(|limits| self.error(UrlPart::Option("engine"), ErrorClass::Unsupported, limits))?;
        let core = self.enter(engine)?;
        let buffers = Buffers::new(spec.slots, spec.slot_bytes).map_err(|errno| {
            let detail = format!(
                "no memory for {} records of {} bytes: {}",
                spec.slots,
                spec.slot_bytes,
                errno.name()
            );
            self.error(UrlPart::Path, errno.class(), detail)
        })?;
        match engine {
            Engine::Uring => match UringSession::new(core, buffers) {
                Ok(session) => Ok(Box::new(session)),
                Err(errno) => {
                    let detail = format!(
                        "queue depth {} needs io_uring, which this system or container refuses: {}",
                        spec.slots,
                        errno.name()
                    );
                    Err(self.error(UrlPart::Option("engine"), ErrorClass::Unsupported, detail))
                }
            },
            _ => Ok(Box::new(PsyncSession::new(core, buffers))),
        }
    }
}

/// Memory file systems have nothing but the page cache.
fn drops_cache(mount: Option<&Mount>) -> bool {
    mount.is_none_or(|mount| !matches!(mount.kind.as_str(), "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs"))
}

impl Target for LocalTarget {
    fn url(&self) -> String {
        let mut url = self.path.display().to_string();
        let engine = (self.engine != Engine::Auto).then(|| format!("engine={}", self.engine));
        let options: Vec<_> = self.direct.then(|| "direct=1".to_owned()).into_iter().chain(engine).collect();
        if !options.is_empty() {
            url = format!("{url}?{}", options.join("&"));
        }
        url
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            protocol: "local",
            max_queue_depth: if self.engine == Engine::Psync { 1 } else { MAX_DEPTH },
            max_record: MAX_RECORD,
            wire_counted: false,
            drop_cache: drops_cache(self.mount().as_ref()),
            mapping: !self.direct,
            blocking: true,
        }
    }

    fn call_depth(&self) -> CallDepth {
        match self.engine {
            Engine::Psync => CallDepth::one("engine=psync has one operation in flight; use jobs"),
            Engine::Auto | Engine::Uring => {
                CallDepth { max: MAX_CALL_DEPTH, reason: "each operation in flight needs a thread" }
            }
        }
    }

    fn policy(&self, wanted: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        match self.open_root() {
            Ok(root) => Policies::look(&root, self.mount().as_ref(), self.direct).terms(wanted),
            // Opening the directory reports errors more precisely.
            Err(_) => Ok(PolicyTerms::ANY),
        }
    }

    fn connect<'a>(&'a self, spec: &'a SessionSpec) -> Connecting<'a> {
        Box::pin(async move { self.open(spec) })
    }
}
