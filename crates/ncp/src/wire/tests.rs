//! Arbitrary bytes are decoded or rejected, and encoding survives the round trip.

use proptest::collection::vec;
use proptest::prelude::*;

use super::burst::{BurstPacket, Fields, Missing};
use super::ethernet::{Frame, Framing};
use super::ipx::{Address, IpxPacket};
use super::name_space::Opened;
use super::name_space_search::{FoundNext, FoundSet};
use super::packet::{ClientHeader, ServerHeader};
use super::rip::RipPacket;
use super::sap::SapPacket;
use super::tcp::{Direction, TcpReply, TcpRequest, message_len};
use super::*;

/// The bytes of a message.
pub fn bytes<'a, C: Codec<'a>>(value: &C::Value) -> Vec<u8> {
    let mut out = Vec::new();
    C::put(value, &mut out);
    out
}

/// Parses hexadecimal digits with optional blanks.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Bytes that often have the values of lengths, counts and flags.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![3 => Just(0u8), 1 => Just(0xff), 1 => Just(1), 3 => any::<u8>()];
    vec(byte, 0..200)
}

/// Bytes after the code of a function that has a message.
fn call() -> impl Strategy<Value = Vec<u8>> {
    let framed = (any::<u8>(), any::<u8>(), hostile()).prop_map(|(code, sub, data)| {
        let mut out = Vec::new();
        Function::sub(code, sub % 72).frame(&mut out, |out| out.extend_from_slice(&data));
        out
    });
    let counted = (prop::sample::select(vec![0x15, 0x16, 0x17]), 0..0x47u8, hostile());
    let counted = counted.prop_map(|(code, sub, data)| {
        let mut out = Vec::new();
        Function::sub(code, sub).frame(&mut out, |out| out.extend_from_slice(&data));
        out
    });
    let spaces = (0..72u8, hostile()).prop_map(|(sub, data)| [vec![0x57, sub], data].concat());
    prop_oneof![framed, counted, spaces, hostile()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// A decoded call encodes to the same bytes, except reserved and trailing ones.
    #[test]
    fn hostile_calls_are_decoded_or_refused(body in call()) {
        let Ok(request) = Request::decode(&body) else { return Ok(()) };
        let mut again = Vec::new();
        request.put(&mut again);
        // The one call that is also accepted in a shorter form.
        prop_assert!(again.len() <= body.len() + 1);
        prop_assert_eq!(Request::decode(&again), Ok(request));
    }

    #[test]
    fn hostile_packets_and_replies_are_decoded_or_refused(bytes in hostile(), mask: u16, offset: u64) {
        let mask = ReturnMask(mask);
        let _ = (ClientHeader::decode(&bytes), ServerHeader::decode(&bytes));
        let _ = (Info::decode(&bytes), PathPair::decode(&bytes), negotiate::AcceptedBurst::decode(&bytes));
        let _ = Opened::get(mask, &mut Reader::new(&bytes));
        let _ = FoundNext::get(mask, &mut Reader::new(&bytes));
        let _ = FoundSet::decode(mask, &bytes).map(|set| set.entries().count());
        if let Ok(read) = ReadReply::decode(offset, &bytes) {
            prop_assert!(read.data.bytes().len() <= bytes.len());
        }
    }

    #[test]
    fn hostile_datagrams_and_frames_are_decoded_or_refused(bytes in hostile(), signed: bool) {
        for direction in [Direction::Request, Direction::Reply] {
            let _ = message_len(direction, &bytes);
        }
        let _ = (TcpRequest::decode(&bytes, signed), TcpReply::decode(&bytes, signed));
        let _ = (lip::is_probe(&bytes), watchdog::Notice::decode(&bytes), watchdog::IpWatchdog::decode(&bytes));
        let _ = (ipx::is_intact(&bytes), ipx::checksum(&bytes));
        if let Ok(Some(frame)) = Frame::decode(&bytes) {
            let _ = IpxPacket::decode(frame.packet);
        }
        let _ = IpxPacket::decode(&bytes).map(|packet| ipx_udp::assigned(&packet));
        if let Ok(SapPacket::GeneralResponse(entries)) = SapPacket::decode(&bytes) {
            prop_assert!(entries.iter().count() <= sap::MAX_ENTRIES);
        }
        let _ = RipPacket::decode(&bytes).map(|packet| packet.entries().count());
        let burst = [&[0x77, 0x77], &bytes[..]].concat();
        if let Ok(packet) = BurstPacket::decode(&burst) {
            prop_assert!(packet.data().len() + packet.missing().count() * 6 <= bytes.len());
        }
    }

    #[test]
    fn headers_come_back(kind in 0..3usize, sequence: u8, connection: u16, task: u8, code: u8, status: u8) {
        use super::packet::{ClientKind, ConnectionStatus, ServerKind};
        let kinds = [ClientKind::Create, ClientKind::Request, ClientKind::Destroy];
        let header = ClientHeader { kind: kinds[kind], sequence, connection, task };
        prop_assert_eq!(ClientHeader::decode(&bytes::<ClientHeader>(&header)), Ok(header));
        let kind = if kind == 0 { ServerKind::Busy } else { ServerKind::Reply };
        let completion = Completion::from_code(code);
        let status = ConnectionStatus(status);
        let header = ServerHeader { kind, sequence, connection, task, completion, status };
        prop_assert_eq!(ServerHeader::decode(&bytes::<ServerHeader>(&header)), Ok(header));
    }

    #[test]
    fn paths_come_back(names in vec(vec(any::<u8>(), 0..256), 0..20), number: u32) {
        let packed = handle_path::Components::pack(names.iter().map(Vec::as_slice)).unwrap();
        let components = handle_path::Components::decode(&packed).unwrap();
        prop_assert!(components.iter().eq(names.iter().map(Vec::as_slice)));
        let path = HandlePath { start: handle_path::PathStart::directory(1, number), components };
        let wire = bytes::<HandlePath>(&path);
        prop_assert_eq!(HandlePath::decode(&wire), Ok(path));
    }

    #[test]
    fn packets_come_back_through_every_framing(payload in vec(any::<u8>(), 0..1400), socket: u16, which in 0..4usize) {
        let there = Address::of_server(7);
        let here = Address { network: 1, node: [2; 6], socket };
        let packet = IpxPacket::new(0x11, here, there, &payload).unwrap();
        let mut datagram = Vec::new();
        packet.put_checked(&mut datagram);
        prop_assert!(ipx::is_intact(&datagram));
        prop_assert_eq!(IpxPacket::decode(&datagram).map(|packet| packet.payload), Ok(&payload[..]));
        let mut datagram = Vec::new();
        packet.put(&mut datagram);
        let framing = Framing::ALL[which];
        let mut wire = Vec::new();
        let frame = Frame { framing, destination: [3; 6], source: [4; 6], packet: &datagram };
        frame.put(&mut wire).unwrap();
        let back = Frame::decode(&wire).unwrap().unwrap();
        prop_assert_eq!(back.framing, framing);
        prop_assert_eq!(IpxPacket::decode(back.packet), Ok(packet));
    }

    #[test]
    fn bursts_come_back(data in vec(any::<u8>(), 0..1500), offset in 0..u32::from(u16::MAX), burst: u16, holes in 0..40u16) {
        let fields = Fields {
            flags: 0x10, stream: 2, source: 1, destination: 2, sequence: 3, delay: 4, burst, acknowledged: burst,
            total: offset + data.len() as u32, offset, length: data.len() as u16, missing: 0,
        };
        let mut wire = Vec::new();
        BurstPacket::put_fragment(fields, &data, &mut wire).unwrap();
        let packet = BurstPacket::decode(&wire).unwrap();
        prop_assert_eq!((packet.fields, packet.data()), (fields, &data[..]));
        let list: Vec<Missing> = (0..holes).map(|hole| Missing { offset: u32::from(hole) * 9, length: hole }).collect();
        let mut wire = Vec::new();
        BurstPacket::put_missing(Fields { offset: 0, ..fields }, &list, &mut wire).unwrap();
        prop_assert_eq!(BurstPacket::decode(&wire).unwrap().missing().collect::<Vec<_>>(), list);
    }

    #[test]
    fn messages_on_tcp_come_back(packet in vec(any::<u8>(), 0..300), signature: Option<[u8; 8]>, reply_buffer: u32) {
        let request = TcpRequest { reply_buffer, signature, packet: &packet };
        let mut wire = Vec::new();
        request.put(&mut wire);
        prop_assert_eq!(message_len(Direction::Request, &wire), Ok(Some(wire.len())));
        prop_assert_eq!(TcpRequest::decode(&wire, signature.is_some()), Ok(request));
        let reply = TcpReply { signature, packet: &packet };
        let mut wire = Vec::new();
        reply.put(&mut wire);
        prop_assert_eq!(message_len(Direction::Reply, &wire), Ok(Some(wire.len())));
        prop_assert_eq!(TcpReply::decode(&wire, signature.is_some()), Ok(reply));
    }
}
