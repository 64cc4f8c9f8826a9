//! The header, the words and the bytes of a message (MS-CIFS 2.2.3).

use crate::wire::{Field, Reader, WireError, put_utf16};

/// First bytes of a message.
pub use crate::wire::smb1::PROTOCOL_ID;

/// Bytes of a header.
pub const HEADER_LEN: usize = 32;
/// Position of the signature.
pub const SIGNATURE: std::ops::Range<usize> = 14..22;

/// Commands (MS-CIFS 2.2.2.1).
#[expect(missing_docs, reason = "the names are the specification's")]
pub mod command {
    pub const CREATE_DIRECTORY: u8 = 0x00;
    pub const DELETE_DIRECTORY: u8 = 0x01;
    pub const CLOSE: u8 = 0x04;
    pub const FLUSH: u8 = 0x05;
    pub const DELETE: u8 = 0x06;
    pub const RENAME: u8 = 0x07;
    pub const QUERY_INFORMATION: u8 = 0x08;
    pub const SET_INFORMATION: u8 = 0x09;
    pub const LOCK_BYTE_RANGE: u8 = 0x0C;
    pub const UNLOCK_BYTE_RANGE: u8 = 0x0D;
    pub const CHECK_DIRECTORY: u8 = 0x10;
    pub const PROCESS_EXIT: u8 = 0x11;
    pub const SET_INFORMATION2: u8 = 0x22;
    pub const QUERY_INFORMATION2: u8 = 0x23;
    pub const LOCKING_ANDX: u8 = 0x24;
    pub const TRANSACTION: u8 = 0x25;
    pub const TRANSACTION_SECONDARY: u8 = 0x26;
    pub const ECHO: u8 = 0x2B;
    pub const OPEN_ANDX: u8 = 0x2D;
    pub const READ_ANDX: u8 = 0x2E;
    pub const WRITE_ANDX: u8 = 0x2F;
    pub const TRANSACTION2: u8 = 0x32;
    pub const TRANSACTION2_SECONDARY: u8 = 0x33;
    pub const FIND_CLOSE2: u8 = 0x34;
    pub const TREE_DISCONNECT: u8 = 0x71;
    pub const NEGOTIATE: u8 = 0x72;
    pub const SESSION_SETUP_ANDX: u8 = 0x73;
    pub const LOGOFF_ANDX: u8 = 0x74;
    pub const TREE_CONNECT_ANDX: u8 = 0x75;
    pub const QUERY_INFORMATION_DISK: u8 = 0x80;
    pub const NT_TRANSACT: u8 = 0xA0;
    pub const NT_TRANSACT_SECONDARY: u8 = 0xA1;
    pub const NT_CREATE_ANDX: u8 = 0xA2;
    pub const NT_CANCEL: u8 = 0xA4;
    /// `AndXCommand`: no further command.
    pub const NONE: u8 = 0xFF;

    /// True for a command whose words start with a further one (MS-CIFS 2.2.3.4).
    pub const fn is_andx(command: u8) -> bool {
        matches!(
            command,
            LOCKING_ANDX
                | OPEN_ANDX
                | READ_ANDX
                | WRITE_ANDX
                | SESSION_SETUP_ANDX
                | LOGOFF_ANDX
                | TREE_CONNECT_ANDX
                | NT_CREATE_ANDX
        )
    }

    /// Name of a command in error messages.
    pub const fn name(command: u8) -> &'static str {
        match command {
            CREATE_DIRECTORY => "CREATE_DIRECTORY",
            DELETE_DIRECTORY => "DELETE_DIRECTORY",
            CLOSE => "CLOSE",
            FLUSH => "FLUSH",
            DELETE => "DELETE",
            RENAME => "RENAME",
            LOCK_BYTE_RANGE => "LOCK_BYTE_RANGE",
            UNLOCK_BYTE_RANGE => "UNLOCK_BYTE_RANGE",
            CHECK_DIRECTORY => "CHECK_DIRECTORY",
            PROCESS_EXIT => "PROCESS_EXIT",
            LOCKING_ANDX => "LOCKING_ANDX",
            ECHO => "ECHO",
            READ_ANDX => "READ_ANDX",
            WRITE_ANDX => "WRITE_ANDX",
            TRANSACTION2 => "TRANSACTION2",
            FIND_CLOSE2 => "FIND_CLOSE2",
            NEGOTIATE => "NEGOTIATE",
            SESSION_SETUP_ANDX => "SESSION_SETUP_ANDX",
            LOGOFF_ANDX => "LOGOFF_ANDX",
            TREE_CONNECT_ANDX => "TREE_CONNECT_ANDX",
            NT_CREATE_ANDX => "NT_CREATE_ANDX",
            _ => "unknown command",
        }
    }
}

