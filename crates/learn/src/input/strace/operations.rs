//! System calls to operations on files.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::call::Call;
use super::descriptors::{Descriptors, Open};
use super::paths::{is_below, unquoted};
use crate::input::message::Ends;
use crate::input::paths::{self, joined, named};
use crate::input::performed::{Exchange, Performed};
use crate::input::recorder::Recording;
use crate::operation::{Access, Action, Outcome, Protocol};

/// The traced machine, which has the programs and the files.
const MACHINE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
pub(super) const ENDS: Ends = Ends { client: MACHINE, server: MACHINE };
/// The number of every error but `ENOENT`: traces have names.
const FAILED: u32 = 1;

/// Follows the processes of a trace.
pub(super) struct Operations {
    /// Only files here count.
    below: Option<Vec<u8>>,
    descriptors: Descriptors,
    /// The end of the furthest write to each file, for appends.
    ends: HashMap<u32, u64>,
}

/// Where a call has a path: its place among the arguments, and that of the descriptor that it is relative to.
#[derive(Debug, Clone, Copy)]
struct PathArgument {
    directory: Option<usize>,
    name: usize,
}

impl PathArgument {
    /// One that is relative to the working directory.
    const fn at(name: usize) -> Self {
        Self { directory: None, name }
    }

    /// One that follows its descriptor.
    const fn after(directory: usize) -> Self {
        Self { directory: Some(directory), name: directory + 1 }
    }
}

/// Where a call has a descriptor and the offset in its file. An offset of NULL is the position of the descriptor.
#[derive(Debug, Clone, Copy)]
struct OffsetArgument {
    descriptor: usize,
    offset: usize,
}

/// A call of a process at a time.
struct At<'a> {
    process: u32,
    thread: u32,
    start: u64,
    call: &'a Call<'a>,
}

impl At<'_> {
    fn outcome(&self) -> Outcome {
        match self.call.result {
            Ok(_) => Outcome::Done,
            Err(b"ENOENT") => Outcome::NotFound,
            Err(_) => Outcome::Failed(FAILED),
        }
    }

    /// Bytes that the call returned.
    fn count(&self) -> u64 {
        self.call.result.unwrap_or(0)
    }

    fn record(&self, action: Action, recorder: &mut Recording<'_>) {
        let user = recorder.user(u64::from(self.process), Protocol::SystemCalls);
        let end = Some(self.start.saturating_add(self.call.duration.unwrap_or(0)));
        recorder.add(Exchange { user, start: self.start, end }, Performed::one(action, self.outcome()));
    }
}

impl Operations {
    pub(super) fn new(below: Option<&str>) -> Self {
        let below = below.map(|directory| joined(b"", directory.as_bytes()));
        Self { below, descriptors: Descriptors::default(), ends: HashMap::new() }
    }

    /// A process or thread has ended. Another one may get its number.
    pub(super) fn ended(&mut self, thread: u32) {
        self.descriptors.ended(thread);
    }

    /// Adds what a call did; calls on other things than files do nothing.
    pub(super) fn add(&mut self, thread: u32, start: u64, call: &Call<'_>, recorder: &mut Recording<'_>) {
        let at = At { process: self.descriptors.owner(thread), thread, start, call };
        for argument in &call.arguments {
            // "AT_FDCWD</home/a>" with `-y`: nothing else shows where a program was started.
            if let Some(path) = argument.strip_prefix(b"AT_FDCWD<").and_then(|rest| rest.strip_suffix(b">")) {
                self.descriptors.enter(at.process, joined(b"", path));
            }
        }
        match call.name {
            "open" | "creat" => self.open(&at, PathArgument::at(0), recorder),
            "openat" | "openat2" => self.open(&at, PathArgument::after(0), recorder),
            "close" => self.close(&at, recorder),
            "read" | "readv" => self.read(&at, None, recorder),
            "pread64" | "preadv" | "preadv2" => self.read(&at, call.number(3), recorder),
            "write" | "writev" => self.write(&at, None, recorder),
            "pwrite64" | "pwritev" | "pwritev2" => self.write(&at, call.number(3), recorder),
            "copy_file_range" => {
                let from = OffsetArgument { descriptor: 0, offset: 1 };
                self.copy(&at, from, OffsetArgument { descriptor: 2, offset: 3 }, recorder);
            }
            "sendfile" => {
                let from = OffsetArgument { descriptor: 1, offset: 2 };
                self.copy(&at, from, OffsetArgument { descriptor: 0, offset: usize::MAX }, recorder);
            }
            "lseek" => self.seek(&at),
            "fsync" | "fdatasync" | "sync_file_range" => {
                self.on_open(&at, |file| Action::Flush { file }, recorder);
            }
            "ftruncate" => {
                let size = call.number(1).unwrap_or(0);
                self.on_open(&at, |file| Action::SetSize { file, size }, recorder);
            }
            "flock" => {
                let release = call.has_flag(1, "LOCK_UN");
                self.on_open(&at, |file| Action::Lock { file, release }, recorder);
            }
            "fcntl" => self.control(&at, recorder),
            "getdents64" | "getdents" => self.list(&at, recorder),
            "fstat" => self.stat_open(&at, recorder),
            "fchmod" | "fchown" => self.on_open(&at, |file| Action::SetAttributes { file }, recorder),
            "dup" | "dup2" | "dup3" => self.duplicate(&at),
            "clone" | "clone3" | "fork" | "vfork" => self.start_process(&at),
            "chdir" | "fchdir" => self.enter(&at),
            _ => self.by_name(&at, recorder),
        }
    }

