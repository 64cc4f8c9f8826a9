//! What a loadfile expects to exist and what it leaves over, found by a dry run without a target.

use std::collections::BTreeMap;

use sharebench_model::ErrorClass;

use super::{Call, Disposition, Expected, Given, Loadfile, LoadfileLine};

/// What is known of a name at some line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// No line has determined it yet.
    Unknown,
    Gone,
    Directory,
    /// A file; which given one it was, if it was one.
    File {
        bytes: u64,
        origin: Option<u32>,
    },
}

/// The client's directory as lines change it.
struct Directory<'a> {
    parents: &'a [u32],
    names: Vec<State>,
    /// Names of open handles.
    open: BTreeMap<u32, u32>,
    given: BTreeMap<u32, Option<u64>>,
    /// Directories that were removed with all in them before anything was known of them.
    reset: Vec<u32>,
    bytes: u64,
    most_bytes: u64,
    changed: bool,
}

/// Fills in what follows from the lines.
pub(super) fn settle(file: &mut Loadfile, parents: &[u32]) {
    let mut world = Directory {
        parents,
        names: vec![State::Unknown; parents.len()],
        open: BTreeMap::new(),
        given: BTreeMap::new(),
        reset: Vec::new(),
        bytes: 0,
        most_bytes: 0,
        changed: false,
    };
    world.names[0] = State::Directory;
    for line in
        file.lines.iter().filter(|line| line.left_out.is_none() || matches!(line.call, Call::Close { .. }))
    {
        world.pass(line);
    }
    file.leaves = world.leaves();
    file.most_bytes = world.most_bytes + world.given.values().flatten().sum::<u64>();
    // A name's index is higher than its parent's.
    file.given = world.given.iter().map(|(name, bytes)| Given { name: *name, bytes: *bytes }).collect();
}

