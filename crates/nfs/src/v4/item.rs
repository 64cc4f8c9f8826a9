//! Items that are read and written by one definition.

use crate::xdr::{Reader, Writer, XdrError};

/// A part of a message. [`Self::get`] reads exactly the bytes that [`Self::put`] writes.
pub trait Item<'a>: Sized {
    /// Decodes the item from the front of a message.
    fn get(reader: &mut Reader<'a>) -> Result<Self, XdrError>;

    /// Appends the encoded item.
    fn put(&self, writer: &mut Writer);
}

impl Item<'_> for u32 {
    #[inline]
    fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        reader.u32()
    }

    #[inline]
    fn put(&self, writer: &mut Writer) {
        writer.u32(*self);
    }
}

impl Item<'_> for u64 {
    #[inline]
    fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        reader.u64()
    }

    #[inline]
    fn put(&self, writer: &mut Writer) {
        writer.u64(*self);
    }
}

impl Item<'_> for bool {
    #[inline]
    fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        reader.boolean("boolean")
    }

    #[inline]
    fn put(&self, writer: &mut Writer) {
        writer.boolean(*self);
    }
}

/// Fixed opaque data; `N` is a multiple of four, so that there is no padding.
impl<const N: usize> Item<'_> for [u8; N] {
    #[inline]
    fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        reader.array()
    }

    #[inline]
    fn put(&self, writer: &mut Writer) {
        writer.raw(self);
    }
}

/// Variable opaque data of at most `MAX` bytes. The limit is checked when it is decoded; the encoder keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opaque<'a, const MAX: usize>(pub &'a [u8]);

impl<'a, const MAX: usize> Item<'a> for Opaque<'a, MAX> {
    #[inline]
    fn get(reader: &mut Reader<'a>) -> Result<Self, XdrError> {
        reader.opaque("opaque data", MAX).map(Self)
    }

    #[inline]
    fn put(&self, writer: &mut Writer) {
        writer.opaque(self.0);
    }
}

/// Defines a message whose fields follow each other, with its codec.
macro_rules! message {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)? { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name $(<$life>)? {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl<'a> $crate::v4::item::Item<'a> for $name $(<$life>)? {
            #[inline]
            fn get(reader: &mut $crate::xdr::Reader<'a>) -> Result<Self, $crate::xdr::XdrError> {
                Ok(Self { $($field: $crate::v4::item::Item::get(reader)?,)* })
            }

            #[inline]
            fn put(&self, writer: &mut $crate::xdr::Writer) {
                $($crate::v4::item::Item::put(&self.$field, writer);)*
            }
        }
    };
}

pub(crate) use message;