    fn by_name(&mut self, at: &At<'_>, recorder: &mut Recording<'_>) {
        match at.call.name {
            "stat" | "lstat" | "access" | "readlink" => self.stat(at, PathArgument::at(0), recorder),
            "newfstatat" | "statx" | "faccessat" | "faccessat2" | "readlinkat" => {
                self.stat(at, PathArgument::after(0), recorder);
            }
            "truncate" => {
                let size = at.call.number(1).unwrap_or(0);
                if let Some(file) = self.file(at, PathArgument::at(0), recorder) {
                    recorder.changed(file);
                    at.record(Action::SetSize { file, size }, recorder);
                }
            }
            "chmod" | "chown" | "lchown" | "utime" | "utimes" => {
                self.set_attributes(at, PathArgument::at(0), recorder);
            }
            "fchmodat" | "fchownat" | "utimensat" => {
                self.set_attributes(at, PathArgument::after(0), recorder);
            }
            "unlink" | "rmdir" => self.remove(at, PathArgument::at(0), recorder),
            "unlinkat" => self.remove(at, PathArgument::after(0), recorder),
            "mkdir" => self.make_directory(at, PathArgument::at(0), recorder),
            "mkdirat" => self.make_directory(at, PathArgument::after(0), recorder),
            "rename" => self.rename(at, PathArgument::at(0), PathArgument::at(1), recorder),
            "renameat" | "renameat2" => {
                self.rename(at, PathArgument::after(0), PathArgument::after(2), recorder);
            }
            "link" | "symlink" => self.link(at, PathArgument::at(1), recorder),
            "linkat" => self.link(at, PathArgument::after(2), recorder),
            "symlinkat" => self.link(at, PathArgument::after(1), recorder),
            "statfs" if self.path(at, PathArgument::at(0)).is_some() => at.record(Action::Space, recorder),
            _ => {}
        }
    }

    /// The path of an argument, if it is one that counts.
    fn path(&mut self, at: &At<'_>, argument: PathArgument) -> Option<Vec<u8>> {
        let PathArgument { directory, name } = argument;
        let name = unquoted(at.call.argument(name))?;
        let base = match directory.map(|index| at.call.argument(index)) {
            Some(argument) if !argument.starts_with(b"AT_FDCWD") => {
                let descriptor = directory.and_then(|index| at.call.descriptor(index));
                descriptor
                    .and_then(|descriptor| Some(self.descriptors.get(at.process, descriptor)?.path.clone()))
            }
            _ => Some(self.descriptors.directory(at.process).to_vec()),
        };
        let path = joined(&base.unwrap_or_default(), &name);
        self.below.as_ref().is_none_or(|below| is_below(&path, below)).then_some(path)
    }

    /// The file that a path names.
    fn file(&mut self, at: &At<'_>, argument: PathArgument, recorder: &mut Recording<'_>) -> Option<u32> {
        let path = self.path(at, argument)?;
        Some(named(&path, recorder))
    }

    fn open(&mut self, at: &At<'_>, argument: PathArgument, recorder: &mut Recording<'_>) {
        let Some(path) = self.path(at, argument) else { return };
        let flags = argument.name + 1;
        let has = |flag: &str| at.call.has_flag(flags, flag);
        let creates = at.call.name == "creat";
        let write = creates || has("O_WRONLY") || has("O_RDWR");
        if at.outcome() != Outcome::Done {
            let file = recorder.known_file(&path);
            at.record(Action::Open { file, access: Access::from_write(write), created: false }, recorder);
            return;
        }
        let is_new = recorder.known_file(&path).is_none() && (creates || has("O_CREAT"));
        let made = has("O_EXCL") && has("O_CREAT") || is_new && (creates || has("O_TRUNC"));
        let emptied = creates || has("O_TRUNC");
        let file = named(&path, recorder);
        if made {
            recorder.created(file);
        } else if emptied {
            recorder.changed(file);
        }
        if emptied || made {
            self.ends.insert(file, 0);
        }
        let is_directory = has("O_DIRECTORY");
        if is_directory {
            recorder.directory(file);
        } else {
            at.record(
                Action::Open {
                    file: Some(file),
                    access: Access::from_write(write),
                    created: made || emptied,
                },
                recorder,
            );
        }
        let open = Open {
            file,
            path,
            position: 0,
            append: has("O_APPEND"),
            synchronous: has("O_SYNC") || has("O_DSYNC"),
            directory: is_directory,
            listed: false,
        };
        self.descriptors.put(at.process, at.count(), open);
    }

