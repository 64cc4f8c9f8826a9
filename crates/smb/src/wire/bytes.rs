//! Little-endian fields: a bounded reader, and one trait that puts and gets each field type.

/// Why bytes cannot be decoded as a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The message ends within a field.
    #[error("{what}: {len} bytes are too few")]
    Short {
        /// Message or structure.
        what: &'static str,
        /// Its length.
        len: usize,
    },
    /// A field has an invalid value.
    #[error("{what}: {field} is {value:#x}")]
    Field {
        /// Message or structure.
        what: &'static str,
        /// Field.
        field: &'static str,
        /// Its value.
        value: u64,
    },
}

/// Reads the fields of a message from front to back, never past its end.
///
/// Every access is checked against the length of the message, so that bytes from a peer lead to a [`WireError`] and
/// never to a panic. Offsets in messages count from the start of the SMB2 header, which is the start of `message`.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    message: &'a [u8],
    at: usize,
    what: &'static str,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`; `what` names them in errors.
    pub fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { message: bytes, at: 0, what }
    }

    /// A reader after the header and the `StructureSize` of a message, which must be `size`.
    pub fn body(message: &'a [u8], size: u16, what: &'static str) -> Result<Self, WireError> {
        let mut reader = Self { message, at: super::HEADER_LEN, what };
        let found: u16 = reader.get()?;
        if found == size { Ok(reader) } else { Err(reader.bad("StructureSize", u64::from(found))) }
    }

    /// The next field.
    pub fn get<T: Field>(&mut self) -> Result<T, WireError> {
        T::get(self)
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], WireError> {
        let end = self.at.checked_add(len).ok_or(self.short())?;
        let bytes = self.message.get(self.at..end).ok_or(self.short())?;
        self.at = end;
        Ok(bytes)
    }

    /// `len` bytes at an offset from the start of the message; none at any offset when `len` is 0.
    pub fn slice(&self, offset: usize, len: usize) -> Result<&'a [u8], WireError> {
        if len == 0 {
            return Ok(&[]);
        }
        let end = offset.checked_add(len).ok_or(self.short())?;
        self.message.get(offset..end).ok_or(self.short())
    }

    /// The bytes that were not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.message.get(self.at..).unwrap_or_default()
    }

    /// An error about a field of this message.
    pub fn bad(&self, field: &'static str, value: u64) -> WireError {
        WireError::Field { what: self.what, field, value }
    }

    fn short(&self) -> WireError {
        WireError::Short { what: self.what, len: self.message.len() }
    }
}

/// A value with a fixed encoding on the wire.
pub trait Field: Sized {
    /// Encodes the value and appends it.
    fn put(&self, out: &mut Vec<u8>);
    /// Decodes the next value.
    fn get(reader: &mut Reader<'_>) -> Result<Self, WireError>;
}

impl<const N: usize> Field for [u8; N] {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(reader.take(N)?);
        Ok(bytes)
    }
}

macro_rules! integer_fields {
    ($($ty:ty)*) => {$(
        impl Field for $ty {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn get(reader: &mut Reader<'_>) -> Result<Self, WireError> {
                Ok(Self::from_le_bytes(reader.get()?))
            }
        }
    )*};
}
integer_fields!(u8 u16 u32 u64);

/// Identifier of an open file (`SMB2_FILEID`, MS-SMB2 2.2.14.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FileId {
    /// Part that survives a reconnect of a durable open.
    pub persistent: u64,
    /// Part that is valid within one session.
    pub volatile: u64,
}

impl FileId {
    /// The file of the previous request in a related compound (MS-SMB2 3.2.4.1.4).
    pub const PREVIOUS: Self = Self { persistent: u64::MAX, volatile: u64::MAX };
}

impl Field for FileId {
    fn put(&self, out: &mut Vec<u8>) {
        self.persistent.put(out);
        self.volatile.put(out);
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self { persistent: reader.get()?, volatile: reader.get()? })
    }
}

/// Text as UTF-16LE.
pub fn utf16(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() * 2);
    put_utf16(text, &mut out);
    out
}

/// Appends text as UTF-16LE.
pub fn put_utf16(text: &str, out: &mut Vec<u8>) {
    out.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
}

/// Text from UTF-16LE; an odd last byte is ignored.
///
/// A surrogate without its pair, which no text can hold, becomes `::D83D:`. Names that differ stay different, and no name of a file
/// equals one with such a part: `:` separates it from a stream, and this is no name of one.
pub fn from_utf16(bytes: &[u8]) -> String {
    let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    let mut text = String::with_capacity(bytes.len() / 2);
    for decoded in char::decode_utf16(units) {
        match decoded {
            Ok(letter) => text.push(letter),
            Err(lone) => text.extend([format!("::{:X}:", lone.unpaired_surrogate())]),
        }
    }
    text
}

/// Declares a message body of fixed fields in wire order, with its `StructureSize` and both directions.
macro_rules! body {
    ($(#[$doc:meta])* $name:ident, $size:literal { $($(#[$field_doc:meta])* $field:ident: $ty:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name { $($(#[$field_doc])* pub $field: $ty,)* }

        impl $name {
            /// Encodes the body and appends it.
            pub fn encode(&self, out: &mut Vec<u8>) {
                $crate::wire::Field::put(&($size as u16), out);
                $($crate::wire::Field::put(&self.$field, out);)*
            }

            /// Decodes the body of a message.
            pub fn decode(message: &[u8]) -> Result<Self, $crate::wire::WireError> {
                Self::get(&mut $crate::wire::Reader::body(message, $size, stringify!($name))?)
            }

            /// Decodes the fields after the `StructureSize`.
            pub fn get(reader: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::WireError> {
                Ok(Self { $($field: reader.get()?,)* })
            }
        }
    };
}
pub(super) use body;