/// Bit of `Flags`: the message is a response.
pub const REPLY: u8 = 0x80;
/// `Flags` of a request: canonical paths, names without case.
pub const REQUEST_FLAGS: u8 = 0x18;

/// Bits of `Flags2` (MS-CIFS 2.2.3.1, MS-SMB 2.2.3.1).
#[expect(missing_docs, reason = "the names are the specification's")]
pub mod flags2 {
    pub const LONG_NAMES: u16 = 0x0001;
    pub const SECURITY_SIGNATURE: u16 = 0x0004;
    pub const SIGNATURE_REQUIRED: u16 = 0x0010;
    pub const EXTENDED_SECURITY: u16 = 0x0800;
    pub const NT_STATUS: u16 = 0x4000;
    pub const UNICODE: u16 = 0x8000;
}

/// The header of a message (MS-CIFS 2.2.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// See [`command`].
    pub command: u8,
    /// Status of a response.
    pub status: u32,
    /// See [`REPLY`] and [`REQUEST_FLAGS`].
    pub flags: u8,
    /// See [`flags2`].
    pub flags2: u16,
    /// Upper half of the process id.
    pub pid_high: u16,
    /// Signature; zeros if the message is not signed.
    pub signature: [u8; 8],
    /// Zero.
    pub reserved: u16,
    /// Tree.
    pub tid: u16,
    /// Lower half of the process id.
    pub pid_low: u16,
    /// Session.
    pub uid: u16,
    /// Identifier that matches a response with its request.
    pub mid: u16,
}

impl Header {
    /// Encodes the header and appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        PROTOCOL_ID.put(out);
        self.command.put(out);
        self.status.put(out);
        self.flags.put(out);
        self.flags2.put(out);
        self.pid_high.put(out);
        self.signature.put(out);
        for half in [self.reserved, self.tid, self.pid_low, self.uid, self.mid] {
            half.put(out);
        }
    }

    /// Decodes the header of a message.
    pub fn decode(message: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(message, "SMB1 header");
        let protocol: [u8; 4] = reader.get()?;
        if protocol != PROTOCOL_ID {
            return Err(reader.bad("Protocol", u64::from(u32::from_le_bytes(protocol))));
        }
        Ok(Self {
            command: reader.get()?,
            status: reader.get()?,
            flags: reader.get()?,
            flags2: reader.get()?,
            pid_high: reader.get()?,
            signature: reader.get()?,
            reserved: reader.get()?,
            tid: reader.get()?,
            pid_low: reader.get()?,
            uid: reader.get()?,
            mid: reader.get()?,
        })
    }
}

/// The words of a command, in one direction.
pub trait Words: Sized {
    /// Number of words.
    const COUNT: u8;
    /// Encodes the words without their number.
    fn put(&self, out: &mut Vec<u8>);
    /// Decodes the words.
    fn get(words: &[u8]) -> Result<Self, WireError>;
}

/// Declares the words of a command: fixed fields in wire order.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $count:literal { $($(#[$field_doc:meta])* $field:ident: $ty:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name { $($(#[$field_doc])* pub $field: $ty,)* }

        impl $crate::nt1::message::Words for $name {
            const COUNT: u8 = $count;

            fn put(&self, out: &mut Vec<u8>) {
                let _ = &out;
                $($crate::wire::Field::put(&self.$field, out);)*
            }

            fn get(words: &[u8]) -> Result<Self, $crate::wire::WireError> {
                #[allow(unused_mut, reason = "some commands have no words")]
                let mut reader = $crate::wire::Reader::new(words, stringify!($name));
                let _ = &reader;
                Ok(Self { $($field: reader.get()?,)* })
            }
        }
    };
}
pub(super) use words;

words! {
    /// No words: of requests and responses that have none.
    NoWords, 0 {}
}

/// The four bytes at the start of the words of an `ANDX` command: no further command.
pub const NO_ANDX: [u8; 4] = [0xFF, 0, 0, 0];

