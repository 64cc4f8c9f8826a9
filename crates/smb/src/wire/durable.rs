//! Durable handles of version 2: create contexts `DH2Q` and `DH2C` (MS-SMB2 2.2.13.2.11, 2.2.13.2.12, 2.2.14.2.12).

use super::{Field, FileId, Reader, WireError};

/// Name of the context that requests a durable handle, and of its response.
pub const REQUEST: &[u8] = b"DH2Q";
/// Name of the context that reconnects one.
pub const RECONNECT: &[u8] = b"DH2C";
/// Flag: the handle survives a failure of the server too.
pub const PERSISTENT: u32 = 2;

/// The data of `DH2Q` in a request. Its GUID also identifies a CREATE that is repeated on another channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DurableRequest {
    /// Milliseconds that the server should keep the handle after a disconnection; 0: the server chooses.
    pub timeout: u32,
    /// See [`PERSISTENT`].
    pub flags: u32,
    /// The client's name for this CREATE.
    pub guid: [u8; 16],
}

impl DurableRequest {
    /// The encoded data.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(32);
        self.timeout.put(&mut out);
        self.flags.put(&mut out);
        0u64.put(&mut out);
        self.guid.put(&mut out);
        out
    }

    /// Decodes the data.
    pub fn decode(data: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(data, "durable handle request");
        let timeout = reader.get()?;
        let flags = reader.get()?;
        let _reserved: u64 = reader.get()?;
        Ok(Self { timeout, flags, guid: reader.get()? })
    }
}

/// The data of `DH2Q` in a response: the server grants a durable handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DurableGrant {
    /// Milliseconds that the server keeps the handle after a disconnection.
    pub timeout: u32,
    /// See [`PERSISTENT`].
    pub flags: u32,
}

impl DurableGrant {
    /// The encoded data.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(8);
        self.timeout.put(&mut out);
        self.flags.put(&mut out);
        out
    }

    /// Decodes the data.
    pub fn decode(data: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(data, "durable handle response");
        Ok(Self { timeout: reader.get()?, flags: reader.get()? })
    }
}

/// The data of `DH2C`: the handle to reconnect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DurableReconnect {
    /// The handle.
    pub file: FileId,
    /// GUID of the CREATE that opened it.
    pub guid: [u8; 16],
    /// See [`PERSISTENT`].
    pub flags: u32,
}

impl DurableReconnect {
    /// The encoded data.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(36);
        self.file.put(&mut out);
        self.guid.put(&mut out);
        self.flags.put(&mut out);
        out
    }

    /// Decodes the data.
    pub fn decode(data: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(data, "durable handle reconnect");
        Ok(Self { file: reader.get()?, guid: reader.get()?, flags: reader.get()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_round_trip_and_are_never_read_beyond_their_end() {
        let request = DurableRequest { timeout: 60_000, flags: PERSISTENT, guid: [7; 16] };
        let grant = DurableGrant { timeout: 16_000, flags: 0 };
        let file = FileId { persistent: 1, volatile: 2 };
        let reconnect = DurableReconnect { file, guid: [9; 16], flags: 0 };
        let a = request.encode();
        let b = grant.encode();
        let c = reconnect.encode();
        assert_eq!((a.len(), b.len(), c.len()), (32, 8, 36));
        assert_eq!(DurableRequest::decode(&a), Ok(request));
        assert_eq!(DurableGrant::decode(&b), Ok(grant));
        assert_eq!(DurableReconnect::decode(&c), Ok(reconnect));
        assert!((0..a.len()).all(|len| DurableRequest::decode(&a[..len]).is_err()));
        assert!((0..b.len()).all(|len| DurableGrant::decode(&b[..len]).is_err()));
        assert!((0..c.len()).all(|len| DurableReconnect::decode(&c[..len]).is_err()));
    }
}
