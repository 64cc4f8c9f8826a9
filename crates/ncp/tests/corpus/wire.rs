//! Every decoder on arbitrary bytes: no panic, and a decoded message encodes to bytes that decode to the same
//! message.

use sharebench_ncp::wire::bindery::{
    ConnectionAddress, ConnectionAddressOld, ObjectConnections, ObjectConnectionsOld, PropertyValue,
    ScannedObject, ScannedProperty,
};
use sharebench_ncp::wire::burst::{BurstCall, BurstPacket, BurstReadReply, BurstWriteReply};
use sharebench_ncp::wire::directory::{AllocatedHandle, EffectiveRights, HandlePathText};
use sharebench_ncp::wire::enhanced::as_name_space_call;
use sharebench_ncp::wire::ethernet::Frame;
use sharebench_ncp::wire::file::{CopiedBytes, FileSize, OpenedFile};
use sharebench_ncp::wire::find::{FoundFile, SearchBegun};
use sharebench_ncp::wire::ipx::{IpxPacket, checksum, is_intact};
use sharebench_ncp::wire::ipx_udp::{assigned, is_registration};
use sharebench_ncp::wire::large::{CopiedLarge, LargeSize, LongData};
use sharebench_ncp::wire::lip::is_probe;
use sharebench_ncp::wire::login::{AccessLevel, LoginKey, ObjectId};
use sharebench_ncp::wire::message::MessageText;
use sharebench_ncp::wire::name_space::{DirectoryBase, NameSpaceHandle, NameSpaces, Opened};
use sharebench_ncp::wire::name_space_search::{FoundNext, FoundSet, Sequence};
use sharebench_ncp::wire::negotiate::{AcceptedBurst, AcceptedPacketSize, NegotiatedBuffer};
use sharebench_ncp::wire::packet::{ClientHeader, ServerHeader};
use sharebench_ncp::wire::rip::RipPacket;
use sharebench_ncp::wire::sap::SapPacket;
use sharebench_ncp::wire::semaphore::{ClosedSemaphore, ExaminedSemaphore, OpenedSemaphore};
use sharebench_ncp::wire::server_info::{ConnectionUser, DateAndTime, ServerInfo};
use sharebench_ncp::wire::tcp::{Direction, MAX_MESSAGE, TcpReply, TcpRequest, message_len};
use sharebench_ncp::wire::volume::{VolumeInfo, VolumeName, VolumeNumber, VolumeUsage};
use sharebench_ncp::wire::watchdog::{IpWatchdog, Notice};
use sharebench_ncp::wire::{Codec, InfoForm, NamedInfo, ReadReply, Reader, Request, ReturnMask};

/// The first byte selects the kind of packet.
pub fn run(input: &[u8]) {
    let Some((kind, bytes)) = input.split_first() else { return };
    match kind % 7 {
        0 => request(bytes),
        1 => reply(bytes),
        2 => found(bytes),
        3 => ipx(bytes),
        4 => frame(bytes),
        5 => burst(bytes),
        _ => tcp(bytes),
    }
}

/// Decodes, encodes and decodes again.
macro_rules! same {
    ($bytes:ident: $($message:ident)*) => {{$(
        if let Ok(value) = $message::decode($bytes) {
            let mut again = Vec::new();
            $message::put(&value, &mut again);
            assert!(again.len() <= $bytes.len(), "longer than what it was decoded from");
            assert_eq!($message::decode(&again), Ok(value));
        }
    )*}};
}

fn request(bytes: &[u8]) {
    same!(bytes: ClientHeader);
    if let Ok(request) = Request::decode(bytes) {
        let mut again = Vec::new();
        request.put(&mut again);
        assert_eq!(Request::decode(&again), Ok(request));
    }
    if let Some(call) = as_name_space_call(bytes) {
        assert!(call.len() <= bytes.len() && matches!(call.first(), Some(0x57)));
        let _ = Request::decode(&call);
    }
}

