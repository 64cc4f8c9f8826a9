//! The open files, the trees and the searches of a connection.

use std::collections::HashMap;

use crate::input::protocols::Ends;
use crate::input::protocols::smb::{self, directory, last_component};
use crate::input::recorder::Recorder;

/// Most opens, trees and searches of a connection: identifiers have 16 bits.
const MAX_ENTRIES: usize = 1 << 16;

/// An open file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) file: u32,
    /// Share and path, or what identifies a file that was open before the capture.
    pub(super) identity: Vec<u8>,
    /// Its name within the share; none for a file that was open before the capture.
    pub(super) name: Option<String>,
    /// It is removed when it is closed.
    pub(super) delete: bool,
}

pub(super) struct Files {
    pub(super) ends: Ends,
    opens: HashMap<u16, Open>,
    /// Names of the shares by TID.
    trees: HashMap<u16, Vec<u8>>,
    /// Directories by the SID of a search.
    searches: HashMap<u16, u32>,
    /// Directory of the last SEARCH, whose continuations do not name it.
    pub(super) searched: Option<u32>,
}

impl Files {
    pub(super) fn new(ends: Ends) -> Self {
        Self { ends, opens: HashMap::new(), trees: HashMap::new(), searches: HashMap::new(), searched: None }
    }

    /// What no other connection has: numbers of SMB 1 are those of a connection.
    fn of_connection(&self, kind: u8, number: u16) -> Vec<u8> {
        let mut identity = self.ends.client.to_string().into_bytes();
        identity.extend([0, kind]);
        identity.extend(number.to_le_bytes());
        identity
    }

    /// The path within the server of a name in a tree, without regard to case, as that of SMB 2 is.
    pub(super) fn path(&self, tid: u16, name: &str) -> Vec<u8> {
        match self.trees.get(&tid) {
            Some(share) => smb::path(share, name),
            None => smb::path(&self.of_connection(b't', tid), name),
        }
    }

    /// The file with this name, if it was seen before.
    pub(super) fn known(&self, tid: u16, name: &str, recorder: &Recorder) -> Option<u32> {
        recorder.known_file(self.ends.server, &self.path(tid, name))
    }

    /// The file with this name, which exists, with its directory.
    pub(super) fn existing(&self, tid: u16, name: &str, recorder: &mut Recorder) -> u32 {
        let server = self.ends.server;
        let file = recorder.file(server, &self.path(tid, name));
        if name.is_empty() {
            recorder.directory(file);
            return file;
        }
        let parent = recorder.file(server, &self.path(tid, directory(name)));
        recorder.directory(parent);
        recorder.name(file, Some(parent), last_component(name).as_bytes());
        file
    }

    /// Gives a file another name; returns it, and what had the name until now.
    pub(super) fn rename(
        &self,
        tid: u16,
        from: &[u8],
        to: &str,
        recorder: &mut Recorder,
    ) -> (u32, Option<u32>) {
        let server = self.ends.server;
        let file = recorder.file(server, from);
        let replaced = recorder.rename(server, from, &self.path(tid, to));
        self.existing(tid, to, recorder);
        (file, replaced.filter(|replaced| *replaced != file))
    }

    /// A tree, by the path of its share.
    pub(super) fn connect(&mut self, tid: u16, share: &str) {
        if self.trees.len() < MAX_ENTRIES {
            self.trees.insert(tid, smb::share(share));
        }
    }

    pub(super) fn open(&mut self, fid: u16, open: Open) {
        self.opens.insert(fid, open);
    }

    /// The open with this identifier; one that was opened before the capture is a file without a name.
    pub(super) fn get(&mut self, fid: u16, recorder: &mut Recorder) -> &mut Open {
        let identity = if self.opens.contains_key(&fid) { Vec::new() } else { self.of_connection(b'f', fid) };
        let server = self.ends.server;
        self.opens.entry(fid).or_insert_with(|| Open {
            file: recorder.file(server, &identity),
            identity,
            name: None,
            delete: false,
        })
    }

    pub(super) fn close(&mut self, fid: u16, recorder: &mut Recorder) -> Option<Open> {
        let open = self.opens.remove(&fid)?;
        if open.name.is_none() {
            // The next file with this number is another one.
            recorder.forget(self.ends.server, &open.identity);
        }
        Some(open)
    }

    pub(super) fn search(&mut self, sid: u16, directory: u32) {
        self.searches.insert(sid, directory);
    }

    /// The directory of a search; that of one from before the capture has no name.
    pub(super) fn search_directory(&mut self, sid: u16, recorder: &mut Recorder) -> u32 {
        if let Some(directory) = self.searches.get(&sid) {
            return *directory;
        }
        let directory = recorder.file(self.ends.server, &self.of_connection(b's', sid));
        self.searches.insert(sid, directory);
        directory
    }

    pub(super) fn end_search(&mut self, sid: u16, recorder: &mut Recorder) {
        self.searches.remove(&sid);
        recorder.forget(self.ends.server, &self.of_connection(b's', sid));
    }
}
