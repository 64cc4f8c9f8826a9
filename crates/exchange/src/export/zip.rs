//! A ZIP archive of stored (uncompressed) files, as much as a workbook needs.
//!
//! PKWARE APPNOTE 6.3: local file header 4.3.7, central directory 4.3.12, its end 4.3.16.

/// An archive under construction.
#[derive(Debug, Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    files: u16,
}

/// Days start in 1980: that year's first is the date of every file, so that equal runs give equal bytes.
const DATE: u16 = 1 << 5 | 1;
const VERSION: u16 = 20;

fn crc32(bytes: &[u8]) -> u32 {
    let mut table = [0u32; 256];
    for (index, entry) in (0u32..).zip(&mut table) {
        *entry = (0..8).fold(index, |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 });
    }
    !bytes.iter().fold(!0, |crc, byte| crc >> 8 ^ table[usize::from(crc as u8 ^ byte)])
}

impl Archive {
    /// Adds a file; the caller keeps archives below 4 GiB and 65535 files.
    pub fn add(&mut self, name: &str, content: &[u8]) {
        let offset = self.bytes.len() as u32;
        let (crc, len) = (crc32(content), content.len() as u32);
        // Version needed, flags, method 0, time, date, CRC, both sizes, length of the name, no extra field.
        let mut shared = Vec::new();
        for field in [VERSION, 0, 0, 0, DATE] {
            shared.extend(field.to_le_bytes());
        }
        for field in [crc, len, len] {
            shared.extend(field.to_le_bytes());
        }
        shared.extend((name.len() as u16).to_le_bytes());
        shared.extend(0u16.to_le_bytes());

        self.bytes.extend(b"PK\x03\x04");
        self.bytes.extend(&shared);
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(content);

        self.directory.extend(b"PK\x01\x02");
        self.directory.extend(VERSION.to_le_bytes());
        self.directory.extend(&shared);
        // No comment, first disk, no attributes.
        self.directory.extend([0; 10]);
        self.directory.extend(offset.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.files += 1;
    }

    pub fn end(mut self) -> Vec<u8> {
        let (at, len) = (self.bytes.len() as u32, self.directory.len() as u32);
        self.bytes.extend(self.directory);
        self.bytes.extend(b"PK\x05\x06\0\0\0\0");
        self.bytes.extend([self.files.to_le_bytes(), self.files.to_le_bytes()].concat());
        self.bytes.extend([len.to_le_bytes(), at.to_le_bytes()].concat());
        self.bytes.extend([0; 2]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::crc32;

    #[test]
    fn the_check_value_of_the_crc() {
        assert_eq!((crc32(b"123456789"), crc32(b"")), (0xcbf4_3926, 0));
    }
}
