//! Paths with slashes, as traces and logs have them, and the files that they name.

use super::recorder::Recording;
use crate::operation::Action;

/// A path from a directory on, without `.`, `..` and empty parts. A directory that is not known is the empty path.
pub(super) fn joined(directory: &[u8], path: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    let base: &[u8] = if path.starts_with(b"/") { b"" } else { directory };
    for part in base.split(|byte| *byte == b'/').chain(path.split(|byte| *byte == b'/')) {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let mut whole = Vec::new();
    for part in parts {
        whole.push(b'/');
        whole.extend_from_slice(part);
    }
    whole
}

/// The directory of a path, and the name in it.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    let (directory, name) = path.split_at(slash);
    (directory, name.strip_prefix(b"/").unwrap_or(name))
}

/// The file of a path, with what its name shows.
pub(super) fn named(path: &[u8], recorder: &mut Recording<'_>) -> u32 {
    let file = recorder.file(path);
    let (directory, name) = split(path);
    let directory = recorder.file(directory);
    if directory != file {
        recorder.directory(directory);
        recorder.name(file, Some(directory), name);
    }
    file
}

/// Gives what has a path another one, if `is_done`: the operation.
pub(super) fn rename(from: &[u8], to: &[u8], is_done: bool, recorder: &mut Recording<'_>) -> Action {
    let file = recorder.known_file(from);
    let mut replaced = recorder.known_file(to);
    if is_done {
        let file = named(from, recorder);
        replaced = recorder.rename(from, to).filter(|replaced| *replaced != file);
        let (directory, name) = split(to);
        let directory = recorder.file(directory);
        recorder.name(file, Some(directory), name);
    }
    Action::Rename { file, replaced }
}

/// Removes what has a path, if `is_done`: the operation.
pub(super) fn remove(path: &[u8], is_done: bool, recorder: &mut Recording<'_>) -> Action {
    let file = recorder.known_file(path);
    if is_done {
        recorder.forget(path);
    }
    Action::Remove { file }
}

/// Makes a directory with a path, if `is_done`: the operation.
pub(super) fn make_directory(path: &[u8], is_done: bool, recorder: &mut Recording<'_>) -> Action {
    let directory = is_done.then(|| named(path, recorder));
    if let Some(directory) = directory {
        recorder.created(directory);
        recorder.directory(directory);
    }
    Action::MakeDirectory { directory }
}
