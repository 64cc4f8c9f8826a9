//! Runs every decoder on arbitrary bytes: it must not panic, and a decoded value must round-trip.

use sharebench_smb::NtlmAcceptor;
use sharebench_smb::nt1::file as nt1_file;
use sharebench_smb::nt1::message::Words;
use sharebench_smb::nt1::session as nt1_session;
use sharebench_smb::nt1::trans2::{self, Collected, Found};
use sharebench_smb::nt1::{self, Message};
use sharebench_smb::wire::change_notify::ChangeNotifyRequest;
use sharebench_smb::wire::copy_chunk::{CopyChunkRequest, DuplicateExtents};
use sharebench_smb::wire::create::{CreateRequest, CreateResponse};
use sharebench_smb::wire::data::{ReadRequest, ReadResponse, WriteRequest, WriteResponse};
use sharebench_smb::wire::descriptor::Descriptor;
use sharebench_smb::wire::directory::{QueryDirectoryRequest, entries};
use sharebench_smb::wire::durable::DurableContext;
use sharebench_smb::wire::file_info::BasicInformation;
use sharebench_smb::wire::file_ranges::pair;
use sharebench_smb::wire::header::Header;
use sharebench_smb::wire::info::{InfoResponse, SetInfoRequest};
use sharebench_smb::wire::ioctl::{IoctlRequest, output};
use sharebench_smb::wire::lease::LeaseAcknowledgment;
use sharebench_smb::wire::lock::LockRequest;
use sharebench_smb::wire::negotiate::{NegotiateRequest, NegotiateResponse};
use sharebench_smb::wire::network_interface::interfaces;
use sharebench_smb::wire::oplock::OplockBreak;
use sharebench_smb::wire::session_setup::{SessionSetupRequest, SessionSetupResponse};
use sharebench_smb::wire::share_list::{Fragment, shares};
use sharebench_smb::wire::share_list_server::answer;
use sharebench_smb::wire::simple::{Empty, ErrorResponse, FlushRequest};
use sharebench_smb::wire::smb1::chosen_dialect;
use sharebench_smb::wire::transform::TransformHeader;
use sharebench_smb::wire::tree::{TreeConnectRequest, TreeConnectResponse};
use sharebench_smb::wire::validation::{ValidateNegotiateRequest, ValidateNegotiateResponse};
use sharebench_smb::wire::{HEADER_LEN, frame};

/// Decodes a body, encodes it, and decodes it again.
macro_rules! same {
    ($message:expr, $($body:ident),+ $(,)?) => {
        $(if let Ok(body) = $body::decode($message) {
            let mut again = $message[..HEADER_LEN].to_vec();
            body.encode(&mut again);
            assert_eq!($body::decode(&again), Ok(body), stringify!($body));
        })+
    };
}

/// Decodes the words of a message of SMB1, encodes them, and compares.
fn same_words<W: Words + PartialEq + std::fmt::Debug>(words: &[u8]) {
    if let Ok(found) = W::get(words) {
        let mut again = Vec::new();
        found.put(&mut again);
        assert_eq!(W::get(&again), Ok(found));
    }
}

/// Decodes arbitrary bytes as a message of SMB1, in both directions.
fn decode_smb1(message: &[u8]) {
    if let Ok(header) = nt1::Header::decode(message) {
        let mut again = Vec::new();
        header.encode(&mut again);
        assert_eq!(nt1::Header::decode(&again), Ok(header));
    }
    let _ = (Found::decode(message, true), trans2::standard_info(message), trans2::fs_size(message));
    let Ok(parts) = Message::split(message) else { return };
    same_words::<nt1_session::NegotiateResponse>(parts.words);
    same_words::<nt1_session::SessionSetupRequest>(parts.words);
    same_words::<nt1_session::SessionSetupResponse>(parts.words);
    same_words::<nt1_file::CreateRequest>(parts.words);
    same_words::<nt1_file::CreateResponse>(parts.words);
    same_words::<nt1_file::ReadResponse>(parts.words);
    same_words::<nt1_file::WriteRequest>(parts.words);
    same_words::<trans2::Request>(parts.words);
    let mut collected = Collected::default();
    if collected.add(&parts).is_ok() {
        assert!(collected.data.len() <= message.len() && collected.parameters.len() <= message.len());
    }
    assert!(nt1::path::names(parts.bytes, message.len() - parts.bytes.len()).len() <= 2);
}

