//! Calls that search directories (docs/protocols/ncp.md 3.2, 3.4).

use super::connection::SearchPosition;
use super::entry_filter::EntryFilter;
use super::execute::Execution;
use super::names::{NameSpace, Pattern};
use super::replies::{classic, named};
use super::shared::Shared;
use super::volume::{Entry, Volume, VolumeNode, VolumeResult};
use crate::wire::find::{BeginSearch, ContinueSearch, FoundFile, SearchBegun, SearchFile, SearchPlace};
use crate::wire::name_space_search::{FoundNext, FoundSet, InitSearch, SearchNext, SearchSet, Sequence};
use crate::wire::{Completion, FileEntry};

const START: u32 = u32::MAX;
const CLASSIC_START: u16 = u16::MAX;
/// Bytes of the header of a search set, of an entry, and of the length of its name.
const SET_HEAD: usize = 12;
const ENTRY: usize = 76 + 1;
/// Entries read from the volume at a time.
const PAGE: usize = 64;

/// A search, and the cookie after which it continues.
struct Search {
    directory: VolumeNode,
    pattern: Pattern,
    filter: EntryFilter,
    space: NameSpace,
    cookie: u64,
}

impl Search {
    /// The next entries with their cookies, until `enough` rejects one; the flag is true if it did.
    fn entries<V: Volume>(
        &self,
        shared: &Shared<V>,
        mut enough: impl FnMut(&Entry) -> bool,
    ) -> VolumeResult<(Vec<(u64, Entry)>, bool)> {
        let volume = shared.volume(self.directory.volume)?;
        let mut cookie = self.cookie;
        let mut found = Vec::new();
        loop {
            let page = volume.list(self.directory.node, cookie, PAGE)?;
            let Some((last, _)) = page.last() else { return Ok((found, false)) };
            cookie = *last;
            for (cookie, mut entry) in page {
                if !self.filter.has(&entry) {
                    continue;
                }
                entry.name = self.space.shown(&entry.name);
                if self.pattern.matches(&entry.name) {
                    if enough(&entry) {
                        return Ok((found, true));
                    }
                    found.push((cookie, entry));
                }
            }
        }
    }

    /// The next entry with its cookie.
    fn next<V: Volume>(&self, shared: &Shared<V>) -> VolumeResult<(u64, Entry)> {
        let mut count = 0;
        let (mut found, _) = self.entries(shared, |_| {
            count += 1;
            count > 1
        })?;
        found.pop().ok_or(Completion::Failure)
    }
}

/// The pattern of a search. An empty one matches every name; calls that change files have no such rule.
fn search_pattern(sent: &[u8]) -> Pattern {
    let empty = sent.iter().all(|byte| *byte == 0xFF);
    Pattern::new(if empty { b"*" } else { sent })
}

