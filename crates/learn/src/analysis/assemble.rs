//! Sequences from operations: one pass over the input, with what each user has under way.

use std::collections::{BTreeMap, BTreeSet};

use super::by_name::{Role, roles};
use super::coverage::Counts;
use super::sequence::{NameChange, Sequence, Subject};
use crate::operation::{Action, Observed, Operation, Outcome};

/// From this number of pauses on, an open file whose open or close is not in the input is one that stays open.
const MIN_BURSTS: usize = 4;
/// A file that is open longer, with as many pauses, stays open too, ns.
const LONG_OPEN: u64 = 30_000_000_000;

/// A sequence under way.
struct Group {
    /// All of it.
    whole: Sequence,
    /// What happened since the last pause.
    burst: Sequence,
    /// What happened between the pauses before.
    bursts: Vec<Sequence>,
    /// Opens without their closes.
    depth: u32,
    /// It was open, and is closed.
    done: bool,
}

/// What one user has under way.
#[derive(Default)]
struct UserState {
    groups: BTreeMap<u32, Group>,
    /// Groups without an open file, by the end of their last operation: they end with the gap.
    idle: BTreeSet<(u64, u32)>,
    connects: u32,
}

struct Assembler<'a> {
    observed: &'a Observed,
    gap: u64,
    users: Vec<UserState>,
    /// Where sequential requests of a file continue, of each user: reads and writes.
    next: BTreeMap<(u32, u32), [u64; 2]>,
    /// Length of each file as far as it is known.
    lengths: Vec<Option<u64>>,
    sequences: Vec<Sequence>,
    counts: &'a mut Counts,
}

/// The sequences of all users, by their start. What belongs to none is counted.
pub fn sequences(observed: &Observed, gap: u64, counts: &mut Counts) -> Vec<Sequence> {
    let mut assembly = Assembler {
        observed,
        gap,
        users: observed.users.iter().map(|_| UserState::default()).collect(),
        next: BTreeMap::new(),
        lengths: observed.files.iter().map(|file| if file.created { Some(0) } else { file.size }).collect(),
        sequences: Vec::new(),
        counts,
    };
    for (operation, role) in observed.operations.iter().zip(roles(observed)) {
        match operation.action {
            Action::Open { file, .. } if role == Role::Attributes => {
                let asks = Operation { action: Action::Stat { file }, ..operation.clone() };
                assembly.operation(&asks, false);
            }
            _ => assembly.operation(operation, role == Role::Carrier),
        }
    }
    assembly.finish()
}

