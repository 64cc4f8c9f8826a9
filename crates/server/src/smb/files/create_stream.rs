//! Opens and creates named streams for CREATE (MS-FSA 2.1.5.1.1).

use std::sync::Arc;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::change_notify::{Action, filter};
use sharebench_smb::wire::create::{access, disposition, options};

use crate::smb::files::create_disposition::{
    CREATED, CreateProgress, OPENED, OVERWRITTEN, OpenedNode, SUPERSEDED, Wanted, opened,
};
use crate::smb::files::file_info::is_read_only;
use crate::smb::files::open_files::Opening;
use crate::smb::names::file_locations::FileLocation;
use crate::smb::names::resolve::{ResolvedPath, find_stream};
use crate::smb::state::ServerState;
use crate::smb::status::{Outcome, checked, status};
use crate::{Attributes, SetAttributes};

impl Wanted<'_> {
    /// Opens or creates a stream, and its file with it if that does not exist (MS-FSA 2.1.5.1.1).
    pub(crate) fn open_stream(
        &self,
        server: &Arc<ServerState>,
        resolved: ResolvedPath,
        name: &str,
    ) -> Outcome<CreateProgress> {
        let volume = server.volume.as_ref();
        let request = self.request;
        if request.options & options::DIRECTORY_FILE != 0 {
            return Err(NtStatus::NOT_A_DIRECTORY);
        }
        let creates = !matches!(request.disposition, disposition::OPEN | disposition::OVERWRITE);
        let base = match resolved.found {
            Some(base) => base,
            None if !creates => return Err(NtStatus::OBJECT_NAME_NOT_FOUND),
            None if self.read_only => return Err(NtStatus::ACCESS_DENIED),
            None => {
                let made = self.make(volume, &resolved.location).map_err(status)?;
                self.finish_made(server, &resolved.location, &made)?;
                made
            }
        };
        if server.files.of_node(base.node).is_some_and(|file| file.state().delete_pending) {
            return Err(NtStatus::DELETE_PENDING);
        }
        let access = self.granted(Some(&Attributes { directory: false, ..base.clone() }))?;
        let found = find_stream(volume, base.node, name)?;
        let action = match (&found, request.disposition) {
            (Some(_), disposition::CREATE) => return Err(NtStatus::OBJECT_NAME_COLLISION),
            (Some(_), disposition::OPEN | disposition::OPEN_IF) => OPENED,
            (Some(_), disposition::SUPERSEDE) => SUPERSEDED,
            (Some(_), _) => OVERWRITTEN,
            (None, _) if !creates => return Err(NtStatus::OBJECT_NAME_NOT_FOUND),
            (None, _) => CREATED,
        };
        if action != OPENED && (self.read_only || is_read_only(&base)) {
            return Err(NtStatus::ACCESS_DENIED);
        }
        let (name, stream) = match found {
            Some(found) => found,
            None => (name.to_owned(), checked(volume.create_stream(base.node, name))?),
        };
        let location = FileLocation {
            path: format!("{}:{name}", resolved.location.path),
            stream: Some((base.node, name)),
            ..resolved.location
        };
        let replaces = !matches!(action, OPENED | CREATED);
        let used = access | if replaces { access::WRITE_DATA } else { 0 };
        let opening = self.add(server, &location, &stream, used, replaces)?;
        if action == CREATED {
            let named = self.cache.parent();
            server.files.note_location(&location, Action::AddedStream, filter::STREAM_NAME, named);
        }
        if replaces && matches!(opening, Opening::Opened(..)) {
            let empty = SetAttributes { size: Some(0), ..SetAttributes::default() };
            checked(volume.set_attributes(stream.node, &empty))?;
        }
        let size = if replaces { 0 } else { stream.size };
        let shown = Attributes { size, allocated: size, directory: false, ..base.clone() };
        Ok(match opened(opening, shown, access, action) {
            CreateProgress::Opened(node) => {
                CreateProgress::Opened(OpenedNode { node: stream.node, base: Some(base.node), ..node })
            }
            other => other,
        })
    }
}
