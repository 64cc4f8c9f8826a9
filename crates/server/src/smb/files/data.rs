//! READ, WRITE and FLUSH (MS-SMB2 3.3.5.11 to 3.3.5.13).

use std::sync::atomic::Ordering;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::create::access;
use sharebench_smb::wire::data::{
    READ_DATA_OFFSET, ReadRequest, ReadResponse, WRITE_THROUGH, WriteRequest, WriteResponse,
};
use sharebench_smb::wire::simple::FlushRequest;

use crate::smb::files::byte_locks::LockOwner;
use crate::smb::files::open_file::OpenFile;
use crate::smb::files::write_times::WriteTimes;
use crate::smb::session::call::{Call, CallResponse, DONE, empty};
use crate::smb::session::established::Opened;
use crate::smb::state::ServerState;
use crate::smb::status::{Outcome, checked, malformed};
use crate::smb::transport::replies::Replies;
use crate::{StoredData, VolumeError};

/// Bytes of a READ response between its header and its data.
const READ_HEAD: usize = 16;
/// Reads from this number of bytes on are sent without a copy, where that is possible. A smaller copy costs less than a
/// further piece of a write to the socket.
const STORED_BYTES: usize = 64 << 10;

/// A status of READ and WRITE. A directory has no data.
fn checked_data<T>(result: Result<T, VolumeError>) -> Outcome<T> {
    match result {
        Err(VolumeError::IsDirectory) => Err(NtStatus::INVALID_DEVICE_REQUEST),
        other => checked(other),
    }
}

/// Checks that a range ends at an offset that a file can have.
fn check_range(offset: u64, len: usize) -> Outcome<()> {
    let end = offset.checked_add(len as u64).and_then(|end| i64::try_from(end).ok());
    end.map(drop).ok_or(NtStatus::INVALID_PARAMETER)
}

/// Checks that an open file permits a read.
fn check_read(open: &OpenFile, owner: LockOwner, offset: u64, len: usize) -> Outcome<()> {
    if open.directory {
        return Err(NtStatus::INVALID_DEVICE_REQUEST);
    }
    open.require(access::READ_DATA | access::EXECUTE)?;
    check_range(offset, len)?;
    open.file.check_locks(owner, offset, len as u64, false)
}

impl ServerState {
    /// Reads from an open file into `data`, and returns the number of bytes, which is 0 at its end.
    pub(crate) fn read(
        &self,
        open: &OpenFile,
        owner: LockOwner,
        offset: u64,
        data: &mut [u8],
    ) -> Outcome<usize> {
        check_read(open, owner, offset, data.len())?;
        self.copy_data(open, offset, data)
    }

    /// The same after [`check_read`].
    fn copy_data(&self, open: &OpenFile, offset: u64, data: &mut [u8]) -> Outcome<usize> {
        let count = checked_data(self.volume.read(open.node, offset, data))?;
        open.position.store(offset + count as u64, Ordering::Relaxed);
        Ok(count)
    }

    /// The data where the volume stores them, after [`check_read`]; none if it can only copy them.
    fn stored_data(&self, open: &OpenFile, offset: u64, len: usize) -> Outcome<Option<StoredData>> {
        let stored = checked_data(self.volume.read_stored(open.node, offset, len))?;
        if let Some(data) = &stored {
            open.position.store(offset + data.len() as u64, Ordering::Relaxed);
        }
        Ok(stored)
    }

    /// Writes data at an offset of an open file; `through` puts them on stable storage first.
    pub(crate) fn write(
        &self,
        open: &OpenFile,
        owner: LockOwner,
        offset: u64,
        data: &[u8],
        through: bool,
    ) -> Outcome<()> {
        if open.directory {
            return Err(NtStatus::INVALID_DEVICE_REQUEST);
        }
        open.require(access::WRITE_DATA | access::APPEND_DATA)?;
        check_range(offset, data.len())?;
        if data.is_empty() {
            // Nothing changes (MS-FSA 2.1.5.4), so that nobody loses the right to cache.
            return Ok(());
        }
        open.file.check_locks(owner, offset, data.len() as u64, true)?;
        if self.options.write_times == WriteTimes::Delayed {
            checked(open.begin_write(self.volume.as_ref()))?;
        }
        let written = self.volume.write(open.node, offset, data, open.write_through || through);
        // A write that failed may have changed some of the bytes.
        open.file.end_caches(open.id.volatile);
        checked_data(written)?;
        open.position.store(offset + data.len() as u64, Ordering::Relaxed);
        open.note_written(&self.files);
        Ok(())
    }

