//! `CHANGE_NOTIFY` (MS-SMB2 3.3.5.19).

use sharebench_smb::NtStatus;
use sharebench_smb::wire::change_notify::{ChangeNotifyRequest, WATCH_TREE};
use sharebench_smb::wire::create::access;

use crate::smb::names::watches::encoded;
use crate::smb::session::call::{Call, CallResponse};
use crate::smb::status::{Outcome, malformed};

impl Call<'_> {
    /// `CHANGE_NOTIFY`: the changes since the last request, or the next one.
    pub(crate) fn change_notify(&mut self, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        let request = ChangeNotifyRequest::decode(self.message).map_err(malformed)?;
        let open = self.file(request.file)?;
        if request.output_len > self.connection.server.options.max_transfer {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        self.check_charge(request.output_len)?;
        if !open.directory {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        open.require(access::READ_DATA)?;
        if open.file.state().delete_pending {
            return Err(NtStatus::DELETE_PENDING);
        }
        if !self.last {
            // A request in the middle of a compound cannot wait (MS-SMB2 3.3.5.2.7.2).
            return Err(NtStatus::INTERNAL_ERROR);
        }
        let max = request.output_len as usize;
        let watches = &self.connection.server.files.watches;
        let watch = watches.watch_of(&open, request.filter, request.flags & WATCH_TREE != 0, max);
        match watch.request(&open, max, self.pending())? {
            None => Ok(CallResponse::Pending),
            Some((status, information)) => match encoded(status, &information) {
                Some(encoded) => {
                    body.extend_from_slice(&encoded);
                    Ok(CallResponse::Complete(status))
                }
                None => Err(status),
            },
        }
    }
}
