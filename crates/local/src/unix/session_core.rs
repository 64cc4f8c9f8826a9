//! The common part of both session types: the root directory, open files, and name operations.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use sharebench_client_core::OpenFileTable;
use sharebench_model::{
    DataOp, ErrorClass, FileRef, MetaOp, MetaReply, MetaYield, OpError, OpStep, SessionOp, Stability,
    TargetFacts,
};
use sharebench_target::{CacheRights, CallResult, ClientCache, Operations, Semaphores, Watch, perform};

use super::cache;
use super::counter::Counter;
use super::directories::Directories;
use super::mapping::Mapping;
use super::names::{Names, OpenListing};
use super::overlapping_calls::{CallOutcome, OverlappingCall, on_names, open};
use super::policy::Policies;
use super::sys;
use crate::data_op::{too_long, unaligned};
use crate::error_code::ErrorCode;

/// The part that both kinds of sessions share: the directory, the open files and mappings, the policies of the file
/// system, and operations on names.
///
/// All names are resolved relative to open directories, without links, and may not leave them. Each system call is counted, because
/// the count of requests is what a measurement compares with the number of operations.
#[derive(Debug)]
pub(crate) struct SessionCore {
    pub directories: Directories,
    pub files: OpenFileTable<OwnedFd>,
    pub facts: TargetFacts,
    pub policies: Policies,
    /// A file was opened for direct I/O, which has alignment rules.
    pub direct: bool,
    pub drop_cache: bool,
    pub overlay: bool,
    /// Open files that are mapped into memory: rarely more than one.
    pub mappings: Vec<(FileRef, Mapping)>,
    /// The wire counter of the mount; none where the kernel does not count.
    pub counter: Option<Counter>,
    /// The listing in progress.
    pub listing: Option<OpenListing>,
    /// System calls so far, operations in `io_uring` counted as one each.
    pub requests: u64,
}

impl SessionCore {
    pub async fn call(&mut self, op: SessionOp) -> MetaReply {
        let mut counted = CountedCalls { core: self, requests: 0 };
        let result = perform(&mut counted, &op).await;
        let requests = counted.requests;
        self.requests += u64::from(requests);
        MetaReply { result, requests }
    }

    fn perform_basic(&mut self, op: &MetaOp, requests: &mut u32) -> Result<MetaYield, OpError> {
        let directories = &self.directories;
        match op {
            MetaOp::Open { path, how, policy } => {
                let flags = self.policies.flags(*policy).map_err(|refusal| refusal.at_open())?;
                let outcome = open(directories, path, *how, flags, requests)?;
                self.completed(outcome)
            }
            MetaOp::Close { .. } | MetaOp::SetSize { .. } => {
                let call = self.prepared(op.clone(), requests)?;
                let outcome = call.perform(&self.directories, requests)?;
                self.completed(outcome)
            }
            MetaOp::List { path } => Names { directories, requests }.list(path),
            MetaOp::ListPage { path, restart } => {
                Names { directories, requests }.list_page(&mut self.listing, path, *restart)
            }
            MetaOp::Space => Names { directories, requests }.space(),
            named => on_names(&mut Names { directories, requests }, named),
        }
    }

    /// The descriptor of an open file.
    #[inline]
    pub fn fd(&self, file: FileRef) -> Result<RawFd, OpError> {
        Ok(self.files.get(file)?.as_raw_fd())
    }

    /// Prepares an operation that can overlap with others. A file that is closed belongs to the operation from now on.
    pub fn prepared(&mut self, op: MetaOp, requests: &mut u32) -> Result<OverlappingCall, OpError> {
        match op {
            MetaOp::Open { path, how, policy } => {
                let flags = self.policies.flags(policy).map_err(|refusal| refusal.at_open())?;
                Ok(OverlappingCall::Open { path, how, flags })
            }
            MetaOp::Close { file } => {
                self.unmap(file, requests);
                Ok(OverlappingCall::Close { fd: self.files.close(file)? })
            }
            MetaOp::SetSize { file, size } => Ok(OverlappingCall::SetSize { fd: self.fd(file)?, size }),
            op => Ok(OverlappingCall::Names(op)),
        }
    }

    /// The result of an operation that was prepared.
    pub fn completed(&mut self, outcome: CallOutcome) -> Result<MetaYield, OpError> {
        match outcome {
            CallOutcome::Opened { fd, size, flags } => {
                self.direct |= flags & libc::O_DIRECT != 0;
                Ok(MetaYield::Opened { file: self.files.open(fd)?, size })
            }
            CallOutcome::Other(done) => Ok(done),
        }
    }

    fn map(&mut self, file: FileRef, bytes: u64, requests: &mut u32) -> Result<MetaYield, OpError> {
        let fd = self.fd(file)?;
        self.unmap(file, requests);
        if bytes > 0 {
            *requests += 2;
            check_mappable(fd)?;
            self.mappings.push((file, Mapping::new(fd, bytes)?));
        }
        Ok(MetaYield::Done)
    }

