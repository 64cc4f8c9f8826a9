//! Runs every decoder on arbitrary bytes: it must not panic or read beyond the end, and records must not depend on
//! where the stream is cut.

use sharebench_nfs::attributes::{AttributesBefore, FileAttributes, SetFileAttributes, skip_wcc};
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
use sharebench_nfs::v4::body::{Arguments, OperationResult};
use sharebench_nfs::v4::callback::{CallbackHead, CallbackSequence, NotifyLock, Recall};
use sharebench_nfs::v4::compound::{CallHead, ReplyHead, get_operation};
use sharebench_nfs::v4::item::Item;
use sharebench_nfs::v4::listing;
use sharebench_nfs::v4::lock::Denied;
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::sparse::{Segment, SegmentsHead};
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
    let try_each: [Decode; 20] = [
        |reader| CallHeader::get(reader).map(drop).or(Ok(())),
        |reader| AttributesBefore::get_optional(reader).map(drop),
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

/// Decodes arbitrary bytes as parts of a COMPOUND of NFSv4: the heads and lists, then what belongs to each operation.
fn version_4(input: &[u8]) {
    let try_each: [Decode; 9] = [
        |reader| CallHead::get(reader).and_then(|_| get_operation(reader)).map(drop),
        |reader| ReplyHead::get(reader).map(drop),
        |reader| Attributes::get(reader).map(drop),
        |reader| SetAttributes::get(reader).map(drop),
        |reader| listing::get_listing(reader, drop).map(drop),
        |reader| Denied::get(reader).map(drop),
        |reader| SegmentsHead::get(reader).and_then(|_| Segment::get(reader)).map(drop),
        |reader| CallbackHead::get(reader).and_then(|_| CallbackSequence::get(reader)).map(drop),
        |reader| Recall::get(reader).and_then(|_| NotifyLock::get(reader)).map(drop),
    ];
    let decode_each = |decode: &dyn Fn(&mut Reader<'_>) -> Result<(), XdrError>| {
        for mut reader in [Reader::new(input), Reader::of_capture(input)] {
            let _ = decode(&mut reader);
            assert!(reader.rest().len() <= input.len());
        }
    };
    for decode in try_each {
        decode_each(&decode);
    }
    for operation in Operation::ALL {
        decode_each(&|reader| Arguments::get(*operation, reader).map(|_| ()));
        decode_each(&|reader| OperationResult::get(*operation, reader).map(|_| ()));
    }
}
