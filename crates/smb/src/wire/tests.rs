//! Round trips of messages with variable parts.

use proptest::prelude::*;

use super::create::{CreateRequest, CreateResponse};
use super::create_context::{CreateContext, name};
use super::data::{ReadResponse, WriteRequest, WriteResponse};
use super::directory::{QueryDirectoryRequest, entries};
use super::file_info::BasicInformation;
use super::header::Header;
use super::info::{InfoResponse, SetInfoRequest, full_size};
use super::ioctl::{IoctlRequest, output, put_output};
use super::lock::{LockRange, LockRequest};
use super::negotiate::{Context, NegotiateRequest, NegotiateResponse};
use super::session_setup::{SessionSetupRequest, SessionSetupResponse};
use super::simple::ErrorResponse;
use super::transform::TransformHeader;
use super::tree::TreeConnectRequest;
use super::validation::{ValidateNegotiateRequest, ValidateNegotiateResponse};
use super::{FileId, from_utf16};

fn message(body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    Header::default().encode(&mut out);
    body(&mut out);
    out
}

#[test]
fn negotiate_round_trips_and_none_of_its_prefixes_decodes() {
    let contexts = vec![Context { kind: 1, data: vec![7; 38] }, Context { kind: 2, data: vec![1, 0, 2, 0] }];
    let request =
        NegotiateRequest { dialects: vec![0x0210, 0x0300, 0x0311], contexts, ..NegotiateRequest::default() };
    let bytes = message(|out| request.encode(out));
    assert_eq!(NegotiateRequest::decode(&bytes), Ok(request));
    assert!((0..bytes.len()).all(|len| NegotiateRequest::decode(&bytes[..len]).is_err()));
}

#[test]
fn create_round_trips_its_name() {
    let request = CreateRequest { access: 1, share: 7, name: "a\\ü😀".into(), ..CreateRequest::default() };
    let bytes = message(|out| request.encode(out));
    assert_eq!(CreateRequest::decode(&bytes), Ok(request));
}

#[test]
fn create_round_trips_its_oplock_and_contexts_for_names_of_every_alignment() {
    let contexts = vec![
        CreateContext::new(name::QUERY_MAXIMAL_ACCESS, &[]),
        CreateContext::new(name::ALLOCATION_SIZE, &[3; 8]),
    ];
    for len in 0..9 {
        let name = "n".repeat(len);
        let request =
            CreateRequest { oplock: 9, name, contexts: contexts.clone(), ..CreateRequest::default() };
        let bytes = message(|out| request.encode(out));
        assert_eq!(CreateRequest::decode(&bytes), Ok(request));
        assert!((0..bytes.len()).all(|len| CreateRequest::decode(&bytes[..len]).is_err()));
    }
}

#[test]
fn lock_round_trips_its_ranges_and_rejects_a_request_without_any() {
    let range = |offset, flags| LockRange { offset, len: u64::MAX, flags };
    let ranges = vec![range(0, 1), range(1 << 40, 0x12)];
    let request = LockRequest { sequence: 0x21, ranges, ..LockRequest::default() };
    let bytes = message(|out| request.encode(out));
    assert_eq!(LockRequest::decode(&bytes), Ok(request));
    assert!((0..bytes.len()).all(|len| LockRequest::decode(&bytes[..len]).is_err()));
    assert!(LockRequest::decode(&message(|out| LockRequest::default().encode(out))).is_err());
}

#[test]
fn requests_round_trip_the_fields_that_only_some_clients_set() {
    let setup = SessionSetupRequest { flags: 1, previous_session: 7, token: vec![1], ..Default::default() };
    let bytes = message(|out| setup.encode(out));
    assert_eq!(SessionSetupRequest::decode(&bytes), Ok(setup));
    let query = QueryDirectoryRequest { class: 37, flags: 0x11, file_index: 9, ..Default::default() };
    let bytes = message(|out| query.encode(out));
    assert_eq!(QueryDirectoryRequest::decode(&bytes), Ok(query));
    let set = SetInfoRequest { info_type: 3, additional: 4, information: vec![5], ..Default::default() };
    let bytes = message(|out| set.encode(out));
    assert_eq!(SetInfoRequest::decode(&bytes), Ok(set));
}