    fn unmap(&mut self, file: FileRef, requests: &mut u32) {
        let before = self.mappings.len();
        self.mappings.retain(|(mapped, _)| *mapped != file);
        *requests += (before - self.mappings.len()) as u32;
    }

    /// The mapping through which an operation goes, if its file is mapped.
    #[inline]
    pub fn mapping(&self, op: DataOp) -> Option<&Mapping> {
        let (DataOp::Read { file, .. } | DataOp::Write { file, .. }) = op else { return None };
        self.mappings.iter().find(|(mapped, _)| *mapped == file).map(|(_, mapping)| mapping)
    }

    fn drop_cache(&mut self, file: FileRef, requests: &mut u32) -> Result<MetaYield, OpError> {
        let fd = self.fd(file)?;
        if !self.drop_cache {
            let detail = "this file system keeps its files in the page cache";
            return Err(OpError::new(ErrorClass::Unsupported, OpStep::ClientCache, detail));
        }
        cache::drop_cache(fd, self.overlay, requests)?;
        Ok(MetaYield::Done)
    }

    /// The failure of a data operation. For direct I/O the message adds the alignment rule, which errno does not show.
    #[cold]
    pub fn failure(&self, errno: ErrorCode, call: &'static str) -> OpError {
        match (errno, self.direct) {
            (ErrorCode(libc::EINVAL), true) => unaligned(errno, call, "direct", self.policies.unit),
            _ => errno.at(call),
        }
    }
}

/// The operations of a session, and the system calls that they take.
pub(super) struct CountedCalls<'a> {
    pub core: &'a mut SessionCore,
    pub requests: u32,
}

impl Operations for CountedCalls<'_> {
    const CLIENT: &'static str = "a local or mounted path";
    const SHARE_MODES: &'static str = "POSIX";
    const NOTIFICATIONS: &'static str = "this client on local and mounted paths";
    const NO_RIGHTS: &'static str = "a local or mounted path has no lease that a program requests by an open";

    fn without_server_side(&self) -> &'static str {
        "a read of this system"
    }

    async fn perform_basic(&mut self, op: &MetaOp) -> CallResult {
        self.core.perform_basic(op, &mut self.requests)
    }
}

impl CacheRights for CountedCalls<'_> {}
impl Watch for CountedCalls<'_> {}
impl Semaphores for CountedCalls<'_> {}

impl ClientCache for CountedCalls<'_> {
    async fn drop_client_cache(&mut self, file: FileRef) -> CallResult {
        self.core.drop_cache(file, &mut self.requests)
    }

    async fn residency(&mut self, file: FileRef) -> CallResult {
        let fd = self.core.fd(file)?;
        cache::residency(fd, self.core.overlay, &mut self.requests).map(MetaYield::Residency)
    }

    async fn map_file(&mut self, file: FileRef, bytes: u64) -> CallResult {
        self.core.map(file, bytes, &mut self.requests)
    }
}

/// A mapping supports none of the policies of an open file.
fn check_mappable(fd: RawFd) -> Result<(), OpError> {
    let flags = sys::status_flags(fd).map_err(|errno| errno.at("fcntl"))?;
    for (flag, detail) in [
        (libc::O_DIRECT, "direct I/O goes past the page cache, which a mapping shares"),
        (libc::O_DSYNC, "what is stored into a mapping is never written through"),
    ] {
        if flags & flag != 0 {
            return Err(OpError::new(ErrorClass::Unsupported, OpStep::SystemCall("mmap"), detail));
        }
    }
    Ok(())
}

/// An operation on a mapped file: a copy between the slot and the mapping, without a system call.
pub(crate) fn copy_mapped(mapping: &Mapping, op: DataOp, slot: &mut [u8]) -> Result<u32, OpError> {
    let size = slot.len();
    match op {
        DataOp::Read { offset, len, .. } => {
            mapping.read(offset, slot.get_mut(..len as usize).ok_or_else(|| too_long(len, size))?)
        }
        DataOp::Write { offset, len, stability: Stability::Unstable, .. } => {
            mapping.write(offset, slot.get(..len as usize).ok_or_else(|| too_long(len, size))?)
        }
        DataOp::Write { .. } | DataOp::Flush { .. } => {
            let detail = "a mapping has no durable writes; flush the file";
            Err(OpError::new(ErrorClass::Unsupported, OpStep::SystemCall("mmap"), detail))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_reference_stays_void_while_others_come_and_go() {
        let any = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let mut files = OpenFileTable::default();
        let first = files.open(any()).unwrap();
        drop(files.close(first).unwrap());
        for _ in 0..300 {
            let next = files.open(any()).unwrap();
            assert_ne!(next, first);
            assert!(files.get(next).is_ok() && files.get(first).is_err());
            assert!(next.0 & 0xFFFF < 100, "places are used again");
            drop(files.close(next).unwrap());
        }
        assert_eq!(files.close(first).unwrap_err().class, ErrorClass::Stale);
    }
}