/// A message that was received, in its parts.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// The whole message: offsets count from its start.
    pub whole: &'a [u8],
    /// The words, without their number.
    pub words: &'a [u8],
    /// The bytes.
    pub bytes: &'a [u8],
}

impl<'a> Message<'a> {
    /// Splits a message. A block of bytes that is longer than its length field says is accepted, because that field cannot state
    /// the length of a large read (MS-SMB 2.2.4.2.2).
    pub fn split(whole: &'a [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(whole, "SMB1 message");
        reader.take(HEADER_LEN)?;
        let count: u8 = reader.get()?;
        let words = reader.take(usize::from(count) * 2)?;
        let len: u16 = reader.get()?;
        let rest = reader.rest();
        if rest.len() < usize::from(len) {
            return Err(reader.bad("ByteCount", u64::from(len)));
        }
        Ok(Self { whole, words, bytes: rest })
    }

    /// The block of a command at an offset, for a chain of commands, and where its bytes start. The bytes are as many as their
    /// length field says.
    pub fn block_at(whole: &'a [u8], offset: usize) -> Result<(Self, usize), WireError> {
        let mut reader = Reader::new(whole, "SMB1 block");
        reader.take(offset)?;
        let count: u8 = reader.get()?;
        let words = reader.take(usize::from(count) * 2)?;
        let len: u16 = reader.get()?;
        let bytes_at = offset + 3 + words.len();
        // The length of a large write does not fit into the field, which its own fields state (MS-SMB 2.2.4.3.1).
        let bytes = reader.take(usize::from(len))?;
        Ok((Self { whole, words, bytes }, bytes_at))
    }

    /// Decodes the words; their number must be that of the structure at least.
    pub fn get<W: Words>(&self) -> Result<W, WireError> {
        W::get(self.words)
    }

    /// `len` bytes at an offset from the start of the message.
    pub fn slice(&self, offset: usize, len: usize) -> Result<&'a [u8], WireError> {
        Reader::new(self.whole, "SMB1 message").slice(offset, len)
    }
}

/// Appends the words and a block of bytes, which `bytes` appends; `start` is where the header of the message starts.
///
/// The length of a block that is longer than its field can state is cut to the field, as in large writes (MS-SMB 2.2.4.3.1).
pub fn put_blocks<W: Words>(words: &W, out: &mut Vec<u8>, bytes: impl FnOnce(&mut Vec<u8>)) {
    W::COUNT.put(out);
    words.put(out);
    let at = out.len();
    0u16.put(out);
    bytes(out);
    let len = (out.len() - at - 2) as u16;
    if let Some(field) = out.get_mut(at..at + 2) {
        field.copy_from_slice(&len.to_le_bytes());
    }
}

/// Appends UTF-16 text that ends with NUL, at an even offset from the start of the message at `start`.
pub fn put_text(text: &str, start: usize, out: &mut Vec<u8>) {
    if (out.len() - start) % 2 == 1 {
        0u8.put(out);
    }
    put_utf16(text, out);
    0u16.put(out);
}

/// Bytes of a message that contain text, and where they start in the message.
#[derive(Debug, Clone, Copy)]
pub struct TextBytes<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Their offset from the start of the message.
    pub start: usize,
}

/// Takes text that ends with NUL or with the bytes from `at` on, and returns where the bytes after it start. UTF-16 text starts at
/// an even offset from the start of the message; other text is ASCII.
pub fn text_at(TextBytes { bytes, start }: TextBytes<'_>, at: usize, unicode: bool) -> (String, usize) {
    if unicode {
        let start = at + (start + at) % 2;
        let text = bytes.get(start..).unwrap_or_default();
        let (text, rest) = take_text(text);
        return (text, bytes.len() - rest.len());
    }
    let text = bytes.get(at..).unwrap_or_default();
    let len = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    let shown = String::from_utf8_lossy(text.get(..len).unwrap_or_default()).into_owned();
    (shown, (at + len + 1).min(bytes.len()))
}

/// Takes UTF-16 text that ends with NUL or with the bytes, and returns what follows.
pub fn take_text(bytes: &[u8]) -> (String, &[u8]) {
    let units = bytes.chunks_exact(2);
    let len = units.clone().position(|unit| unit == [0, 0]);
    let end = len.map_or(bytes.len() & !1, |len| len * 2);
    let (text, rest) = bytes.split_at(end);
    (crate::wire::from_utf16(text), rest.get(2..).unwrap_or_default())
}
