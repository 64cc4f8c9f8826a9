//! Links and times of files: LINK and SETATTR of NFS 3.

use sharebench_model::{MetaYield, OpError};

use crate::attributes::{NfsTime, SetFileAttributes, SetTime, skip_optional, skip_wcc};
use crate::client::directory_walk::DirectoryWalk;
use crate::client::paths::split;
use crate::client::v3::names::{put_name, read};
use crate::client::v3::session::NfsSession;
use crate::protocol::Procedure;
use crate::xdr::Writer;

impl NfsSession {
    /// LOOKUP of the file, and LINK (RFC 1813, 3.3.15).
    pub(crate) async fn link(&mut self, from: &str, to: &str) -> Result<MetaYield, OpError> {
        let (file, _) = self.find(from).await?;
        let (parent, name) = split(to)?;
        let directory = self.directory(parent).await?;
        let encode = |writer: &mut Writer| {
            file.put(writer);
            put_name(writer, &directory, name);
        };
        let reader = self.request(Procedure::Link, encode).await?;
        read(reader, Procedure::Link, |reader| skip_optional(reader).and_then(|()| skip_wcc(reader)))?;
        Ok(MetaYield::Done)
    }

    /// LOOKUP of the file, and SETATTR (RFC 1813, 3.3.2).
    pub(crate) async fn set_modified(&mut self, path: &str, seconds: u32) -> Result<MetaYield, OpError> {
        let (file, _) = self.find(path).await?;
        let modified = Some(SetTime::ClientTime(NfsTime { seconds, nanos: 0 }));
        let set = SetFileAttributes { modified, ..SetFileAttributes::default() };
        let encode = |writer: &mut Writer| {
            file.put(writer);
            set.put(writer);
            // No guard: change the file whatever its ctime is.
            writer.boolean(false);
        };
        self.change(Procedure::SetAttr, encode).await
    }
}