#[test]
fn ioctl_output_and_validation_round_trip() {
    let response = ValidateNegotiateResponse {
        capabilities: 5,
        server_guid: [6; 16],
        security_mode: 1,
        dialect: 0x0302,
    };
    let mut encoded = Vec::new();
    response.encode(&mut encoded);
    assert_eq!(encoded.len(), ValidateNegotiateResponse::LEN as usize);
    let bytes = message(|out| put_output(0x0014_0204, FileId::PREVIOUS, &encoded, out));
    assert_eq!(output(&bytes).and_then(ValidateNegotiateResponse::decode), Ok(response));
    let request = ValidateNegotiateRequest { dialects: vec![0x0210, 0x0302], ..Default::default() };
    let mut encoded = Vec::new();
    request.encode(&mut encoded);
    assert_eq!(ValidateNegotiateRequest::decode(&encoded), Ok(request));
    assert!((0..encoded.len()).all(|len| ValidateNegotiateRequest::decode(&encoded[..len]).is_err()));
}

/// Random bytes after a header and a common `StructureSize`.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let sizes = prop::sample::select(vec![9u8, 16, 17, 24, 25, 33, 36, 41, 48, 49, 57, 60, 65, 89]);
    (sizes, prop::collection::vec(prop_oneof![Just(0), Just(0xff), any::<u8>()], 0..300)).prop_map(
        |(size, tail)| {
            let mut bytes = vec![0; 64];
            bytes[..6].copy_from_slice(&[0xFE, b'S', b'M', b'B', 64, 0]);
            bytes.extend_from_slice(&[size, 0]);
            bytes.extend_from_slice(&tail);
            bytes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// No decoder panics, and decoded parts lie within the message.
    #[test]
    fn hostile_bytes_decode_to_parts_of_the_message_or_to_an_error(bytes in hostile()) {
        let len = bytes.len();
        let _ = (Header::decode(&bytes), TransformHeader::decode(&bytes), ErrorResponse::decode(&bytes));
        let _ = (CreateRequest::decode(&bytes), CreateResponse::decode(&bytes), WriteResponse::decode(&bytes));
        let _ = (QueryDirectoryRequest::decode(&bytes), SetInfoRequest::decode(&bytes), full_size(&bytes));
        let _ = (IoctlRequest::decode(&bytes), TreeConnectRequest::decode(&bytes), LockRequest::decode(&bytes));
        let _ = (ValidateNegotiateRequest::decode(&bytes), BasicInformation::decode(&bytes));
        let _ = (SessionSetupRequest::decode(&bytes), NegotiateRequest::decode(&bytes));
        for found in [
            ReadResponse::decode(&bytes).and_then(|read| read.data(&bytes).map(<[u8]>::len)),
            WriteRequest::decode(&bytes).and_then(|write| write.data(&bytes).map(<[u8]>::len)),
            InfoResponse::decode(&bytes).map(<[u8]>::len),
            output(&bytes).map(<[u8]>::len),
            SessionSetupResponse::decode(&bytes).map(|setup| setup.token.len()),
            NegotiateResponse::decode(&bytes).map(|negotiate| negotiate.token.len()),
            entries(bytes.get(66..).unwrap_or_default()).map(|entries| entries.len()),
        ] {
            prop_assert!(found.is_err() || found.is_ok_and(|found| found <= len));
        }
    }

    #[test]
    fn headers_round_trip(
        command: u16, status: u32, credits: u16, message_id: u64, tree_id: u32, session_id: u64, signature: [u8; 16],
    ) {
        let header =
            Header { status, command, credits, message_id, tree_id, session_id, signature, ..Header::default() };
        let mut bytes = Vec::new();
        header.encode(&mut bytes);
        prop_assert_eq!(Header::decode(&bytes), Ok(header));
    }
}

#[test]
fn text_with_half_of_a_character_differs_from_every_other_text() {
    let text =
        |units: &[u16]| from_utf16(&units.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<_>>());
    let all =
        [&[0xFFFDu16][..], &[0xD800], &[0xDBFF], &[0xDC00], &[0xDFFF], &[0xDC00, 0xD800], &[0xD83D, 0xDE00]];
    let texts: std::collections::BTreeSet<String> = all.iter().map(|units| text(units)).collect();
    assert_eq!(texts.len(), all.len(), "{texts:?}");
    assert_eq!((text(&[0xD83D, 0xDE00]), text(&[0x61, 0xD83D])), ("\u{1F600}".into(), "a::D83D:".into()));
}
