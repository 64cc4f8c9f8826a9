//! A directory of Windows as a target: options, and checks at connect.

use std::io;
use std::path::{Path, PathBuf};

use sharebench_model::{ErrorClass, Fact, IoPolicy, TargetFacts};
use sharebench_target::{
    Capabilities, ConnectError, Connecting, PolicyRefusal, PolicyTerms, Session, SessionSpec, Target,
    TargetUrl, UrlError, UrlPart,
};

use super::policy::Policies;
use super::session::OverlappedSession;
use super::volume::Volume;
use crate::buffers::Buffers;
use crate::error_code::ErrorCode;
use crate::options::{MAX_DEPTH, MAX_RECORD, check_slots, take_direct};

/// A directory on a drive, a mapped drive or a UNC path. It must exist when a session is opened.
///
/// Files are opened by the clients of Windows, with their caches, so that a UNC path measures what programs on this
/// machine get; `smb://` measures the same share with the client of sharebench.
#[derive(Debug, Clone)]
pub struct LocalTarget {
    path: PathBuf,
    direct: bool,
}

impl LocalTarget {
    /// A directory with cached I/O.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), direct: false }
    }

    /// The same target with or without unbuffered I/O for every policy.
    #[must_use]
    pub fn with_direct(mut self, direct: bool) -> Self {
        self.direct = direct;
        self
    }

    /// Takes `file:///C:/dir?direct=1`, `file:////server/share`, or a bare path.
    ///
    /// # Errors
    /// Another scheme, an unknown option, or a value that the option does not have.
    pub fn from_url(mut url: TargetUrl) -> Result<Self, UrlError> {
        let direct = take_direct(&mut url)?;
        url.refuse_leftovers()?;
        Ok(Self::new(url.local_path()).with_direct(direct))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn error(&self, part: UrlPart, class: ErrorClass, detail: impl Into<String>) -> ConnectError {
        ConnectError { url: self.url(), part, class, detail: detail.into() }
    }

    fn path_error(&self, error: &io::Error) -> ConnectError {
        let code = ErrorCode::from_io_error(error);
        let detail = match code.class() {
            ErrorClass::NotFound => format!("there is no such directory; {}", code.name()),
            ErrorClass::Refused => format!("no permission; {}", code.name()),
            _ => code.name(),
        };
        self.error(UrlPart::Path, code.class(), detail)
    }

    /// The directory as a verbatim path, to which Windows applies no further rules.
    fn root(&self) -> Result<PathBuf, ConnectError> {
        let root = self.path.canonicalize().map_err(|error| self.path_error(&error))?;
        if root.is_dir() {
            return Ok(root);
        }
        Err(self.error(UrlPart::Path, ErrorClass::NotFound, "not a directory"))
    }

    fn open(&self, spec: &SessionSpec) -> Result<Box<dyn Session>, ConnectError> {
        check_slots(spec).map_err(|limits| self.error(UrlPart::Path, ErrorClass::Unsupported, limits))?;
        let root = self.root()?;
        let volume = Volume::from_directory(&root);
        let policies = Policies::new(&volume, self.direct);
        let mut facts = TargetFacts::new();
        volume.write_facts(&mut facts);
        facts.state(Fact::DirectIo, if self.direct { "yes" } else { "no" });
        facts.state(Fact::DirectIoUnit, policies.unit.to_string());
        facts.state(Fact::Engine, "overlapped");
        let opened = Buffers::new(spec.slots, spec.slot_bytes)
            .and_then(|buffers| OverlappedSession::new(root, facts, policies, buffers));
        match opened {
            Ok(session) => Ok(Box::new(session)),
            Err(code) => {
                let detail = format!(
                    "no memory for {} records of {} bytes, or no completion port: {}",
                    spec.slots,
                    spec.slot_bytes,
                    code.name()
                );
                Err(self.error(UrlPart::Path, code.class(), detail))
            }
        }
    }
}

impl Target for LocalTarget {
    fn url(&self) -> String {
        let options = if self.direct { "?direct=1" } else { "" };
        format!("{}{options}", self.path.display())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            protocol: "local",
            max_queue_depth: MAX_DEPTH,
            max_record: MAX_RECORD,
            wire_counted: false,
            drop_cache: false,
            mapping: false,
            blocking: true,
        }
    }

    fn policy(&self, wanted: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        match self.root() {
            Ok(root) => Policies::new(&Volume::from_directory(&root), self.direct).terms(wanted),
            // Opening the directory reports errors more precisely.
            Err(_) => Ok(PolicyTerms::ANY),
        }
    }

    fn connect<'a>(&'a self, spec: &'a SessionSpec) -> Connecting<'a> {
        Box::pin(async move { self.open(spec) })
    }
}
