//! MOUNT version 3: one export, and every directory below it.

use sharebench_nfs::mount::{DUMP, EXPORT, MNT, UMNT, UMNTALL};
use sharebench_nfs::protocol::MAX_PATH_BYTES;
use sharebench_nfs::rpc::Rejection;
use sharebench_nfs::rpcsec::Service;
use sharebench_nfs::status::MountStatus;
use sharebench_nfs::xdr::{Reader, Writer, XdrError};

use crate::nfs::state::ServerState;
use crate::{NodeId, ROOT};

const AUTH_SYS: u32 = 1;

impl ServerState {
    /// Encodes the result of a MOUNT procedure (RFC 1813, 5.2); none for an unknown procedure.
    pub(crate) fn mount(
        &self,
        procedure: u32,
        call: &mut Reader<'_>,
        out: &mut Writer,
    ) -> Result<Result<(), Rejection>, XdrError> {
        match procedure {
            0 | UMNTALL => {}
            MNT => {
                let path = call.opaque("path", MAX_PATH_BYTES)?;
                match std::str::from_utf8(path)
                    .map_err(|_| MountStatus::NOENT)
                    .and_then(|path| self.find(path))
                {
                    Ok(node) => {
                        out.u32(0);
                        self.handles.put(out, node);
                        let flavors = match self.gss {
                            Some(_) => Service::ALL.map(Service::flavor).to_vec(),
                            None => vec![AUTH_SYS],
                        };
                        out.u32(flavors.len() as u32);
                        out.words(&flavors);
                    }
                    Err(status) => out.u32(status.0),
                }
            }
            // The server keeps no list of mounts.
            DUMP => out.boolean(false),
            UMNT => {
                call.opaque("path", MAX_PATH_BYTES)?;
            }
            EXPORT => {
                out.boolean(true);
                out.opaque(self.options.export.as_bytes());
                // No groups, which means every host; no further exports.
                out.u64(0);
            }
            _ => return Ok(Err(Rejection::ProcedureUnavailable)),
        }
        Ok(Ok(()))
    }

    fn find(&self, path: &str) -> Result<NodeId, MountStatus> {
        let names =
            |path: &'_ str| path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let wanted: Vec<String> = names(path);
        let export: Vec<String> = names(&self.options.export);
        let below = wanted.strip_prefix(&export[..]).ok_or(MountStatus::NOENT)?;
        let mut node = ROOT;
        for name in below {
            let found = self.volume.lookup(node, name).map_err(|_| MountStatus::NOENT)?;
            if !found.directory {
                return Err(MountStatus::NOTDIR);
            }
            node = found.node;
        }
        Ok(node)
    }
}
