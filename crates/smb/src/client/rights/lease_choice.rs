//! What opens request to cache (`lease=`), and what a CREATE requests for that.

use sharebench_target::{TargetUrl, UrlError};

use crate::wire::create_context::{CreateContext, name};
use crate::wire::lease::{HANDLE, LEVEL, LeaseContext, READ, WRITE};
use crate::wire::oplock;

/// What opens request to cache. The client never caches: it measures what a lease costs a server, and what a break
/// costs another user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LeaseChoice {
    /// No lease.
    #[default]
    None,
    /// A lease of files with this state.
    File(u32),
    /// A lease of the directories that are listed: read and handle.
    Directory,
}

const CHOICES: [(&str, LeaseChoice); 5] = [
    ("none", LeaseChoice::None),
    ("r", LeaseChoice::File(READ)),
    ("rh", LeaseChoice::File(READ | HANDLE)),
    ("rwh", LeaseChoice::File(READ | WRITE | HANDLE)),
    ("dir", LeaseChoice::Directory),
];

impl LeaseChoice {
    /// Takes `lease=` of a URL.
    pub(crate) fn take(url: &mut TargetUrl) -> Result<Self, UrlError> {
        let Some(text) = url.take("lease") else { return Ok(Self::None) };
        let found = CHOICES.iter().find(|(name, _)| *name == text);
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            let names = CHOICES.map(|(name, _)| name).join(", ");
            url.error(format!("lease={text}: the choices are {names}"))
        })
    }

    /// The word in URLs.
    pub(crate) fn name(self) -> &'static str {
        CHOICES.iter().find(|(_, choice)| *choice == self).map_or("none", |(name, _)| name)
    }

    /// The oldest dialect that knows it (MS-SMB2 3.2.4.3.8).
    pub(crate) const fn oldest_dialect(self) -> u16 {
        match self {
            Self::None => 0x0202,
            Self::File(_) => 0x0210,
            Self::Directory => 0x0300,
        }
    }

    pub(crate) const fn state(self, directory: bool) -> u32 {
        match self {
            Self::File(state) if !directory => state,
            Self::Directory if directory => READ | HANDLE,
            _ => 0,
        }
    }
}

/// `RWH` for the bits of a state; `none` for none.
pub(crate) fn state_name(state: u32) -> String {
    let letters = [(READ, 'R'), (WRITE, 'W'), (HANDLE, 'H')];
    let found: String =
        letters.iter().filter(|(bit, _)| state & bit != 0).map(|(_, letter)| letter).collect();
    if found.is_empty() { "none".to_owned() } else { found }
}

/// What a CREATE opens, which decides on its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opens {
    /// A file, for its data.
    File,
    /// A directory, to list it.
    Directory,
    /// Anything, for its attributes or its name.
    Attributes,
}

/// What one CREATE requests beyond its access.
#[derive(Debug, Default)]
pub(crate) struct CreateExtras {
    pub(crate) oplock: u8,
    pub(crate) contexts: Vec<CreateContext>,
    /// The share mode is none, so that the file can be opened by nobody else; otherwise everything is shared.
    pub(crate) denies_sharing: bool,
    pub(crate) lease: bool,
    pub(crate) durable: bool,
}

/// The client's name for the lease with which it tries whether any is granted: one file has one at a time.
const TRIAL_KEY: [u8; 16] = *b"sharebench-lease";

impl CreateExtras {
    /// A request to cache everything that the dialect knows: a lease of reads, handles and writes, or an oplock in 2.0.2.
    /// What is granted is not counted.
    pub(crate) fn everything(dialect: u16) -> Self {
        if dialect < LeaseChoice::File(READ).oldest_dialect() {
            return Self { oplock: oplock::BATCH, ..Self::default() };
        }
        let lease = LeaseContext { key: TRIAL_KEY, state: READ | HANDLE | WRITE, ..LeaseContext::default() };
        let contexts = vec![CreateContext::new(name::REQUEST_LEASE, &lease.encode())];
        Self { oplock: LEVEL, contexts, ..Self::default() }
    }
}

impl CreateExtras {
    pub(crate) fn request_lease(&mut self, key: [u8; 16], state: u32, dialect: u16) {
        // Version 2 adds the key of the directory and the epoch, which dialect 3 introduced.
        let version_2 = (dialect >= 0x0300).then_some(([0; 16], 0));
        let lease = LeaseContext { key, state, flags: 0, version_2 };
        self.oplock = LEVEL;
        self.contexts.push(CreateContext::new(name::REQUEST_LEASE, &lease.encode()));
        self.lease = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_the_letters_of_the_field() {
        let names = [0, READ, READ | HANDLE, READ | WRITE, READ | WRITE | HANDLE].map(state_name);
        assert_eq!(names, ["none", "R", "RH", "RW", "RWH"]);
    }

    #[test]
    fn a_lease_of_files_is_none_of_directories() {
        let [_, (_, read), _, (_, all), (_, directory)] = CHOICES;
        assert_eq!((read.state(false), read.state(true)), (READ, 0));
        assert_eq!((all.state(false), all.state(true)), (READ | WRITE | HANDLE, 0));
        assert_eq!((directory.state(false), directory.state(true)), (0, READ | HANDLE));
        assert_eq!((all.name(), directory.name()), ("rwh", "dir"));
    }
}
