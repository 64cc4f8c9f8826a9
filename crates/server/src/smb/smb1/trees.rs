//! `TREE_CONNECT_ANDX` and `TREE_DISCONNECT` (MS-CIFS 3.3.5.45, 3.3.5.46).

use sharebench_smb::NtStatus;
use sharebench_smb::nt1::message::{NO_ANDX, put_blocks, text_at};
use sharebench_smb::nt1::session::{
    EXTENDED_RESPONSE, TreeConnectExtended, TreeConnectRequest, TreeConnectResponse,
};

use super::call::{Smb1Call, put_empty};
use super::login::put_reply_text;
use super::state::close_files;
use crate::smb::files::create_disposition::{ALL_ACCESS, READ_ACCESS};
use crate::smb::names::resolve::{last_name, normalized};
use crate::smb::session::established::Tree;
use crate::smb::status::Outcome;
use crate::volume::name::fold_case;

/// Flag of a request: disconnect the tree of the header first.
const DISCONNECT: u16 = 0x0001;
/// `OptionalSupport`: searches compare all attributes.
const EXACT_SEARCHES: u16 = 0x0001;
/// Kinds of services in requests.
const DISK: &str = "A:";
const PIPES: &str = "IPC";
const ANY: &str = "?????";

impl Smb1Call<'_> {
    /// `TREE_CONNECT_ANDX`: the volume's share, or `IPC$`, which has no pipes.
    pub(super) fn connect_tree(&mut self, body: &mut Vec<u8>) -> Outcome<()> {
        let words: TreeConnectRequest = self.words()?;
        let (path, next) = text_at(self.bytes(), usize::from(words.password_len), self.is_unicode());
        // The kind of service is never UTF-16.
        let (service, _) = text_at(self.bytes(), next, false);
        if words.flags & DISCONNECT != 0
            && let Ok(files) = self.state.table().remove_tree(self.header.tid)
        {
            close_files(self.server, files);
        }
        let name = fold_case(last_name(&normalized(&path)));
        let options = &self.server.options;
        let (tree, kind) = if name == fold_case(&options.share) {
            (Tree::Disk, DISK)
        } else if name == "ipc$" {
            (Tree::Pipes, PIPES)
        } else {
            return Err(NtStatus::BAD_NETWORK_NAME);
        };
        if service != kind && service != ANY {
            return Err(NtStatus::BAD_DEVICE_TYPE);
        }
        self.header.tid = self.state.table().add_tree(tree, &self.connection.budget)?;
        let support = EXACT_SEARCHES;
        let unicode = self.is_unicode();
        let texts = |block: &mut Vec<u8>| {
            block.extend_from_slice(kind.as_bytes());
            block.push(0);
            put_reply_text(if tree == Tree::Disk { "NTFS" } else { "" }, unicode, block);
        };
        if words.flags & EXTENDED_RESPONSE != 0 {
            let rights = if options.read_only { READ_ACCESS } else { ALL_ACCESS };
            let words = TreeConnectExtended { andx: NO_ANDX, support, rights, guest_rights: 0 };
            put_blocks(&words, body, texts);
        } else {
            put_blocks(&TreeConnectResponse { andx: NO_ANDX, support }, body, texts);
        }
        Ok(())
    }

    /// `TREE_DISCONNECT`, which closes the files of the tree.
    pub(super) fn disconnect_tree(&self, body: &mut Vec<u8>) -> Outcome<()> {
        let files = self.state.table().remove_tree(self.header.tid)?;
        close_files(self.server, files);
        put_empty(body);
        Ok(())
    }
}
