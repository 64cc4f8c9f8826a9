//! Fields of both byte orders: a bounded reader, and a trait that encodes and decodes each kind of field.

/// An error in a packet, or in a value to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The packet ends within a field.
    #[error("{wanted} more bytes needed, {left} left")]
    Truncated {
        /// Bytes that the field needs.
        wanted: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// An invalid value.
    #[error("{field} has the invalid value {value:#x}")]
    BadValue {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u32,
    },
    /// A value that exceeds the length of its field.
    #[error("{field} has {len} bytes, more than the {max} possible")]
    TooLong {
        /// The field.
        field: &'static str,
        /// Its length in bytes.
        len: usize,
        /// The largest length.
        max: usize,
    },
}

/// Reads fields from the front of a packet; the results borrow from the packet.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the front of `packet`.
    pub const fn new(packet: &'a [u8]) -> Self {
        Self { rest: packet }
    }

    /// Bytes that have not been read.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Exactly `len` bytes.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], WireError> {
        let left = self.rest.len();
        let (head, tail) =
            self.rest.split_at_checked(len).ok_or(WireError::Truncated { wanted: len, left })?;
        self.rest = tail;
        Ok(head)
    }

    /// Exactly `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let left = self.rest.len();
        let (head, tail) = self.rest.split_first_chunk().ok_or(WireError::Truncated { wanted: N, left })?;
        self.rest = tail;
        Ok(*head)
    }

    /// The next field of kind `C`.
    pub fn get<C: Codec<'a>>(&mut self) -> Result<C::Value, WireError> {
        C::get(self)
    }
}

/// A kind of field: how its value is encoded and decoded.
pub trait Codec<'a> {
    /// The value in the program.
    type Value;

    /// Appends a value.
    fn put(value: &Self::Value, out: &mut Vec<u8>);

    /// Reads a value.
    fn get(reader: &mut Reader<'a>) -> Result<Self::Value, WireError>;

    /// Decodes the value at the front of `bytes`; the rest is ignored.
    fn decode(bytes: &'a [u8]) -> Result<Self::Value, WireError> {
        Self::get(&mut Reader::new(bytes))
    }
}

macro_rules! integers {
    ($($(#[$doc:meta])* $name:ident: $ty:ty, $to:ident, $from:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl Codec<'_> for $name {
            type Value = $ty;

            fn put(value: &$ty, out: &mut Vec<u8>) {
                out.extend_from_slice(&value.$to());
            }

            fn get(reader: &mut Reader<'_>) -> Result<$ty, WireError> {
                Ok(<$ty>::$from(reader.array()?))
            }
        }
    )*};
}

integers! {
    /// One byte.
    U8: u8, to_be_bytes, from_be_bytes;
    /// Two bytes, big-endian.
    Be16: u16, to_be_bytes, from_be_bytes;
    /// Four bytes, big-endian.
    Be32: u32, to_be_bytes, from_be_bytes;
    /// Eight bytes, big-endian.
    Be64: u64, to_be_bytes, from_be_bytes;
    /// Two bytes, little-endian.
    Le16: u16, to_le_bytes, from_le_bytes;
    /// Four bytes, little-endian.
    Le32: u32, to_le_bytes, from_le_bytes;
    /// Eight bytes, little-endian.
    Le64: u64, to_le_bytes, from_le_bytes;
}

/// `N` raw bytes.
#[derive(Debug)]
pub struct Raw<const N: usize>;

impl<const N: usize> Codec<'_> for Raw<N> {
    type Value = [u8; N];

    fn put(value: &[u8; N], out: &mut Vec<u8>) {
        out.extend_from_slice(value);
    }

    fn get(reader: &mut Reader<'_>) -> Result<[u8; N], WireError> {
        reader.array()
    }
}

/// A field after `N` reserved bytes, which are sent as zero and ignored on receipt.
#[derive(Debug)]
pub struct After<const N: usize, C>(std::marker::PhantomData<C>);

impl<'a, const N: usize, C: Codec<'a>> Codec<'a> for After<N, C> {
    type Value = C::Value;

    fn put(value: &C::Value, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0; N]);
        C::put(value, out);
    }

    fn get(reader: &mut Reader<'a>) -> Result<C::Value, WireError> {
        reader.take(N)?;
        C::get(reader)
    }
}

/// Everything up to the end of the packet.
#[derive(Debug)]
pub struct Rest;

impl<'a> Codec<'a> for Rest {
    type Value = &'a [u8];

    fn put(value: &&'a [u8], out: &mut Vec<u8>) {
        out.extend_from_slice(value);
    }

    fn get(reader: &mut Reader<'a>) -> Result<&'a [u8], WireError> {
        reader.take(reader.rest().len())
    }
}

/// Declares a message of fields in wire order: `name: type as kind of field`. A list of names declares several messages
/// with the same fields.
macro_rules! message {
    ([$($(#[$doc:meta])* $name:ident $(<$life:lifetime>)?,)+] $fields:tt) => {
        $($crate::wire::bytes::message! { $(#[$doc])* $name $(<$life>)? $fields })+
    };
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $ty:ty as $codec:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name { $($(#[$field_doc])* pub $field: $ty,)* }

        impl<'a> $crate::wire::Codec<'a> for $name {
            $crate::wire::bytes::message!(@both 'a { $($field as $codec,)* });
        }
    };
    ($(#[$doc:meta])* $name:ident<$life:lifetime> {
        $($(#[$field_doc:meta])* $field:ident: $ty:ty as $codec:ty,)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name<$life> { $($(#[$field_doc])* pub $field: $ty,)* }

        impl<$life> $crate::wire::Codec<$life> for $name<$life> {
            $crate::wire::bytes::message!(@both $life { $($field as $codec,)* });
        }
    };
    (@both $life:lifetime { $($field:ident as $codec:ty,)* }) => {
        type Value = Self;

        fn put(value: &Self, out: &mut Vec<u8>) {
            let _ = (value, &out);
            $(<$codec as $crate::wire::Codec<$life>>::put(&value.$field, out);)*
        }

        fn get(reader: &mut $crate::wire::Reader<$life>) -> Result<Self, $crate::wire::WireError> {
            let _ = &reader;
            Ok(Self { $($field: reader.get::<$codec>()?,)* })
        }
    };
}
pub(crate) use message;

#[cfg(test)]
mod tests {
    use super::*;

    message! {
        /// A message with every kind of field.
        Sample<'a> {
            /// First.
            a: u16 as Be16,
            /// Second.
            b: u32 as After<1, Le32>,
            /// Third.
            c: &'a [u8] as Rest,
        }
    }

    #[test]
    fn fields_are_encoded_in_declaration_order() {
        let sample = Sample { a: 0x0102, b: 0x0304_0506, c: b"xy" };
        let mut bytes = Vec::new();
        Sample::put(&sample, &mut bytes);
        assert_eq!(bytes, [1, 2, 0, 6, 5, 4, 3, b'x', b'y']);
        assert_eq!(Sample::decode(&bytes), Ok(sample));
    }

    #[test]
    fn error_of_a_short_packet_has_the_missing_bytes() {
        assert_eq!(Sample::decode(&[1, 2, 0, 6]), Err(WireError::Truncated { wanted: 4, left: 1 }));
    }
}
