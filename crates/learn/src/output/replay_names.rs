//! Made-up names of the files of an input, and which of them exist at a line of the loadfile.

use std::collections::BTreeMap;

use crate::operation::Observed;

/// Most levels of directories: parents that contain themselves must not loop.
const MAX_DEPTH: usize = 16;

/// Whether a name exists at a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// No line has used it.
    Unused,
    /// It exists, since before the first line.
    Given,
    /// A line made it.
    Made,
    /// It is removed, or replaced.
    Gone,
}

#[derive(Debug, Clone)]
struct Entry {
    directory: bool,
    parent: Option<u32>,
    name: String,
    presence: Presence,
    /// Bytes that lines wrote to a file that they made; none for what existed before.
    length: Option<u64>,
}

/// All names.
#[derive(Debug)]
pub struct Names {
    entries: Vec<Entry>,
    /// Existing entries of each directory.
    children: BTreeMap<u32, u64>,
    renamed: u64,
}

impl Names {
    /// Names by the numbers of the files.
    pub fn new(observed: &Observed) -> Self {
        let count = observed.files.len() as u32;
        let entries = observed.files.iter().enumerate().map(|(index, file)| Entry {
            directory: file.directory,
            parent: file.parent.filter(|parent| *parent < count && *parent as usize != index),
            name: format!("{}{index}", if file.directory { 'd' } else { 'f' }),
            presence: Presence::Unused,
            length: None,
        });
        Self { entries: entries.collect(), children: BTreeMap::new(), renamed: 0 }
    }

    /// A directory.
    pub fn is_directory(&self, file: u32) -> bool {
        self.entries.get(file as usize).is_some_and(|entry| entry.directory)
    }

    /// Whether it exists.
    pub fn presence(&self, file: u32) -> Presence {
        self.entries.get(file as usize).map_or(Presence::Gone, |entry| entry.presence)
    }

    /// The path of something that exists; it and its directories existed from the start where no line made them.
    pub fn known(&mut self, file: u32) -> Option<String> {
        match self.presence(file) {
            Presence::Gone => None,
            Presence::Unused => {
                self.appear(file, Presence::Given)?;
                self.path(file)
            }
            Presence::Given | Presence::Made => self.path(file),
        }
    }

    /// The path of a file that is opened, or made or emptied by that.
    pub fn opened(&mut self, file: u32, created: bool) -> Option<String> {
        if !created {
            return self.known(file);
        }
        if matches!(self.presence(file), Presence::Unused | Presence::Gone) {
            self.appear(file, Presence::Made)?;
        }
        self.entries.get_mut(file as usize)?.length = Some(0);
        self.path(file)
    }

    /// The path of a directory that is made; none where it exists.
    pub fn make(&mut self, directory: u32) -> Option<String> {
        if matches!(self.presence(directory), Presence::Given | Presence::Made) {
            return None;
        }
        self.entries.get_mut(directory as usize)?.directory = true;
        self.appear(directory, Presence::Made)?;
        self.path(directory)
    }

    /// The path of what is removed.
    pub fn remove(&mut self, file: u32) -> Option<String> {
        let path = self.known(file)?;
        self.vanish(file);
        Some(path)
    }

    /// The old and the new path of a file that is renamed.
    pub fn rename(&mut self, file: u32, replaced: Option<u32>) -> Option<(String, String)> {
        let from = self.known(file)?;
        let target = replaced.filter(|replaced| self.presence(*replaced) != Presence::Gone);
        let (parent, name) = if let Some(replaced) = target {
            self.known(replaced)?;
            let entry = self.entries.get(replaced as usize)?.clone();
            self.vanish(replaced);
            (entry.parent, entry.name)
        } else {
            self.renamed += 1;
            let parent = self.entries.get(file as usize)?.parent;
            (parent, format!("f{file}-{}", self.renamed))
        };
        let old_parent = self.entries.get(file as usize)?.parent;
        self.count(old_parent, false);
        self.count(parent, true);
        let entry = self.entries.get_mut(file as usize)?;
        (entry.parent, entry.name) = (parent, name);
        let to = self.path(file)?;
        Some((from, to))
    }

    /// True when something that exists is in the directory.
    pub fn has_entries(&self, directory: u32) -> bool {
        self.children.get(&directory).is_some_and(|count| *count > 0)
    }

    /// Bytes that a read delivers at the replay.
    pub fn readable(&self, file: u32, offset: u64, bytes: u32) -> u32 {
        match self.entries.get(file as usize).and_then(|entry| entry.length) {
            Some(length) => u64::from(bytes).min(length.saturating_sub(offset)) as u32,
            None => bytes,
        }
    }

    /// A line wrote up to there.
    pub fn wrote(&mut self, file: u32, end: u64) {
        if let Some(length) = self.entries.get_mut(file as usize).and_then(|entry| entry.length.as_mut()) {
            *length = (*length).max(end);
        }
    }

    /// It exists from here on, and so do its directories.
    fn appear(&mut self, file: u32, presence: Presence) -> Option<()> {
        let parent = self.entries.get(file as usize)?.parent;
        let mut above = parent;
        for _ in 0..MAX_DEPTH {
            let Some(directory) = above else { break };
            let entry = self.entries.get_mut(directory as usize)?;
            if matches!(entry.presence, Presence::Given | Presence::Made) {
                break;
            }
            if entry.presence == Presence::Gone {
                // Something is in a directory that was removed: the input lacks its new making.
                return None;
            }
            entry.directory = true;
            entry.presence = Presence::Given;
            above = entry.parent;
            self.count(above, true);
        }
        self.count(parent, true);
        self.entries.get_mut(file as usize)?.presence = presence;
        Some(())
    }

    fn vanish(&mut self, file: u32) {
        if let Some(entry) = self.entries.get_mut(file as usize) {
            entry.presence = Presence::Gone;
            entry.length = None;
            let parent = entry.parent;
            self.count(parent, false);
        }
    }

    fn count(&mut self, directory: Option<u32>, more: bool) {
        if let Some(directory) = directory {
            let count = self.children.entry(directory).or_default();
            *count = if more { *count + 1 } else { count.saturating_sub(1) };
        }
    }

    fn path(&self, file: u32) -> Option<String> {
        let mut parts = Vec::new();
        let mut at = Some(file);
        while let Some(index) = at.filter(|_| parts.len() < MAX_DEPTH) {
            let entry = self.entries.get(index as usize)?;
            parts.push(entry.name.as_str());
            at = entry.parent;
        }
        parts.push("");
        parts.reverse();
        Some(parts.join("\\"))
    }
}
