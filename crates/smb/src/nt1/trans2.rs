//! TRANSACTION2: its subcommands on directories, attributes and file systems (MS-CIFS 2.2.4.46, 2.2.6).

use super::message::{HEADER_LEN, Message, put_text, words};
use crate::wire::{Field, Reader, WireError};

/// Subcommands (MS-CIFS 2.2.6).
#[expect(missing_docs, reason = "the names are the specification's")]
pub mod subcommand {
    pub const FIND_FIRST2: u16 = 1;
    pub const FIND_NEXT2: u16 = 2;
    pub const QUERY_FS_INFORMATION: u16 = 3;
    pub const QUERY_PATH_INFORMATION: u16 = 5;
    pub const SET_PATH_INFORMATION: u16 = 6;
    pub const QUERY_FILE_INFORMATION: u16 = 7;
    pub const SET_FILE_INFORMATION: u16 = 8;
}

/// Information level: size and kind of a file (MS-CIFS 2.2.8.3.7).
pub const QUERY_FILE_STANDARD_INFO: u16 = 0x0102;
/// Information level: the length of a file (MS-CIFS 2.2.8.4.6).
pub const SET_FILE_END_OF_FILE_INFO: u16 = 0x0104;
/// Information level: the size of a file system (MS-CIFS 2.2.8.2.5).
pub const QUERY_FS_SIZE_INFO: u16 = 0x0103;
/// Information level: entries of a directory, laid out as `FileDirectoryInformation` (MS-CIFS 2.2.8.1.4).
pub const FIND_FILE_DIRECTORY_INFO: u16 = 0x0101;
/// Flag of a search: close it after its last entry.
pub const CLOSE_AT_END: u16 = 0x0002;
/// Flag of a search: continue where the last response ended.
pub const CONTINUE: u16 = 0x0008;

words! {
    /// TRANSACTION2 request with one setup word (MS-CIFS 2.2.4.46.1).
    Request, 15 {
        /// Bytes of all parameters.
        total_parameters: u16,
        /// Bytes of all data.
        total_data: u16,
        /// Most bytes of parameters in the response.
        max_parameters: u16,
        /// Most bytes of data in the response.
        max_data: u16,
        /// Most setup words in the response, and a reserved byte.
        max_setup: u16,
        /// Zero.
        flags: u16,
        /// Zero.
        timeout: u32,
        /// Zero.
        reserved: u16,
        /// Bytes of parameters here.
        parameters: u16,
        /// Where they start in the message.
        parameters_offset: u16,
        /// Bytes of data here.
        data: u16,
        /// Where they start in the message.
        data_offset: u16,
        /// 1, and a reserved byte.
        setup_count: u16,
        /// See [`subcommand`].
        subcommand: u16,
    }
}

words! {
    /// TRANSACTION2 response (MS-CIFS 2.2.4.46.2), of which one request may have several.
    Response, 10 {
        /// Bytes of all parameters.
        total_parameters: u16,
        /// Bytes of all data.
        total_data: u16,
        /// Zero.
        reserved: u16,
        /// Bytes of parameters here.
        parameters: u16,
        /// Where they start in the message.
        parameters_offset: u16,
        /// Their position among all parameters.
        parameters_displacement: u16,
        /// Bytes of data here.
        data: u16,
        /// Where they start in the message.
        data_offset: u16,
        /// Their position among all data.
        data_displacement: u16,
        /// 0, and a reserved byte.
        setup_count: u16,
    }
}

/// Where the bytes of a request start in its message.
const BYTES_AT: usize = HEADER_LEN + 1 + 30 + 2;

/// Appends the words and bytes of a request.
pub fn put_request(subcommand: u16, parameters: &[u8], data: &[u8], max_data: u16, out: &mut Vec<u8>) {
    // An empty name, then both parts at multiples of four.
    let parameters_at = (BYTES_AT + 2).next_multiple_of(4);
    let data_at = (parameters_at + parameters.len()).next_multiple_of(4);
    let words = Request {
        total_parameters: parameters.len() as u16,
        total_data: data.len() as u16,
        max_parameters: 64,
        max_data,
        parameters: parameters.len() as u16,
        parameters_offset: parameters_at as u16,
        data: data.len() as u16,
        data_offset: data_at as u16,
        setup_count: 1,
        subcommand,
        ..Request::default()
    };
    super::message::put_blocks(&words, out, |out| {
        let base = out.len();
        out.resize(base + parameters_at - BYTES_AT, 0);
        out.extend_from_slice(parameters);
        out.resize(base + data_at - BYTES_AT, 0);
        out.extend_from_slice(data);
    });
}

