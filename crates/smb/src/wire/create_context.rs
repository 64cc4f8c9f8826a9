//! Create contexts (MS-SMB2 2.2.13.2, 2.2.14.2): parameters of one feature of an open, in requests and responses.

use super::{Field, Reader, WireError};

/// Maximum number of contexts in a message; MS-SMB2 defines twelve.
const MAX_CONTEXTS: usize = 32;
/// Length of the longest name. Those that are defined have at most 16 bytes: a GUID.
const MAX_NAME_BYTES: u16 = 64;
/// Bytes of a context before its name.
const FIXED_BYTES: usize = 16;

/// Names of contexts (MS-SMB2 2.2.13.2).
pub mod name {
    /// The maximal access of the user, on request and in the response.
    pub const QUERY_MAXIMAL_ACCESS: &[u8] = b"MxAc";
    /// The identifiers of the file and its volume.
    pub const QUERY_ON_DISK_ID: &[u8] = b"QFid";
    /// Initial allocation of a new file, in bytes.
    pub const EXTENDED_ATTRIBUTES: &[u8] = b"ExtA";
    /// Initial allocation.
    pub const ALLOCATION_SIZE: &[u8] = b"AlSi";
    /// The security descriptor of a new file.
    pub const SECURITY_DESCRIPTOR: &[u8] = b"SecD";
    /// The version of the file at a time of the past.
    pub const TIMEWARP_TOKEN: &[u8] = b"TWrp";
    /// A lease; its version follows from the length of the data.
    pub const REQUEST_LEASE: &[u8] = b"RqLs";
}

/// One context: its name, of 4 or 16 bytes, and data that the name defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateContext {
    /// See [`name`].
    pub name: Vec<u8>,
    /// Its data.
    pub data: Vec<u8>,
}

impl CreateContext {
    /// A context with this name and data.
    pub fn new(name: &[u8], data: &[u8]) -> Self {
        Self { name: name.to_vec(), data: data.to_vec() }
    }

    /// The length without padding. The data start at a multiple of 8 bytes.
    fn len(&self) -> usize {
        let named = FIXED_BYTES + self.name.len();
        if self.data.is_empty() { named } else { named.next_multiple_of(8) + self.data.len() }
    }
}

/// Encodes a list, which has to start at a multiple of 8 bytes from the header, and appends it.
pub fn put_contexts(contexts: &[CreateContext], out: &mut Vec<u8>) {
    for (index, context) in contexts.iter().enumerate() {
        let start = out.len();
        let last = index + 1 == contexts.len();
        let data_offset = (FIXED_BYTES + context.name.len()).next_multiple_of(8);
        (if last { 0 } else { context.len().next_multiple_of(8) as u32 }).put(out);
        (FIXED_BYTES as u16).put(out);
        (context.name.len() as u16).put(out);
        0u16.put(out);
        (if context.data.is_empty() { 0 } else { data_offset as u16 }).put(out);
        (context.data.len() as u32).put(out);
        out.extend_from_slice(&context.name);
        if !context.data.is_empty() {
            out.resize(start + data_offset, 0);
            out.extend_from_slice(&context.data);
        }
        if !last {
            out.resize(start + context.len().next_multiple_of(8), 0);
        }
    }
}

/// Decodes a list; more than 32 contexts and names above 64 bytes are errors.
pub fn contexts(list: &[u8]) -> Result<Vec<CreateContext>, WireError> {
    let mut found = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let mut reader = Reader::new(rest, "create context");
        if found.len() == MAX_CONTEXTS {
            return Err(reader.bad("contexts", MAX_CONTEXTS as u64 + 1));
        }
        let next = reader.get::<u32>()? as usize;
        let name_offset: u16 = reader.get()?;
        let name_len: u16 = reader.get()?;
        if name_len > MAX_NAME_BYTES {
            return Err(reader.bad("NameLength", u64::from(name_len)));
        }
        let _reserved: u16 = reader.get()?;
        let data_offset: u16 = reader.get()?;
        let data_len: u32 = reader.get()?;
        let name = reader.slice(usize::from(name_offset), usize::from(name_len))?;
        let data = reader.slice(usize::from(data_offset), data_len as usize)?;
        found.push(CreateContext::new(name, data));
        if next == 0 {
            break;
        }
        // A shorter step would decode the same bytes again.
        if next < FIXED_BYTES {
            return Err(reader.bad("Next", next as u64));
        }
        let following = rest.get(next..).filter(|rest| !rest.is_empty());
        rest = following.ok_or_else(|| reader.bad("Next", next as u64))?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_list_round_trips_with_and_without_data() {
        let list = [
            CreateContext::new(name::QUERY_MAXIMAL_ACCESS, &[]),
            CreateContext::new(name::ALLOCATION_SIZE, &[1, 2, 3, 4, 5, 6, 7, 8]),
            CreateContext::new(&[7; 16], &[9; 5]),
            CreateContext::new(name::QUERY_ON_DISK_ID, &[]),
        ];
        for count in 0..=list.len() {
            let mut bytes = Vec::new();
            put_contexts(&list[..count], &mut bytes);
            assert_eq!(contexts(&bytes).as_deref(), Ok(&list[..count]));
            assert!((1..bytes.len()).all(|len| contexts(&bytes[..len]).is_err()), "{count}");
        }
    }

    #[test]
    fn a_context_has_the_layout_of_the_specification() {
        let mut bytes = Vec::new();
        put_contexts(&[CreateContext::new(name::ALLOCATION_SIZE, &[5; 8])], &mut bytes);
        assert_eq!(bytes[..16], [0, 0, 0, 0, 16, 0, 4, 0, 0, 0, 24, 0, 8, 0, 0, 0]);
        assert_eq!(bytes[16..], [b'A', b'l', b'S', b'i', 0, 0, 0, 0, 5, 5, 5, 5, 5, 5, 5, 5]);
    }

    #[test]
    fn a_list_without_end_and_a_step_into_the_same_context_are_errors() {
        let mut bytes = Vec::new();
        put_contexts(&vec![CreateContext::new(name::QUERY_ON_DISK_ID, &[]); MAX_CONTEXTS + 1], &mut bytes);
        assert!(contexts(&bytes).is_err());
        bytes[0] = 8;
        assert!(matches!(contexts(&bytes), Err(WireError::Field { field: "Next", value: 8, .. })));
    }

    proptest! {
        #[test]
        fn garbage_decodes_to_parts_of_the_list_or_to_an_error(
            bytes in prop::collection::vec(prop_oneof![3 => Just(0u8), 2 => 0u8..32, 1 => any::<u8>()], 0..200),
        ) {
            let found = contexts(&bytes).unwrap_or_default();
            prop_assert!(found.iter().all(|context| context.name.len().max(context.data.len()) <= bytes.len()));
        }
    }
}
