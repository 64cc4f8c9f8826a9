//! READ, WRITE and COMMIT (RFC 7530, 16.3, 16.23 and 16.36).

use std::sync::atomic::Ordering;

use sharebench_nfs::protocol::StableHow;
use sharebench_nfs::v4::data::{Commit, Committed, Read, WriteHead, Written};
use sharebench_nfs::v4::item::Item;
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::{Reader, Writer, padding};

use crate::nfs::v4::compound::{Compound, RPC_REPLY_BYTES};
use crate::nfs::v4::errors::{OpResult, of_node};
use crate::{NodeId, VolumeError};

/// Bytes of a reply besides the data of a READ, at most.
const REPLY_OVERHEAD: usize = RPC_REPLY_BYTES + 200;

impl Compound<'_> {
    /// The status for an error of file data.
    pub(super) fn of_data(&self, error: VolumeError) -> Nfs4Status {
        match error {
            // Minor version 0 has no better status for a link.
            VolumeError::IsLink if self.minor_version == 0 => Nfs4Status::Inval,
            VolumeError::IsLink => Nfs4Status::WrongType,
            other => of_node(other),
        }
    }

    /// Bytes that a reply can have for data.
    pub(super) fn max_data(&self) -> u32 {
        let max = self.server.options.max_transfer;
        let of_session = self.session.as_ref().map_or(u32::MAX, |session| session.fore.max_response);
        max.min(of_session.saturating_sub(REPLY_OVERHEAD as u32))
    }

    /// READ; the data go from the volume into the reply.
    pub(super) fn read(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = Read::get(call)?;
        let node = self.file()?;
        let state = self.state(args.state)?;
        self.v4().state.check_io(&state, self.caller(), node, false)?;
        let at = out.len();
        out.u32(0);
        let end = self.put_data(out, node, args.offset, args.count)?;
        out.patch(at, u32::from(end));
        Ok(())
    }

    /// Appends data with their length; true if the file ends with them.
    #[inline]
    pub(super) fn put_data(
        &self,
        out: &mut Writer,
        node: NodeId,
        offset: u64,
        count: u32,
    ) -> Result<bool, Nfs4Status> {
        let count = count.min(self.max_data());
        let volume = self.volume();
        let attributes = volume.attributes(node).map_err(of_node)?;
        // Beyond the end there is nothing to read, at any offset.
        let count = if offset < attributes.size { count } else { 0 };
        let at = out.len();
        // The length is known after the volume has read straight into the reply.
        out.u32(0);
        let spare = out.spare(count as usize);
        let read = volume.read(node, offset, spare).map_err(|error| self.of_data(error))?;
        out.advance(read);
        out.pad(read);
        self.server.counters.bytes_read.fetch_add(read as u64, Ordering::Relaxed);
        out.patch(at, read as u32);
        Ok(read < count as usize || offset.saturating_add(read as u64) >= attributes.size)
    }

    /// WRITE; the data go from the call into the volume.
    pub(super) fn write(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = WriteHead::get(call)?;
        if args.count > self.server.options.max_transfer {
            return Err(Nfs4Status::Inval.into());
        }
        let data = call.take(args.count as usize)?;
        call.take(padding(data.len()))?;
        let node = self.file()?;
        let state = self.state(args.state)?;
        let client = self.v4().state.check_io(&state, self.caller(), node, true)?;
        self.v4().recall_conflicts(&self.server.handles, client, node)?;
        if !data.is_empty() {
            let durable = args.stable != StableHow::Unstable;
            self.volume().write(node, args.offset, data, durable).map_err(|error| self.of_data(error))?;
        }
        self.server.counters.bytes_written.fetch_add(data.len() as u64, Ordering::Relaxed);
        let committed =
            if args.stable == StableHow::Unstable { StableHow::Unstable } else { StableHow::FileSync };
        Written { count: args.count, committed, verifier: self.server.write_verifier }.put(out);
        Ok(())
    }

    /// COMMIT; it commits the complete file, whatever the range.
    pub(super) fn commit(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        Commit::get(call)?;
        let node = self.file()?;
        self.volume().commit(node).map_err(|error| self.of_data(error))?;
        Committed { verifier: self.server.write_verifier }.put(out);
        Ok(())
    }
}
