//! Lists of items, which borrow from a message or from memory.

use std::marker::PhantomData;

use crate::v4::item::Item;
use crate::xdr::{Reader, Writer, XdrError};

/// A list of at most `MAX` items.
///
/// A decoded list is a part of its message, so that its length on the wire never determines an allocation: every
/// element was decoded once when the list was, and is decoded again when it is iterated. A list that is to be encoded
/// is a slice.
#[derive(Debug, Clone, Copy)]
pub struct List<'a, T, const MAX: usize> {
    source: Source<'a, T>,
}

#[derive(Debug, Clone, Copy)]
enum Source<'a, T> {
    Encoded { count: u32, bytes: &'a [u8], items: PhantomData<T> },
    Items(&'a [T]),
}

impl<'a, T: Item<'a> + Copy, const MAX: usize> List<'a, T, MAX> {
    /// A list of these items, of which those above `MAX` are left out.
    pub fn new(items: &'a [T]) -> Self {
        Self { source: Source::Items(&items[..items.len().min(MAX)]) }
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        match self.source {
            Source::Encoded { count, .. } => count as usize,
            Source::Items(items) => items.len(),
        }
    }

    /// True if there is no item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items in order.
    pub fn iter(&self) -> impl Iterator<Item = T> + use<'a, T, MAX> {
        let source = self.source;
        let mut reader = match source {
            Source::Encoded { bytes, .. } => Reader::new(bytes),
            Source::Items(_) => Reader::new(&[]),
        };
        (0..self.len()).map_while(move |index| match source {
            Source::Encoded { .. } => T::get(&mut reader).ok(),
            Source::Items(items) => items.get(index).copied(),
        })
    }
}

impl<'a, T: Item<'a> + Copy, const MAX: usize> Default for List<'a, T, MAX> {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl<'a, T: Item<'a> + Copy + PartialEq, const MAX: usize> PartialEq for List<'a, T, MAX> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<'a, T: Item<'a> + Copy + Eq, const MAX: usize> Eq for List<'a, T, MAX> {}

impl<'a, T: Item<'a> + Copy, const MAX: usize> Item<'a> for List<'a, T, MAX> {
    fn get(reader: &mut Reader<'a>) -> Result<Self, XdrError> {
        let count = reader.u32()?;
        if count as usize > MAX {
            return Err(XdrError::TooLong { field: "list", len: count, max: MAX });
        }
        let start = reader.rest();
        for _ in 0..count {
            T::get(reader)?;
        }
        let bytes = &start[..start.len() - reader.rest().len()];
        Ok(Self { source: Source::Encoded { count, bytes, items: PhantomData } })
    }

    fn put(&self, writer: &mut Writer) {
        writer.u32(self.len() as u32);
        match self.source {
            Source::Encoded { bytes, .. } => writer.raw(bytes),
            Source::Items(items) => items.iter().for_each(|item| item.put(writer)),
        }
    }
}
