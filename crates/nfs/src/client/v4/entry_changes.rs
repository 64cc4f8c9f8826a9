//! Links and times of files: LINK and SETATTR of NFS 4.

use sharebench_model::{MetaYield, OpError};

use crate::client::directory_walk::DirectoryWalk;
use crate::client::paths::split;
use crate::client::v4::compound::Compound;
use crate::client::v4::requests::{Caller, Request};
use crate::client::v4::session::Nfs4Session;
use crate::v4::attribute_types::{SetTime, Time};
use crate::v4::attributes::SetAttributes;
use crate::v4::bitmap::Bitmap;
use crate::v4::data::StateId;
use crate::v4::item::Opaque;
use crate::v4::names::{Link, Lookup, SetAttr};
use crate::v4::open::ChangeInfo;
use crate::v4::operation::Operation;

impl Nfs4Session {
    /// LOOKUP, SAVEFH and LINK in one compound (RFC 8881, 18.9).
    pub(crate) async fn link(&mut self, from: &str, to: &str) -> Result<MetaYield, OpError> {
        let (from_parent, from_name) = split(from)?;
        let (to_parent, to_name) = split(to)?;
        let from_directory = self.directory(from_parent).await?;
        let to_directory = self.directory(to_parent).await?;
        let build = |compound: &mut Compound<'_>, _: Caller| {
            compound
                .handle(&from_directory)
                .operation(Operation::Lookup, &Lookup { name: Opaque(from_name.as_bytes()) })
                .plain(Operation::SaveFh)
                .handle(&to_directory)
                .operation(Operation::Link, &Link { name: Opaque(to_name.as_bytes()) });
        };
        let mut results = self.request(Request::changing(Operation::Link), build).await?;
        results.done(Operation::PutFh)?;
        results.done(Operation::Lookup)?;
        results.done(Operation::SaveFh)?;
        results.done(Operation::PutFh)?;
        results.get::<ChangeInfo>(Operation::Link)?;
        Ok(MetaYield::Done)
    }

    /// LOOKUP and SETATTR in one compound (RFC 8881, 18.30).
    pub(crate) async fn set_modified(&mut self, path: &str, seconds: u32) -> Result<MetaYield, OpError> {
        let (parent, name) = split(path)?;
        let directory = self.directory(parent).await?;
        let modified = Some(SetTime::ClientTime(Time { seconds: seconds.into(), nanos: 0 }));
        let attributes = SetAttributes { modified, ..SetAttributes::default() };
        let build = |compound: &mut Compound<'_>, _: Caller| {
            compound
                .handle(&directory)
                .operation(Operation::Lookup, &Lookup { name: Opaque(name.as_bytes()) })
                .operation(Operation::SetAttr, &SetAttr { state: StateId::ANONYMOUS, attributes });
        };
        let mut results = self.request(Request::changing(Operation::SetAttr), build).await?;
        results.done(Operation::PutFh)?;
        results.done(Operation::Lookup)?;
        results.get::<Bitmap>(Operation::SetAttr)?;
        Ok(MetaYield::Done)
    }
}
