//! Blocks that one request does not carry: the engine makes several requests of them, in sight of all counts.

use sharebench_model::units::ByteSize;
use sharebench_model::{DataOp, FileRef, Stability};
use sharebench_target::Session;

/// Bytes of a read or write of `len` that are asked for at once: what a request and the slot carry, and at least one.
pub(crate) fn max_transfer(session: &dyn Session, op: DataOp, slot_bytes: u32) -> u32 {
    session.max_transfer(op).min(slot_bytes).max(1)
}

/// The most bytes that one request can carry in both directions: for reads that are not measured.
pub(crate) fn largest_request(session: &mut dyn Session) -> u32 {
    let len = session.buffer(sharebench_model::Slot(0)).len() as u32;
    let file = FileRef(0);
    let read = DataOp::Read { file, offset: 0, len };
    let write = DataOp::Write { file, offset: 0, len, stability: Stability::Unstable };
    max_transfer(session, read, len).min(max_transfer(session, write, len))
}

/// The largest multiple of `unit` by a power of two that divides `size` and is at most `most`; `unit` if there is none.
pub(crate) fn largest_record(size: u64, unit: u64, most: u32) -> u64 {
    let fits = |record: &u64| *record <= most.into() && size.is_multiple_of(*record);
    std::iter::successors(Some(unit), |record| record.checked_mul(2)).take_while(fits).last().unwrap_or(unit)
}

/// A write of the data set's or of a user's own, as far as one request carries it.
pub(crate) fn write(session: &mut dyn Session, file: FileRef, offset: u64, len: u64) -> (DataOp, u32) {
    let slot_bytes = session.buffer(sharebench_model::Slot(0)).len() as u32;
    let whole = len.min(u64::from(slot_bytes)) as u32;
    let stability = Stability::Unstable;
    let op = DataOp::Write { file, offset, len: whole, stability };
    let len = max_transfer(session, op, slot_bytes);
    (DataOp::Write { file, offset, len, stability }, len)
}

/// How a block of `bytes` is sent, where that is not one request: a fact of the target, which is also reported to the user.
pub(crate) fn fact(session: &dyn Session, bytes: u32, slot_bytes: u32) -> Option<String> {
    let mut at = 0;
    let mut requests = 0u32;
    let mut most = 0;
    while at < bytes {
        let op = DataOp::Read { file: FileRef(0), offset: u64::from(at), len: bytes - at };
        let len = max_transfer(session, op, slot_bytes);
        (at, requests, most) = (at + len, requests + 1, len.max(most));
    }
    (requests > 1).then(|| {
        let block = ByteSize(bytes.into());
        let most = ByteSize(most.into());
        format!("{block} sent as {requests} requests of at most {most}")
    })
}

#[cfg(test)]
mod tests {
    use super::largest_record;

    #[test]
    fn the_largest_record_divides_the_file_and_fits_into_a_request() {
        for (size, unit, most, wanted) in [
            (16 << 20, 4096, 1 << 20, 1 << 20),
            (96 << 10, 4096, 1 << 20, 32 << 10),
            (64 << 10, 4096, 4096, 4096),
            (3 * 512, 512, 1 << 20, 512),
        ] {
            assert_eq!(largest_record(size, unit, most), wanted, "{size} in {unit}");
        }
    }
}
