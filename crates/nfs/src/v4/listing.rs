//! READDIR (RFC 7530, 16.24).

use crate::v4::attribute_types::Component;
use crate::v4::attributes::Attributes;
use crate::v4::bitmap::Bitmap;
use crate::v4::item::{Item, message};
use crate::xdr::{Reader, Writer, XdrError};

message! {
    /// Arguments of `READDIR`.
    ReadDir {
        /// Cookie of the last entry that the client has; 0 at first.
        cookie: u64,
        /// Verifier of the last reply; zeros at first.
        verifier: [u8; 8],
        /// Wanted bytes of names and cookies.
        directory_bytes: u32,
        /// Largest result in bytes.
        max_bytes: u32,
        /// Wanted attributes.
        wanted: Bitmap,
    }
}

message! {
    /// An entry (`entry4`). The result of `READDIR` is a verifier, entries that are each preceded by a boolean, and
    /// the end: see [`get_listing`], [`put_entry`] and [`put_end`].
    ListedEntry<'a> {
        /// Continues the listing after this entry; not 0, 1 or 2.
        cookie: u64,
        /// Its name.
        name: Component<'a>,
        /// Its attributes.
        attributes: Attributes<'a>,
    }
}

/// Passes every entry of a successful `READDIR` to `each`. Returns the verifier, and true at the end of the directory.
pub fn get_listing<'a>(
    reader: &mut Reader<'a>,
    mut each: impl FnMut(ListedEntry<'a>),
) -> Result<([u8; 8], bool), XdrError> {
    let verifier = reader.array()?;
    while reader.boolean("entry follows")? {
        each(ListedEntry::get(reader)?);
    }
    Ok((verifier, reader.boolean("end of directory")?))
}

/// Appends an entry with those of its attributes that are in `wanted`. A server begins with the verifier and, if the
/// entry exceeds the client's limit, truncates the writer to where it was.
pub fn put_entry(writer: &mut Writer, entry: &ListedEntry<'_>, wanted: Bitmap) {
    writer.boolean(true);
    writer.u64(entry.cookie);
    entry.name.put(writer);
    entry.attributes.put_masked(wanted, writer);
}

/// Appends the end of the list of entries; `end` is true at the end of the directory.
pub fn put_end(writer: &mut Writer, end: bool) {
    writer.boolean(false);
    writer.boolean(end);
}
