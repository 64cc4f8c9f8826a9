//! Requests of SMB 1 that open a file, and their replies.

use sharebench_smb::nt1::command;
use sharebench_smb::nt1::file::{CreateRequest, OpenRequest, OpenResponse};
use sharebench_smb::wire::create::{ATTRIBUTE_DIRECTORY, options};

use super::bytes::{long, short, word};
use super::header;
use super::names::{Strings, joined};
use super::numbers::{Fid, Smb1Scope};
use super::reply::Reply;
use crate::input::protocols::smb::codes::access_of;
use crate::input::protocols::smb::shares::Opened;
use crate::operation::{Access, Action};

/// Low bits of `OpenResults` (2.2.4.41.2): the file did not exist, or was emptied.
const CREATED: u16 = 2;
const TRUNCATED: u16 = 3;
/// Flags of a POSIX open (SNIA CIFS technical reference, UNIX extensions): writing, alone or with reading, and a directory.
const POSIX_WRITE: u32 = 0x06;
const POSIX_DIRECTORY: u32 = 0x200;

/// Which command opens, and so how its reply is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenCommand {
    Core,
    /// CREATE and `CREATE_NEW`.
    Create,
    /// `CREATE_TEMPORARY`: the server gives it a name.
    Temporary,
    AndX,
    NtCreate,
    /// `TRANS2_OPEN2`.
    Open2,
    /// `NT_TRANSACT_CREATE`.
    NtTransact,
    /// The level `SMB_POSIX_PATH_OPEN` of the UNIX extensions.
    Posix,
}

/// A request that opens a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) command: OpenCommand,
    /// FID of the directory in which the name is; 0 for the share's root.
    pub(super) root: u16,
    pub(super) name: String,
    pub(super) access: Access,
    pub(super) directory: bool,
    pub(super) delete: bool,
}

/// What a reply states about the file that it has opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct OpenReply {
    /// None where it is not kept open.
    fid: Option<u16>,
    /// It was made, or emptied.
    made: bool,
    directory: bool,
    size: Option<u64>,
    /// The name that the server gave it.
    name: Option<String>,
}

impl Opening {
    const fn new(command: OpenCommand, name: String, access: Access) -> Self {
        Self { command, root: 0, name, access, directory: false, delete: false }
    }

    /// One that states rights and options as NT does.
    fn nt(command: OpenCommand, root: u32, access: u32, options: u32, name: String) -> Self {
        Self {
            root: root as u16,
            directory: options & options::DIRECTORY_FILE != 0,
            delete: options & options::DELETE_ON_CLOSE != 0,
            ..Self::new(command, name, access_of(access))
        }
    }

    /// Decodes a command whose name is in its data bytes; none if the message ends too early.
    pub(super) fn decode(command: u8, words: &[u8], strings: &mut Strings<'_>) -> Option<Self> {
        Some(match command {
            0x02 => Self::new(OpenCommand::Core, strings.formatted_name()?, access_of_mode(short(words, 0)?)),
            command::OPEN_ANDX => {
                let OpenRequest { mode, .. } = header::words(words, 8)?;
                Self::new(OpenCommand::AndX, strings.name()?, access_of_mode(mode))
            }
            command::NT_CREATE_ANDX => {
                let CreateRequest { root, access, options, .. } = header::words(words, 43)?;
                Self::nt(OpenCommand::NtCreate, root, access, options, strings.name()?)
            }
            0x0E => Self::new(OpenCommand::Temporary, strings.formatted_name()?, Access::Write),
            _ => Self::new(OpenCommand::Create, strings.formatted_name()?, Access::Write),
        })
    }

    /// `TRANS2_OPEN2` (2.2.6.1.1).
    pub(super) fn open2(parameters: &[u8], strings: &mut Strings<'_>) -> Option<Self> {
        strings.at += 28;
        Some(Self::new(OpenCommand::Open2, strings.name()?, access_of_mode(short(parameters, 2)?)))
    }

    /// `NT_TRANSACT_CREATE` (2.2.7.1.1).
    pub(super) fn nt_transact(parameters: &[u8], strings: &mut Strings<'_>) -> Option<Self> {
        let root = word(parameters, 4)?;
        let access = word(parameters, 8)?;
        let options = word(parameters, 32)?;
        strings.at += 53;
        Some(Self::nt(OpenCommand::NtTransact, root, access, options, strings.name()?))
    }

    /// The level of the UNIX extensions, which opens files and makes directories.
    pub(super) fn posix(name: String, data: &[u8]) -> Option<Self> {
        let flags = word(data, 4)?;
        let opening = Self::new(OpenCommand::Posix, name, Access::from_write(flags & POSIX_WRITE != 0));
        Some(Self { directory: flags & POSIX_DIRECTORY != 0, ..opening })
    }

