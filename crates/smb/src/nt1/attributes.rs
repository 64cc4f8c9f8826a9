//! Attributes with times of DOS and seconds, for older clients (MS-CIFS 2.2.4.9, 2.2.4.10, 2.2.4.30, 2.2.4.31, 2.2.4.57).

use super::message::words;

words! {
    /// `QUERY_INFORMATION` response (MS-CIFS 2.2.4.9.2).
    QueryResponse, 10 {
        /// Attributes.
        attributes: u16,
        /// Time of the last write: seconds since 1970.
        modified: u32,
        /// Length in bytes.
        size: u32,
        /// Zero.
        reserved: [u8; 10],
    }
}

words! {
    /// `SET_INFORMATION` request (MS-CIFS 2.2.4.10.1).
    SetRequest, 8 {
        /// Attributes.
        attributes: u16,
        /// Time of the last write: seconds since 1970; 0 leaves it.
        modified: u32,
        /// Zero.
        reserved: [u8; 10],
    }
}

words! {
    /// `QUERY_INFORMATION2` request (MS-CIFS 2.2.4.31.1).
    Query2Request, 1 {
        /// The file.
        fid: u16,
    }
}

words! {
    /// `QUERY_INFORMATION2` response (MS-CIFS 2.2.4.31.2).
    Query2Response, 11 {
        /// Dates and times of DOS: creation, last access, last write.
        times: [u8; 12],
        /// Length in bytes.
        size: u32,
        /// Bytes allocated.
        allocation: u32,
        /// Attributes.
        attributes: u16,
    }
}

words! {
    /// `SET_INFORMATION2` request (MS-CIFS 2.2.4.30.1).
    Set2Request, 7 {
        /// The file.
        fid: u16,
        /// Dates and times of DOS: creation, last access, last write; zeros leave one as it is.
        times: [u8; 12],
    }
}

words! {
    /// `QUERY_INFORMATION_DISK` response (MS-CIFS 2.2.4.57.2).
    DiskResponse, 5 {
        /// Units in total.
        units: u16,
        /// Blocks of a unit.
        unit_blocks: u16,
        /// Bytes of a block.
        block_bytes: u16,
        /// Free units.
        free: u16,
        /// Zero.
        reserved: u16,
    }
}