    /// The open file of the first argument.
    fn opened(&mut self, at: &At<'_>) -> Option<&mut Open> {
        self.descriptors.get(at.process, at.call.descriptor(0)?)
    }

    fn on_open(&mut self, at: &At<'_>, action: impl FnOnce(u32) -> Action, recorder: &mut Recording<'_>) {
        if let Some(file) = self.opened(at).map(|open| open.file) {
            let action = action(file);
            if matches!(action, Action::SetSize { .. }) {
                recorder.changed(file);
            }
            at.record(action, recorder);
        }
    }

    fn close(&mut self, at: &At<'_>, recorder: &mut Recording<'_>) {
        let Some(descriptor) = at.call.descriptor(0) else { return };
        if let Some(open) = self.descriptors.take(at.process, descriptor)
            && !open.directory
        {
            at.record(Action::Close { file: open.file }, recorder);
        }
    }

    /// A copy within the kernel is a read and a write. The places of descriptors and offsets are given; an offset of NULL is
    /// the position of the descriptor.
    fn copy(&mut self, at: &At<'_>, from: OffsetArgument, to: OffsetArgument, recorder: &mut Recording<'_>) {
        // "[4096] => [8192]" is an offset before and after.
        let offset = |index: usize| {
            let text = std::str::from_utf8(at.call.argument(index)).unwrap_or_default();
            text.trim_start_matches('[').split(']').next()?.parse().ok()
        };
        self.read_from(at, from.descriptor, offset(from.offset), None, recorder);
        self.write_to(at, to.descriptor, offset(to.offset), recorder);
    }

    fn read(&mut self, at: &At<'_>, offset: Option<u64>, recorder: &mut Recording<'_>) {
        // The lengths of `readv` are in a list of buffers.
        let asked = at.call.number(2).filter(|_| !at.call.name.contains("readv"));
        self.read_from(at, 0, offset, asked, recorder);
    }

    fn read_from(
        &mut self,
        at: &At<'_>,
        descriptor: usize,
        offset: Option<u64>,
        asked: Option<u64>,
        recorder: &mut Recording<'_>,
    ) {
        let count = at.count();
        let descriptor = at.call.descriptor(descriptor);
        let Some(open) = descriptor.and_then(|number| self.descriptors.get(at.process, number)) else {
            return;
        };
        let start = offset.unwrap_or(open.position);
        if offset.is_none() {
            open.position = start.saturating_add(count);
        }
        let file = open.file;
        let bytes = u32::try_from(count).unwrap_or(u32::MAX);
        let asked = asked.map_or(bytes, |asked| u32::try_from(asked).unwrap_or(u32::MAX));
        at.record(Action::Read { file, offset: start, asked, bytes }, recorder);
    }

    fn write(&mut self, at: &At<'_>, offset: Option<u64>, recorder: &mut Recording<'_>) {
        self.write_to(at, 0, offset, recorder);
    }

    fn write_to(
        &mut self,
        at: &At<'_>,
        descriptor: usize,
        offset: Option<u64>,
        recorder: &mut Recording<'_>,
    ) {
        let count = at.count();
        let descriptor = at.call.descriptor(descriptor);
        let Some(open) = descriptor.and_then(|number| self.descriptors.get(at.process, number)) else {
            return;
        };
        let end = self.ends.entry(open.file).or_default();
        let start = if open.append { *end } else { offset.unwrap_or(open.position) };
        *end = (*end).max(start.saturating_add(count));
        if offset.is_none() {
            open.position = start.saturating_add(count);
        }
        let file = open.file;
        let stable = open.synchronous;
        recorder.changed(file);
        let bytes = u32::try_from(count).unwrap_or(u32::MAX);
        at.record(Action::Write { file, offset: start, bytes, stable }, recorder);
    }

    fn seek(&mut self, at: &At<'_>) {
        let Ok(position) = at.call.result else { return };
        if let Some(open) = self.opened(at) {
            open.position = position;
            open.listed &= position != 0;
        }
    }

    fn control(&mut self, at: &At<'_>, recorder: &mut Recording<'_>) {
        let command = at.call.argument(1);
        if command.starts_with(b"F_DUPFD") {
            self.duplicate(at);
        } else if matches!(command, b"F_SETLK" | b"F_SETLKW" | b"F_OFD_SETLK" | b"F_OFD_SETLKW") {
            let release = at.call.argument(2).windows(7).any(|part| part == b"F_UNLCK");
            self.on_open(at, |file| Action::Lock { file, release }, recorder);
        }
    }

