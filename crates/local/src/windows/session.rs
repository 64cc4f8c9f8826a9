//! The session: overlapped operations on open files, and a completion port.

use std::future::ready;
use std::mem::ManuallyDrop;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle, RawHandle};
use std::path::PathBuf;
use std::ptr;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use sharebench_client_core::OpenFileTable;
use sharebench_model::{
    DataOp, ErrorClass, FileRef, IoPolicy, MetaOp, MetaReply, MetaYield, OpError, OpStep, OpenHow, Reply,
    SessionOp, Slot, Stability, TargetFacts, WireCount,
};
use sharebench_target::{
    CacheRights, CallResult, ClientCache, Extensions, LocalBoxFuture, Locks, Operations, Readings,
    Semaphores, ServerSide, Session, Watch, perform_counted, whole_transfer,
};
use windows_sys::Win32::Foundation::{
    ERROR_HANDLE_EOF, ERROR_INVALID_PARAMETER, GENERIC_READ, GENERIC_WRITE, INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::Storage::FileSystem::{
    CREATE_NEW, CreateFileW, FILE_END_OF_FILE_INFO, FILE_FLAG_NO_BUFFERING, FILE_FLAG_OPEN_REPARSE_POINT,
    FILE_FLAG_OVERLAPPED, FILE_FLAG_WRITE_THROUGH, FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE,
    FileEndOfFileInfo, FlushFileBuffers, GetFileSizeEx, OPEN_EXISTING, SetFileInformationByHandle,
};
use windows_sys::Win32::System::IO::CancelIoEx;
use windows_sys::Win32::System::Threading::INFINITE;

use super::completion_port::CompletionPort;
use super::names::{self, OpenListing};
use super::overlapped::{OverlappedSlots, Started};
use super::policy::Policies;
use super::relative_path::below;
use super::volume::{space, wide};
use crate::buffers::Buffers;
use crate::data_op::{file_and_len, too_long, unaligned};
use crate::error_code::ErrorCode;

/// How long a dropped session waits for what is in flight before it leaves the memory to the system.
const DRAIN: Duration = Duration::from_secs(5);

/// An open file.
#[derive(Debug)]
struct OpenFile {
    handle: OwnedHandle,
    /// Writes are durable when they end.
    through: bool,
    /// Unbuffered I/O, which has alignment rules.
    unbuffered: bool,
    /// An operation that succeeds at once has no completion.
    skips: bool,
}

/// The operation in flight that uses a slot.
#[derive(Debug, Clone, Copy)]
struct Flight {
    op: DataOp,
    file: RawHandle,
    unbuffered: bool,
    skips: bool,
    /// A flush follows the write.
    flushes: bool,
    /// Bytes of a write that earlier, short requests transferred.
    done: u32,
    requests: u32,
}

/// A session of overlapped I/O.
///
/// An operation starts in [`Session::submit`]. One that the system performs at once, out of its cache, ends there; the
/// others end at the completion port, where polling waits while it has nothing to return. A job with such a session
/// therefore owns its thread. `FlushFileBuffers` has no overlapped form: a flush ends before `submit` returns.
///
/// Invariant: buffers and `OVERLAPPED` structures live until the system has completed every operation on them. A
/// session that is dropped cancels what is in flight and waits for it; if that takes too long, it leaks them.
pub(crate) struct OverlappedSession {
    root: PathBuf,
    files: OpenFileTable<OpenFile>,
    facts: TargetFacts,
    policies: Policies,
    port: CompletionPort,
    operations: ManuallyDrop<OverlappedSlots>,
    buffers: ManuallyDrop<Buffers>,
    flights: Vec<Option<Flight>>,
    flying: usize,
    answered: Vec<Reply>,
    listing: Option<OpenListing>,
    /// The port failed; nothing can be started any more.
    broken: Option<ErrorCode>,
    /// Calls so far; an overlapped operation counts once.
    requests: u64,
}

impl OverlappedSession {
    pub fn new(
        root: PathBuf,
        facts: TargetFacts,
        policies: Policies,
        buffers: Buffers,
    ) -> Result<Self, ErrorCode> {
        let slots = buffers.slots();
        Ok(Self {
            root,
            files: OpenFileTable::default(),
            facts,
            policies,
            port: CompletionPort::new()?,
            operations: ManuallyDrop::new(OverlappedSlots::new(slots)),
            buffers: ManuallyDrop::new(buffers),
            flights: vec![None; slots],
            flying: 0,
            answered: Vec::with_capacity(slots),
            listing: None,
            broken: None,
            requests: 0,
        })
    }

    fn on_names(&mut self, op: &MetaOp, requests: &mut u32) -> Result<MetaYield, OpError> {
        match op {
            MetaOp::Open { path, how, policy } => self.open(path, *how, *policy, requests),
            MetaOp::Close { file } => {
                drop(self.files.close(*file)?);
                Ok(MetaYield::Done)
            }
            MetaOp::SetSize { file, size } => self.set_size(*file, *size),
            MetaOp::Stat { path } => names::stat(&self.root, path),
            MetaOp::List { path } => names::list(&self.root, path, requests),
            MetaOp::ListPage { path, restart } => {
                names::list_page(&self.root, &mut self.listing, path.clone(), *restart)
            }
            MetaOp::Remove { path } => names::remove(&self.root, path),
            MetaOp::MakeDir { path } => names::make_dir(&self.root, path),
            MetaOp::RemoveDir { path } => names::remove_dir(&self.root, path),
            MetaOp::Rename { from, to } => names::rename(&self.root, from, to),
            MetaOp::Link { from, to } => names::link(&self.root, from, to),
            MetaOp::SetModified { path, seconds } => names::set_modified(&self.root, path, *seconds),
            MetaOp::Space => {
                space(&self.root).map(MetaYield::Space).map_err(|code| code.at("GetDiskFreeSpaceExW"))
            }
        }
    }

    fn open(
        &mut self,
        path: &str,
        how: OpenHow,
        policy: IoPolicy,
        requests: &mut u32,
    ) -> Result<MetaYield, OpError> {
        let flags = self.policies.flags(policy).map_err(|refusal| refusal.at_open())?;
        let handle = create(&wide(&below(&self.root, path)?), how, flags)?;
        *requests += 2;
        let mut size = 0;
        // SAFETY: the handle is open and the number live.
        if unsafe { GetFileSizeEx(handle.as_raw_handle(), &raw mut size) } == 0 {
            return Err(ErrorCode::last().at("GetFileSizeEx"));
        }
        let skips = self.port.add(&handle).map_err(|code| code.at("CreateIoCompletionPort"))?;
        let through = flags & FILE_FLAG_WRITE_THROUGH != 0;
        let unbuffered = flags & FILE_FLAG_NO_BUFFERING != 0;
        let file = self.files.open(OpenFile { handle, through, unbuffered, skips })?;
        Ok(MetaYield::Opened { file, size: size.cast_unsigned() })
    }

    fn set_size(&self, file: FileRef, size: u64) -> Result<MetaYield, OpError> {
        let end = FILE_END_OF_FILE_INFO { EndOfFile: i64::try_from(size).unwrap_or(i64::MAX) };
        let handle = self.files.get(file)?.handle.as_raw_handle();
        let len = size_of_val(&end) as u32;
        // SAFETY: the handle is open, and the structure has the stated length.
        let done =
            unsafe { SetFileInformationByHandle(handle, FileEndOfFileInfo, (&raw const end).cast(), len) };
        if done == 0 { Err(ErrorCode::last().at("SetFileInformationByHandle")) } else { Ok(MetaYield::Done) }
    }

    /// Checks an operation against its slot and file.
    fn board(&self, slot: Slot, op: DataOp) -> Result<Flight, OpError> {
        let (file, len) = file_and_len(op);
        if let Some(code) = self.broken {
            return Err(code.at("GetQueuedCompletionStatusEx"));
        }
        if len as usize > self.buffers.slot_bytes() {
            return Err(too_long(len, self.buffers.slot_bytes()));
        }
        if !matches!(self.flights.get(slot.0 as usize), Some(None)) {
            return Err(OpError::slot_not_idle());
        }
        let open = self.files.get(file)?;
        let durable = matches!(op, DataOp::Write { stability: Stability::Durable, .. });
        Ok(Flight {
            op,
            file: open.handle.as_raw_handle(),
            unbuffered: open.unbuffered,
            skips: open.skips,
            flushes: durable && !open.through,
            done: 0,
            requests: 0,
        })
    }

    /// Starts an operation, or its next part; ends it if the system has performed it at once.
    fn start(&mut self, slot: Slot, mut flight: Flight) {
        flight.requests += 1;
        let place = slot.0 as usize;
        let buffer = self.buffers.address(slot);
        let started = match flight.op {
            // SAFETY: the slot is idle, the file is open for overlapped I/O, and the buffer is the slot's own, which
            // lives until the completion was reaped.
            DataOp::Read { len, offset, .. } => unsafe {
                self.operations.read(place, flight.file, buffer, len, offset)
            },
            // SAFETY: as above.
            DataOp::Write { len, offset, .. } => unsafe {
                let from = buffer.wrapping_add(flight.done as usize);
                self.operations.write(
                    place,
                    flight.file,
                    from,
                    len - flight.done,
                    offset + u64::from(flight.done),
                )
            },
            DataOp::Flush { .. } => flush(flight.file).map_or_else(Started::Failed, |()| Started::Done(0)),
        };
        let ends_here = flight.skips || matches!(flight.op, DataOp::Flush { .. });
        match started {
            Started::Done(bytes) if ends_here => self.settle(slot, flight, Ok(bytes)),
            Started::Done(_) | Started::Pending => {
                if let Some(place) = self.flights.get_mut(place) {
                    *place = Some(flight);
                    self.flying += 1;
                }
            }
            Started::Failed(ErrorCode(ERROR_HANDLE_EOF)) => self.settle(slot, flight, Ok(0)),
            Started::Failed(code) => self.settle(slot, flight, Err(code)),
        }
    }

    /// Ends an operation, or continues a short write, so that the system states why it was short.
    fn settle(&mut self, slot: Slot, mut flight: Flight, result: Result<u32, ErrorCode>) {
        let result = match (flight.op, result) {
            (DataOp::Write { len, .. }, Ok(bytes)) => {
                flight.done += bytes;
                if flight.done < len && bytes > 0 {
                    return self.start(slot, flight);
                }
                if flight.done < len {
                    Err(OpError::new(ErrorClass::Io, OpStep::SystemCall("WriteFile"), "nothing was written"))
                } else if flight.flushes {
                    flight.requests += 1;
                    flush(flight.file).map(|()| len).map_err(|code| code.at("FlushFileBuffers"))
                } else {
                    Ok(len)
                }
            }
            (_, Ok(bytes)) => Ok(bytes),
            (_, Err(code)) => Err(failure(code, &flight, self.policies.unit)),
        };
        self.requests += u64::from(flight.requests);
        self.answered.push(Reply { slot, result, requests: flight.requests });
    }

    /// Waits for at most `millis` for completions, and ends or continues their operations.
    fn reap(&mut self, millis: u32) -> Result<(), ErrorCode> {
        let mut ended = Vec::new();
        let operations = &self.operations;
        self.port.wait(millis, |structure| ended.extend(operations.slot_of(structure)))?;
        for place in ended {
            let Some(flight) = self.flights.get_mut(place).and_then(Option::take) else { continue };
            self.flying -= 1;
            let result = self.operations.result(place);
            self.settle(Slot(place as u32), flight, result);
        }
        Ok(())
    }

    /// The port itself failed: every operation in flight gets an error reply.
    #[cold]
    fn give_up(&mut self, code: ErrorCode) {
        self.broken = Some(code);
        for (place, flight) in self.flights.iter_mut().enumerate() {
            if let Some(flight) = flight.take() {
                let result = Err(code.at("GetQueuedCompletionStatusEx"));
                self.answered.push(Reply { slot: Slot(place as u32), result, requests: flight.requests });
            }
        }
    }

    /// Cancels what is in flight and waits until it has ended; false when that takes too long.
    fn drain(&mut self) -> bool {
        let deadline = Instant::now() + DRAIN;
        for flight in self.flights.iter().flatten() {
            // SAFETY: the file is open. An operation that cannot be cancelled simply ends.
            unsafe { CancelIoEx(flight.file, ptr::null()) };
        }
        while self.flying > 0 {
            // A continued write would start another operation.
            self.flights.iter_mut().flatten().for_each(|flight| flight.op = ended_by_any_result(flight.op));
            if self.broken.is_some() || self.reap(100).is_err() || Instant::now() > deadline {
                return false;
            }
        }
        true
    }
}

/// The same operation without parts that would follow its end.
fn ended_by_any_result(op: DataOp) -> DataOp {
    match op {
        DataOp::Write { file, offset, .. } => DataOp::Read { file, offset, len: 0 },
        op => op,
    }
}

/// Opens a file without following a link that has its name.
fn create(path: &[u16], how: OpenHow, policy_flags: u32) -> Result<OwnedHandle, OpError> {
    let (access, disposition) = match how {
        OpenHow::Read => (GENERIC_READ, OPEN_EXISTING),
        OpenHow::ReadWrite => (GENERIC_READ | GENERIC_WRITE, OPEN_EXISTING),
        OpenHow::CreateNew => (GENERIC_READ | GENERIC_WRITE, CREATE_NEW),
    };
    // Other sessions of a run read, write, rename and remove the same files.
    let share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    let flags = FILE_FLAG_OVERLAPPED | FILE_FLAG_OPEN_REPARSE_POINT | policy_flags;
    // SAFETY: the path is terminated; the handle is ours.
    let handle = unsafe {
        CreateFileW(path.as_ptr(), access, share, ptr::null(), disposition, flags, ptr::null_mut())
    };
    if handle == INVALID_HANDLE_VALUE {
        return Err(ErrorCode::last().at("CreateFileW"));
    }
    // SAFETY: a fresh handle that nobody else closes.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

fn flush(file: RawHandle) -> Result<(), ErrorCode> {
    // SAFETY: the file is open while its operation lasts.
    if unsafe { FlushFileBuffers(file) } == 0 { Err(ErrorCode::last()) } else { Ok(()) }
}

/// The failure of a data operation. For unbuffered I/O the message adds the alignment rule, which the code does not show.
#[cold]
fn failure(code: ErrorCode, flight: &Flight, unit: u32) -> OpError {
    let call = match flight.op {
        DataOp::Read { .. } => "ReadFile",
        DataOp::Write { .. } => "WriteFile",
        DataOp::Flush { .. } => "FlushFileBuffers",
    };
    match code {
        ErrorCode(ERROR_INVALID_PARAMETER) if flight.unbuffered => unaligned(code, call, "unbuffered", unit),
        code => code.at(call),
    }
}

impl Operations for OverlappedSession {
    const CLIENT: &'static str = "this client";
    const NOTIFICATIONS: &'static str = "this client on paths of Windows";
    const SEMAPHORES: &'static str = "a path of Windows";
    const NO_LOCKS: &'static str = "this client requests no locks of Windows paths";
    const NO_RIGHTS: &'static str = "this client on paths of Windows requests no leases";
    const NO_CLIENT_CACHE: &'static str = "Windows neither drops nor shows what it caches of a file";
    const NO_MAPPING: &'static str = "files of Windows are not mapped into memory";

    async fn perform_basic(&mut self, op: &MetaOp) -> CallResult {
        let mut requests = 1;
        let result = self.on_names(op, &mut requests);
        self.requests += u64::from(requests);
        result
    }
}

impl Locks for OverlappedSession {}
impl CacheRights for OverlappedSession {}
impl Watch for OverlappedSession {}
impl ServerSide for OverlappedSession {}
impl Semaphores for OverlappedSession {}
impl ClientCache for OverlappedSession {}

impl Session for OverlappedSession {
    fn facts(&self) -> TargetFacts {
        self.facts.clone()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.slot(slot)
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        whole_transfer(op)
    }

    fn submit(&mut self, slot: Slot, op: DataOp) {
        match self.board(slot, op) {
            Ok(flight) => self.start(slot, flight),
            Err(error) => self.answered.push(Reply { slot, result: Err(error), requests: 0 }),
        }
    }

    fn poll_replies(&mut self, _: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        // Completions that have arrived are taken along; the call blocks only while there is nothing to return.
        while self.flying > 0 && self.broken.is_none() {
            let millis = if self.answered.is_empty() { INFINITE } else { 0 };
            if let Err(code) = self.reap(millis) {
                self.give_up(code);
            }
            if !self.answered.is_empty() {
                break;
            }
        }
        if self.answered.is_empty() {
            return Poll::Pending;
        }
        replies.append(&mut self.answered);
        Poll::Ready(())
    }

    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        // A file that is closed under an operation would take its handle away.
        if self.flying > 0 {
            let detail = format!("{} operations in flight", self.flying);
            let busy = OpError::new(ErrorClass::Busy, OpStep::Submit, detail);
            return Box::pin(ready(MetaReply { result: Err(busy), requests: 0 }));
        }
        Box::pin(perform_counted(self, op))
    }

    fn wire(&self) -> WireCount {
        WireCount { requests: self.requests, ..WireCount::default() }
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        None
    }

    fn readings(&self) -> Option<&dyn Readings> {
        None
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        drop(self);
        Box::pin(async {})
    }
}

impl Drop for OverlappedSession {
    fn drop(&mut self) {
        if self.drain() {
            // SAFETY: dropped once, here; nothing in flight refers to structures or buffers any more.
            unsafe {
                ManuallyDrop::drop(&mut self.operations);
                ManuallyDrop::drop(&mut self.buffers);
            }
        }
        // Otherwise a server hangs. The system may still write into them, so they stay.
    }
}
