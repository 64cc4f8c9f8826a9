//! Golden bytes, round trips and malicious bytes.

mod operations;

use proptest::prelude::*;

use crate::protocol::StableHow;
use crate::v4::compound::{CallHead, CountedItems, OK, ReplyHead, ResultHead, expect_result, get_operation};
use crate::v4::data::{Close, Commit, Committed, PutFh, Read, ReadHead, StateId, WriteHead, Written};
use crate::v4::item::{Item, Opaque};
use crate::v4::operation::Operation;
use crate::v4::session::{
    CallbackSecurity, ChannelLimits, CreateSession, CreatedSession, DestroyClientId, DestroySession,
    ExchangeId, ExchangedId, Implementation, NoStateProtection, ReclaimComplete, Sequence, Sequenced,
};
use crate::xdr::{Reader, Writer, XdrError};

fn bytes<'a>(item: &impl Item<'a>) -> Vec<u8> {
    let mut writer = Writer::default();
    item.put(&mut writer);
    writer.as_slice().to_vec()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Decodes arbitrary bytes; what can be decoded must encode to bytes that decode to the same.
fn decode<'a, T: Item<'a>>(input: &'a [u8]) {
    let mut reader = Reader::new(input);
    if let Ok(item) = T::get(&mut reader) {
        // Padding may have any content, and a bitmap may have words without a bit, which are not encoded.
        let used = input.len() - reader.rest().len();
        // Items borrow from their bytes as long as the input lives.
        let encoded: &'a [u8] = bytes(&item).leak();
        assert!(encoded.len() <= used, "{encoded:?} of {used} bytes");
        let again = T::get(&mut Reader::new(encoded)).map(|again| bytes(&again));
        assert_eq!(again.as_deref(), Ok(encoded));
    }
}

#[test]
fn a_measured_read_has_the_bytes_of_rfc_8881() {
    let mut writer = Writer::default();
    CallHead { tag: Opaque(b""), minor_version: 1, count: 0 }.put(&mut writer);
    let mut operations = CountedItems::after_head(&writer);
    operations.begin(&mut writer, Operation::Sequence);
    Sequence { session: [7; 16], sequence: 5, slot: 2, highest_slot: 31, cache_reply: false }
        .put(&mut writer);
    operations.begin(&mut writer, Operation::PutFh);
    PutFh { handle: Opaque(b"abcde") }.put(&mut writer);
    operations.begin(&mut writer, Operation::Read);
    Read { state: StateId { sequence: 1, other: [9; 12] }, offset: 1 << 32, count: 4096 }.put(&mut writer);
    operations.end(&mut writer);
    let session = 0x0707_0707;
    let other = 0x0909_0909;
    let expected = [
        [0, 1, 3].as_slice(),
        &[53, session, session, session, session, 5, 2, 31, 0],
        &[22, 5, 0x6162_6364, 0x6500_0000],
        &[25, 1, other, other, other, 1, 0, 4096],
    ];
    assert_eq!(writer.as_slice(), words(&expected.concat()));
}

#[test]
fn a_reply_to_a_read_is_decoded_up_to_its_data() {
    let message = words(
        &[
            [OK, 0, 3].as_slice(),
            &[53, OK, 1, 1, 1, 1, 5, 2, 31, 63, 0],
            &[22, OK],
            &[25, OK, 1, 3, 0x6162_6300],
        ]
        .concat(),
    );
    let mut reader = Reader::new(&message);
    assert_eq!(ReplyHead::get(&mut reader), Ok(ReplyHead { status: OK, tag: Opaque(b""), count: 3 }));
    assert_eq!(expect_result(&mut reader, Operation::Sequence), Ok(OK));
    let sequenced = Sequenced::get(&mut reader).unwrap();
    assert_eq!((sequenced.slot, sequenced.target_highest_slot), (2, 63));
    assert_eq!(expect_result(&mut reader, Operation::PutFh), Ok(OK));
    let other = XdrError::BadValue { field: "operation of a result", value: 25 };
    assert_eq!(expect_result(&mut reader.clone(), Operation::Write), Err(other));
    assert_eq!(expect_result(&mut reader, Operation::Read), Ok(OK));
    assert_eq!(ReadHead::get(&mut reader), Ok(ReadHead { eof: true, count: 3 }));
    assert_eq!(reader.take(3), Ok(&b"abc"[..]));
}

fn limits(max_requests: u32) -> ChannelLimits {
    ChannelLimits {
        header_padding: 0,
        max_request: 1 << 20,
        max_response: 1 << 20,
        max_cached_response: 512,
        max_operations: 8,
        max_requests,
        rdma_reads: None,
    }
}

#[test]
fn operations_of_sessions_have_the_bytes_of_rfc_5662() {
    let exchange = ExchangeId {
        verifier: [0, 0, 0, 1, 0, 0, 0, 2],
        owner: Opaque(b"me"),
        flags: 0,
        protection: NoStateProtection,
        implementation: None,
    };
    assert_eq!(bytes(&exchange), words(&[1, 2, 2, 0x6d65_0000, 0, 0, 0]));
    let create = CreateSession {
        client_id: 3,
        sequence: 1,
        flags: 0,
        fore_channel: limits(32),
        back_channel: ChannelLimits { rdma_reads: Some(4), ..limits(1) },
        callback_program: 0x4000_0000,
        callback_security: CallbackSecurity { none: true, sys: None },
    };
    let expected = [
        [0, 3, 1, 0].as_slice(),
        &[0, 1 << 20, 1 << 20, 512, 8, 32, 0],
        &[0, 1 << 20, 1 << 20, 512, 8, 1, 1, 4],
        &[0x4000_0000, 1, 0],
    ];
    let message = words(&expected.concat());
    assert_eq!(bytes(&create), message);
    assert_eq!(CreateSession::get(&mut Reader::new(&message)), Ok(create));
}

#[test]
fn results_of_sessions_are_read_as_they_were_written() {
    let implementation =
        Implementation { domain: Opaque(b"x.org"), name: Opaque(b"nfsd"), seconds: 1, nanos: 2 };
    let exchanged = ExchangedId {
        client_id: 1 << 40,
        sequence: 2,
        flags: 0x1_0000,
        protection: NoStateProtection,
        minor_id: 3,
        major_id: Opaque(b"server"),
        scope: Opaque(b"scope"),
        implementation: Some(implementation),
    };
    assert_eq!(ExchangedId::get(&mut Reader::new(&bytes(&exchanged))), Ok(exchanged));
    let fore_channel = limits(64);
    let back_channel = limits(1);
    let created = CreatedSession { session: [1; 16], sequence: 1, flags: 0, fore_channel, back_channel };
    assert_eq!(CreatedSession::get(&mut Reader::new(&bytes(&created))), Ok(created));
}

#[test]
fn a_list_of_callback_credentials_is_bounded() {
    // AUTH_NONE, AUTH_SYS and contexts of RPCSEC_GSS, which are skipped.
    let all = words(&[3, 0, 1, 9, 1, 0x6100_0000, 7, 8, 1, 5, 6, 1, 1, 0x6100_0000, 1, 0x6200_0000]);
    let mut reader = Reader::new(&all);
    let both = CallbackSecurity { none: true, sys: Some((7, 8)) };
    assert_eq!(CallbackSecurity::get(&mut reader), Ok(both));
    assert_eq!(bytes(&both), words(&[2, 0, 1, 0, 0, 7, 8, 0]));
    assert!(reader.rest().is_empty());
    assert!(CallbackSecurity::get(&mut Reader::new(&words(&[u32::MAX]))).is_err());
    assert!(CallbackSecurity::get(&mut Reader::new(&words(&[1, 1, 0, 0, 0, 0, u32::MAX]))).is_err());
    assert!(CallbackSecurity::get(&mut Reader::new(&words(&[1, 6]))).is_err());
}

#[test]
fn an_unknown_operation_is_no_error_of_decoding() {
    assert_eq!(get_operation(&mut Reader::new(&words(&[9]))), Ok(Some(Operation::GetAttr)));
    assert_eq!(get_operation(&mut Reader::new(&words(&[72]))), Ok(None));
}

proptest! {
    #[test]
    fn arbitrary_bytes_cause_no_panic(
        input in proptest::collection::vec(prop_oneof![4 => Just(0u8), 2 => Just(1u8), 2 => any::<u8>()], 0..400),
    ) {
        let decode_each: [fn(&[u8]); 17] = [
            |input| decode::<CallHead<'_>>(input),
            |input| decode::<ReplyHead<'_>>(input),
            |input| decode::<ResultHead>(input),
            |input| decode::<ExchangeId<'_>>(input),
            |input| decode::<ExchangedId<'_>>(input),
            |input| decode::<CreatedSession>(input),
            |input| decode::<Sequence>(input),
            |input| decode::<Sequenced>(input),
            |input| decode::<DestroySession>(input),
            |input| decode::<DestroyClientId>(input),
            |input| decode::<ReclaimComplete>(input),
            |input| decode::<PutFh<'_>>(input),
            |input| decode::<Read>(input),
            |input| decode::<ReadHead>(input),
            |input| decode::<WriteHead>(input),
            |input| decode::<Written>(input),
            |input| decode::<Close>(input),
        ];
        for decode in decode_each {
            decode(&input);
        }
        // A list of credentials is read, and not kept.
        let _ = CreateSession::get(&mut Reader::new(&input));
    }

    #[test]
    fn data_operations_are_read_as_they_were_written(
        sequence: u32, other: [u8; 12], offset: u64, count: u32, verifier: [u8; 8], stable in 0u32..3,
    ) {
        let state = StateId { sequence, other };
        let stable = StableHow::get(&mut Reader::new(&stable.to_be_bytes())).unwrap();
        let read = Read { state, offset, count };
        prop_assert_eq!(Read::get(&mut Reader::new(&bytes(&read))), Ok(read));
        let write = WriteHead { state, offset, stable, count };
        prop_assert_eq!(WriteHead::get(&mut Reader::new(&bytes(&write))), Ok(write));
        let written = Written { count, committed: stable, verifier };
        prop_assert_eq!(Written::get(&mut Reader::new(&bytes(&written))), Ok(written));
        let commit = Commit { offset, count };
        prop_assert_eq!(Commit::get(&mut Reader::new(&bytes(&commit))), Ok(commit));
        let committed = Committed { verifier };
        prop_assert_eq!(Committed::get(&mut Reader::new(&bytes(&committed))), Ok(committed));
        let close = Close { sequence, state };
        prop_assert_eq!(Close::get(&mut Reader::new(&bytes(&close))), Ok(close));
    }
}