impl Directory<'_> {
    fn pass(&mut self, line: &LoadfileLine) {
        let succeeds = line.expected == Expected::Success;
        match (&line.call, succeeds) {
            (Call::Create { name, directory, disposition, handle }, true) => {
                self.create(*name, *directory, *disposition);
                self.open.insert(*handle, *name);
            }
            (Call::Close { handle }, _) => drop(self.open.remove(handle)),
            (Call::Rename { from, to }, true) => self.rename(*from, *to),
            (Call::Unlink { name }, true) => {
                self.need(*name, false);
                self.remove(*name);
            }
            (Call::Rmdir { name }, true) => {
                self.need(*name, true);
                self.remove(*name);
            }
            (Call::Mkdir { name }, true) => self.create(*name, true, Disposition::Create),
            (Call::Deltree { name }, _) => self.remove_tree(*name),
            // Whether it is a file or a directory shows later, or does not matter.
            (Call::QueryPath { name }, true) if self.names[*name as usize] == State::Unknown => {
                self.need(*name, false);
            }
            (Call::QueryPath { name } | Call::Create { name, .. }, false)
                if self.names[*name as usize] == State::Unknown
                    && matches!(line.expected, Expected::Failure(ErrorClass::NotFound, _)) =>
            {
                self.names[*name as usize] = State::Gone;
            }
            (Call::Find { directory, .. }, true) => self.need(*directory, true),
            (Call::Read { handle, offset, want, .. }, true) => {
                self.read(*handle, offset + u64::from(*want), *want);
            }
            (Call::Write { handle, offset, len }, true) => self.write(*handle, offset + u64::from(*len)),
            _ => {}
        }
    }

    /// The name must exist. If no earlier line created it, it existed from the start.
    fn need(&mut self, name: u32, directory: bool) {
        match self.names[name as usize] {
            State::Unknown => {
                self.need(self.parents[name as usize], true);
                let (state, bytes) = if directory {
                    (State::Directory, None)
                } else {
                    (State::File { bytes: 0, origin: Some(name) }, Some(0))
                };
                self.names[name as usize] = state;
                self.given.insert(name, bytes);
            }
            // An earlier line looked it up by name, and now it contains an entry.
            State::File { bytes: 0, origin: Some(origin) } if directory && origin == name => {
                self.names[name as usize] = State::Directory;
                self.given.insert(name, None);
            }
            _ => {}
        }
    }

    fn create(&mut self, name: u32, directory: bool, disposition: Disposition) {
        let opens = matches!(disposition, Disposition::Open | Disposition::Overwrite);
        if opens {
            self.need(name, directory);
        } else if matches!(self.names[name as usize], State::Unknown | State::Gone) {
            self.need(self.parents[name as usize], true);
            self.names[name as usize] =
                if directory { State::Directory } else { State::File { bytes: 0, origin: None } };
            // Nothing is in what was just made.
            self.below(name, |state| {
                if *state == State::Unknown {
                    *state = State::Gone;
                }
            });
        }
        if matches!(disposition, Disposition::Overwrite | Disposition::OverwriteIf) {
            self.resize(name, 0);
        }
    }

    fn rename(&mut self, from: u32, to: u32) {
        self.need(from, false);
        self.need(self.parents[to as usize], true);
        self.touch(from);
        self.remove(to);
        self.names[to as usize] = std::mem::replace(&mut self.names[from as usize], State::Gone);
        for name in self.open.values_mut().filter(|name| **name == from) {
            *name = to;
        }
    }

    fn remove(&mut self, name: u32) {
        self.touch(name);
        if let State::File { bytes, .. } = self.names[name as usize] {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
        self.names[name as usize] = State::Gone;
    }

    fn remove_tree(&mut self, name: u32) {
        if self.names[name as usize] == State::Unknown {
            self.reset.push(name);
        } else {
            self.touch(name);
        }
        let all: Vec<u32> =
            (0..self.names.len() as u32).filter(|other| self.is_below(*other, name)).collect();
        for other in all {
            if self.names[other as usize] != State::Unknown {
                self.remove(other);
            }
            self.names[other as usize] = State::Gone;
        }
        if name == 0 {
            self.names[0] = State::Directory;
        }
    }

    /// Something given is not what it was.
    fn touch(&mut self, name: u32) {
        self.changed |= match self.names[name as usize] {
            State::File { origin, .. } => origin.is_some(),
            State::Directory => self.given.contains_key(&name),
            State::Unknown | State::Gone => false,
        };
    }

    fn read(&mut self, handle: u32, end: u64, want: u32) {
        let Some(&name) = self.open.get(&handle) else { return };
        if let State::File { bytes, origin: Some(origin) } = self.names[name as usize]
            && want > 0
            && end > bytes
        {
            self.names[name as usize] = State::File { bytes: end, origin: Some(origin) };
            let given = self.given.entry(origin).or_insert(Some(0));
            *given = Some(given.unwrap_or(0).max(end));
        }
    }

    fn write(&mut self, handle: u32, end: u64) {
        let Some(&name) = self.open.get(&handle) else { return };
        self.touch(name);
        if let State::File { bytes, .. } = self.names[name as usize] {
            self.resize(name, bytes.max(end));
        }
    }

    fn resize(&mut self, name: u32, to: u64) {
        self.touch(name);
        if let State::File { bytes, .. } = &mut self.names[name as usize] {
            self.bytes = (self.bytes + to).saturating_sub(*bytes);
            *bytes = to;
            self.most_bytes = self.most_bytes.max(self.bytes);
        }
    }

    /// True when `name` is `directory` or in it.
    fn is_below(&self, name: u32, directory: u32) -> bool {
        let mut at = name;
        while at != directory && at != 0 {
            at = self.parents[at as usize];
        }
        at == directory
    }

    /// Does something to all that is in a directory, but not to itself.
    fn below(&mut self, directory: u32, mut what: impl FnMut(&mut State)) {
        for name in 0..self.names.len() as u32 {
            if name != directory && self.is_below(name, directory) {
                what(&mut self.names[name as usize]);
            }
        }
    }

    fn leaves(&self) -> bool {
        let is_reset = |name: u32| self.reset.iter().any(|directory| self.is_below(name, *directory));
        let left = |(name, state): (usize, &State)| {
            let name = name as u32;
            let there = matches!(state, State::Directory | State::File { .. });
            name != 0 && there && !self.given.contains_key(&name) && !is_reset(name)
        };
        self.changed || self.names.iter().enumerate().any(left)
    }
}