    /// What the reply to it states; a reply that was cut states less.
    fn stated(&self, reply: &Reply<'_>) -> OpenReply {
        let words = reply.words;
        let size = |at: usize| word(words, at).map(u64::from);
        match self.command {
            OpenCommand::Core => OpenReply { fid: short(words, 0), size: size(8), ..OpenReply::default() },
            OpenCommand::Create => OpenReply { fid: short(words, 0), made: true, ..OpenReply::default() },
            OpenCommand::Temporary => {
                // smbd writes it in the OEM character set, whatever the header states.
                let name = Strings { unicode: false, ..reply.strings() }.formatted_name();
                OpenReply { fid: short(words, 0), made: true, name, ..OpenReply::default() }
            }
            OpenCommand::AndX => {
                header::words(words, 24).map_or_else(OpenReply::default, |reply: OpenResponse| OpenReply {
                    fid: Some(reply.fid),
                    made: made(reply.action),
                    directory: is_directory(reply.attributes),
                    size: Some(reply.size.into()),
                    name: None,
                })
            }
            OpenCommand::Open2 => {
                let parameters = reply.parameters;
                OpenReply {
                    fid: short(parameters, 0),
                    made: short(parameters, 18).is_some_and(made),
                    directory: short(parameters, 2).is_some_and(is_directory),
                    size: word(parameters, 8).map(u64::from),
                    name: None,
                }
            }
            OpenCommand::NtCreate => self.nt_opened(words, [5, 7, 55, 67]),
            OpenCommand::NtTransact => self.nt_opened(reply.parameters, [2, 4, 56, 68]),
            OpenCommand::Posix => {
                let data = reply.data;
                OpenReply {
                    // Directories are made, and not opened.
                    fid: short(data, 2).filter(|_| !self.directory),
                    made: word(data, 4).is_some_and(|done| matches!(done, 0 | 2 | 3)),
                    directory: self.directory,
                    size: long(data, 12).filter(|_| short(data, 8) == Some(0x0200)),
                    name: None,
                }
            }
        }
    }

    /// `NT_CREATE_ANDX` (2.2.4.64.2) and `NT_TRANSACT_CREATE` (2.2.7.1.2), with the places of their fields.
    fn nt_opened(&self, bytes: &[u8], [fid, action, size, directory]: [usize; 4]) -> OpenReply {
        OpenReply {
            fid: short(bytes, fid),
            // FILE_SUPERSEDED, FILE_CREATED, FILE_OVERWRITTEN; 1 is FILE_OPENED.
            made: word(bytes, action).is_some_and(|done| matches!(done, 0 | 2 | 3)),
            directory: self.directory || bytes.get(directory).is_some_and(|flag| *flag != 0),
            size: long(bytes, size),
            name: None,
        }
    }

    /// Its name within the share.
    fn name_in(&self, scope: &mut Smb1Scope<'_, '_>) -> String {
        if self.root == 0 {
            return self.name.clone();
        }
        let root = scope.get(Fid(self.root)).name.as_deref();
        joined(root.unwrap_or_default(), &self.name)
    }

    /// The operation of an open that failed, or has no reply.
    pub(super) fn attempted(&self, scope: &mut Smb1Scope<'_, '_>) -> Action {
        let name = self.name_in(scope);
        Action::Open { file: scope.known(&name), access: self.access, created: false }
    }

    /// The operation of an open that succeeded, which gives its FID to the commands that follow in its chain.
    pub(super) fn succeeded(
        &self,
        reply: &Reply<'_>,
        fid: &mut Option<Fid>,
        scope: &mut Smb1Scope<'_, '_>,
    ) -> Action {
        let OpenReply { fid: number, made, directory, size, name: given } = self.stated(reply);
        let mut name = self.name_in(scope);
        if let Some(given) = given {
            name = joined(&name, &given);
        }
        let number = number.map(Fid);
        *fid = number.or(*fid);
        scope.opened(Opened { number, name, access: self.access, made, directory, size, delete: self.delete })
    }
}

/// Low bits of `AccessMode` (2.2.4.3.1): reading, writing, both, execution.
const fn access_of_mode(access: u16) -> Access {
    Access::from_write(matches!(access & 7, 1 | 2))
}

const fn made(results: u16) -> bool {
    matches!(results & 3, CREATED | TRUNCATED)
}

const fn is_directory(attributes: u16) -> bool {
    attributes as u32 & ATTRIBUTE_DIRECTORY != 0
}
