//! Runs every decoder on arbitrary bytes: it must not panic or read beyond the end, and records must not depend on
//! where the stream is cut.

use sharebench_nfs::attributes::{FileAttributes, SetFileAttributes, skip_wcc};
use sharebench_nfs::mount::get_mounted;
use sharebench_nfs::port_mapper::{get_port, get_universal_port};
use sharebench_nfs::protocol::FileHandle;
use sharebench_nfs::record::{NextRecord, RecordReassembly, next_record};
use sharebench_nfs::results::{
    Found, FsInfo, FsStat, ReadHead, Written, get_commit, get_listing, get_status,
};
use sharebench_nfs::rpc::{CallHeader, VerifiedReply, get_reply};
use sharebench_nfs::rpcsec::{GssCredential, InitResult};
use sharebench_nfs::v4::attributes::{Attributes, SetAttributes};
use sharebench_nfs::v4::callback::{CallbackHead, CallbackSequence, NotifyLock, Recall};
use sharebench_nfs::v4::client_id::SetClientId;
use sharebench_nfs::v4::compound::{CallHead, ReplyHead, get_operation};
use sharebench_nfs::v4::data::{Close, PutFh, Read, WriteHead};
use sharebench_nfs::v4::item::Item;
use sharebench_nfs::v4::listing::{self, ReadDir};
use sharebench_nfs::v4::lock::{Denied, Lock};
use sharebench_nfs::v4::names::{Create, SecurityFlavors};
use sharebench_nfs::v4::open::{Open, Opened};
use sharebench_nfs::v4::session::{
    CreateSession, CreatedSession, ExchangeId, ExchangedId, Sequence, Sequenced, TestStateId,
};
use sharebench_nfs::v4::sparse::{Copied, Copy, Segment, SegmentsHead};
use sharebench_nfs::xdr::{Reader, XdrError};

/// Longest accepted record.
const MAX_RECORD: usize = 4096;

/// Decodes arbitrary bytes as a stream of records, a call, a reply and each result.
pub fn run(input: &[u8]) {
    records(input);
    results(input);
    version_4(input);
    if let Ok((_, Ok(()))) = get_reply(&mut Reader::new(input)) {
        // After the head of an accepted reply without verifier.
        results(input.get(24..).unwrap_or_default());
    }
}

fn records(input: &[u8]) {
    if let Ok(NextRecord::Whole { start, end }) = next_record(input, MAX_RECORD) {
        assert!(start <= end && end <= input.len() && end - start <= MAX_RECORD);
    }
    // In one piece, and byte by byte.
    let mut whole = RecordReassembly::new(MAX_RECORD);
    let mut cut = RecordReassembly::new(MAX_RECORD);
    let once = whole.push(input);
    let mut taken = 0;
    for byte in input {
        let Ok((count, done)) = cut.push(std::slice::from_ref(byte)) else {
            assert!(once.is_err(), "cut into bytes it is no record");
            return;
        };
        taken += count;
        if done {
            assert_eq!((once.as_ref().ok(), whole.record()), (Some(&(taken, true)), cut.record()));
            return;
        }
    }
    assert!(!matches!(once, Ok((_, true))), "cut into bytes it does not end");
}

/// Decodes one kind of result and drops it.
type Decode = fn(&mut Reader<'_>) -> Result<(), XdrError>;

fn results(input: &[u8]) {
    let try_each: [Decode; 19] = [
        |reader| CallHeader::get(reader).map(drop).or(Ok(())),
        |reader| get_reply(reader).map(drop),
        |reader| VerifiedReply::get(reader).map(drop),
        |reader| GssCredential::get(reader.rest()).map(drop),
        |reader| InitResult::get(reader).map(drop),
        |reader| get_status(reader).map(drop),
        |reader| FileAttributes::get(reader).map(drop),
        |reader| FileAttributes::get_optional(reader).map(drop),
        |reader| SetFileAttributes::get(reader).map(drop),
        |reader| FileHandle::get(reader).map(drop),
        |reader| FileHandle::get_optional(reader).map(drop),
        |reader| Found::get_lookup(reader).map(drop),
        |reader| Found::get_created(reader).map(drop),
        |reader| FsStat::get(reader).map(drop),
        |reader| FsInfo::get(reader).map(drop),
        |reader| ReadHead::get(reader).map(drop),
        |reader| Written::get(reader).map(drop),
        |reader| get_commit(reader).map(drop),
        skip_wcc,
    ];
    for decode in try_each {
        let mut reader = Reader::new(input);
        let _ = decode(&mut reader);
        assert!(reader.rest().len() <= input.len());
    }
    let _ = (get_mounted(&mut Reader::new(input)), get_port(&mut Reader::new(input)));
    let _ = get_universal_port(&mut Reader::new(input));
    for plus in [false, true] {
        let mut entries = 0;
        let _ = get_listing(&mut Reader::new(input), plus, |_| entries += 1);
        assert!(entries <= input.len(), "{entries} entries in {} bytes", input.len());
    }
}

/// Decodes arbitrary bytes as parts of a COMPOUND of NFSv4.
fn version_4(input: &[u8]) {
    let try_each: [Decode; 11] = [
        |reader| CallHead::get(reader).and_then(|_| get_operation(reader)).map(drop),
        |reader| ReplyHead::get(reader).map(drop),
        |reader| ExchangeId::get(reader).map(drop),
        |reader| ExchangedId::get(reader).map(drop),
        |reader| CreateSession::get(reader).map(drop),
        |reader| CreatedSession::get(reader).map(drop),
        |reader| Sequence::get(reader).map(drop),
        |reader| Sequenced::get(reader).map(drop),
        |reader| PutFh::get(reader).map(drop),
        |reader| Read::get(reader).and_then(|_| WriteHead::get(reader)).map(drop),
        |reader| Close::get(reader).map(drop),
    ];
    let names_and_state: [Decode; 16] = [
        |reader| Open::get(reader).map(drop),
        |reader| Opened::get(reader).map(drop),
        |reader| Attributes::get(reader).map(drop),
        |reader| SetAttributes::get(reader).map(drop),
        |reader| ReadDir::get(reader).map(drop),
        |reader| listing::get_listing(reader, drop).map(drop),
        |reader| Lock::get(reader).map(drop),
        |reader| Denied::get(reader).map(drop),
        |reader| Create::get(reader).map(drop),
        |reader| SecurityFlavors::get(reader).map(drop),
        |reader| SetClientId::get(reader).map(drop),
        |reader| TestStateId::get(reader).map(drop),
        |reader| Copy::get(reader).and_then(|_| Copied::get(reader)).map(drop),
        |reader| SegmentsHead::get(reader).and_then(|_| Segment::get(reader)).map(drop),
        |reader| CallbackHead::get(reader).and_then(|_| CallbackSequence::get(reader)).map(drop),
        |reader| Recall::get(reader).and_then(|_| NotifyLock::get(reader)).map(drop),
    ];
    for decode in try_each.into_iter().chain(names_and_state) {
        let mut reader = Reader::new(input);
        let _ = decode(&mut reader);
        assert!(reader.rest().len() <= input.len());
    }
}
