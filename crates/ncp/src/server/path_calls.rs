//! Calls on files by a classic path (docs/protocols/ncp.md 3.2).

use super::entry_filter::EntryFilter;
use super::execute::Execution;
use super::volume::{Volume, VolumeResult};
use crate::wire::PathCall;
use crate::wire::dos::access;
use crate::wire::name_space::mode;

/// Access of the calls that create a file.
const BOTH: u16 = access::READ | access::WRITE;

impl<V: Volume> Execution<'_, V> {
    /// Calls on files by a classic path, and classic searches.
    pub fn path_call(&mut self, call: &PathCall<'_>) -> VolumeResult<()> {
        match call {
            PathCall::OpenFile(call) => {
                self.open_classic(call.directory, &call.path, mode::OPEN, call.access.into(), call.search)
            }
            PathCall::CreateFile(call) => {
                let mode = mode::CREATE | mode::REPLACE;
                self.open_classic(call.directory, &call.path, mode, BOTH, call.attributes)
            }
            PathCall::CreateNewFile(call) => {
                self.open_classic(call.directory, &call.path, mode::CREATE, BOTH, call.attributes)
            }
            PathCall::OpenOrCreateFile(call) => {
                let access = call.access.into();
                self.open_classic(call.directory, &call.path, call.action, access, call.attributes)
            }
            PathCall::BeginSearch(call) => self.begin_search(call),
            PathCall::ContinueSearch(call) => self.continue_search(call),
            PathCall::SearchFile(call) => self.search_file(call),
            PathCall::SetFileAttributes(call) => self.set_attributes(call),
            PathCall::EraseFile(call) => self.erase_files(call),
            PathCall::RenameFile(call) => {
                let from = self.path(call.directory, &call.path)?;
                let to = self.path(call.new_directory, &call.new_path)?;
                self.rename(&from, &to, EntryFilter::of_classic(call.search))
            }
        }
    }
}
