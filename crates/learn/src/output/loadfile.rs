//! An input as a loadfile of dbench: every operation with its time stamp, on made-up names (docs/measure/loads.md).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::replay_names::{Names, Presence};
use crate::analysis::{NotExpressed, Role, roles};
use crate::operation::{Action, Observed, Operation, Outcome};

/// Most bytes of the text: `load` reads up to 64 MiB, and what is open must still be closed.
const MAX_BYTES: usize = 60 << 20;
/// Where the protocol has no close, a file that is idle for longer is closed, ns.
const IDLE: u64 = 1_000_000_000;
/// The name of everything that does not exist.
const MISSING: &str = "\\missing";
const OK: &str = "NT_STATUS_OK";
const NOT_FOUND: &str = "NT_STATUS_OBJECT_NAME_NOT_FOUND";

/// A loadfile, and what is not in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadfileText {
    /// The text.
    pub text: String,
    /// Its operations.
    pub lines: u64,
    /// Operations of the input without a line, by why.
    pub left_out: Vec<NotExpressed>,
}

/// An open file of a user.
struct Handle {
    number: u32,
    used: u64,
}

struct Writer<'a> {
    observed: &'a Observed,
    names: Names,
    out: LoadfileText,
    left_out: BTreeMap<&'static str, u64>,
    handles: BTreeMap<(u32, u32), Vec<Handle>>,
    next_handle: u32,
    /// The directory that a user listed with its last operation.
    listed: BTreeMap<u32, u32>,
    /// Time stamp of the current line, ns.
    at: u64,
}

/// Writes the operations of all users in the order of their time.
pub fn loadfile(observed: &Observed) -> LoadfileText {
    let mut writer = Writer {
        observed,
        names: Names::new(observed),
        out: LoadfileText::default(),
        left_out: BTreeMap::new(),
        handles: BTreeMap::new(),
        next_handle: 1,
        listed: BTreeMap::new(),
        at: 0,
    };
    let roles = roles(observed);
    let opening = opening_lookups(observed);
    let first = observed.operations.first().map_or(0, |operation| operation.start);
    for ((operation, role), opens) in observed.operations.iter().zip(roles).zip(opening) {
        writer.at = operation.start.saturating_sub(first).max(writer.at);
        if writer.out.text.len() > MAX_BYTES {
            writer.leave_out("operations after the loadfile had 60 MiB");
        } else if role != Role::Carrier {
            writer.operation(operation, opens);
        }
    }
    let open: Vec<(u32, u32)> = writer.handles.keys().copied().collect();
    for (user, file) in open {
        writer.close_all(user, file);
    }
    let mut left_out: Vec<NotExpressed> =
        writer.left_out.into_iter().map(|(what, operations)| NotExpressed { what, operations }).collect();
    left_out.sort_by_key(|left_out| std::cmp::Reverse(left_out.operations));
    LoadfileText { left_out, ..writer.out }
}

/// Look-ups of a protocol without open that the same user's next operation on the file shows to be one.
fn opening_lookups(observed: &Observed) -> Vec<bool> {
    let mut found = vec![false; observed.operations.len()];
    let mut moves_next: BTreeMap<(u32, u32), bool> = BTreeMap::new();
    for (operation, opens) in observed.operations.iter().zip(found.iter_mut()).rev() {
        let user = operation.user;
        match operation.action {
            Action::Read { file, .. } | Action::Write { file, .. } | Action::Flush { file } => {
                moves_next.insert((user, file), true);
            }
            Action::Lookup { file: Some(file) } => {
                let has_opens = observed.has_opens(user);
                *opens = moves_next.insert((user, file), false) == Some(true) && !has_opens;
            }
            Action::Stat { file: Some(file) } | Action::Open { file: Some(file), .. } => {
                moves_next.insert((user, file), false);
            }
            _ => {}
        }
    }
    found
}