/// Appends the words and bytes of a response that has all parameters and data; `block` is where its words start in the
/// message.
pub fn put_response(parameters: &[u8], data: &[u8], block: usize, out: &mut Vec<u8>) {
    let bytes_at = block + 1 + 2 * usize::from(<Response as super::message::Words>::COUNT) + 2;
    let parameters_at = bytes_at.next_multiple_of(4);
    let data_at = (parameters_at + parameters.len()).next_multiple_of(4);
    let words = Response {
        total_parameters: parameters.len() as u16,
        total_data: data.len() as u16,
        parameters: parameters.len() as u16,
        parameters_offset: parameters_at as u16,
        data: data.len() as u16,
        data_offset: data_at as u16,
        ..Response::default()
    };
    super::message::put_blocks(&words, out, |out| {
        let base = out.len();
        out.resize(base + parameters_at - bytes_at, 0);
        out.extend_from_slice(parameters);
        out.resize(base + data_at - bytes_at, 0);
        out.extend_from_slice(data);
    });
}

/// The parameters and data of a transaction, collected from its responses.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Collected {
    /// The parameters.
    pub parameters: Vec<u8>,
    /// The data.
    pub data: Vec<u8>,
}

impl Collected {
    /// Adds a response; true if the transaction is complete. Parts must arrive in order, which every server does.
    pub fn add(&mut self, message: &Message<'_>) -> Result<bool, WireError> {
        let words: Response = message.get()?;
        let order = |at: u16, have: &Vec<u8>, field| {
            let in_order = usize::from(at) == have.len();
            let bad = WireError::Field { what: "TRANSACTION2 response", field, value: u64::from(at) };
            if in_order { Ok(()) } else { Err(bad) }
        };
        if words.parameters > 0 {
            order(words.parameters_displacement, &self.parameters, "ParameterDisplacement")?;
        }
        if words.data > 0 {
            order(words.data_displacement, &self.data, "DataDisplacement")?;
        }
        let of = |offset: u16, len: u16| message.slice(usize::from(offset), usize::from(len));
        self.parameters.extend_from_slice(of(words.parameters_offset, words.parameters)?);
        self.data.extend_from_slice(of(words.data_offset, words.data)?);
        let moved = words.parameters > 0 || words.data > 0;
        let complete = self.parameters.len() >= usize::from(words.total_parameters)
            && self.data.len() >= usize::from(words.total_data);
        // A response that brings nothing would be awaited for ever.
        Ok(complete || !moved)
    }
}

/// Parameters of `FIND_FIRST2` (MS-CIFS 2.2.6.2.1).
pub fn find_first(pattern: &str, max_entries: u16) -> Vec<u8> {
    let mut out = Vec::new();
    super::path::ALL.put(&mut out);
    max_entries.put(&mut out);
    CLOSE_AT_END.put(&mut out);
    FIND_FILE_DIRECTORY_INFO.put(&mut out);
    0u32.put(&mut out);
    put_text(pattern, 0, &mut out);
    out
}

/// Parameters of `FIND_NEXT2` (MS-CIFS 2.2.6.3.1); `last` is the last name that was returned.
pub fn find_next(search: u16, max_entries: u16, last: &str) -> Vec<u8> {
    let mut out = Vec::new();
    search.put(&mut out);
    max_entries.put(&mut out);
    FIND_FILE_DIRECTORY_INFO.put(&mut out);
    0u32.put(&mut out);
    (CONTINUE | CLOSE_AT_END).put(&mut out);
    put_text(last, 0, &mut out);
    out
}

/// What a search returns in addition to its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The search; 0 in responses to `FIND_NEXT2`.
    pub search: u16,
    /// Number of entries.
    pub entries: u16,
    /// The last entry is among them.
    pub end: bool,
}

impl Found {
    /// Decodes the parameters of a response to `FIND_FIRST2`, or to `FIND_NEXT2` if `first` is false.
    pub fn decode(parameters: &[u8], first: bool) -> Result<Self, WireError> {
        let mut reader = Reader::new(parameters, "search response");
        let search = if first { reader.get()? } else { 0 };
        let entries = reader.get()?;
        let end: u16 = reader.get()?;
        Ok(Self { search, entries, end: end != 0 })
    }
}