/// Decodes arbitrary bytes as a message, and as the body of a message with a valid header.
pub fn run(input: &[u8]) {
    decode(input);
    decode_smb1(input);
    let mut smb1 = Vec::new();
    nt1::Header::default().encode(&mut smb1);
    smb1.extend_from_slice(input);
    decode_smb1(&smb1);
    login(input);
    let mut message = Vec::new();
    Header::default().encode(&mut message);
    message.extend_from_slice(input);
    decode(&message);
}

/// Decodes arbitrary bytes as the first and as the second login token of a client (RFC 4178 4.2).
fn login(token: &[u8]) {
    let mut acceptor = NtlmAcceptor::new("SERVER");
    let challenged = acceptor.challenge(token).is_ok() && acceptor.has_challenged();
    assert!(challenged || acceptor.receive(token).is_err());
    let _ = acceptor.receive(token);
}

fn decode(message: &[u8]) {
    if let Some(prefix) = message.first_chunk() {
        assert!(frame::length(*prefix).is_none_or(|len| len <= frame::MAX_LEN));
    }
    let _ = (TransformHeader::decode(message), chosen_dialect(message));
    let listed = interfaces(message).map_or(0, |listed| listed.len());
    assert!(listed <= message.len(), "{listed} interfaces in {} bytes", message.len());
    let listed = shares(message).map_or(0, |listed| listed.len());
    assert!(listed <= message.len(), "{listed} shares in {} bytes", message.len());
    let _ = (Fragment::decode(message), answer(message, &[]), BasicInformation::decode(message));
    let _ = (ValidateNegotiateRequest::decode(message), ValidateNegotiateResponse::decode(message));
    let _ = (DuplicateExtents::decode(message), pair(message));
    let chunks = CopyChunkRequest::decode(message, 256).map_or(0, |request| request.chunks.len());
    assert!(chunks <= message.len(), "{chunks} chunks in {} bytes", message.len());
    let _ = Descriptor::decode_request(message);
    if let Ok(descriptor) = Descriptor::decode(message) {
        assert_eq!(Descriptor::decode(&descriptor.encode(7)), Ok(descriptor));
    }
    let Ok(header) = Header::decode(message) else { return };
    let mut again = Vec::new();
    header.encode(&mut again);
    assert_eq!(Header::decode(&again), Ok(header));
    same!(message, ReadRequest, FlushRequest, OplockBreak, Empty, TreeConnectResponse, WriteResponse);
    same!(message, SessionSetupRequest, TreeConnectRequest, CreateRequest, QueryDirectoryRequest);
    same!(message, LockRequest, SetInfoRequest, ChangeNotifyRequest, LeaseAcknowledgment);
    if let Ok(request) = CreateRequest::decode(message) {
        let _ = DurableContext::find(&request.contexts);
    }
    let _ = (CreateResponse::decode(message), WriteRequest::decode(message), IoctlRequest::decode(message));
    let _ = (NegotiateRequest::decode(message), NegotiateResponse::decode(message));
    let _ = (SessionSetupResponse::decode(message), ErrorResponse::decode(message));
    let _ = output(message);
    if let Ok(reply) = ReadResponse::decode(message)
        && let Ok(data) = reply.data(message)
    {
        assert!(data.len() <= message.len());
    }
    if let Ok(information) = InfoResponse::decode(message) {
        let listed = entries(information).map_or(0, |entries| entries.len());
        assert!(listed <= information.len(), "{listed} entries in {} bytes", information.len());
    }
}
