//! `OPLOCK_BREAK`: the acknowledgments of breaks (MS-SMB2 3.3.5.22).

use sharebench_smb::NtStatus;
use sharebench_smb::wire::lease::LeaseAcknowledgment;
use sharebench_smb::wire::oplock::{self, OplockBreak};

use crate::smb::caching::cache_request::Owner;
use crate::smb::session::call::{Call, CallResponse, DONE};
use crate::smb::session::negotiated::Negotiated;
use crate::smb::status::{Outcome, malformed};

impl Call<'_> {
    /// The acknowledgment of an oplock break, or of a lease break, which differ in their length.
    pub(crate) fn acknowledge_break(&mut self, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        if let Ok(request) = LeaseAcknowledgment::decode(self.message) {
            let client = self.connection.negotiated.get().map_or([0; 16], Negotiated::client_guid);
            let id = (client, request.key);
            let found = self.connection.server.files.of_lease(id);
            found
                .ok_or(NtStatus::OBJECT_NAME_NOT_FOUND)?
                .acknowledge_lease(Owner::Lease(id), request.state)?;
            LeaseAcknowledgment { reserved: 0, flags: 0, duration: 0, ..request }.encode(body);
            return DONE;
        }
        let request = OplockBreak::decode(self.message).map_err(malformed)?;
        if !matches!(request.level, oplock::NONE | oplock::LEVEL_II) {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let open = self.file(request.file)?;
        let level = open.file.acknowledge_oplock(open.id.volatile, request.level)?;
        OplockBreak { level, file: open.id, ..OplockBreak::default() }.encode(body);
        DONE
    }
}
