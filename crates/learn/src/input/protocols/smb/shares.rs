//! The shares and the open files of a connection of SMB, and the names in them.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::SocketAddr;

use crate::input::protocols::file_request::FileRequest;
use crate::input::recorder::Recording;
use crate::operation::{Access, Action};

/// Most opens and trees of a connection; more are those of a capture without closes.
const MAX_NUMBERS: usize = 1 << 16;

/// A number that a server gave to a tree or an open file of a client.
pub(crate) trait Number: Copy + Eq + Hash {
    /// The server gives it again to another file after a close, soon and often.
    const IS_REUSED: bool;

    /// What identifies on the server what has the number, if its name was sent before the capture.
    fn identity(self, client: SocketAddr) -> Vec<u8>;
}

/// An open file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Open {
    pub(crate) file: u32,
    /// Share and path, or what identifies a file that was open before the capture.
    pub(crate) path: Vec<u8>,
    /// Its name within the share; none for a file that was open before the capture.
    pub(crate) name: Option<String>,
    /// It is removed when it is closed.
    pub(crate) delete: bool,
    /// A part of the directory was read.
    pub(crate) listed: bool,
}

/// What a reply states about a file or directory that it has opened or made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opened<F> {
    /// None where it is not kept open.
    pub(crate) number: Option<F>,
    pub(crate) name: String,
    pub(crate) access: Access,
    /// It was made, or emptied.
    pub(crate) made: bool,
    pub(crate) directory: bool,
    pub(crate) size: Option<u64>,
    /// It is removed when it is closed.
    pub(crate) delete: bool,
}

/// The trees and the open files of a connection.
#[derive(Debug)]
pub(crate) struct Shares<T, F> {
    /// Names of the shares.
    trees: HashMap<T, Vec<u8>>,
    opens: HashMap<F, Open>,
}

impl<T: Number, F: Number> Shares<T, F> {
    pub(crate) fn new() -> Self {
        Self { trees: HashMap::new(), opens: HashMap::new() }
    }

    /// A tree, by the path of its share: without the server, which clients call by several names.
    pub(crate) fn connect(&mut self, tree: T, path: &str) {
        if self.trees.len() < MAX_NUMBERS {
            self.trees.insert(tree, last_component(path).to_ascii_lowercase().into());
        }
    }
}

/// The connection and the tree that a request was sent to.
pub(crate) struct Scope<'s, 'r, T, F> {
    pub(crate) tree: T,
    pub(crate) shares: &'s mut Shares<T, F>,
    pub(crate) recorder: &'s mut Recording<'r>,
}

impl<T: Number, F: Number> Scope<'_, '_, T, F> {
    /// The path of a name within the server, without regard to the case of its letters of ASCII.
    pub(crate) fn path(&self, name: &str) -> Vec<u8> {
        let name = name.to_ascii_lowercase();
        let path = |share: &[u8]| [share, b"\\", name.as_bytes()].concat();
        let unknown = || path(&self.tree.identity(self.recorder.ends.client));
        self.shares.trees.get(&self.tree).map_or_else(unknown, |share| path(share))
    }

    /// The file with this name, if it was seen before.
    pub(crate) fn known(&self, name: &str) -> Option<u32> {
        self.recorder.known_file(&self.path(name))
    }

    /// The file with this name, which exists, with its directory.
    pub(crate) fn existing(&mut self, name: &str) -> u32 {
        let path = self.path(name);
        self.existing_at(&path, name)
    }

    fn existing_at(&mut self, path: &[u8], name: &str) -> u32 {
        let file = self.recorder.file(path);
        if name.is_empty() {
            self.recorder.directory(file);
            return file;
        }
        let parent = self.path(directory(name));
        let parent = self.recorder.file(&parent);
        self.recorder.directory(parent);
        self.recorder.name(file, Some(parent), last_component(name).as_bytes());
        file
    }

    /// The operation of an open that succeeded.
    pub(crate) fn opened(&mut self, opened: Opened<F>) -> Action {
        let Opened { number, name, access, made, directory, size, delete } = opened;
        let path = self.path(&name);
        let file = self.existing_at(&path, &name);
        if made {
            self.recorder.created(file);
        }
        self.recorder.describe(file, directory, size);
        if let Some(number) = number {
            if self.shares.opens.len() >= MAX_NUMBERS {
                self.shares.opens.clear();
            }
            let open = Open { file, path, name: Some(name), delete, listed: false };
            self.shares.opens.insert(number, open);
        }
        match (directory, made) {
            (true, true) => Action::MakeDirectory { directory: Some(file) },
            _ => Action::Open { file: Some(file), access, created: made },
        }
    }

    /// The open file with this number; one that was opened before the capture has no name.
    pub(crate) fn get(&mut self, number: F) -> &mut Open {
        self.shares.opens.entry(number).or_insert_with(|| {
            let path = number.identity(self.recorder.ends.client);
            let file = self.recorder.file(&path);
            Open { file, path, name: None, delete: false, listed: false }
        })
    }

    /// The operation of a request on an open file as far as the request shows it.
    pub(crate) fn attempted(&mut self, number: F, request: FileRequest) -> Action {
        request.action(self.get(number).file)
    }

    /// The operations of a close: it removes the file if that was requested before.
    pub(crate) fn close(&mut self, number: F) -> [Option<Action>; 2] {
        let file = self.get(number).file;
        let Some(open) = self.shares.opens.remove(&number) else { return [None, None] };
        if open.delete || F::IS_REUSED && open.name.is_none() {
            self.recorder.forget(&open.path);
        }
        let removed = open.delete.then_some(Action::Remove { file: Some(file) });
        [Some(Action::Close { file }), removed]
    }
}

/// The last component of a name.
pub(crate) fn last_component(name: &str) -> &str {
    name.rsplit('\\').next().unwrap_or(name)
}

/// The directory of a name within its share; empty for the root.
pub(crate) fn directory(name: &str) -> &str {
    name.rsplit_once('\\').map_or("", |(directory, _)| directory)
}
