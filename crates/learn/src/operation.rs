//! What an input shows, operation by operation, whatever its protocol: the border between the readers of captures and
//! traces, which make it, and the analysis, which only reads it.

/// Everything that the inputs show, in the order of the requests.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Observed {
    /// By time of the request.
    pub operations: Vec<Operation>,
    /// What [`Operation::user`] is an index into.
    pub users: Vec<Person>,
    /// What the file numbers of [`Action`] are indices into.
    pub files: Vec<File>,
    /// From the first packet or line to the last, ns.
    pub duration: u64,
    /// The wall clock at its start, s since 1970; 0 where the input has none.
    pub started: u64,
    /// What could not be seen.
    pub unseen: Unseen,
    /// Which keys of [`crate::ReadOptions::keys`] were of no use, as sentences without the keys.
    pub key_notes: Vec<String>,
}

impl Observed {
    /// True for a directory.
    pub(crate) fn is_directory(&self, file: u32) -> bool {
        self.files.get(file as usize).is_some_and(|file| file.directory)
    }

    /// The directory of a file, where the input shows it.
    pub(crate) fn parent(&self, file: u32) -> Option<u32> {
        self.files.get(file as usize)?.parent
    }

    /// Whether the protocol of a user has opens.
    pub(crate) fn has_opens(&self, user: u32) -> bool {
        self.users.get(user as usize).is_none_or(|user| user.protocol != Protocol::Nfs3)
    }
}

/// One user: the session or the credential of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The number of the client machine, in the order of appearance.
    pub client: u32,
    /// How it spoke.
    pub protocol: Protocol,
}

/// The protocol of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// NFS version 3.
    Nfs3,
    /// NFS version 4.0, 4.1 or 4.2.
    Nfs4,
    /// SMB 2 or 3.
    Smb2,
    /// SMB 1 (CIFS).
    Smb1,
    /// NetWare Core Protocol.
    Ncp,
    /// Calls of a program on its own system (`strace`).
    SystemCalls,
    /// SMB, as a log of Samba's `full_audit` shows it.
    AuditLog,
}

/// A file or directory. Its name is not kept.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct File {
    /// A directory.
    pub directory: bool,
    /// Its directory, where the input shows it.
    pub parent: Option<u32>,
    /// The class of its extension, by the types of `sharebench load` (docs/measure/loads.md); none where no name was seen.
    pub extension: Option<&'static str>,
    /// Length at its first operation, bytes, where the input shows it (attributes of a reply).
    pub size: Option<u64>,
    /// It was made within the input.
    pub created: bool,
}

/// One operation of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Index into [`Observed::users`].
    pub user: u32,
    /// When its request was sent, ns since the start of the input.
    pub start: u64,
    /// When its reply had arrived, ns since the start; none where the reply was not seen, or the input has no durations.
    pub end: Option<u64>,
    /// What it did.
    pub action: Action,
    /// How it ended.
    pub outcome: Outcome,
}

impl Operation {
    /// When it had ended, as far as the input shows it.
    pub(crate) fn ended(&self) -> u64 {
        self.end.unwrap_or(self.start).max(self.start)
    }
}

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// As asked.
    Done,
    /// The name is not there.
    NotFound,
    /// With another error, by the number of its protocol.
    Failed(u32),
    /// The reply was not seen.
    NoReply,
}

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its attributes alone: neither its bytes nor its name. A client of SMB requests attributes in this way.
    Attributes,
    /// Reading.
    Read,
    /// Writing too.
    Write,
}

impl Access {
    /// That of an open whose bytes are read, or written too.
    pub const fn from_write(write: bool) -> Self {
        if write { Self::Write } else { Self::Read }
    }
}

/// What an operation did. Numbers of files are indices into [`Observed::files`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Open.
    Open {
        /// What; none where it does not exist and its name was never seen to exist.
        file: Option<u32>,
        /// For what.
        access: Access,
        /// It was made, or emptied.
        created: bool,
    },
    /// Close. NFS version 3 has none.
    Close {
        /// What.
        file: u32,
    },
    /// Read.
    Read {
        /// What.
        file: u32,
        /// From, bytes.
        offset: u64,
        /// Bytes asked for.
        asked: u32,
        /// Bytes delivered; as many as asked for where the reply was not seen.
        bytes: u32,
    },
    /// Write.
    Write {
        /// What.
        file: u32,
        /// From, bytes.
        offset: u64,
        /// Bytes.
        bytes: u32,
        /// The reply had to wait for stable storage.
        stable: bool,
    },
    /// Bring what was written to stable storage (COMMIT, FLUSH).
    Flush {
        /// What.
        file: u32,
    },
    /// Ask for attributes.
    Stat {
        /// What; none where it does not exist.
        file: Option<u32>,
    },
    /// Set attributes other than the size.
    SetAttributes {
        /// What.
        file: u32,
    },
    /// Set the size.
    SetSize {
        /// What.
        file: u32,
        /// Bytes.
        size: u64,
    },
    /// Look a name up.
    Lookup {
        /// What it names; none where it does not exist.
        file: Option<u32>,
    },
    /// Read a part of a directory.
    List {
        /// The directory.
        directory: u32,
        /// Entries of the reply.
        entries: u32,
        /// It begins a listing; the others continue it.
        first: bool,
    },
    /// Make a directory.
    MakeDirectory {
        /// Which.
        directory: Option<u32>,
    },
    /// Remove a file or directory.
    Remove {
        /// Which.
        file: Option<u32>,
    },
    /// Give it another name.
    Rename {
        /// What.
        file: Option<u32>,
        /// What had the new name until now.
        replaced: Option<u32>,
    },
    /// Lock or unlock a range.
    Lock {
        /// What.
        file: u32,
        /// Unlocked.
        release: bool,
    },
    /// Query the free space.
    Space,
    /// Log on: connect, session, mount.
    Connect,
    /// Anything else, by its name in the protocol's specification.
    Other(&'static str),
}

/// What the inputs could not show.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Unseen {
    /// Bytes of connections that are missing in the input.
    pub lost_bytes: u64,
    /// Connections whose start is not in the input.
    pub began_before: u64,
    /// Messages that are encrypted and have no key that fits.
    pub encrypted: u64,
    /// Messages that were cut short by the capture (`snaplen`).
    pub cut: u64,
    /// Messages that no reader understood.
    pub not_understood: u64,
    /// Connections that were forgotten, because the input has more of them than fit in memory: what they sent later may not
    /// be understood.
    pub forgotten: u64,
    /// Requests without a reply.
    pub without_reply: u64,
    /// Replies without a request.
    pub without_request: u64,
    /// Times at which the clock of the capture stepped back.
    pub clock_steps: u64,
    /// Operations of inputs that have no durations: their response times are not known.
    pub without_duration: u64,
    /// Distance of two neighbouring time stamps of a log, ns; 0 for inputs whose time stamps are finer than what is learned.
    pub resolution_ns: u64,
}
