//! `FileFullEaInformation` (MS-FSCC 2.4.16): the extended attributes of a file.

use super::{Field, Reader, WireError};

/// An extended attribute: its name, and its value, which is empty for one that is to be removed.
pub type ExtendedAttribute = (String, Vec<u8>);

/// Bytes of an entry before its name: the offset of the next entry, flags, lengths of name and value.
const FIXED_LEN: usize = 8;

/// Appends a list of attributes. An attribute with a name above 255 bytes or a value above 65,535 bytes is left out, because no entry
/// can hold it.
pub fn put_attributes(attributes: &[ExtendedAttribute], out: &mut Vec<u8>) {
    let start = out.len();
    let mut last = None;
    for (name, value) in attributes {
        let (Ok(name_len), Ok(value_len)) = (u8::try_from(name.len()), u16::try_from(value.len())) else {
            continue;
        };
        out.resize(start + (out.len() - start).next_multiple_of(4), 0);
        let at = out.len();
        if let Some(next) = last.and_then(|last: usize| out.get_mut(last..last + 4)) {
            next.copy_from_slice(&((at - last.unwrap_or(at)) as u32).to_le_bytes());
        }
        last = Some(at);
        0u32.put(out);
        0u8.put(out);
        name_len.put(out);
        value_len.put(out);
        out.extend_from_slice(name.as_bytes());
        out.push(0);
        out.extend_from_slice(value);
    }
}

/// Decodes a list of attributes, whose names are ASCII.
pub fn attributes(list: &[u8]) -> Result<Vec<ExtendedAttribute>, WireError> {
    let mut found = Vec::new();
    let mut at = 0;
    while !list.is_empty() {
        let mut reader = Reader::new(list.get(at..).unwrap_or_default(), "FileFullEaInformation");
        let next: u32 = reader.get()?;
        let _flags: u8 = reader.get()?;
        let name_len: u8 = reader.get()?;
        let value_len: u16 = reader.get()?;
        let name = reader.take(usize::from(name_len))?;
        let text = std::str::from_utf8(name).ok().filter(|name| name.is_ascii() && !name.is_empty());
        let text = text.filter(|name| !name.contains('\0')).map(str::to_owned);
        let name = text.ok_or_else(|| reader.bad("EaNameLength", u64::from(name_len)))?;
        reader.take(1)?;
        found.push((name, reader.take(usize::from(value_len))?.to_vec()));
        if next == 0 {
            break;
        }
        if (next as usize) < FIXED_LEN {
            return Err(reader.bad("NextEntryOffset", u64::from(next)));
        }
        at += next as usize;
    }
    Ok(found)
}

/// `FileEaInformation` (MS-FSCC 2.4.13): bytes of the attributes as OS/2 lists them; 0 without any.
pub fn size_of(attributes: &[ExtendedAttribute]) -> u32 {
    let entries = attributes.iter().map(|(name, value)| 4 + name.len() + 1 + value.len()).sum::<usize>();
    if entries == 0 { 0 } else { 4 + entries as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let pair = |name: &str, value: &[u8]| (name.to_owned(), value.to_vec());
        for list in
            [vec![], vec![pair("A", b"1")], vec![pair("ONE", b"12"), pair("B", b""), pair("C", &[7; 300])]]
        {
            let mut out = Vec::new();
            put_attributes(&list, &mut out);
            assert_eq!(attributes(&out), Ok(list.clone()));
            assert!((1..out.len()).all(|len| attributes(&out[..len]).is_err()));
        }
        assert_eq!((size_of(&[]), size_of(&[pair("ONE", b"12")])), (0, 14));
    }

    #[test]
    fn entries_that_lead_nowhere_are_errors() {
        let mut one = Vec::new();
        put_attributes(&[("A".to_owned(), vec![1])], &mut one);
        for (at, value) in [(0, 4), (0, 200), (5, 0), (5, 200), (6, 200), (8, 0), (8, 0xC3)] {
            let mut changed = one.clone();
            changed[at] = value;
            assert!(attributes(&changed).is_err(), "byte {at} = {value}");
        }
    }
}