/// Parameters of `QUERY_PATH_INFORMATION` (MS-CIFS 2.2.6.6.1).
pub fn query_path(level: u16, path: &str) -> Vec<u8> {
    let mut out = Vec::new();
    level.put(&mut out);
    0u32.put(&mut out);
    put_text(path, 0, &mut out);
    out
}

/// Parameters of `SET_FILE_INFORMATION` (MS-CIFS 2.2.6.9.1).
pub fn set_file(fid: u16, level: u16) -> Vec<u8> {
    let mut out = Vec::new();
    fid.put(&mut out);
    level.put(&mut out);
    0u16.put(&mut out);
    out
}

/// Length of a file, and whether it is a directory, of [`QUERY_FILE_STANDARD_INFO`].
pub fn standard_info(data: &[u8]) -> Result<(u64, bool), WireError> {
    let mut reader = Reader::new(data, "SMB_QUERY_FILE_STANDARD_INFO");
    let _allocation: u64 = reader.get()?;
    let size = reader.get()?;
    let _links: u32 = reader.get()?;
    let _delete_pending: u8 = reader.get()?;
    let directory: u8 = reader.get()?;
    Ok((size, directory != 0))
}

/// Total and available bytes of [`QUERY_FS_SIZE_INFO`].
pub fn fs_size(data: &[u8]) -> Result<(u64, u64), WireError> {
    let mut reader = Reader::new(data, "SMB_QUERY_FS_SIZE_INFO");
    let total: u64 = reader.get()?;
    let free: u64 = reader.get()?;
    let sectors: u32 = reader.get()?;
    let bytes: u32 = reader.get()?;
    let unit = u64::from(sectors).saturating_mul(u64::from(bytes));
    Ok((total.saturating_mul(unit), free.saturating_mul(unit)))
}

words! {
    /// `FIND_CLOSE2` request (MS-CIFS 2.2.4.48.1).
    FindClose, 1 {
        /// The search.
        search: u16,
    }
}

/// Parameters of `FIND_FIRST2` before the pattern (MS-CIFS 2.2.6.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindFirst {
    /// Attributes that an entry may have.
    pub attributes: u16,
    /// Most entries of the response.
    pub max_entries: u16,
    /// See [`CLOSE_AT_END`] and [`CLOSE_AFTER`].
    pub flags: u16,
    /// Information level of the entries.
    pub level: u16,
}

/// Flag of a search: close it after this request.
pub const CLOSE_AFTER: u16 = 0x0001;

impl FindFirst {
    /// Bytes before the pattern.
    pub const LEN: usize = 12;

    /// Decodes the fields before the pattern.
    pub fn decode(parameters: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(parameters, "FIND_FIRST2 request");
        let found = Self {
            attributes: reader.get()?,
            max_entries: reader.get()?,
            flags: reader.get()?,
            level: reader.get()?,
        };
        let _storage_type: u32 = reader.get()?;
        Ok(found)
    }
}

/// Parameters of `FIND_NEXT2` before the name (MS-CIFS 2.2.6.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindNext {
    /// The search.
    pub search: u16,
    /// Most entries of the response.
    pub max_entries: u16,
    /// Information level of the entries.
    pub level: u16,
    /// See [`CONTINUE`], [`CLOSE_AT_END`] and [`CLOSE_AFTER`].
    pub flags: u16,
}

impl FindNext {
    /// Bytes before the name.
    pub const LEN: usize = 12;

    /// Decodes the fields before the name.
    pub fn decode(parameters: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(parameters, "FIND_NEXT2 request");
        let search = reader.get()?;
        let max_entries = reader.get()?;
        let level = reader.get()?;
        let _resume_key: u32 = reader.get()?;
        Ok(Self { search, max_entries, level, flags: reader.get()? })
    }
}

/// Appends the parameters of a response to a search: the search itself in response to `FIND_FIRST2` only.
pub fn put_found(search: Option<u16>, entries: u16, end: bool, last_at: u16, out: &mut Vec<u8>) {
    if let Some(search) = search {
        search.put(out);
    }
    entries.put(out);
    u16::from(end).put(out);
    // No error in extended attributes.
    0u16.put(out);
    last_at.put(out);
}
