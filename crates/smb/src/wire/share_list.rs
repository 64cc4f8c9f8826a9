//! The list of shares: `NetrShareEnum` of the Server Service (MS-SRVS 3.1.4.8) over DCE/RPC (C706 12.6) on a pipe.

use super::{Field, Reader, WireError, from_utf16, utf16};

/// Name of the pipe.
pub const PIPE: &str = "srvsvc";

/// Interface `srvsvc` 3.0 (MS-SRVS 1.9): 4b324fc8-1670-01d3-1278-5a47bf6ee188.
pub(super) const SRVSVC: [u8; 16] =
    [0xC8, 0x4F, 0x32, 0x4B, 0x70, 0x16, 0xD3, 0x01, 0x12, 0x78, 0x5A, 0x47, 0xBF, 0x6E, 0xE1, 0x88];
pub(super) const SRVSVC_VERSION: u32 = 3;
/// Transfer syntax NDR 2.0 (C706 14): 8a885d04-1ceb-11c9-9fe8-08002b104860.
pub(super) const NDR: [u8; 16] =
    [0x04, 0x5D, 0x88, 0x8A, 0xEB, 0x1C, 0xC9, 0x11, 0x9F, 0xE8, 0x08, 0x00, 0x2B, 0x10, 0x48, 0x60];
pub(super) const NDR_VERSION: u32 = 2;
/// Operation number of `NetrShareEnum`.
pub(super) const SHARE_ENUM: u16 = 15;
/// Information level: name, type and comment.
pub(super) const LEVEL: u32 = 1;

/// Packet types (C706 12.6.4).
pub(super) const REQUEST: u8 = 0;
pub(super) const RESPONSE: u8 = 2;
pub(super) const BIND: u8 = 11;
pub(super) const BIND_ACK: u8 = 12;
/// Flags: first and last fragment.
pub(super) const FIRST: u8 = 1;
pub(super) const LAST: u8 = 2;
/// Data representation: little-endian, ASCII, IEEE.
const LITTLE_ENDIAN: [u8; 4] = [0x10, 0, 0, 0];
/// Bytes of a header, and of a response up to its data.
const HEADER_LEN: usize = 16;
const RESPONSE_LEN: usize = HEADER_LEN + 8;
/// Largest fragment that both sides send.
pub const MAX_FRAGMENT: u16 = 4280;
/// Maximum number of shares in a list.
const MAX_SHARES: u32 = 2048;
/// Bytes of an entry without its texts.
const ENTRY_LEN: usize = 12;

/// Status codes of the call (MS-ERREF 2.2).
pub(super) const DONE: u32 = 0;
const MORE_DATA: u32 = 234;

/// Types of a share, the lower bits (MS-SRVS 2.2.2.4).
const TYPE_BITS: u32 = 0x0FFF_FFFF;

/// A share in the list (MS-SRVS 2.2.4.23: `SHARE_INFO_1`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedShare {
    /// Its name.
    pub name: String,
    /// Its type with flags.
    pub kind: u32,
    /// Its comment.
    pub comment: String,
}

impl ListedShare {
    /// Name of its type.
    pub const fn kind_name(&self) -> &'static str {
        match self.kind & TYPE_BITS {
            0 => "disk",
            1 => "printer",
            2 => "device",
            3 => "pipes",
            _ => "other",
        }
    }

    /// True if it is a directory tree.
    pub const fn is_disk(&self) -> bool {
        self.kind & TYPE_BITS == 0
    }
}

pub(super) fn put_header(kind: u8, call: u32, len: usize, out: &mut Vec<u8>) {
    [5, 0, kind, FIRST | LAST].put(out);
    LITTLE_ENDIAN.put(out);
    ((HEADER_LEN + len) as u16).put(out);
    0u16.put(out);
    call.put(out);
}

/// The packet that opens the interface (C706 12.6.4.3).
pub fn bind() -> Vec<u8> {
    let mut body = Vec::new();
    MAX_FRAGMENT.put(&mut body);
    MAX_FRAGMENT.put(&mut body);
    // No association group; one presentation context with number 0 and one transfer syntax.
    0u32.put(&mut body);
    [1, 0, 0, 0].put(&mut body);
    [0, 0, 1, 0].put(&mut body);
    SRVSVC.put(&mut body);
    SRVSVC_VERSION.put(&mut body);
    NDR.put(&mut body);
    NDR_VERSION.put(&mut body);
    let mut out = Vec::new();
    put_header(BIND, 1, body.len(), &mut out);
    out.extend_from_slice(&body);
    out
}

/// Checks the reply to [`bind`] (C706 12.6.4.4).
pub fn check_bind_ack(packet: &[u8]) -> Result<(), WireError> {
    let mut reader = Reader::new(packet, "bind_ack");
    let [_, _, kind, _]: [u8; 4] = reader.get()?;
    if kind == BIND_ACK { Ok(()) } else { Err(reader.bad("ptype", u64::from(kind))) }
}

