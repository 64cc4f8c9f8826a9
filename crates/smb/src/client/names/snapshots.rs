//! The snapshots of a share.

use sharebench_model::OpError;

use crate::client::exchange::Exchange;
use crate::client::names::operations::ATTRIBUTE_ACCESS;
use crate::client::session::SmbSession;
use crate::status::NtStatus;
use crate::wire::create::{access, disposition, options};
use crate::wire::ioctl::output;
use crate::wire::snapshots::{ENUMERATE_SNAPSHOTS, number_of_snapshots};

impl SmbSession {
    /// Number of snapshots of the target's directory (MS-SMB2 2.2.31, 2.2.32.2); none where the server has no such list.
    pub(crate) async fn number_of_snapshots(&mut self) -> Result<Option<u32>, OpError> {
        let rights = access::READ_DATA | ATTRIBUTE_ACCESS;
        let (directory, _) = self.create("", rights, disposition::OPEN, options::DIRECTORY_FILE).await?;
        let status = self.control(ENUMERATE_SNAPSHOTS, directory, Vec::new()).await;
        let number = match status {
            Ok(NtStatus::SUCCESS) => output(self.last_reply()).and_then(number_of_snapshots).ok(),
            _ => None,
        };
        self.close_file(directory).await?;
        status?;
        Ok(number)
    }
}
