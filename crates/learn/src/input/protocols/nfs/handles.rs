//! Handles, and the files that they mean.

use crate::input::protocols::entry::Entry;
use crate::input::recorder::Recording;

/// The number of the file of a handle.
pub(super) fn file(handle: &[u8], recorder: &mut Recording<'_>) -> u32 {
    let mut identity = vec![b'H'];
    identity.extend(handle);
    recorder.file(&identity)
}

/// The file that a name means: that of its handle, where that was seen.
pub(super) fn named(entry: &Entry, handle: Option<&[u8]>, recorder: &mut Recording<'_>) -> u32 {
    let Some(handle) = handle else { return entry.file(recorder) };
    let file = file(handle, recorder);
    entry.means(file, recorder);
    file
}