/// The packet that calls `NetrShareEnum` for the shares of `server`, with their comments.
pub fn share_enum(server: &str) -> Vec<u8> {
    let mut stub = Vec::new();
    // ServerName: a unique pointer, and the text that it points to.
    1u32.put(&mut stub);
    put_text(&format!("\\\\{server}"), &mut stub);
    // InfoStruct: the level, the arm of the union, and an empty container.
    LEVEL.put(&mut stub);
    LEVEL.put(&mut stub);
    2u32.put(&mut stub);
    0u32.put(&mut stub);
    0u32.put(&mut stub);
    // PreferedMaximumLength: no limit, as other clients send it. Fragments beyond this client's limit are not read.
    u32::MAX.put(&mut stub);
    // ResumeHandle: a null pointer.
    0u32.put(&mut stub);
    let mut out = Vec::new();
    put_header(REQUEST, 2, 8 + stub.len(), &mut out);
    (stub.len() as u32).put(&mut out);
    0u16.put(&mut out);
    SHARE_ENUM.put(&mut out);
    out.extend_from_slice(&stub);
    out
}

/// A conformant and varying string of 16-bit characters with a final NUL (C706 14.3.4.2).
pub(super) fn put_text(text: &str, out: &mut Vec<u8>) {
    let mut characters = utf16(text);
    0u16.put(&mut characters);
    let count = (characters.len() / 2) as u32;
    count.put(out);
    0u32.put(out);
    count.put(out);
    characters.resize(characters.len().next_multiple_of(4), 0);
    out.extend_from_slice(&characters);
}

/// One fragment of the response to a call (C706 12.6.4.10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// True if the response ends with it.
    pub last: bool,
    /// Its part of the result.
    pub stub: &'a [u8],
    /// Its length on the pipe.
    pub len: usize,
}

impl<'a> Fragment<'a> {
    /// Decodes the fragment at the front of `bytes`; none if it has not arrived completely.
    pub fn decode(bytes: &'a [u8]) -> Result<Option<Self>, WireError> {
        if bytes.len() < HEADER_LEN {
            return Ok(None);
        }
        let mut reader = Reader::new(bytes, "DCE/RPC response");
        let [version, _, kind, flags]: [u8; 4] = reader.get()?;
        if version != 5 || kind != RESPONSE {
            return Err(reader.bad("ptype", u64::from(kind)));
        }
        let order: [u8; 4] = reader.get()?;
        if order[0] & 0xF0 != LITTLE_ENDIAN[0] {
            return Err(reader.bad("drep", u64::from(order[0])));
        }
        let len = usize::from(reader.get::<u16>()?);
        if len < RESPONSE_LEN {
            return Err(reader.bad("frag_length", len as u64));
        }
        let stub = bytes.get(RESPONSE_LEN..len);
        Ok(stub.map(|stub| Self { last: flags & LAST != 0, stub, len }))
    }
}

/// Decodes the result of `NetrShareEnum`: all fragments' stubs together.
pub fn shares(stub: &[u8]) -> Result<Vec<ListedShare>, WireError> {
    let mut ndr = NdrReader::new(stub);
    let level = ndr.word()?;
    let arm = ndr.word()?;
    if level != LEVEL || arm != LEVEL {
        return Err(bad("level", u64::from(level)));
    }
    let container = ndr.word()?;
    let count = if container == 0 { 0 } else { ndr.word()? };
    let array = if container == 0 { 0 } else { ndr.word()? };
    let found = if array == 0 { Vec::new() } else { entries(&mut ndr, count)? };
    let _total = ndr.word()?;
    if ndr.word()? != 0 {
        let _resume = ndr.word()?;
    }
    match ndr.word()? {
        DONE | MORE_DATA => Ok(found),
        status => Err(bad("status", u64::from(status))),
    }
}

/// Decodes the array: fixed parts of all entries, then the texts that they point to.
fn entries(ndr: &mut NdrReader<'_>, count: u32) -> Result<Vec<ListedShare>, WireError> {
    let max = ndr.word()?;
    if count > max || count > MAX_SHARES || count as usize * ENTRY_LEN > ndr.left() {
        return Err(bad("entries", u64::from(count)));
    }
    let mut fixed = Vec::with_capacity(count as usize);
    for _ in 0..count {
        fixed.push((ndr.word()?, ndr.word()?, ndr.word()?));
    }
    let mut found = Vec::with_capacity(fixed.len());
    for (name, kind, comment) in fixed {
        let name = if name == 0 { String::new() } else { ndr.text()? };
        let comment = if comment == 0 { String::new() } else { ndr.text()? };
        found.push(ListedShare { name, kind, comment });
    }
    Ok(found)
}