impl Assembler<'_> {
    fn operation(&mut self, operation: &Operation, is_carrier: bool) {
        let user = operation.user;
        if self.users.get(user as usize).is_none() {
            return self.counts.leave_out("operations of unknown users", 1);
        }
        self.expire(user, operation.start);
        if let Some(why) = not_stated(&operation.action, operation.outcome) {
            return self.counts.leave_out(why, 1);
        }
        match operation.action {
            Action::Space => self.alone(operation, Subject::Space),
            Action::Connect => {
                let state = &mut self.users[user as usize];
                state.connects += 1;
                if state.connects == 1 {
                    return self
                        .counts
                        .leave_out("first log-on of a user, which a load does before its window", 1);
                }
                self.alone(operation, Subject::Connect);
            }
            Action::Open { file: Some(file), .. }
            | Action::Close { file }
            | Action::Read { file, .. }
            | Action::Write { file, .. }
            | Action::Flush { file }
            | Action::Stat { file: Some(file) }
            | Action::SetSize { file, .. }
            | Action::Lookup { file: Some(file) }
            | Action::List { directory: file, .. }
            | Action::Remove { file: Some(file) }
            | Action::Rename { file: Some(file), .. } => self.on_file(operation, file, is_carrier),
            _ => self.counts.leave_out("requests without a file that is known", 1),
        }
    }

    fn alone(&mut self, operation: &Operation, subject: Subject) {
        let mut sequence = Sequence::new(operation.user, subject, operation.start);
        sequence.end = operation.ended();
        sequence.operations = 1;
        self.sequences.push(sequence);
    }

    fn on_file(&mut self, operation: &Operation, file: u32, is_carrier: bool) {
        let is_list = matches!(operation.action, Action::List { .. });
        if self.observed.is_directory(file) && !is_list && !is_carrier {
            let what = match operation.action {
                Action::Lookup { .. } | Action::Stat { .. } => "look-ups and attributes of directories",
                _ => "opening, renaming and removing of directories",
            };
            return self.counts.leave_out(what, 1);
        }
        let user = operation.user;
        let mut group = self.take(user, file, operation, is_carrier);
        let end = operation.ended();
        let open_pause = operation.start.saturating_sub(group.whole.end);
        if group.depth > 0 && group.burst.operations > 0 && open_pause > self.gap {
            group.whole.paused += open_pause;
            let burst = Sequence::new(user, Subject::File(file), operation.start);
            group.bursts.push(std::mem::replace(&mut group.burst, burst));
        }
        for sequence in [&mut group.whole, &mut group.burst] {
            sequence.operations += 1;
            sequence.end = sequence.end.max(end);
        }
        if !is_carrier {
            self.count(&mut group, operation, file);
        }
        let state = &mut self.users[user as usize];
        if group.depth == 0 {
            state.idle.insert((group.whole.end, file));
        }
        state.groups.insert(file, group);
    }

    /// The group of a file, or a new one where this operation begins another sequence.
    fn take(&mut self, user: u32, file: u32, operation: &Operation, is_carrier: bool) -> Group {
        let has_opens = self.observed.has_opens(user);
        let state = &mut self.users[user as usize];
        if let Some(group) = state.groups.remove(&file) {
            state.idle.remove(&(group.whole.end, file));
            let begins = match operation.action {
                Action::Open { .. } => {
                    !is_carrier && group.depth == 0 && (group.done || group.whole.has_data())
                }
                // Without opens a look-up, or the first byte again, begins the next sequence.
                Action::Lookup { .. } => group.depth == 0 && group.whole.has_data(),
                Action::Read { offset: 0, .. } => {
                    !has_opens && group.whole.reads.count > 0 && group.whole.reads.next > 0
                }
                Action::Write { offset: 0, .. } => {
                    !has_opens && group.whole.writes.count > 0 && group.whole.writes.next > 0
                }
                _ => false,
            };
            if !begins {
                return group;
            }
            self.complete(group);
        }
        self.begin(user, file, operation.start)
    }

    fn begin(&mut self, user: u32, file: u32, start: u64) -> Group {
        let subject =
            if self.observed.is_directory(file) { Subject::Directory(file) } else { Subject::File(file) };
        let mut whole = Sequence::new(user, subject, start);
        let burst = whole.clone();
        // A listing directly before belongs to the file that follows.
        let parent = self.observed.parent(file);
        let state = &mut self.users[user as usize];
        if let (Subject::File(_), Some(parent)) = (subject, parent)
            && let Some(listed) = state.groups.get(&parent)
            && matches!(listed.whole.subject, Subject::Directory(_))
            && listed.whole.lists > 0
            && let Some(listed) = state.groups.remove(&parent)
        {
            state.idle.remove(&(listed.whole.end, parent));
            whole.lists = listed.whole.lists;
            whole.start = listed.whole.start;
            whole.operations = listed.whole.operations;
        }
        Group { whole, burst, bursts: Vec::new(), depth: 0, done: false }
    }

    fn count(&mut self, group: &mut Group, operation: &Operation, file: u32) {
        let user = operation.user;
        match operation.action {
            Action::Open { created, .. } => {
                group.depth += 1;
                let is_first = !group.whole.opened;
                if is_first {
                    group.whole.opened = true;
                    group.whole.created = created;
                    self.next.remove(&(user, file));
                } else {
                    self.counts.simplify("opens of a file that its user had open already", 1);
                }
                if created && let Some(length) = self.lengths.get_mut(file as usize) {
                    *length = Some(0);
                }
                if !self.observed.has_opens(user) {
                    // What made the file leaves nothing open.
                    group.depth = 0;
                }
            }
            Action::Close { .. } => {
                group.depth = group.depth.saturating_sub(1);
                if group.depth == 0 {
                    group.done = true;
                    group.whole.closed = true;
                }
            }
            Action::Read { offset, asked, bytes, .. } => {
                let at = self.next.entry((user, file)).or_default();
                let expected = std::mem::replace(&mut at[0], offset.saturating_add(u64::from(bytes)));
                group.whole.reads.add(offset, asked, bytes, expected);
                group.burst.reads.add(offset, asked, bytes, expected);
            }
            Action::Write { offset, bytes, stable, .. } => {
                self.write(group, user, file, offset, bytes, stable);
            }
            Action::Flush { .. } => both(group, |sequence| sequence.flushes += 1),
            Action::SetSize { size, .. } => {
                both(group, |sequence| sequence.set_sizes += 1);
                if let Some(length) = self.lengths.get_mut(file as usize) {
                    *length = Some(size);
                }
            }
            Action::Stat { .. } => {
                let place = if group.depth > 0 {
                    1
                } else if group.done {
                    2
                } else {
                    0
                };
                both(group, |sequence| sequence.stats[place] += 1);
            }
            Action::Lookup { .. } => {
                if !group.whole.has_data() {
                    // Where its user stopped reading earlier says nothing about a file that is opened again.
                    self.next.remove(&(user, file));
                }
                both(group, |sequence| sequence.lookups += 1);
            }
            Action::List { first, .. } => both(group, |sequence| sequence.lists += u32::from(first)),
            Action::Rename { .. } => {
                group.whole.name = NameChange::Renamed;
                group.done = true;
            }
            Action::Remove { .. } => {
                group.whole.name = NameChange::Removed;
                group.done = true;
            }
            _ => {}
        }
    }

    fn write(&mut self, group: &mut Group, user: u32, file: u32, offset: u64, bytes: u32, stable: bool) {
        let at = self.next.entry((user, file)).or_default();
        let expected = std::mem::replace(&mut at[1], offset.saturating_add(u64::from(bytes)));
        let length = self.lengths.get_mut(file as usize);
        let appends =
            length.as_ref().is_some_and(|length| length.is_some_and(|length| length > 0 && offset == length));
        let end = offset.saturating_add(u64::from(bytes));
        if let Some(length) = length {
            *length = length.map_or((offset == 0).then_some(end), |length| Some(length.max(end)));
        }
        both(group, |sequence| {
            if sequence.writes.count == 0 {
                sequence.appends = appends;
            }
            sequence.writes.add(offset, bytes, bytes, expected);
            sequence.writes.stable += u32::from(stable);
        });
    }

    /// Ends what has been idle for longer than the gap.
    fn expire(&mut self, user: u32, now: u64) {
        loop {
            let state = &mut self.users[user as usize];
            let Some((end, file)) = state.idle.first().copied() else { return };
            if end.saturating_add(self.gap) >= now {
                return;
            }
            state.idle.remove(&(end, file));
            if let Some(group) = state.groups.remove(&file) {
                self.complete(group);
            }
        }
    }

    fn complete(&mut self, mut group: Group) {
        let has_opens = self.observed.has_opens(group.whole.user);
        let bursts = group.bursts.len() + 1;
        let is_cut = !group.whole.opened || !group.whole.closed;
        let is_long = group.whole.end.saturating_sub(group.whole.start) >= LONG_OPEN;
        if has_opens && bursts >= MIN_BURSTS && (is_cut || is_long) && !group.whole.created {
            group.bursts.push(group.burst);
            self.counts.simplify("files that stay open for long, opened before the window", 1);
            for mut burst in group.bursts {
                burst.kept = true;
                if burst.has_data() || burst.stats[1] > 0 {
                    self.sequences.push(burst);
                } else {
                    self.counts.leave_out(
                        "opening and closing of files that stay open",
                        u64::from(burst.operations),
                    );
                }
            }
            return;
        }
        let whole = &mut group.whole;
        let unopened = !whole.opened && whole.has_data();
        if unopened && has_opens || unopened && whole.lookups == 0 && whole.stats[0] == 0 {
            whole.kept = true;
        }
        if whole.paused > 0 {
            self.counts.simplify("transactions with pauses in them, which are counted as think time", 1);
        }
        let is_empty = whole.operations > 0
            && whole.lists + whole.lookups + whole.stats.iter().sum::<u32>() == 0
            && !whole.opened
            && !whole.has_data()
            && whole.name == NameChange::None;
        if is_empty {
            let what = "opening of directories and files for what no plan states";
            self.counts.leave_out(what, u64::from(whole.operations));
        } else {
            self.sequences.push(group.whole);
        }
    }

    fn finish(mut self) -> Vec<Sequence> {
        for user in 0..self.users.len() {
            for (_, group) in std::mem::take(&mut self.users[user].groups) {
                self.complete(group);
            }
        }
        self.sequences.sort_by_key(|sequence| (sequence.start, sequence.user));
        self.sequences
    }
}

fn both(group: &mut Group, change: impl Fn(&mut Sequence)) {
    change(&mut group.whole);
    change(&mut group.burst);
}

/// Why a plan cannot state an operation; none where it can.
fn not_stated(action: &Action, outcome: Outcome) -> Option<&'static str> {
    match (action, outcome) {
        (
            Action::Stat { file: None } | Action::Lookup { file: None } | Action::Open { file: None, .. },
            _,
        )
        | (_, Outcome::NotFound) => Some("look-ups of names that do not exist"),
        (_, Outcome::Failed(_)) => Some("requests that failed"),
        (Action::SetAttributes { .. }, _) => Some("setting of attributes other than the size"),
        (Action::Lock { .. }, _) => Some("byte-range locks"),
        (Action::MakeDirectory { .. }, _) => Some("making of directories"),
        (Action::Other(_), _) => Some("operations of the protocol that no plan has"),
        _ => None,
    }
}
