//! READ, WRITE and COMMIT.

use std::sync::atomic::Ordering;

use sharebench_nfs::protocol::StableHow;
use sharebench_nfs::status::NfsStatus;
use sharebench_nfs::xdr::{Reader, Writer, XdrError};

use crate::nfs::state::ServerState;
use crate::nfs::v3::reply::{Outcome, node_status};
use crate::{NodeId, VolumeError};

/// READ and WRITE of a directory are invalid arguments (RFC 1813, 3.3.6 and 3.3.7).
fn data_status(error: VolumeError) -> NfsStatus {
    match error {
        VolumeError::IsDirectory => NfsStatus::Inval,
        other => node_status(other),
    }
}

impl ServerState {
    /// READ (RFC 1813, 3.3.6) of at most `max` bytes; the data go from the volume into the reply.
    pub(crate) fn read(&self, call: &mut Reader<'_>, out: &mut Writer, max: u32) -> Result<(), XdrError> {
        let node = self.handles.get(call)?;
        let offset = call.u64()?;
        let count = call.u32()?.min(max);
        let start = out.len();
        if let Err(status) = node.and_then(|node| self.put_data(out, node, offset, count)) {
            out.truncate(start);
            out.u32(status.code());
            self.put_current(out, node);
        }
        Ok(())
    }

    fn put_data(&self, out: &mut Writer, node: NodeId, offset: u64, count: u32) -> Outcome<()> {
        let attributes = self.volume.attributes(node).map_err(data_status)?;
        out.u32(0);
        self.put_optional(out, Some(&attributes));
        let at = out.len();
        // Placeholders: count, end of file and length are known after the volume has read straight into the
        // reply.
        out.words(&[count, 0, count]);
        let read = self.volume.read(node, offset, out.spare(count as usize)).map_err(data_status)?;
        out.advance(read);
        out.pad(read);
        let end = read < count as usize || offset.saturating_add(read as u64) >= attributes.size;
        out.patch(at, read as u32);
        out.patch(at + 4, u32::from(end));
        out.patch(at + 8, read as u32);
        self.counters.bytes_read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(())
    }

    /// WRITE (RFC 1813, 3.3.7); the data go from the call into the volume. The attributes before the write are omitted,
    /// because other writers would have to wait to make them exact.
    pub(crate) fn write(&self, call: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
        let node = self.handles.get(call)?;
        let offset = call.u64()?;
        let count = call.u32()?;
        let stable = StableHow::get(call)?;
        let data = call.opaque("WRITE data", self.options.max_transfer as usize)?;
        // The count and the length of the data are separate fields; the smaller one is what both allow.
        let data = &data[..data.len().min(count as usize)];
        let durable = stable != StableHow::Unstable;
        let written =
            node.and_then(|node| self.volume.write(node, offset, data, durable).map_err(data_status));
        out.u32(written.map_or_else(NfsStatus::code, |()| 0));
        out.boolean(false);
        self.put_current(out, node);
        if written.is_ok() {
            out.u32(data.len() as u32);
            out.u32(if durable { StableHow::FileSync } else { StableHow::Unstable } as u32);
            out.raw(&self.write_verifier);
            self.counters.bytes_written.fetch_add(data.len() as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    /// COMMIT (RFC 1813, 3.3.21); it commits the complete file, whatever the range.
    pub(crate) fn commit(&self, call: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
        let node = self.handles.get(call)?;
        call.u64()?;
        call.u32()?;
        let done = node.and_then(|node| self.volume.commit(node).map_err(data_status));
        out.u32(done.map_or_else(NfsStatus::code, |()| 0));
        out.boolean(false);
        self.put_current(out, node);
        if done.is_ok() {
            out.raw(&self.write_verifier);
        }
        Ok(())
    }
}