/// Reads NDR values, which are aligned to their size from the start of the stub.
pub(super) struct NdrReader<'a> {
    stub: &'a [u8],
    at: usize,
}

impl<'a> NdrReader<'a> {
    pub(super) fn new(stub: &'a [u8]) -> Self {
        Self { stub, at: 0 }
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], WireError> {
        let short = WireError::Short { what: "NetrShareEnum", len: self.stub.len() };
        let end = self.at.checked_add(len).ok_or(short.clone())?;
        let bytes = self.stub.get(self.at..end).ok_or(short)?;
        self.at = end;
        Ok(bytes)
    }

    pub(super) fn word(&mut self) -> Result<u32, WireError> {
        self.at = self.at.next_multiple_of(4);
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    pub(super) fn text(&mut self) -> Result<String, WireError> {
        let _max = self.word()?;
        let _offset = self.word()?;
        let count = self.word()?;
        let characters = self.take((count as usize).saturating_mul(2))?;
        Ok(from_utf16(characters).trim_end_matches('\0').to_owned())
    }

    fn left(&self) -> usize {
        self.stub.len().saturating_sub(self.at)
    }
}

fn bad(field: &'static str, value: u64) -> WireError {
    WireError::Field { what: "NetrShareEnum", field, value }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The result of a server with these shares.
    fn result(listed: &[(&str, u32, &str)], status: u32) -> Vec<u8> {
        let mut out = Vec::new();
        let count = listed.len() as u32;
        for word in [1, 1, 0x2_0000, count, 0x2_0004, count] {
            word.put(&mut out);
        }
        for (_, kind, _) in listed {
            for word in [0x2_0008, *kind, 0x2_000C] {
                word.put(&mut out);
            }
        }
        for (name, _, comment) in listed {
            put_text(name, &mut out);
            put_text(comment, &mut out);
        }
        for word in [count, 0, status] {
            word.put(&mut out);
        }
        out
    }

    #[test]
    fn a_bind_has_72_bytes_and_names_the_interface() {
        let packet = bind();
        assert_eq!((packet.len(), packet[2], packet[8]), (72, BIND, 72));
        assert_eq!(packet[32..48], SRVSVC);
        assert!(check_bind_ack(&[5, 0, BIND_ACK, 3, 0, 0]).is_ok());
        assert!(check_bind_ack(&[5, 0, 13, 3]).is_err());
    }

    #[test]
    fn a_call_states_its_length() {
        let packet = share_enum("nas");
        assert_eq!(usize::from(u16::from_le_bytes([packet[8], packet[9]])), packet.len());
        assert_eq!(u16::from_le_bytes([packet[22], packet[23]]), SHARE_ENUM);
        // Pointer, counts, `\\nas` with NUL, level.
        assert_eq!(packet[24..40], [1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0]);
        assert_eq!(packet[52..56], [1, 0, 0, 0]);
    }

    #[test]
    fn shares_have_names_types_and_comments() {
        let stub = result(&[("share", 0, ""), ("IPC$", 0x8000_0003, "IPC Service (ü)")], DONE);
        let found = shares(&stub).unwrap();
        assert_eq!(
            (found[0].name.as_str(), found[0].is_disk(), found[0].comment.as_str()),
            ("share", true, "")
        );
        assert_eq!((found[1].kind_name(), found[1].comment.as_str()), ("pipes", "IPC Service (ü)"));
        assert_eq!(shares(&result(&[], DONE)), Ok(Vec::new()));
        assert!(shares(&result(&[], 5)).is_err());
        assert!((0..stub.len()).all(|len| shares(&stub[..len]).is_err()));
    }

    #[test]
    fn a_count_beyond_the_message_allocates_nothing() {
        let mut stub = result(&[("share", 0, "")], DONE);
        for at in [12, 20] {
            stub[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        }
        assert!(shares(&stub).is_err());
    }

    #[test]
    fn fragments_are_separated() {
        let mut packet = Vec::new();
        put_header(RESPONSE, 2, 8 + 3, &mut packet);
        packet.extend_from_slice(&[0; 8]);
        packet.extend_from_slice(b"abc");
        let fragment = Fragment::decode(&packet).unwrap().unwrap();
        assert_eq!((fragment.last, fragment.stub, fragment.len), (true, &b"abc"[..], packet.len()));
        assert_eq!(Fragment::decode(&packet[..20]), Ok(None));
        packet[2] = 3;
        assert!(Fragment::decode(&packet).is_err());
    }

    proptest! {
        #[test]
        fn garbage_causes_no_panic(
            bytes in proptest::collection::vec(prop_oneof![3 => Just(0u8), 2 => Just(1u8), 1 => any::<u8>()], 0..300),
        ) {
            let found = shares(&bytes).map_or(0, |found| found.len());
            prop_assert!(found <= bytes.len());
            let _ = (Fragment::decode(&bytes), check_bind_ack(&bytes));
        }
    }
}