    fn list(&mut self, at: &At<'_>, recorder: &mut Recording<'_>) {
        let Some(open) = self.opened(at) else { return };
        let directory = open.file;
        let first = !std::mem::replace(&mut open.listed, true);
        // "0x55d0 /* 12 entries */"
        let text = std::str::from_utf8(at.call.argument(1)).unwrap_or_default();
        let entries = text.split_whitespace().find_map(|word| word.parse().ok()).unwrap_or(0);
        recorder.directory(directory);
        // The last call of a listing returns nothing; over a network it is part of the one before.
        if at.count() > 0 {
            at.record(Action::List { directory, entries, first }, recorder);
        }
    }

    fn stat_open(&mut self, at: &At<'_>, recorder: &mut Recording<'_>) {
        let Some(open) = self.opened(at) else { return };
        let file = open.file;
        let is_directory = open.directory;
        note_size(at.call, file, recorder);
        if !is_directory {
            at.record(Action::Stat { file: Some(file) }, recorder);
        }
    }

    fn stat(&mut self, at: &At<'_>, argument: PathArgument, recorder: &mut Recording<'_>) {
        if at.call.argument(argument.name) == b"\"\"" {
            // The descriptor itself (`AT_EMPTY_PATH`).
            return self.stat_open(at, recorder);
        }
        let Some(path) = self.path(at, argument) else { return };
        let file = match at.outcome() {
            Outcome::Done => {
                let file = named(&path, recorder);
                note_size(at.call, file, recorder);
                Some(file)
            }
            _ => recorder.known_file(&path),
        };
        at.record(Action::Stat { file }, recorder);
    }

    fn set_attributes(&mut self, at: &At<'_>, argument: PathArgument, recorder: &mut Recording<'_>) {
        if let Some(file) = self.file(at, argument, recorder) {
            at.record(Action::SetAttributes { file }, recorder);
        }
    }

    fn remove(&mut self, at: &At<'_>, argument: PathArgument, recorder: &mut Recording<'_>) {
        let Some(path) = self.path(at, argument) else { return };
        let action = paths::remove(&path, at.outcome() == Outcome::Done, recorder);
        at.record(action, recorder);
    }

    fn make_directory(&mut self, at: &At<'_>, argument: PathArgument, recorder: &mut Recording<'_>) {
        let Some(path) = self.path(at, argument) else { return };
        let action = paths::make_directory(&path, at.outcome() == Outcome::Done, recorder);
        at.record(action, recorder);
    }

    fn rename(&mut self, at: &At<'_>, from: PathArgument, to: PathArgument, recorder: &mut Recording<'_>) {
        let from = self.path(at, from);
        let to = self.path(at, to);
        let (Some(from), Some(to)) = (from, to) else { return };
        let action = paths::rename(&from, &to, at.outcome() == Outcome::Done, recorder);
        at.record(action, recorder);
    }

    fn link(&mut self, at: &At<'_>, argument: PathArgument, recorder: &mut Recording<'_>) {
        if self.path(at, argument).is_some() {
            at.record(Action::Other("link"), recorder);
        }
    }

    fn duplicate(&mut self, at: &At<'_>) {
        let Ok(descriptor) = at.call.result else { return };
        if let Some(open) = self.opened(at).cloned() {
            self.descriptors.put(at.process, descriptor, open);
        }
    }

    fn start_process(&mut self, at: &At<'_>) {
        let Ok(child) = at.call.result else { return };
        let Ok(child) = u32::try_from(child) else { return };
        let shares = at.call.arguments.iter().any(|text| text.windows(11).any(|part| part == b"CLONE_FILES"));
        self.descriptors.started(at.thread, child, shares);
    }

    fn enter(&mut self, at: &At<'_>) {
        if at.outcome() != Outcome::Done {
            return;
        }
        let path = match unquoted(at.call.argument(0)) {
            Some(name) => joined(self.descriptors.directory(at.process), &name),
            None => match self.opened(at) {
                Some(open) => open.path.clone(),
                None => return,
            },
        };
        self.descriptors.enter(at.process, path);
    }
}

/// Notes the size that a result has, as in `{st_mode=S_IFREG|0644, st_size=4096, ...}`.
fn note_size(call: &Call<'_>, file: u32, recorder: &mut Recording<'_>) {
    for argument in &call.arguments {
        let text = String::from_utf8_lossy(argument);
        if text.contains("S_IFDIR") {
            recorder.directory(file);
        } else if let Some((_, rest)) = text.split_once("_size=") {
            let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default();
            if let Ok(size) = digits.parse() {
                recorder.size(file, size);
            }
        }
    }
}
