//! The pipe `srvsvc` of `IPC$`, on which clients enumerate shares.

use std::sync::{Mutex, PoisonError};

use sharebench_smb::NtStatus;
use sharebench_smb::wire::share_list::ListedShare;
use sharebench_smb::wire::share_list_server::answer;

use crate::smb::files::open_count::OpenCount;
use crate::smb::status::{Outcome, malformed};

/// Types of shares (MS-SRVS 2.2.2.4): a disk, and a special one for pipes.
const DISK: u32 = 0;
const PIPES: u32 = 0x8000_0003;
/// `FileStandardInformation` (MS-FSCC 2.4.45) of a pipe, as a server of Windows reports it: 4,096 bytes allocated, none in it, one
/// link, which is removed with the last handle. Clients of Windows request it before they write.
pub(crate) const STANDARD_INFORMATION: [u8; 24] =
    [0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0];

/// An open pipe. A packet that is written to it leaves an answer, which the client reads.
pub(crate) struct Pipe {
    shares: Vec<ListedShare>,
    answer: Mutex<Vec<u8>>,
    _count: OpenCount,
}

impl Pipe {
    /// Checks that there is a pipe with this name.
    pub(crate) fn find(name: &str) -> Outcome<()> {
        let found = name.trim_start_matches('\\').eq_ignore_ascii_case("srvsvc");
        if found { Ok(()) } else { Err(NtStatus::OBJECT_NAME_NOT_FOUND) }
    }

    /// Opens the pipe with this name.
    pub(crate) fn open(name: &str, share: &str, count: OpenCount) -> Outcome<Self> {
        Self::find(name)?;
        let listed = |name: &str, kind| ListedShare { name: name.to_owned(), kind, comment: String::new() };
        let shares = vec![listed(share, DISK), listed("IPC$", PIPES)];
        Ok(Self { shares, answer: Mutex::default(), _count: count })
    }

    /// Takes a packet of the client.
    pub(crate) fn write(&self, packet: &[u8]) -> Outcome<()> {
        let answer = answer(packet, &self.shares).map_err(malformed)?;
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = answer;
        Ok(())
    }

    /// Returns up to `max` bytes of the answer, and whether more are left.
    pub(crate) fn read(&self, max: usize) -> (Vec<u8>, bool) {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        let len = max.min(answer.len());
        let rest = answer.split_off(len);
        let more = !rest.is_empty();
        (std::mem::replace(&mut *answer, rest), more)
    }
}