impl Writer<'_> {
    fn leave_out(&mut self, what: &'static str) {
        *self.left_out.entry(what).or_default() += 1;
    }

    /// Writes one line.
    fn line(&mut self, call: std::fmt::Arguments<'_>, status: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.out.text, "{:.6} {call} {status}", self.at as f64 / 1e9);
        self.out.lines += 1;
    }

    fn operation(&mut self, operation: &Operation, opens: bool) {
        let user = operation.user;
        let listed_before = self.listed.remove(&user);
        match (operation.action, operation.outcome) {
            (_, Outcome::Failed(_)) => return self.leave_out("requests that failed"),
            (Action::Stat { .. } | Action::Lookup { .. }, Outcome::NotFound)
            | (Action::Stat { file: None } | Action::Lookup { file: None }, _) => {
                return self.line(format_args!("QUERY_PATH_INFORMATION \"{MISSING}\" 1006"), NOT_FOUND);
            }
            (Action::Open { .. }, Outcome::NotFound) | (Action::Open { file: None, .. }, _) => {
                let handle = self.new_handle();
                return self.line(format_args!("NTCreateX \"{MISSING}\" 0x40 1 {handle}"), NOT_FOUND);
            }
            (_, Outcome::NotFound) => return self.leave_out("requests that failed"),
            _ => {}
        }
        match operation.action {
            Action::Open { file: Some(file), created, .. } => self.open(user, file, created),
            Action::Close { file } => self.close(user, file),
            Action::Read { file, offset, bytes, .. } => self.read(user, file, offset, bytes),
            Action::Write { file, offset, bytes, .. } => self.write(user, file, offset, bytes),
            Action::Flush { file } => self.on_handle(user, file, "Flush", ""),
            Action::SetSize { file, .. } => self.on_handle(user, file, "SET_FILE_INFORMATION", " 1020"),
            Action::Lock { .. } => self.leave_out("byte-range locks, whose ranges are not kept"),
            Action::Lookup { file: Some(file) } if opens => {
                self.close_all(user, file);
                self.open(user, file, false);
            }
            Action::Stat { file: Some(file) } | Action::Lookup { file: Some(file) } => {
                match self.names.known(file) {
                    Some(path) => self.line(format_args!("QUERY_PATH_INFORMATION \"{path}\" 1006"), OK),
                    None => self.leave_out("requests on names that are gone"),
                }
            }
            Action::List { directory, entries, first } => {
                self.listed.insert(user, directory);
                // The rest of a listing is requested by whoever replays it.
                if first || listed_before != Some(directory) {
                    self.list(directory, entries);
                }
            }
            Action::MakeDirectory { directory: Some(directory) } => match self.names.make(directory) {
                Some(path) => self.line(format_args!("Mkdir \"{path}\""), OK),
                None => self.leave_out("making of directories that exist already"),
            },
            Action::Remove { file: Some(file) } => self.remove(file),
            Action::Rename { file: Some(file), replaced } => self.rename(file, replaced),
            Action::Space => self.line(format_args!("QUERY_FS_INFORMATION 1007"), OK),
            Action::SetAttributes { .. } => self.leave_out("setting of attributes other than the size"),
            Action::Connect => self.leave_out("log-ons"),
            _ => self.leave_out("operations that no loadfile has"),
        }
    }

    fn new_handle(&mut self) -> u32 {
        self.next_handle += 1;
        self.next_handle - 1
    }

    fn open(&mut self, user: u32, file: u32, created: bool) {
        if self.names.is_directory(file) {
            return self.leave_out("opening of directories");
        }
        if self.names.presence(file) == Presence::Gone && !created {
            return self.leave_out("requests on names that are gone");
        }
        let Some(path) = self.names.opened(file, created) else {
            return self.leave_out("requests on names that are gone");
        };
        let number = self.new_handle();
        let disposition = if created { 5 } else { 1 };
        self.line(format_args!("NTCreateX \"{path}\" 0x40 {disposition} {number}"), OK);
        self.handles.entry((user, file)).or_default().push(Handle { number, used: self.at });
    }

    fn close(&mut self, user: u32, file: u32) {
        let Some(opens) = self.handles.get_mut(&(user, file)) else {
            return self.leave_out("closing of what was never used");
        };
        let closed = opens.pop();
        if opens.is_empty() {
            self.handles.remove(&(user, file));
        }
        if let Some(handle) = closed {
            self.line(format_args!("Close {}", handle.number), OK);
        }
    }

    fn close_all(&mut self, user: u32, file: u32) {
        for handle in self.handles.remove(&(user, file)).unwrap_or_default() {
            self.line(format_args!("Close {}", handle.number), OK);
        }
    }

    /// The handle of a file; opens it where the input did not show it, or the protocol has no open.
    fn handle(&mut self, user: u32, file: u32) -> Option<u32> {
        let has_closes = self.observed.has_opens(user);
        let at = self.at;
        let last_use =
            self.handles.get(&(user, file)).and_then(|opens| opens.last()).map(|handle| handle.used);
        if !has_closes && last_use.is_some_and(|used| at.saturating_sub(used) > IDLE) {
            self.close_all(user, file);
        }
        if !self.handles.contains_key(&(user, file)) {
            if self.names.is_directory(file) || self.names.presence(file) == Presence::Gone {
                return None;
            }
            self.open(user, file, false);
        }
        let handle = self.handles.get_mut(&(user, file))?.last_mut()?;
        handle.used = at;
        Some(handle.number)
    }

    fn on_handle(&mut self, user: u32, file: u32, name: &str, arguments: &str) {
        match self.handle(user, file) {
            Some(handle) => self.line(format_args!("{name} {handle}{arguments}"), OK),
            None => self.leave_out("requests on names that are gone"),
        }
    }

    fn read(&mut self, user: u32, file: u32, offset: u64, bytes: u32) {
        // What the lines themselves wrote is all that a file has that they made.
        let bytes = self.names.readable(file, offset, bytes);
        if bytes == 0 {
            return self.leave_out("reads that deliver nothing");
        }
        match self.handle(user, file) {
            Some(handle) => self.line(format_args!("ReadX {handle} {offset} {bytes} {bytes}"), OK),
            None => self.leave_out("requests on names that are gone"),
        }
    }

    fn write(&mut self, user: u32, file: u32, offset: u64, bytes: u32) {
        if bytes == 0 {
            return self.leave_out("writes of nothing");
        }
        match self.handle(user, file) {
            Some(handle) => {
                self.names.wrote(file, offset.saturating_add(u64::from(bytes)));
                self.line(format_args!("WriteX {handle} {offset} {bytes} {bytes}"), OK);
            }
            None => self.leave_out("requests on names that are gone"),
        }
    }

    fn list(&mut self, directory: u32, entries: u32) {
        match self.names.known(directory).filter(|_| self.names.is_directory(directory)) {
            Some(path) => self.line(format_args!("FIND_FIRST \"{path}\\*\" 260 512 {entries}"), OK),
            None => self.leave_out("requests on names that are gone"),
        }
    }

    /// Closes a file that is about to lose its name, for all users.
    fn close_for_all(&mut self, file: u32) {
        let open: Vec<(u32, u32)> = self.handles.keys().copied().filter(|(_, open)| *open == file).collect();
        for (user, file) in open {
            self.close_all(user, file);
        }
    }

    fn remove(&mut self, file: u32) {
        let is_directory = self.names.is_directory(file);
        if is_directory && self.names.has_entries(file) {
            return self.leave_out("removing of directories that are not empty without others' work");
        }
        self.close_for_all(file);
        match self.names.remove(file) {
            Some(path) if is_directory => self.line(format_args!("Rmdir \"{path}\""), OK),
            Some(path) => self.line(format_args!("Unlink \"{path}\" 0"), OK),
            None => self.leave_out("requests on names that are gone"),
        }
    }

    fn rename(&mut self, file: u32, replaced: Option<u32>) {
        if self.names.is_directory(file) || replaced == Some(file) {
            return self.leave_out("renaming of directories");
        }
        self.close_for_all(file);
        if let Some(replaced) = replaced {
            self.close_for_all(replaced);
        }
        match self.names.rename(file, replaced) {
            Some((from, to)) => self.line(format_args!("Rename \"{from}\" \"{to}\""), OK),
            None => self.leave_out("requests on names that are gone"),
        }
    }
}