fn reply(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    match kind % 4 {
        0 => {
            same!(bytes: ServerHeader NegotiatedBuffer AcceptedPacketSize AcceptedBurst ServerInfo DateAndTime);
        }
        1 => {
            same!(bytes: ConnectionUser LoginKey ObjectId AccessLevel VolumeNumber VolumeName VolumeUsage VolumeInfo);
            same!(bytes: ScannedObject ScannedProperty PropertyValue ObjectConnections ObjectConnectionsOld);
            same!(bytes: ConnectionAddress ConnectionAddressOld);
        }
        2 => {
            same!(bytes: AllocatedHandle HandlePathText EffectiveRights OpenedFile FileSize CopiedBytes SearchBegun FoundFile);
        }
        _ => {
            same!(bytes: LargeSize LongData CopiedLarge MessageText NameSpaceHandle DirectoryBase NameSpaces Sequence);
            same!(bytes: OpenedSemaphore ExaminedSemaphore ClosedSemaphore);
        }
    }
}

/// Replies whose form depends on the request.
fn found(bytes: &[u8]) {
    let Some((form, bytes)) = bytes.split_first() else { return };
    let mask = ReturnMask(u16::from(*form));
    let offset = u64::from(*form);
    let mut again = Vec::new();
    if let Ok(reply) = ReadReply::decode(offset, bytes) {
        reply.put(&mut again);
        assert_eq!(ReadReply::decode(offset, &again).map(|again| again.data), Ok(reply.data));
    }
    // The fixed block is always encoded completely.
    for extended in [0, 0x8000, 0x84ff] {
        let mask = ReturnMask(u16::from(*form) * 0x101);
        let mut reader = Reader::new(bytes);
        let _ = InfoForm { mask, extended, wide: form % 2 == 0 }.get(&mut reader);
        assert!(reader.rest().len() <= bytes.len());
    }
    let _ = NamedInfo::get(mask, &mut Reader::new(bytes)).map(|info| info.put(&mut again));
    let _ = Opened::get(mask, &mut Reader::new(bytes)).map(|opened| opened.put(&mut again));
    let _ = FoundNext::get(mask, &mut Reader::new(bytes)).map(|found| found.put(&mut again));
    if let Ok(found) = FoundSet::decode(mask, bytes) {
        assert!(found.entries().count() <= usize::from(found.count));
    }
}

fn ipx(bytes: &[u8]) {
    let _ = (is_intact(bytes), checksum(bytes), is_probe(bytes));
    if let Ok(packet) = IpxPacket::decode(bytes) {
        let _ = (is_registration(&packet), assigned(&packet));
        let mut again = Vec::new();
        packet.put(&mut again);
        assert_eq!(IpxPacket::decode(&again).map(|again| again.payload), Ok(packet.payload));
        again.clear();
        packet.put_checked(&mut again);
        assert!(is_intact(&again));
        services(packet.payload);
    }
    services(bytes);
}

fn services(bytes: &[u8]) {
    if let Ok(SapPacket::GeneralResponse(entries) | SapPacket::NearestResponse(entries)) =
        SapPacket::decode(bytes)
    {
        assert!(entries.iter().count() <= 7);
    }
    if let Ok(packet) = RipPacket::decode(bytes) {
        assert!(packet.entries().count() <= 50);
    }
}

fn frame(bytes: &[u8]) {
    if let Ok(Some(frame)) = Frame::decode(bytes) {
        let mut again = Vec::new();
        if frame.put(&mut again).is_ok() {
            assert!(Frame::decode(&again).is_ok());
        }
    }
    if let Some(watchdog) = IpWatchdog::decode(bytes) {
        assert!(watchdog.answer().is_answer());
    }
    let _ = Notice::decode(bytes);
}

fn burst(bytes: &[u8]) {
    if let Ok(packet) = BurstPacket::decode(bytes) {
        assert_eq!(packet.missing().count(), usize::from(packet.fields.missing));
        assert_eq!(packet.data().len(), usize::from(packet.fields.length));
    }
    same!(bytes: BurstCall BurstReadReply BurstWriteReply);
}

fn tcp(bytes: &[u8]) {
    for direction in [Direction::Request, Direction::Reply] {
        if let Ok(Some(len)) = message_len(direction, bytes) {
            assert!((1..=MAX_MESSAGE).contains(&len), "{len}");
        }
    }
    for signed in [false, true] {
        if let Ok(message) = TcpRequest::decode(bytes, signed) {
            assert!(message.packet.len() <= bytes.len());
        }
        if let Ok(message) = TcpReply::decode(bytes, signed) {
            assert!(message.packet.len() <= bytes.len());
        }
    }
}
