//! Reads of files with holes, whose zeros need not cross the wire: `READ_PLUS`, or SEEK and READ where the server has no
//! `READ_PLUS` (RFC 7862, 15.10 and 15.11).

use sharebench_client_core::submit_error;
use sharebench_model::{ErrorClass, FileRef, OpError, WireCount};

use crate::client::v4::compound::Compound;
use crate::client::v4::requests::{Caller, Request};
use crate::client::v4::session::Nfs4Session;
use crate::client::v4::states::{OpenState, SparseReads};
use crate::client::v4::whole_file::keep_data;
use crate::v4::data::Read;
use crate::v4::item::Item;
use crate::v4::operation::Operation;
use crate::v4::sparse::{Content, Found, Seek, Segment, SegmentsHead};
use crate::v4::status::Nfs4Status;
use crate::xdr::{Reader, XdrError};

/// Bytes of a range that a reply covered, and how many of them were transferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Filled {
    bytes: u64,
    transferred: u64,
}

/// Copies the segments of a `READ_PLUS` from `offset` into the buffer, up to the first gap. Segments outside the range
/// are cut or ignored.
fn fill(reader: &mut Reader<'_>, offset: u64, buffer: &mut [u8]) -> Result<Filled, XdrError> {
    let head = SegmentsHead::get(reader)?;
    let mut filled = Filled::default();
    for _ in 0..head.count {
        let segment = Segment::get(reader)?;
        let at = offset.saturating_add(filled.bytes);
        let rest = buffer.get_mut(filled.bytes as usize..).unwrap_or_default();
        let (start, len) = match segment {
            Segment::Data { offset, data } => (offset, data.len() as u64),
            Segment::Hole { offset, length } => (offset, length),
        };
        // A hole may begin before the range.
        let Some(skipped) = at.checked_sub(start).filter(|skipped| *skipped < len) else { continue };
        let covered = (len - skipped).min(rest.len() as u64);
        let place = rest.get_mut(..covered as usize).unwrap_or_default();
        match segment {
            Segment::Data { data, .. } => {
                let from = data.get(skipped as usize..).unwrap_or_default();
                place.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
                filled.transferred += covered;
            }
            Segment::Hole { .. } => place.fill(0),
        }
        filled.bytes += covered;
    }
    Ok(filled)
}

impl Nfs4Session {
    /// Reads a range into the buffer of slot 0; returns how many bytes the reply covers.
    pub(crate) async fn read_with_holes(
        &mut self,
        file: FileRef,
        offset: u64,
        len: u32,
    ) -> Result<u64, OpError> {
        let open = self.files.get(file)?.handle;
        let mut buffer = self.payloads.take(0);
        let count = len.min(self.limits.read_max);
        let filled = match buffer.get_mut(..count as usize) {
            Some(part) => self.read_segments(open, offset, part).await,
            None => Err(submit_error::record_above_slot("READ_PLUS", len)),
        };
        self.payloads.put(0, buffer);
        let Filled { bytes, transferred } = filled?;
        self.channel.add_wire(WireCount { payload_received: transferred, ..WireCount::default() });
        Ok(bytes)
    }

