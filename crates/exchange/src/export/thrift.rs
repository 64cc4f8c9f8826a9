//! The writing half of Thrift's compact protocol, as far as Parquet's metadata needs it.
//!
//! Thrift specification, `doc/specs/thrift-compact-protocol.md`.

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct under construction; fields come in growing order of their ids.
#[derive(Debug, Default)]
pub(super) struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

/// Unsigned LEB128.
pub(super) fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

impl Struct {
    fn field(&mut self, id: u8, kind: u8) {
        // Parquet's ids are close together: the difference fits its four bits.
        self.bytes.push((id - self.last) << 4 | kind);
        self.last = id;
    }

    pub fn i32(mut self, id: u8, number: i32) -> Self {
        self.field(id, I32);
        varint(&mut self.bytes, zigzag(number.into()));
        self
    }

    pub fn i64(mut self, id: u8, number: u64) -> Self {
        self.field(id, I64);
        varint(&mut self.bytes, zigzag(number.cast_signed()));
        self
    }

    pub fn text(mut self, id: u8, text: &str) -> Self {
        self.field(id, BINARY);
        binary(&mut self.bytes, text);
        self
    }

    pub fn nested(mut self, id: u8, inner: Self) -> Self {
        self.field(id, STRUCT);
        self.bytes.extend(inner.end());
        self
    }

    fn list(&mut self, id: u8, kind: u8, len: usize) {
        self.field(id, LIST);
        if len < 15 {
            self.bytes.push((len as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(&mut self.bytes, len as u64);
        }
    }

    pub fn structs(mut self, id: u8, items: Vec<Self>) -> Self {
        self.list(id, STRUCT, items.len());
        for item in items {
            self.bytes.extend(item.end());
        }
        self
    }

    pub fn i32s(mut self, id: u8, items: &[i32]) -> Self {
        self.list(id, I32, items.len());
        for item in items {
            varint(&mut self.bytes, zigzag((*item).into()));
        }
        self
    }

    pub fn texts(mut self, id: u8, items: &[&str]) -> Self {
        self.list(id, BINARY, items.len());
        for item in items {
            binary(&mut self.bytes, item);
        }
        self
    }

    /// The struct's bytes, closed.
    pub fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn binary(out: &mut Vec<u8>, text: &str) {
    varint(out, text.len() as u64);
    out.extend(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specifications_examples() {
        let mut bytes = Vec::new();
        varint(&mut bytes, 50399);
        assert_eq!(bytes, [0xdf, 0x89, 0x03]);
        assert_eq!([0, -1, 1, -2, 2].map(zigzag), [0, 1, 2, 3, 4]);
        let inner = Struct::default().text(1, "a");
        let outer = Struct::default().i32(1, 1).nested(4, inner).i32s(5, &[3]).end();
        assert_eq!(outer, [0x15, 2, 0x3c, 0x18, 1, b'a', 0, 0x19, 0x15, 6, 0]);
        let long = Struct::default().i32s(1, &[0; 16]).end();
        assert_eq!(long[..3], [0x19, 0xf5, 16]);
    }
}
