//! Requests of Windows on the pipe `srvsvc`, as public captures have them.

use sharebench_smb::wire::FileId;
use sharebench_smb::wire::ioctl::IoctlRequest;
use sharebench_smb::wire::utf16;

use super::*;

/// `FSCTL_PIPE_WAIT` (MS-FSCC 2.3.49).
const PIPE_WAIT: u32 = 0x0011_0018;

#[test]
fn a_pipe_has_standard_information() {
    on_both(|server, _| {
        let mut raw = Raw::log_in(server.addr(), "IPC$");
        let pipe = raw.open("srvsvc", disposition::OPEN).unwrap();
        // As Windows 10.0.17763 answers: 4,096 bytes allocated, none of them used, one link that is to be removed.
        let expected = [&4096u64.to_le_bytes()[..], &[0; 8], &[1, 0, 0, 0, 1, 0, 0, 0]].concat();
        assert_eq!(raw.query(pipe, 1, 5, 24), Ok(expected));
        assert_eq!(raw.query(pipe, 1, 5, 23), Err(NtStatus::INFO_LENGTH_MISMATCH));
        assert_eq!(raw.query(pipe, 1, 18, 4096), Err(NtStatus::INVALID_DEVICE_REQUEST));
        assert_eq!(raw.close(pipe), NtStatus::SUCCESS);
        assert_eq!(raw.query(pipe, 1, 5, 24), Err(NtStatus::FILE_CLOSED));
    });
}

#[test]
fn a_client_waits_for_no_pipe_but_the_one_that_exists() {
    on_both(|server, _| {
        let wait = |raw: &mut Raw, name: &str| {
            let name = utf16(name);
            let mut input = vec![0; 14];
            input[8] = name.len() as u8;
            input.extend_from_slice(&name);
            let request = IoctlRequest { code: PIPE_WAIT, file: FileId::PREVIOUS, input, max_output: 0 };
            NtStatus(raw.call(command::IOCTL, |body| request.encode(body)).0.status)
        };
        let mut pipes = Raw::log_in(server.addr(), "IPC$");
        assert_eq!(wait(&mut pipes, "srvsvc"), NtStatus::SUCCESS);
        assert_eq!(wait(&mut pipes, "MsFteWds"), NtStatus::OBJECT_NAME_NOT_FOUND);
        let short =
            IoctlRequest { code: PIPE_WAIT, file: FileId::PREVIOUS, input: vec![0; 13], max_output: 0 };
        let (header, _) = pipes.call(command::IOCTL, |body| short.encode(body));
        assert_eq!(NtStatus(header.status), NtStatus::INVALID_PARAMETER);
        let mut files = Raw::log_in(server.addr(), "share");
        assert_eq!(wait(&mut files, "srvsvc"), NtStatus::INVALID_DEVICE_REQUEST);
    });
}
