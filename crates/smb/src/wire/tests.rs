//! Round trips of messages with variable parts.

use proptest::prelude::*;

use super::create::{CreateRequest, CreateResponse};
use super::data::{ReadResponse, WriteRequest, WriteResponse};
use super::directory::{QueryDirectoryRequest, entries};
use super::header::Header;
use super::info::{InfoResponse, SetInfoRequest, full_size};
use super::ioctl::{IoctlRequest, output};
use super::negotiate::{Context, NegotiateRequest, NegotiateResponse};
use super::session_setup::{SessionSetupRequest, SessionSetupResponse};
use super::simple::ErrorResponse;
use super::transform::TransformHeader;
use super::tree::TreeConnectRequest;

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

/// Random bytes after a header and a common `StructureSize`.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let sizes = prop::sample::select(vec![9u8, 16, 17, 24, 25, 33, 36, 41, 49, 57, 60, 65, 89]);
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
        let _ = (IoctlRequest::decode(&bytes), TreeConnectRequest::decode(&bytes));
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
