//! `TREE_CONNECT` and `TREE_DISCONNECT` (MS-SMB2 3.3.5.7, 3.3.5.8).

use sharebench_smb::NtStatus;
use sharebench_smb::wire::tree::{TreeConnectRequest, TreeConnectResponse};

use crate::smb::files::create_disposition::{ALL_ACCESS, READ_ACCESS};
use crate::smb::names::resolve::{last_name, normalized};
use crate::smb::session::call::{Call, CallResponse, DONE, empty};
use crate::smb::session::established::Tree;
use crate::smb::status::{Outcome, malformed};
use crate::volume::name::fold_case;

/// Types of shares.
const DISK: u8 = 1;
const PIPE: u8 = 2;

impl Call<'_> {
    /// `TREE_CONNECT`: the volume's share, or `IPC$`.
    pub(crate) fn connect_tree(&mut self, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        let request = TreeConnectRequest::decode(self.message).map_err(malformed)?;
        let name = fold_case(last_name(&normalized(&request.path)));
        let options = &self.connection.server.options;
        let (tree, share_type) = if name == fold_case(&options.share) {
            (Tree::Disk, DISK)
        } else if name == "ipc$" {
            (Tree::Pipes, PIPE)
        } else {
            return Err(NtStatus::BAD_NETWORK_NAME);
        };
        self.tree_id = self.session.add_tree(tree)?;
        let maximal_access = if options.read_only { READ_ACCESS } else { ALL_ACCESS };
        TreeConnectResponse { share_type, maximal_access, ..TreeConnectResponse::default() }.encode(body);
        DONE
    }

    /// `TREE_DISCONNECT`, which closes the files of the tree.
    pub(crate) fn disconnect_tree(&mut self, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        let server = &self.connection.server;
        for open in self.session.remove_tree(self.tree_id)? {
            server.files.close(&open, server.volume.as_ref());
        }
        Ok(empty(body))
    }
}
