//! Searches for all names of a directory.

use super::ClientError;
use super::exchange::{Client, unless, wire};
use super::names::{EVERYTHING, EntryInfo, Path};
use super::transport::Transport;
use crate::wire::dos::{attribute, search};
use crate::wire::find::{BeginSearch, ContinueSearch, FoundFile, SearchBegun, SearchPlace};
use crate::wire::name_space::space;
use crate::wire::name_space_search::{FoundSet, InitSearch, SearchSet, Sequence};
use crate::wire::{Completion, FileEntry, Pstr, ReturnMask, WireError};

/// A pattern that matches every name (docs/protocols/ncp.md 3.4).
const ANY_NAME: &[u8] = b"\xff*";
/// `*.*` as DOS requesters send it, with the high bit set in each byte (docs/protocols/ncp.md 3.2).
const ANY_DOS_NAME: &[u8] = b"\xaa\xae\xaa";
/// The largest number of entries requested at a time; the server returns as many as its packet holds.
const MAX_ENTRIES: u16 = 1000;
/// Entries of one step of a classic search, which takes a request for each.
const CLASSIC_ENTRIES: usize = 32;
/// Sequence number at the start of a classic search.
const CLASSIC_START: u16 = u16::MAX;
/// The step of searches in errors.
const SEARCH: &str = "search";

/// A search in progress.
///
/// It uses 87/2 and 87/20, which return many entries per request. In the DOS name space it continues with the classic
/// calls 0x3E and 0x3F where the server does not know 87/20, or where 87/20 finds nothing at all: a directory that is
/// believed to be empty although it is not could not be removed. The classic calls list files and directories
/// separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    space: u8,
    position: Position,
    /// `VOLUME:DIR\DIR` for the classic calls; none in other name spaces, or if it is too long for these calls.
    classic_path: Option<Vec<u8>>,
}

/// Where a search continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// After the entry of a sequence of 87/20; `found` is false before the first reply.
    NameSpace { sequence: Sequence, found: bool },
    /// After the entry of a classic search for files or for directories.
    Classic { place: SearchPlace, directories: bool },
}

impl Search {
    /// A number that identifies where the search continues.
    pub fn position(&self) -> u64 {
        match self.position {
            Position::NameSpace { sequence, .. } => {
                (u64::from(sequence.directory) << 32) | u64::from(sequence.entry)
            }
            Position::Classic { place, directories } => {
                (u64::from(directories) << 16) | u64::from(place.sequence)
            }
        }
    }
}

/// The path of a directory as text for the classic calls, if it fits.
fn classic_path(path: &Path) -> Option<Vec<u8>> {
    let components = path.components().ok()?;
    let mut names = components.iter();
    let mut text = names.next()?.to_vec();
    text.push(b':');
    text.extend(names.collect::<Vec<_>>().join(&b'\\'));
    (path.space == space::DOS && Pstr::new(&text).is_ok()).then_some(text)
}

/// Name, type and size of an entry of a classic search.
fn classic_entry(entry: &FileEntry) -> (&[u8], EntryInfo) {
    let len = entry.name.iter().position(|byte| *byte == 0).unwrap_or(entry.name.len());
    let directory = u32::from(entry.attributes) & attribute::DIRECTORY != 0;
    (&entry.name[..len], EntryInfo { directory, size: if directory { 0 } else { entry.size } })
}

impl<C: Transport> Client<C> {
    /// Calls `each` for every name in a directory; fails if there are more than `limit`.
    pub async fn list(
        &mut self,
        path: &Path,
        limit: usize,
        mut each: impl FnMut(&[u8], EntryInfo),
    ) -> Result<(), ClientError> {
        let mut search = self.begin_search(path).await?;
        let mut seen = 0;
        loop {
            let ends = self
                .continue_search(&mut search, |name, info| {
                    seen += 1;
                    each(name, info);
                })
                .await?;
            if seen > limit {
                return Err(wire(SEARCH)(WireError::TooLong { field: "directory", len: seen, max: limit }));
            }
            if ends {
                return Ok(());
            }
        }
    }

