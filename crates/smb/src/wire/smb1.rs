//! NEGOTIATE of SMB1 (MS-CIFS 2.2.4.52): to find out whether a server offers SMB1, and to answer a client that also
//! offers SMB2.

use super::{Field, Reader, WireError};

/// First bytes of an SMB1 message.
pub const PROTOCOL_ID: [u8; 4] = [0xFF, b'S', b'M', b'B'];
/// The newest dialect of SMB1.
pub const NT_LM: &str = "NT LM 0.12";

/// The dialect of a server that expects a NEGOTIATE of SMB2 next (MS-SMB2 2.2.4).
pub const ANY_SMB2: u16 = 0x02FF;

const NEGOTIATE: u8 = 0x72;
const HEADER_LEN: usize = 32;
/// Canonical paths, case-insensitive names.
const FLAGS: u8 = 0x18;
/// Unicode, NTSTATUS codes, extended security, long names.
const FLAGS2: u16 = 0xC853;
/// `DialectIndex` if the server accepts no dialect.
const NO_DIALECT: u16 = 0xFFFF;

/// Appends an SMB1 NEGOTIATE request with these dialects (MS-CIFS 2.2.4.52.1).
pub fn put_negotiate(dialects: &[&str], out: &mut Vec<u8>) {
    PROTOCOL_ID.put(out);
    NEGOTIATE.put(out);
    0u32.put(out);
    FLAGS.put(out);
    FLAGS2.put(out);
    // Upper half of the process id, security features, reserved.
    [0; 12].put(out);
    // Tree, process, user and multiplex ids.
    [0, 0, 0xFF, 0xFE, 0, 0, 0, 0].put(out);
    // No parameter words.
    0u8.put(out);
    let len: usize = dialects.iter().map(|dialect| dialect.len() + 2).sum();
    (len as u16).put(out);
    for dialect in dialects {
        // Buffer format 2: a text that ends with NUL.
        2u8.put(out);
        out.extend_from_slice(dialect.as_bytes());
        0u8.put(out);
    }
}

/// The dialect for the SMB2 response to an SMB1 NEGOTIATE request (MS-SMB2 3.3.5.3.1): [`ANY_SMB2`] if the client
/// continues with a NEGOTIATE of SMB2, 0x0202 if it does not; none if it offers no SMB2.
pub fn offered_smb2(message: &[u8]) -> Result<Option<u16>, WireError> {
    let mut reader = Reader::new(message, "SMB1 NEGOTIATE request");
    let dialects = dialects(&mut reader)?;
    let offers = |name: &str| position(dialects, name).is_some();
    Ok(if offers("SMB 2.???") { Some(ANY_SMB2) } else { offers("SMB 2.002").then_some(0x0202) })
}

/// The index of a dialect among those of an SMB1 NEGOTIATE request; none if the client does not offer it.
pub fn offered_index(message: &[u8], name: &str) -> Result<Option<u16>, WireError> {
    let dialects = dialects(&mut Reader::new(message, "SMB1 NEGOTIATE request"))?;
    Ok(position(dialects, name).and_then(|index| u16::try_from(index).ok()))
}

/// The bytes of the dialects of a request.
fn dialects<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], WireError> {
    let head: [u8; 5] = reader.get()?;
    if head[..4] != PROTOCOL_ID || head[4] != NEGOTIATE {
        return Err(reader.bad("Command", u64::from(head[4])));
    }
    reader.take(HEADER_LEN - 5)?;
    let words: u8 = reader.get()?;
    reader.take(usize::from(words) * 2)?;
    let len: u16 = reader.get()?;
    reader.take(usize::from(len))
}

fn position(dialects: &[u8], name: &str) -> Option<usize> {
    dialects.split(|byte| *byte == 0).position(|text| text.strip_prefix(&[2]) == Some(name.as_bytes()))
}

/// The index of the dialect that the server chose; none if it accepts none (MS-CIFS 2.2.4.52.2).
pub fn chosen_dialect(message: &[u8]) -> Result<Option<u16>, WireError> {
    let mut reader = Reader::new(message, "SMB1 NEGOTIATE response");
    let protocol: [u8; 4] = reader.get()?;
    if protocol != PROTOCOL_ID {
        return Err(reader.bad("Protocol", u64::from(u32::from_le_bytes(protocol))));
    }
    let command: u8 = reader.get()?;
    if command != NEGOTIATE {
        return Err(reader.bad("Command", u64::from(command)));
    }
    reader.take(HEADER_LEN - 5)?;
    let words: u8 = reader.get()?;
    if words == 0 {
        return Ok(None);
    }
    let index: u16 = reader.get()?;
    Ok((index != NO_DIALECT).then_some(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_a_header_of_32_bytes_and_its_dialects() {
        let mut out = Vec::new();
        put_negotiate(&[NT_LM], &mut out);
        assert_eq!(out.len(), 32 + 3 + 12);
        assert_eq!(out[..9], [0xFF, b'S', b'M', b'B', 0x72, 0, 0, 0, 0]);
        assert_eq!(&out[32..], b"\0\x0c\0\x02NT LM 0.12\0");
    }

    #[test]
    fn the_server_finds_the_dialects_of_smb2() {
        for (dialects, expected) in [
            (&[NT_LM][..], None),
            (&[NT_LM, "SMB 2.002"], Some(0x0202)),
            (&[NT_LM, "SMB 2.002", "SMB 2.???"], Some(ANY_SMB2)),
        ] {
            let mut out = Vec::new();
            put_negotiate(dialects, &mut out);
            assert_eq!(offered_smb2(&out), Ok(expected));
            assert_eq!(
                (offered_index(&out, NT_LM), offered_index(&out, "LANMAN1.0")),
                (Ok(Some(0)), Ok(None))
            );
            assert!((0..out.len()).all(|len| offered_smb2(&out[..len]).is_err()));
        }
    }

    #[test]
    fn a_response_has_the_index_of_the_dialect() {
        let mut response = Vec::new();
        put_negotiate(&[], &mut response);
        response.truncate(HEADER_LEN);
        let with = |rest: &[u8]| chosen_dialect(&[&response[..], rest].concat());
        assert_eq!(with(&[17, 0, 0, 3]), Ok(Some(0)));
        assert_eq!(with(&[1, 0xFF, 0xFF]), Ok(None));
        assert_eq!(with(&[0, 0, 0]), Ok(None));
        assert!(with(&[]).is_err());
        assert!(chosen_dialect(b"\xfeSMB\x40").is_err());
    }
}
