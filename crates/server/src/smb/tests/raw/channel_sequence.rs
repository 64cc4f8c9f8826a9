//! Requests from before and after the loss of a channel (MS-SMB2 3.3.5.2.10).

use sharebench_smb::wire::file_ranges::SET_SPARSE;
use sharebench_smb::wire::ioctl::IoctlRequest;
use sharebench_smb::wire::negotiate::NegotiateRequest;

use super::*;

/// Sends a request that the client says it sent before or after a number of losses, as a replay if `set` says so.
fn status_of(
    raw: &mut Raw,
    command: u16,
    (sequence, set): (u16, u32),
    body: impl FnOnce(&mut Vec<u8>),
) -> NtStatus {
    let mut message = raw.message(command, set, body);
    // The channel sequence is where a response has its status.
    message[8..10].copy_from_slice(&sequence.to_le_bytes());
    raw.send(&message);
    NtStatus(Header::decode(&raw.receive().unwrap()).unwrap().status)
}

fn write(raw: &mut Raw, file: FileId, state: (u16, u32), data: &[u8]) -> NtStatus {
    let request = WriteRequest {
        data_offset: WRITE_DATA_OFFSET as u16,
        len: data.len() as u32,
        file,
        ..WriteRequest::default()
    };
    status_of(raw, command::WRITE, state, |body| {
        request.encode(body);
        body.extend_from_slice(data);
    })
}

#[test]
fn a_write_from_before_the_loss_of_a_channel_changes_nothing() {
    on_both(|server, _| {
        for (dialect, late) in [(0x0300, NtStatus::FILE_NOT_AVAILABLE), (0x0210, NtStatus::SUCCESS)] {
            let mut raw = Raw::connect(server.addr());
            let negotiate =
                NegotiateRequest { security_mode: 1, dialects: vec![dialect], ..NegotiateRequest::default() };
            let (_, reply) = raw.call(command::NEGOTIATE, |body| negotiate.encode(body));
            assert_eq!(NegotiateResponse::decode(&reply).unwrap().dialect, dialect);
            raw.set_up("share");
            let file = raw.open("f", disposition::OVERWRITE_IF).unwrap();
            assert_eq!(write(&mut raw, file, (0, 0), b"first"), NtStatus::SUCCESS);
            assert_eq!(write(&mut raw, file, (1, flags::REPLAY_OPERATION), b"again"), NtStatus::SUCCESS);
            assert_eq!(write(&mut raw, file, (1, 0), b"fresh"), NtStatus::SUCCESS);
            assert_eq!(write(&mut raw, file, (0, 0), b"stale"), late);
            let end = SetInfoRequest {
                info_type: 1,
                class: 20,
                file,
                information: 1u64.to_le_bytes().to_vec(),
                ..SetInfoRequest::default()
            };
            assert_eq!(status_of(&mut raw, command::SET_INFO, (0, 0), |body| end.encode(body)), late);
            let sparse = IoctlRequest { code: SET_SPARSE, file, input: Vec::new(), max_output: 0 };
            assert_eq!(status_of(&mut raw, command::IOCTL, (0, 0), |body| sparse.encode(body)), late);
            // A request that changes nothing is performed.
            let expected: &[u8] = if late == NtStatus::SUCCESS { b"s" } else { b"fresh" };
            assert_eq!(raw.read(file, 0, 5).unwrap(), expected);
        }
    });
}