    /// Puts what was written to a file on stable storage. A directory has nothing to flush.
    pub(crate) fn flush(&self, open: &OpenFile) -> Outcome<()> {
        if !open.directory {
            checked(self.volume.commit(open.node))?;
            open.file.write_time.release();
        }
        Ok(())
    }
}

impl Call<'_> {
    fn max_transfer(&self) -> u32 {
        self.connection.negotiated.get().map_or(0, |negotiated| negotiated.max_transfer)
    }

    /// READ; the data go from the volume into the reply, which will be signed if `signed` is true. `scratch` is empty, also
    /// afterwards.
    pub(crate) fn read(
        &mut self,
        signed: bool,
        scratch: &mut Vec<u8>,
        out: &mut Replies,
    ) -> Outcome<CallResponse> {
        let request = ReadRequest::decode(self.message).map_err(malformed)?;
        let open = match self.opened(request.file)? {
            Opened::File(open) => open,
            Opened::Pipe(pipe) => {
                let (bytes, more) = pipe.read(request.len.min(self.max_transfer()) as usize);
                put_head(scratch, out, bytes.len());
                out.put(&bytes);
                return Ok(CallResponse::Complete(if more {
                    NtStatus::BUFFER_OVERFLOW
                } else {
                    NtStatus::SUCCESS
                }));
            }
        };
        if request.len > self.max_transfer() {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        self.check_charge(request.len)?;
        let len = request.len as usize;
        check_read(&open, LockOwner::of_open(open.id.volatile), request.offset, len)?;
        let server = &self.connection.server;
        // Nothing is computed over the data, and nothing follows them in the message.
        if len >= STORED_BYTES
            && self.last
            && !(signed || self.sealed)
            && let Some(data) = server.stored_data(&open, request.offset, len)?
        {
            check_count(data.len(), &request)?;
            put_head(scratch, out, data.len());
            out.put_stored(data);
            return DONE;
        }
        let space = out.spare(READ_HEAD + len);
        let data = space.get_mut(READ_HEAD..).unwrap_or_default();
        let count = server.copy_data(&open, request.offset, data)?;
        check_count(count, &request)?;
        put_head(scratch, out, count);
        out.advance(count);
        DONE
    }

    /// WRITE; the data go from the message into the volume.
    pub(crate) fn write(&mut self, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        let request = WriteRequest::decode(self.message).map_err(malformed)?;
        let data = request.data(self.message).map_err(malformed)?;
        match self.opened(request.file)? {
            Opened::Pipe(pipe) => pipe.write(data)?,
            Opened::File(open) => {
                if request.len > self.max_transfer() {
                    return Err(NtStatus::INVALID_PARAMETER);
                }
                self.check_charge(request.len)?;
                let owner = LockOwner::of_open(open.id.volatile);
                let through = request.flags & WRITE_THROUGH != 0;
                let _change = self.begin_change(&open)?;
                self.connection.server.write(&open, owner, request.offset, data, through)?;
            }
        }
        WriteResponse { count: request.len, ..WriteResponse::default() }.encode(body);
        DONE
    }

    /// FLUSH.
    pub(crate) fn flush(&mut self, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        let request = FlushRequest::decode(self.message).map_err(malformed)?;
        if let Opened::File(open) = self.opened(request.file)? {
            self.connection.server.flush(&open)?;
        }
        Ok(empty(body))
    }
}

/// Checks that a read has enough data.
fn check_count(count: usize, request: &ReadRequest) -> Outcome<()> {
    let none = count == 0 && request.len > 0;
    if none || count < request.minimum as usize { Err(NtStatus::END_OF_FILE) } else { Ok(()) }
}

/// Encodes the fields before the data.
fn put_head(scratch: &mut Vec<u8>, out: &mut Replies, count: usize) {
    ReadResponse { data_offset: READ_DATA_OFFSET as u8, len: count as u32, ..ReadResponse::default() }
        .encode(scratch);
    out.put(scratch);
    scratch.clear();
}
