//! Operations of minor version 2: ALLOCATE, DEALLOCATE, SEEK, COPY, CLONE, `READ_PLUS`, `IO_ADVISE` (RFC 7862, 15).

use sharebench_nfs::protocol::StableHow;
use sharebench_nfs::v4::bitmap::Bitmap;
use sharebench_nfs::v4::data::{Read, StateId};
use sharebench_nfs::v4::item::Item;
use sharebench_nfs::v4::sparse::{
    Clone4, Content, Copied, Copy, CopyRequirements, Found, IoAdvise, Range, Seek, Segment, SegmentsHead,
};
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::{Reader, Writer};

use crate::nfs::v4::compound::Compound;
use crate::nfs::v4::errors::OpResult;
use crate::{FileRange, NodeId, SeekTarget, VolumeError};

/// Largest COPY of one call, in bytes. The client continues after it.
const MAX_COPY_BYTES: u64 = 64 << 20;
/// Largest ALLOCATE, in bytes: a file of the largest size would keep a thread for hours.
const MAX_RANGE: u64 = i64::MAX as u64;
/// Most segments of a `READ_PLUS`. The client continues after them.
const MAX_SEGMENTS: u32 = 64;

impl Compound<'_> {
    /// Checks that a state id allows access to a file, and that a change waits for delegations.
    fn check(&self, state: StateId, node: NodeId, writes: bool) -> Result<(), Nfs4Status> {
        let state = self.state(state)?;
        let client = self.v4().state.check_io(&state, self.caller(), node, writes)?;
        if writes { self.v4().recall_conflicts(&self.server.handles, client, node) } else { Ok(()) }
    }

    /// The files of a copy, which their state ids allow to read and to write, and the size of the source.
    fn source_and_destination(
        &self,
        source: StateId,
        destination: StateId,
    ) -> Result<(NodeId, NodeId, u64), super::errors::OpError> {
        let from = self.saved_node(Nfs4Status::Isdir)?;
        let to = self.file()?;
        self.check(source, from, false)?;
        self.check(destination, to, true)?;
        let attributes = self.volume().attributes(from).map_err(|error| self.of_data(error))?;
        Ok((from, to, attributes.size))
    }

    fn range(&self, call: &mut Reader<'_>) -> Result<(NodeId, u64, u64), super::errors::OpError> {
        let args = Range::get(call)?;
        let node = self.file()?;
        if args.length == 0 {
            return Err(Nfs4Status::Inval.into());
        }
        if args.offset.checked_add(args.length).is_none_or(|end| end > MAX_RANGE) {
            return Err(Nfs4Status::Fbig.into());
        }
        self.check(args.state, node, true)?;
        Ok((node, args.offset, args.length))
    }

    /// ALLOCATE.
    pub(super) fn allocate(&mut self, call: &mut Reader<'_>) -> OpResult {
        let (node, offset, length) = self.range(call)?;
        Ok(self.volume().allocate(node, offset, length).map_err(|error| self.of_data(error))?)
    }

    /// DEALLOCATE.
    pub(super) fn deallocate(&mut self, call: &mut Reader<'_>) -> OpResult {
        let (node, offset, length) = self.range(call)?;
        Ok(self.volume().deallocate(node, offset, length).map_err(|error| self.of_data(error))?)
    }

    /// SEEK.
    pub(super) fn seek(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = Seek::get(call)?;
        let node = self.file()?;
        self.check(args.state, node, false)?;
        let target = match args.what {
            Content::Data => SeekTarget::Data,
            Content::Hole => SeekTarget::Hole,
        };
        let found = self.volume().seek(node, args.offset, target).map_err(|error| match error {
            // At or beyond the end of the file (RFC 7862, 15.11.3).
            VolumeError::TooBig => Nfs4Status::Nxio,
            other => self.of_data(other),
        })?;
        let size = self.volume().attributes(node).map_err(|error| self.of_data(error))?.size;
        // Only holes follow, up to the end: `sr_eof` for both kinds.
        let offset = found.unwrap_or(size);
        Found { eof: offset >= size, offset }.put(out);
        Ok(())
    }

    /// COPY within this server, always synchronous.
    pub(super) fn copy(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = Copy::get(call)?;
        if !args.source_servers.is_empty() {
            return Err(Nfs4Status::Notsupp.into());
        }
        let (from, to, size) = self.source_and_destination(args.source_state, args.destination_state)?;
        let left = size.saturating_sub(args.source_offset);
        let past_end = args.count > left || args.source_offset > size;
        if past_end && args.count > 0 || from == to && overlap(&args, left) {
            return Err(Nfs4Status::Inval.into());
        }
        let wanted = if args.count == 0 { left } else { args.count };
        let source = FileRange { file: from, offset: args.source_offset };
        let target = FileRange { file: to, offset: args.destination_offset };
        let copied = self.volume().copy(source, target, wanted.min(MAX_COPY_BYTES));
        let count = copied.map_err(|error| self.of_data(error))?;
        let committed = StableHow::Unstable;
        let requirements = CopyRequirements { consecutive: true, synchronous: true };
        let verifier = self.server.write_verifier;
        Copied { callback: None, count, committed, verifier, requirements }.put(out);
        Ok(())
    }

    /// CLONE.
    pub(super) fn clone_range(&mut self, call: &mut Reader<'_>) -> OpResult {
        let args = Clone4::get(call)?;
        let (from, to, size) = self.source_and_destination(args.source_state, args.destination_state)?;
        let left = size.saturating_sub(args.source_offset);
        let count = if args.count == 0 { left } else { args.count };
        if count > left || args.source_offset > size {
            return Err(Nfs4Status::Inval.into());
        }
        let source = FileRange { file: from, offset: args.source_offset };
        let target = FileRange { file: to, offset: args.destination_offset };
        Ok(self.volume().clone_range(source, target, count).map_err(|error| self.of_data(error))?)
    }

    /// `READ_PLUS`: the data and the holes of the range in order.
    pub(super) fn read_plus(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let wanted = Read::get(call)?;
        let node = self.file()?;
        self.check(wanted.state, node, false)?;
        let size = self.volume().attributes(node).map_err(|error| self.of_data(error))?.size;
        let mut offset = wanted.offset;
        let end = offset.saturating_add(wanted.count.min(self.max_data()).into()).min(size);
        let head = out.len();
        SegmentsHead { eof: false, count: 0 }.put(out);
        let mut segments = 0;
        let mut is_shortened = false;
        while offset < end && segments < MAX_SEGMENTS && !is_shortened {
            // A volume that cannot seek has data everywhere.
            let next = |what| self.volume().seek(node, offset, what).ok().flatten().unwrap_or(size).min(end);
            let data = next(SeekTarget::Data);
            if data > offset {
                Segment::Hole { offset, length: data - offset }.put(out);
                offset = data;
            } else {
                // Without progress a change is under way: then it is data.
                let hole = Some(next(SeekTarget::Hole)).filter(|hole| *hole > offset).unwrap_or(end);
                Content::Data.put(out);
                out.u64(offset);
                // The file ends earlier if it was shortened meanwhile.
                is_shortened = self.put_data(out, node, offset, (hole - offset) as u32)?;
                offset = hole;
            }
            segments += 1;
        }
        out.patch(head, u32::from(offset >= size || is_shortened));
        out.patch(head + size_of::<u32>(), segments);
        Ok(())
    }

    /// `IO_ADVISE`: no hint is used.
    pub(super) fn io_advise(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = IoAdvise::get(call)?;
        let node = self.file()?;
        self.check(args.state, node, false)?;
        Bitmap::default().put(out);
        Ok(())
    }
}

/// True if the ranges of a copy within one file overlap.
fn overlap(args: &Copy<'_>, left: u64) -> bool {
    let count = if args.count == 0 { left } else { args.count };
    let distance = args.source_offset.abs_diff(args.destination_offset);
    distance < count
}
