//! Packet burst of `mars_nwe`: a read in five fragments, of which one is retransmitted, and a write.

use sharebench_ncp::wire::burst::{
    BurstCall, BurstPacket, BurstReadReply, BurstWriteReply, Missing, READ, WRITE, flag,
};
use sharebench_ncp::wire::ipx::{IpxPacket, packet_type};
use sharebench_ncp::wire::packet::{BURST, CLIENT_HEADER_LEN};
use sharebench_ncp::wire::{Codec, FileCall, Request, ShortHandle};

/// Frame number and packet of all bursts; each encodes to the same bytes again.
fn bursts(capture: &[crate::captures::Packet]) -> Vec<(usize, BurstPacket<'_>)> {
    let mut found = Vec::new();
    for packet in capture {
        let datagram = IpxPacket::decode(&packet.bytes).unwrap();
        if !datagram.payload.starts_with(&BURST.to_be_bytes()) {
            continue;
        }
        assert_eq!(datagram.header.kind, packet_type::NCP);
        let burst = BurstPacket::decode(datagram.payload).unwrap();
        let mut again = Vec::new();
        if burst.fields.flags & flag::SYSTEM == 0 {
            BurstPacket::put_fragment(burst.fields, burst.data(), &mut again).unwrap();
        } else {
            let missing: Vec<Missing> = burst.missing().collect();
            BurstPacket::put_missing(burst.fields, &missing, &mut again).unwrap();
        }
        assert_eq!(again, datagram.payload, "frame {}", packet.frame);
        found.push((packet.frame, burst));
    }
    found
}

/// The data that the classic writes of the capture wrote to this handle.
fn written(capture: &[crate::captures::Packet], file: ShortHandle) -> Vec<u8> {
    let mut content = Vec::new();
    for packet in capture {
        let datagram = IpxPacket::decode(&packet.bytes).unwrap();
        let Some(body) = datagram.payload.strip_prefix(&[0x22, 0x22]) else { continue };
        if let Ok(Request::File(FileCall::WriteFile(write))) = Request::decode(&body[CLIENT_HEADER_LEN - 2..])
            && write.file.short() == file
        {
            assert_eq!(write.offset as usize, content.len());
            content.extend_from_slice(write.data.bytes());
        }
    }
    content
}

#[test]
fn read_burst_has_fragments_and_a_retransmission() {
    let capture = crate::captures::capture("mars-server-ipx-in-udp-with-burst");
    let bursts = bursts(&capture);
    assert_eq!(bursts.iter().map(|(frame, _)| *frame).collect::<Vec<_>>(), (163..=172).collect::<Vec<_>>());
    let call = BurstCall::decode(bursts[0].1.data()).unwrap();
    assert_eq!((call.function, call.offset, call.length), (READ, 4, 7000));

    let mut burst = vec![0; bursts[1].1.fields.total as usize];
    for (_, fragment) in &bursts[1..6] {
        let start = fragment.fields.offset as usize;
        burst[start..start + fragment.data().len()].copy_from_slice(fragment.data());
    }
    assert_eq!(BurstReadReply::decode(&burst), Ok(BurstReadReply { result: 0, length: 7000 }));
    let content = written(&capture, call.file);
    assert_eq!(burst[8..], content[4..7004], "no filler, whatever the offset");

    let missing: Vec<Missing> = bursts[6].1.missing().collect();
    assert_eq!(missing, [Missing { offset: 1434, length: 1434 }]);
    let again = bursts[7].1;
    assert_eq!((again.fields.offset, again.data()), (1434, &burst[1434..2868]));
}

#[test]
fn write_burst_is_answered_with_four_bytes() {
    let capture = crate::captures::capture("mars-server-ipx-in-udp-with-burst");
    let bursts = bursts(&capture);
    let data = bursts[8].1.data();
    let call = BurstCall::decode(data).unwrap();
    assert_eq!((call.function, call.offset, call.length as usize), (WRITE, 100, data.len() - 24));
    let reply = bursts[9].1;
    assert_eq!(BurstWriteReply::decode(reply.data()), Ok(BurstWriteReply { result: 0 }));
    assert_eq!((reply.fields.burst, reply.fields.acknowledged), (1, 2));
}
