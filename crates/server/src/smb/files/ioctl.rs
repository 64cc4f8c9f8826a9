//! IOCTL (MS-SMB2 3.3.5.15): control codes of connections, pipes and files.

use sharebench_smb::NtStatus;
use sharebench_smb::wire::from_utf16;
use sharebench_smb::wire::ioctl::{IoctlRequest, PIPE_TRANSCEIVE, VALIDATE_NEGOTIATE_INFO, put_output};
use sharebench_smb::wire::network_interface::{
    NetworkInterface, QUERY_NETWORK_INTERFACE_INFO, RSS_CAPABLE, put_interfaces,
};
use sharebench_smb::wire::snapshots::ENUMERATE_SNAPSHOTS;
use sharebench_smb::wire::validation::ValidateNegotiateRequest;

use crate::smb::files::pipe::Pipe;
use crate::smb::session::call::{Call, CallResponse};
use crate::smb::session::established::{Opened, Tree};
use crate::smb::status::{Outcome, malformed};

/// Control codes (MS-FSCC 2.3, MS-SMB2 2.2.31).
const DFS_GET_REFERRALS: u32 = 0x0006_0194;
const DFS_GET_REFERRALS_EX: u32 = 0x0006_01B0;
const PIPE_WAIT: u32 = 0x0011_0018;
/// Offset of the name in the input of `FSCTL_PIPE_WAIT` (MS-FSCC 2.3.49).
const PIPE_WAIT_NAME: usize = 14;
const GET_REPARSE_POINT: u32 = 0x0009_00A8;
/// Speed that is reported for the interface of the server: 10 Gbit/s, because the loopback has none.
const LINK_SPEED: u64 = 10_000_000_000;
/// No snapshots, none returned, and the bytes of none (MS-SMB2 2.2.32.2).
const NO_SNAPSHOTS: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];

impl Call<'_> {
    /// IOCTL.
    pub(crate) fn control(&mut self, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        let request = IoctlRequest::decode(self.message).map_err(malformed)?;
        let max = request.max_output.min(self.connection.server.options.max_transfer) as usize;
        let mut status = NtStatus::SUCCESS;
        let output = match request.code {
            VALIDATE_NEGOTIATE_INFO => {
                let Some(negotiated) = self.connection.negotiated.get() else {
                    return Ok(CallResponse::Disconnect);
                };
                let repeated = ValidateNegotiateRequest::decode(&request.input).map_err(malformed)?;
                // A difference means that somebody changed the negotiation (MS-SMB2 3.3.5.15.12).
                let Some(answer) = negotiated.validate(&repeated) else {
                    return Ok(CallResponse::Disconnect);
                };
                let mut output = Vec::new();
                answer.encode(&mut output);
                output
            }
            QUERY_NETWORK_INTERFACE_INFO => {
                let address = Some(self.connection.local);
                let interface =
                    NetworkInterface { index: 1, capability: RSS_CAPABLE, link_speed: LINK_SPEED, address };
                let mut output = Vec::new();
                put_interfaces(&[interface], &mut output);
                output
            }
            PIPE_TRANSCEIVE => {
                let Opened::Pipe(pipe) = self.opened(request.file)? else {
                    return Err(NtStatus::INVALID_DEVICE_REQUEST);
                };
                pipe.write(&request.input)?;
                let (output, more) = pipe.read(max);
                if more {
                    status = NtStatus::BUFFER_OVERFLOW;
                }
                output
            }
            PIPE_WAIT => {
                if self.tree()? != Tree::Pipes {
                    return Err(NtStatus::INVALID_DEVICE_REQUEST);
                }
                // The pipe that there is has an instance for every client, so that nobody waits (MS-FSCC 2.3.49).
                let name = request.input.get(PIPE_WAIT_NAME..).ok_or(NtStatus::INVALID_PARAMETER)?;
                Pipe::find(&from_utf16(name))?;
                Vec::new()
            }
            DFS_GET_REFERRALS | DFS_GET_REFERRALS_EX => return Err(NtStatus::FS_DRIVER_REQUIRED),
            GET_REPARSE_POINT => {
                self.file(request.file)?;
                return Err(NtStatus::NOT_A_REPARSE_POINT);
            }
            ENUMERATE_SNAPSHOTS => {
                self.file(request.file)?;
                NO_SNAPSHOTS.to_vec()
            }
            code => match self.file_control(code, request.file, &request.input, max) {
                None => return Err(NtStatus::INVALID_DEVICE_REQUEST),
                Some(answered) => {
                    let (found, output) = answered?;
                    status = found;
                    output
                }
            },
        };
        if output.len() > max {
            return Err(NtStatus::BUFFER_TOO_SMALL);
        }
        put_output(request.code, request.file, &output, body);
        Ok(CallResponse::Complete(status))
    }
}