    async fn read_segments(
        &mut self,
        open: OpenState,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<Filled, OpError> {
        if self.sparse_reads == SparseReads::Segments {
            match self.read_with(Operation::ReadPlus, open, offset, buffer).await {
                Err(error) if error.class == ErrorClass::Unsupported => {
                    self.sparse_reads = SparseReads::Seeks;
                }
                // NFS-Ganesha 4 answers without a segment where there is data.
                Ok(Filled { bytes: 0, .. }) if !buffer.is_empty() => {
                    self.sparse_reads = SparseReads::Seeks;
                }
                read => return read,
            }
        }
        let data = match self.sparse_reads {
            SparseReads::Whole => Err(Nfs4Status::Notsupp.failure(Operation::Seek.name())),
            _ => self.seek(open, offset, Content::Data).await,
        };
        if data.as_ref().is_err_and(|error| error.class == ErrorClass::Unsupported) {
            self.sparse_reads = SparseReads::Whole;
        }
        let data = data?;
        let hole = data.saturating_sub(offset).min(buffer.len() as u64);
        if hole > 0 {
            buffer.get_mut(..hole as usize).unwrap_or_default().fill(0);
            return Ok(Filled { bytes: hole, transferred: 0 });
        }
        let end = self.seek(open, offset, Content::Hole).await?;
        let data = end.saturating_sub(offset).min(buffer.len() as u64);
        let part = buffer.get_mut(..data as usize).unwrap_or_default();
        self.read_with(Operation::Read, open, offset, part).await
    }

    /// `READ_PLUS` or READ.
    async fn read_with(
        &mut self,
        operation: Operation,
        open: OpenState,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<Filled, OpError> {
        let OpenState { handle, state, .. } = open;
        let arguments = Read { state, offset, count: buffer.len() as u32 };
        let build = |compound: &mut Compound<'_>, _: Caller| {
            compound.handle(&handle).operation(operation, &arguments);
        };
        let mut results = self.request(Request::reading(operation), build).await?;
        results.done(Operation::PutFh)?;
        if operation == Operation::ReadPlus {
            return results.get_with(operation, |reader| fill(reader, offset, buffer));
        }
        let bytes = u64::from(keep_data(&mut results, buffer)?);
        Ok(Filled { bytes, transferred: bytes })
    }

    /// SEEK: where the next data or hole begins; the end of the file where nothing follows.
    async fn seek(&mut self, open: OpenState, offset: u64, what: Content) -> Result<u64, OpError> {
        let OpenState { handle, state, .. } = open;
        let build = |compound: &mut Compound<'_>, _: Caller| {
            compound.handle(&handle).operation(Operation::Seek, &Seek { state, offset, what });
        };
        let mut results = self.request(Request::reading(Operation::Seek), build).await?;
        results.done(Operation::PutFh)?;
        let found = results.get::<Found>(Operation::Seek);
        match found {
            // At or beyond the end (RFC 7862, 15.11.3): a READ shows that.
            Err(_) if self.last_status() == Some(Nfs4Status::Nxio) => Ok(offset),
            found => found.map(|found| found.offset),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdr::Writer;

    fn filled(segments: &[Segment<'_>], buffer: &mut [u8]) -> Result<Filled, XdrError> {
        let mut writer = Writer::default();
        SegmentsHead { eof: false, count: segments.len() as u32 }.put(&mut writer);
        for segment in segments {
            segment.put(&mut writer);
        }
        fill(&mut Reader::new(writer.as_slice()), 100, buffer)
    }

    #[test]
    fn data_and_holes_fill_the_range_in_order() {
        let mut buffer = [9; 10];
        let segments = [
            Segment::Hole { offset: 90, length: 13 },
            Segment::Data { offset: 103, data: b"abc" },
            Segment::Hole { offset: 106, length: u64::MAX - 106 },
        ];
        assert_eq!(filled(&segments, &mut buffer), Ok(Filled { bytes: 10, transferred: 3 }));
        assert_eq!(&buffer, b"\0\0\0abc\0\0\0\0");
    }

    #[test]
    fn hostile_segments_stay_within_the_range() {
        let mut buffer = [9; 4];
        let long = [Segment::Data { offset: 100, data: b"abcdefgh" }];
        assert_eq!(filled(&long, &mut buffer), Ok(Filled { bytes: 4, transferred: 4 }));
        let far = [Segment::Data { offset: 101, data: b"x" }, Segment::Hole { offset: 0, length: 100 }];
        assert_eq!(filled(&far, &mut buffer), Ok(Filled::default()));
        let endless = [Segment::Hole { offset: u64::MAX, length: u64::MAX }];
        assert_eq!(filled(&endless, &mut buffer), Ok(Filled::default()));
        assert_eq!(&buffer, b"abcd");
        let mut writer = Writer::default();
        SegmentsHead { eof: true, count: u32::MAX }.put(&mut writer);
        assert!(fill(&mut Reader::new(writer.as_slice()), 0, &mut buffer).is_err());
    }
}
