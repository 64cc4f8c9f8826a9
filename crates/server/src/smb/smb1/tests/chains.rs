//! Chains of commands: each reply has the blocks of all of them, up to the first that fails.

use super::*;

/// Appends a further command to a message of `ANDX` commands.
fn chain<W: Words>(message: &mut Vec<u8>, last: usize, command: u8, words: &W) -> usize {
    message.resize(message.len().next_multiple_of(4), 0);
    let at = message.len();
    let offset = (at as u16).to_le_bytes();
    message[last + 1..last + 5].copy_from_slice(&[command, 0, offset[0], offset[1]]);
    put_blocks(words, message, |_| {});
    at
}

/// The commands that a reply names, and the offsets of their blocks.
fn blocks(reply: &Answered) -> Vec<(u8, usize)> {
    let mut found = vec![(reply.header.command, 32)];
    loop {
        let (command, at) = *found.last().unwrap();
        let (block, _) = Message::block_at(&reply.message, at).unwrap();
        match block.words {
            [next, _, low, high, ..] if command::is_andx(command) && *next != command::NONE => {
                found.push((*next, usize::from(u16::from_le_bytes([*low, *high]))));
            }
            _ => return found,
        }
    }
}

#[test]
fn a_file_is_opened_read_and_closed_in_one_message() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        let fid = raw.create("file", (disposition::CREATE, SHARE_ALL)).unwrap();
        assert_eq!(raw.write(fid, 0, b"content"), NtStatus::SUCCESS);
        assert_eq!(raw.close(fid), NtStatus::SUCCESS);
        let words = create_words(disposition::OPEN, SHARE_ALL);
        let mut message = raw.message(command::NT_CREATE_ANDX, &words, |out| put_text("\\file", 0, out));
        let read = chain(&mut message, 32, command::READ_ANDX, &read_words(0, 0, 100));
        chain(&mut message, read, command::CLOSE, &CloseRequest { fid: 0, last_write: 0 });
        raw.send(&message);
        let reply = raw.receive().unwrap();
        assert_eq!(reply.status(), NtStatus::SUCCESS);
        let found = blocks(&reply);
        let commands: Vec<u8> = found.iter().map(|(command, _)| *command).collect();
        assert_eq!(commands, [command::NT_CREATE_ANDX, command::READ_ANDX, command::CLOSE]);
        let (block, _) = Message::block_at(&reply.message, found[1].1).unwrap();
        let words: ReadResponse = block.get().unwrap();
        assert_eq!(block.slice(usize::from(words.offset), words.len()), Ok(&b"content"[..]));
        let fid = reply.words::<CreateResponse>().fid;
        assert_eq!(raw.read(fid, 0, 1), Err(NtStatus::INVALID_HANDLE), "closed");
    });
}

#[test]
fn a_chain_ends_with_the_first_command_that_fails() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        let words = create_words(disposition::CREATE, SHARE_ALL);
        let mut message = raw.message(command::NT_CREATE_ANDX, &words, |out| put_text("file", 0, out));
        let beyond = ReadRequest { offset_high: u32::MAX, ..read_words(0, 0, 1) };
        let read = chain(&mut message, 32, command::READ_ANDX, &beyond);
        chain(&mut message, read, command::CLOSE, &CloseRequest { fid: 0, last_write: 0 });
        raw.send(&message);
        let reply = raw.receive().unwrap();
        assert_eq!(reply.status(), NtStatus::INVALID_PARAMETER);
        assert_eq!(blocks(&reply).len(), 2);
        // The file is open, because its close was not performed.
        let fid = reply.words::<CreateResponse>().fid;
        assert_eq!(raw.close(fid), NtStatus::SUCCESS);
    });
}

#[test]
fn chains_that_loop_go_back_or_are_endless_are_rejected() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        let fid = raw.create("file", (disposition::CREATE, SHARE_ALL)).unwrap();
        for target in [0u16, 16, 32, 33, 60_000] {
            let words = ReadRequest {
                andx: [command::READ_ANDX, 0, target as u8, (target >> 8) as u8],
                ..read_words(fid, 0, 1)
            };
            let reply = raw.call(command::READ_ANDX, &words, |_| {});
            assert_eq!(reply.status(), NtStatus::INVALID_PARAMETER, "{target}");
        }
        let mut message = raw.message(command::READ_ANDX, &read_words(fid, 0, 60_000), |_| {});
        let mut last = 32;
        for _ in 0..1000 {
            last = chain(&mut message, last, command::READ_ANDX, &read_words(fid, 0, 60_000));
        }
        raw.send(&message);
        assert_eq!(raw.receive().unwrap().status(), NtStatus::INSUFFICIENT_RESOURCES);
        assert_eq!(raw.close(fid), NtStatus::SUCCESS);
    });
}

#[test]
fn an_echo_has_as_many_replies_as_requested_up_to_a_limit() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        for (count, expected) in [(1, 1), (3, 3), (u16::MAX, 16), (0, 0)] {
            let words = sharebench_smb::nt1::path::Echo { count };
            let message = raw.message(command::ECHO, &words, |out| out.extend_from_slice(b"hello"));
            raw.send(&message);
            for nth in 1..=expected {
                let reply = raw.receive().unwrap();
                assert_eq!(reply.words::<sharebench_smb::nt1::path::Echo>().count, nth);
                assert!(reply.message.ends_with(b"hello"));
            }
        }
    });
}