impl<V: Volume> Execution<'_, V> {
    /// 0x3E (docs/protocols/ncp.md 3.2).
    pub fn begin_search(&mut self, call: &BeginSearch<'_>) -> VolumeResult<()> {
        let found = self.directory(call.directory, &call.path)?;
        let directory = self.connection.add_search(found);
        let place = SearchPlace { volume: found.volume, directory, sequence: CLASSIC_START };
        let rights = self.shared.rights(found.volume)?;
        self.reply(&SearchBegun { place, rights })
    }

    /// 0x3F (docs/protocols/ncp.md 3.2).
    pub fn continue_search(&mut self, call: &ContinueSearch<'_>) -> VolumeResult<()> {
        let directory = self.connection.search(call.place.directory)?;
        let (sequence, entry) =
            self.next_classic(directory, call.place.sequence, &call.pattern, call.search)?;
        self.reply(&FoundFile { sequence, directory: call.place.directory, entry })
    }

    /// 0x40 (docs/protocols/ncp.md 3.2): combines 0x3E and 0x3F; the last component of the path is the pattern.
    pub fn search_file(&mut self, call: &SearchFile<'_>) -> VolumeResult<()> {
        let (directory, pattern) = self.shared.split_path(self.connection, call.directory, &call.pattern)?;
        let (sequence, entry) = self.next_classic(directory, call.sequence, pattern, call.search)?;
        self.reply(&FoundFile { sequence, directory: [0; 2], entry })
    }

    /// The next entry of a classic search with its sequence number.
    fn next_classic(
        &mut self,
        directory: VolumeNode,
        sequence: u16,
        pattern: &[u8],
        attributes: u8,
    ) -> VolumeResult<(u16, FileEntry)> {
        let cookie = match sequence {
            CLASSIC_START => 0,
            number => self.connection.position(number, directory)?,
        };
        let pattern = search_pattern(pattern);
        let filter = EntryFilter::of_classic(attributes);
        let search = Search { directory, pattern, filter, space: NameSpace::Dos, cookie };
        let (cookie, entry) = search.next(self.shared)?;
        let entry = classic(&entry)?;
        Ok((self.connection.add_position(SearchPosition { directory, cookie }), entry))
    }

    /// 87/2 (docs/protocols/ncp.md 3.4).
    pub fn init_search(&mut self, call: &InitSearch<'_>) -> VolumeResult<()> {
        let found = self.shared.directory(&self.path_in(call.space, &call.path)?)?;
        self.reply(&Sequence { volume: found.volume, directory: found.node, entry: START })
    }

    /// 87/3 (docs/protocols/ncp.md 3.4).
    pub fn search_next(&mut self, call: &SearchNext<'_>) -> VolumeResult<()> {
        let search = self.resumed(call.sequence, &call.pattern, call.search, call.space)?;
        let (cookie, entry) = search.next(self.shared)?;
        let sequence = self.sequence_after(&search, cookie);
        let entry = named(self.shared, &entry, search.directory.volume, call.mask);
        FoundNext { sequence, entry }.put(self.out);
        Ok(())
    }

    /// 87/20 (docs/protocols/ncp.md 3.4): as many entries as the negotiated buffer holds, at least one.
    pub fn search_set(&mut self, call: &SearchSet<'_>) -> VolumeResult<()> {
        let search = self.resumed(call.sequence, &call.pattern, call.search, call.space)?;
        let reply_limit = usize::from(self.connection.buffer);
        let limit = call.max_entries;
        let mut taken = SET_HEAD;
        let mut count = 0;
        let (found, more) = search.entries(self.shared, |entry| {
            taken += ENTRY + entry.name.len();
            count += 1;
            count > 1 && (taken > reply_limit || count > limit)
        })?;
        let (cookie, _) = found.last().ok_or(Completion::Failure)?;
        let sequence = self.sequence_after(&search, *cookie);
        FoundSet::put_head(&sequence, if more { 0xFF } else { 0 }, found.len() as u16, self.out);
        for (_, entry) in &found {
            named(self.shared, entry, search.directory.volume, call.mask).put(self.out);
        }
        Ok(())
    }

    /// The search that a call of a name space continues.
    fn resumed(
        &self,
        sequence: Sequence,
        pattern: &[u8],
        attributes: u16,
        space: u8,
    ) -> VolumeResult<Search> {
        let directory = VolumeNode { volume: sequence.volume, node: sequence.directory };
        let cookie = match sequence.entry {
            START => 0,
            entry => {
                let number = u16::try_from(entry).map_err(|_| Completion::DirectoryIoError)?;
                self.connection.position(number, directory)?
            }
        };
        let space = self.shared.name_space(directory.volume, space)?;
        let filter = EntryFilter::of_name_space(attributes);
        Ok(Search { directory, pattern: search_pattern(pattern), filter, space, cookie })
    }

    /// The sequence that continues a search after an entry.
    fn sequence_after(&mut self, search: &Search, cookie: u64) -> Sequence {
        let directory = search.directory;
        let number = self.connection.add_position(SearchPosition { directory, cookie });
        Sequence { volume: directory.volume, directory: directory.node, entry: number.into() }
    }
}
