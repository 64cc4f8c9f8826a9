//! Create contexts of durable handles, in versions 1 and 2 (MS-SMB2 2.2.13.2.3, 2.2.13.2.4, 2.2.13.2.11, 2.2.13.2.12,
//! 2.2.14.2.3, 2.2.14.2.12).

use super::create_context::CreateContext;
use super::{Field, FileId, Reader, WireError};

/// Name of the context of version 1 that requests a durable handle, and of its response.
pub const REQUEST_V1: &[u8] = b"DHnQ";
/// Name of the context of version 1 that reconnects one.
pub const RECONNECT_V1: &[u8] = b"DHnC";
/// Name of the context of version 2 that requests a durable handle, and of its response.
pub const REQUEST: &[u8] = b"DH2Q";
/// Name of the context of version 2 that reconnects one.
pub const RECONNECT: &[u8] = b"DH2C";
/// Flag: the handle survives a failure of the server too.
pub const PERSISTENT: u32 = 2;
/// Bytes of the data of a request and of a reconnect in version 1.
const V1_BYTES: usize = 16;

/// What a CREATE requests about the life of its handle after the loss of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurableContext {
    /// Keep the handle, version 1.
    RequestV1,
    /// Reconnect a handle, version 1.
    ReconnectV1(FileId),
    /// Keep the handle, version 2.
    Request(DurableRequest),
    /// Reconnect a handle, version 2.
    Reconnect(DurableReconnect),
}

impl DurableContext {
    /// The context of a durable handle in a list; none if there is none.
    ///
    /// # Errors
    /// Contexts of both versions, or with another length than the specification's.
    pub fn find(contexts: &[CreateContext]) -> Result<Option<Self>, WireError> {
        let find = |name: &[u8]| {
            let mut named = contexts.iter().filter(|context| context.name == name);
            named.next().map(|context| &*context.data)
        };
        Ok(Some(match [find(REQUEST_V1), find(RECONNECT_V1), find(REQUEST), find(RECONNECT)] {
            [None, None, None, None] => return Ok(None),
            // A request next to a reconnect of version 1 is ignored (MS-SMB2 3.3.5.9.7).
            [_, Some(data), None, None] => Self::ReconnectV1(decode_v1(data)?),
            [Some(data), None, None, None] => {
                decode_v1(data)?;
                Self::RequestV1
            }
            [None, None, Some(data), None] => Self::Request(DurableRequest::decode(data)?),
            [None, None, None, Some(data)] => Self::Reconnect(DurableReconnect::decode(data)?),
            _ => return Err(WireError::Field { what: "durable handle", field: "contexts", value: 2 }),
        }))
    }

    /// True for a context with one of these names.
    pub fn is_named(context: &CreateContext) -> bool {
        [REQUEST_V1, RECONNECT_V1, REQUEST, RECONNECT].contains(&&*context.name)
    }
}

/// The handle in a context of version 1, which is reserved in a request.
fn decode_v1(data: &[u8]) -> Result<FileId, WireError> {
    sized::<V1_BYTES>(data, "durable handle of version 1")?.get()
}

/// A reader of data that must have this length.
fn sized<'a, const LEN: usize>(data: &'a [u8], what: &'static str) -> Result<Reader<'a>, WireError> {
    let reader = Reader::new(data, what);
    if data.len() == LEN { Ok(reader) } else { Err(reader.bad("length", data.len() as u64)) }
}

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
    const BYTES: usize = 32;

    /// The encoded data.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::BYTES);
        self.timeout.put(&mut out);
        self.flags.put(&mut out);
        0u64.put(&mut out);
        self.guid.put(&mut out);
        out
    }

    /// Decodes the data.
    pub fn decode(data: &[u8]) -> Result<Self, WireError> {
        let mut reader = sized::<{ Self::BYTES }>(data, "durable handle request")?;
        let timeout = reader.get()?;
        let flags = reader.get()?;
        let _reserved: u64 = reader.get()?;
        Ok(Self { timeout, flags, guid: reader.get()? })
    }
}

/// The response to a request of version 1.
pub fn grant_v1() -> CreateContext {
    CreateContext::new(REQUEST_V1, &[0; 8])
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
    const BYTES: usize = 36;

    /// The encoded data.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::BYTES);
        self.file.put(&mut out);
        self.guid.put(&mut out);
        self.flags.put(&mut out);
        out
    }

    /// Decodes the data.
    pub fn decode(data: &[u8]) -> Result<Self, WireError> {
        let mut reader = sized::<{ Self::BYTES }>(data, "durable handle reconnect")?;
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

    #[test]
    fn a_list_has_one_context_of_one_version() {
        let v1 = CreateContext::new(REQUEST_V1, &[0; 16]);
        let request = DurableRequest { timeout: 5, flags: 0, guid: [2; 16] };
        let v2 = CreateContext::new(REQUEST, &request.encode());
        assert_eq!(DurableContext::find(&[]), Ok(None));
        let only = |context: &CreateContext| DurableContext::find(std::slice::from_ref(context));
        assert_eq!(only(&v1), Ok(Some(DurableContext::RequestV1)));
        assert_eq!(only(&v2), Ok(Some(DurableContext::Request(request))));
        assert!(DurableContext::find(&[v1.clone(), v2]).is_err());
        let back = CreateContext::new(RECONNECT_V1, &[3; 16]);
        let file = FileId { persistent: 0x0303_0303_0303_0303, volatile: 0x0303_0303_0303_0303 };
        assert_eq!(DurableContext::find(&[v1, back]), Ok(Some(DurableContext::ReconnectV1(file))));
        assert!(only(&CreateContext::new(REQUEST_V1, &[0; 15])).is_err());
        let again = DurableReconnect { file, guid: [2; 16], flags: 0 };
        let back = CreateContext::new(RECONNECT, &again.encode());
        assert_eq!(only(&back), Ok(Some(DurableContext::Reconnect(again))));
    }
}
