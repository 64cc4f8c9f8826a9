//! What the operations of a COMPOUND do, as far as the workload needs them.

use sharebench_nfs::v4::bitmap::Bitmap;

use crate::input::protocols::file_request::FileRequest;

/// One operation of a compound, as far as it is needed.
#[derive(Debug)]
pub(in crate::input::protocols::nfs) enum CompoundStep {
    /// PUTFH.
    Put(u32),
    /// PUTROOTFH and PUTPUBFH.
    PutRoot,
    Save,
    Restore,
    GetHandle,
    LookupParent,
    Lookup(Box<[u8]>),
    /// The attributes that are asked for.
    GetAttributes(Bitmap),
    Access,
    Open(Open),
    /// On the current file.
    OnCurrent(FileRequest),
    Create {
        name: Box<[u8]>,
        directory: bool,
    },
    Remove(Box<[u8]>),
    Rename {
        from: Box<[u8]>,
        to: Box<[u8]>,
    },
    Link(Box<[u8]>),
    Connect,
    Other(&'static str),
    /// Of sessions, states and layouts.
    Ignored,
}

/// The arguments of OPEN.
#[derive(Debug)]
pub(in crate::input::protocols::nfs) struct Open {
    /// None opens the current file itself.
    pub(super) name: Option<Box<[u8]>>,
    pub(super) write: bool,
    pub(super) create: Create,
}

/// Whether OPEN makes a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::input::protocols::nfs) enum Create {
    Never,
    /// If it does not exist; one that exists may be emptied.
    Unchecked {
        emptied: bool,
    },
    /// It must not exist.
    Always,
}