    /// Begins a search for every name in a directory.
    pub async fn begin_search(&mut self, path: &Path) -> Result<Search, ClientError> {
        let init = InitSearch { space: path.space, path: path.absolute().map_err(wire(SEARCH))? };
        let sequence = self.ask(SEARCH, &init.into()).await?;
        let position = Position::NameSpace { sequence, found: false };
        Ok(Search { space: path.space, position, classic_path: classic_path(path) })
    }

    /// Calls `each` for the names of the next replies; returns true if no names are left.
    pub async fn continue_search(
        &mut self,
        search: &mut Search,
        mut each: impl FnMut(&[u8], EntryInfo),
    ) -> Result<bool, ClientError> {
        if let Position::NameSpace { sequence, found } = search.position {
            match self.next_set(search, sequence, &mut each).await {
                Err(ClientError::Refused {
                    completion: Completion::Failure | Completion::UnknownFunction,
                    ..
                }) if !found && search.classic_path.is_some() => self.begin_classic(search).await?,
                Err(ClientError::Refused { completion: Completion::Failure, .. }) => return Ok(true),
                ended => return ended,
            }
        }
        self.next_classic(search, &mut each).await
    }

    /// The next reply of 87/20; true if it is the last one.
    async fn next_set(
        &mut self,
        search: &mut Search,
        sequence: Sequence,
        each: &mut impl FnMut(&[u8], EntryInfo),
    ) -> Result<bool, ClientError> {
        let call = SearchSet {
            space: search.space,
            stream: 0,
            search: EVERYTHING,
            mask: ReturnMask::ALL,
            extended: 0,
            max_entries: MAX_ENTRIES,
            sequence,
            pattern: Pstr::new(ANY_NAME).map_err(wire(SEARCH))?,
        };
        let data = self.call(SEARCH, &call.into()).await?;
        let found = FoundSet::decode(call.mask, data).map_err(wire(SEARCH))?;
        for named in found.entries() {
            let named = named.map_err(wire(SEARCH))?;
            each(&named.name.unwrap_or_default(), EntryInfo::from(&named.info));
        }
        if found.more != 0 && found.count == 0 {
            return Err(wire(SEARCH)(WireError::BadValue { field: "count", value: 0 }));
        }
        search.position = Position::NameSpace { sequence: found.sequence, found: true };
        Ok(found.more == 0)
    }

    /// Begins the classic search of the same directory.
    pub(super) async fn begin_classic(&mut self, search: &mut Search) -> Result<(), ClientError> {
        let path = Pstr::new(search.classic_path.as_deref().unwrap_or_default()).map_err(wire(SEARCH))?;
        // No directory handle: the path begins with the volume.
        let begin = BeginSearch { directory: 0, path };
        let begun: SearchBegun = self.ask(SEARCH, &begin.into()).await?;
        let place = SearchPlace { sequence: CLASSIC_START, ..begun.place };
        search.position = Position::Classic { place, directories: false };
        Ok(())
    }

    /// The next entries of a classic search: files, then directories; true if none are left.
    async fn next_classic(
        &mut self,
        search: &mut Search,
        each: &mut impl FnMut(&[u8], EntryInfo),
    ) -> Result<bool, ClientError> {
        let Position::Classic { mut place, mut directories } = search.position else { return Ok(true) };
        for _ in 0..CLASSIC_ENTRIES {
            let wanted =
                if directories { search::ALL_FILES | search::DIRECTORIES } else { search::ALL_FILES };
            let pattern = Pstr::new(ANY_DOS_NAME).map_err(wire(SEARCH))?;
            let call = ContinueSearch { place, search: wanted, pattern };
            let found = self.ask::<FoundFile>(SEARCH, &call.into()).await;
            let Some(found) = unless(found, &[Completion::Failure])? else {
                if directories {
                    return Ok(true);
                }
                directories = true;
                place.sequence = CLASSIC_START;
                continue;
            };
            let (name, info) = classic_entry(&found.entry);
            each(name, info);
            // A search that does not advance would never end.
            if found.sequence == place.sequence || found.sequence == CLASSIC_START {
                let value = u32::from(found.sequence);
                return Err(wire(SEARCH)(WireError::BadValue { field: "sequence", value }));
            }
            place.sequence = found.sequence;
        }
        search.position = Position::Classic { place, directories };
        Ok(false)
    }
}
