//! Items that are read and written by one definition.

use crate::protocol::Handle;
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

/// An item that occupies no bytes: arguments or results that are void.
impl Item<'_> for () {
    fn get(_: &mut Reader<'_>) -> Result<Self, XdrError> {
        Ok(())
    }

    fn put(&self, _: &mut Writer) {}
}

/// A list with at most one element.
impl<'a, T: Item<'a>> Item<'a> for Option<T> {
    fn get(reader: &mut Reader<'a>) -> Result<Self, XdrError> {
        reader.boolean("optional element")?.then(|| T::get(reader)).transpose()
    }

    fn put(&self, writer: &mut Writer) {
        writer.boolean(self.is_some());
        if let Some(element) = self {
            element.put(writer);
        }
    }
}

impl<const MAX: usize> Item<'_> for Handle<MAX> {
    #[inline]
    fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        Self::get(reader)
    }

    #[inline]
    fn put(&self, writer: &mut Writer) {
        Self::put(self, writer);
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

/// Defines an enumeration of the specification: an unknown value is an error of decoding.
macro_rules! enumeration {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$value_doc:meta])* $variant:ident = $code:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$value_doc])* $variant = $code,)*
        }

        impl $crate::v4::item::Item<'_> for $name {
            #[inline]
            fn get(reader: &mut $crate::xdr::Reader<'_>) -> Result<Self, $crate::xdr::XdrError> {
                match reader.u32()? {
                    $($code => Ok(Self::$variant),)*
                    value => Err($crate::xdr::XdrError::BadValue { field: $what, value }),
                }
            }

            #[inline]
            fn put(&self, writer: &mut $crate::xdr::Writer) {
                writer.u32(*self as u32);
            }
        }
    };
}

pub(crate) use {enumeration, message};
