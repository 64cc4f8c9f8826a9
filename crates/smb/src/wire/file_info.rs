//! Information about an open file (MS-FSCC 2.4): what a server answers and a client sets.

use super::{Field, Reader, WireError};

/// Times, sizes and attributes of a file, which most information classes contain in some order.
///
/// Times are in units of 100 ns since 1601. In [`BasicInformation`] of a client, a time of 0 leaves it as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileMetadata {
    /// Creation.
    pub created: u64,
    /// Last access.
    pub accessed: u64,
    /// Last change of content.
    pub modified: u64,
    /// Last change of attributes.
    pub changed: u64,
    /// Bytes allocated.
    pub allocation: u64,
    /// Length in bytes.
    pub end_of_file: u64,
    /// Attribute bits (MS-FSCC 2.6).
    pub attributes: u32,
    /// Number of the file, unique within its volume.
    pub file_id: u64,
}

impl FileMetadata {
    /// The four times as CREATE and CLOSE responses contain them (MS-SMB2 2.2.14, 2.2.16).
    pub fn times(&self) -> [u8; 32] {
        let mut times = [0; 32];
        let values = [self.created, self.accessed, self.modified, self.changed];
        for (place, time) in times.chunks_exact_mut(8).zip(values) {
            place.copy_from_slice(&time.to_le_bytes());
        }
        times
    }

    /// Appends the four times.
    pub(super) fn put_times(&self, out: &mut Vec<u8>) {
        self.times().put(out);
    }

    /// Appends `FileStandardInformation` (MS-FSCC 2.4.41).
    pub fn put_standard(&self, links: u32, delete_pending: bool, directory: bool, out: &mut Vec<u8>) {
        self.allocation.put(out);
        self.end_of_file.put(out);
        links.put(out);
        u8::from(delete_pending).put(out);
        u8::from(directory).put(out);
        0u16.put(out);
    }

    /// Appends `FileNetworkOpenInformation` (MS-FSCC 2.4.29).
    pub fn put_network_open(&self, out: &mut Vec<u8>) {
        self.put_times(out);
        self.allocation.put(out);
        self.end_of_file.put(out);
        self.attributes.put(out);
        0u32.put(out);
    }

    /// `FileBasicInformation` of the file.
    pub fn basic(&self) -> BasicInformation {
        BasicInformation {
            created: self.created,
            accessed: self.accessed,
            modified: self.modified,
            changed: self.changed,
            attributes: self.attributes,
        }
    }
}

/// `FileBasicInformation` (MS-FSCC 2.4.7): times and attributes, in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BasicInformation {
    /// Creation.
    pub created: u64,
    /// Last access.
    pub accessed: u64,
    /// Last change of content.
    pub modified: u64,
    /// Last change of attributes.
    pub changed: u64,
    /// Attribute bits; 0 in a request leaves them as they are.
    pub attributes: u32,
}

impl BasicInformation {
    /// Encodes the information and appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for time in [self.created, self.accessed, self.modified, self.changed] {
            time.put(out);
        }
        self.attributes.put(out);
        0u32.put(out);
    }

    /// Decodes the information.
    pub fn decode(information: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(information, "FileBasicInformation");
        let basic = Self {
            created: reader.get()?,
            accessed: reader.get()?,
            modified: reader.get()?,
            changed: reader.get()?,
            attributes: reader.get()?,
        };
        reader.take(4)?;
        Ok(basic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileMetadata = FileMetadata {
        created: 1,
        accessed: 2,
        modified: 3,
        changed: 4,
        allocation: 4096,
        end_of_file: 5,
        attributes: 0x80,
        file_id: 6,
    };

    #[test]
    fn basic_information_round_trips() {
        let mut bytes = Vec::new();
        FILE.basic().encode(&mut bytes);
        assert_eq!(bytes.len(), 40);
        assert_eq!(BasicInformation::decode(&bytes), Ok(FILE.basic()));
        assert!((0..40).all(|len| BasicInformation::decode(&bytes[..len]).is_err()));
    }

    #[test]
    fn information_has_the_layout_of_the_specification() {
        let mut standard = Vec::new();
        FILE.put_standard(2, true, false, &mut standard);
        assert_eq!(standard[..16], [0, 16, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(standard[16..], [2, 0, 0, 0, 1, 0, 0, 0]);
        let mut open = Vec::new();
        FILE.put_network_open(&mut open);
        assert_eq!((open.len(), open[0], open[24], open[40], open[48]), (56, 1, 4, 5, 0x80));
    }
}
