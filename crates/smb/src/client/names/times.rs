//! Times of files, as a client sets them.

use sharebench_model::{MetaYield, OpError};

use crate::client::names::operations::ATTRIBUTE_ACCESS;
use crate::client::session::SmbSession;
use crate::wire::create::{access, disposition};
use crate::wire::file_info::BasicInformation;

/// `FileBasicInformation` (MS-FSCC 2.4.7).
const BASIC: u8 = 4;
/// 1970 in units of 100 ns since 1601 (MS-DTYP 2.3.3).
const UNIX_EPOCH_TICKS: u64 = 116_444_736_000_000_000;
const TICKS_PER_SECOND: u64 = 10_000_000;

impl SmbSession {
    /// Opens the name, sets its last write time to seconds since 1970, and closes it.
    pub(crate) async fn set_modified(&mut self, path: &str, seconds: u32) -> Result<MetaYield, OpError> {
        let rights = ATTRIBUTE_ACCESS | access::WRITE_ATTRIBUTES;
        let (file, _) = self.create(path, rights, disposition::OPEN, 0).await?;
        let modified = UNIX_EPOCH_TICKS + u64::from(seconds) * TICKS_PER_SECOND;
        let mut information = Vec::new();
        BasicInformation { modified, ..BasicInformation::default() }.encode(&mut information);
        self.change_and_close(file, BASIC, information).await
    }
}
