//! READ requests whose data are sent from where the volume stores them, alone and among other replies.

use std::io::Write;

use sharebench_smb::wire::frame::prefix;

use super::*;

const PIECE: u32 = 64 << 10;

/// A READ request of one piece at an offset.
fn read(raw: &mut Raw, file: FileId, offset: u64) -> Vec<u8> {
    let request = ReadRequest { len: PIECE, offset, file, ..ReadRequest::default() };
    raw.message(command::READ, 0, |body| request.encode(body))
}

fn data(reply: &[u8]) -> Vec<u8> {
    ReadResponse::decode(reply).unwrap().data(reply).unwrap().to_vec()
}

#[test]
fn data_are_the_same_alone_in_a_burst_and_at_the_end_of_a_compound() {
    on_both(|server, volume| {
        let mut raw = Raw::log_in(server.addr(), "share");
        let file = raw.open("file", disposition::CREATE).unwrap();
        let node = volume.lookup(ROOT, "file").unwrap().node;
        let content: Vec<u8> = (0..3 * PIECE).map(|at| (at / 251) as u8).collect();
        volume.write(node, 5, &content, false).unwrap();
        let expected = |offset: usize| {
            let all = [&[0; 5], content.as_slice()].concat();
            all[offset..all.len().min(offset + PIECE as usize)].to_vec()
        };
        assert_eq!(raw.read(file, 3, PIECE).unwrap(), expected(3));
        // The last piece is short, and there is nothing after it.
        let last = 3 * PIECE as usize;
        assert_eq!(raw.read(file, last as u64, PIECE).unwrap(), expected(last));
        assert_eq!(raw.read(file, last as u64 + 5, PIECE), Err(NtStatus::END_OF_FILE));

        let burst: Vec<u8> = (0..6)
            .flat_map(|nth| {
                let message = read(&mut raw, file, nth * 1000);
                [prefix(message.len()).unwrap().to_vec(), message].concat()
            })
            .collect();
        raw.stream.write_all(&burst).unwrap();
        let mut replies: Vec<_> = (0..6).map(|_| raw.receive().unwrap()).collect();
        // Workers finish in any order.
        replies.sort_by_key(|reply| Header::decode(reply).unwrap().message_id);
        for (nth, reply) in replies.iter().enumerate() {
            assert_eq!(data(reply), expected(nth * 1000), "{nth}");
        }

        let mut compound = read(&mut raw, file, 7);
        let first = compound.len().next_multiple_of(8);
        compound.resize(first, 0);
        compound[20..24].copy_from_slice(&(first as u32).to_le_bytes());
        compound.extend(read(&mut raw, file, 70_000));
        raw.send(&compound);
        let reply = raw.receive().unwrap();
        let (one, two) = reply.split_at(Header::decode(&reply).unwrap().next as usize);
        assert_eq!((data(one), data(two)), (expected(7), expected(70_000)));
    });
}
