//! TRANSACTION2 (MS-CIFS 3.3.5.37): transactions of one message, and their replies.

use sharebench_smb::NtStatus;
use sharebench_smb::nt1::trans2::{Request, put_response, subcommand};

use super::call::{Reached, Smb1Call};
use crate::smb::session::call::CallResponse;
use crate::smb::status::malformed;

/// Bytes of a reply besides its data.
const OVERHEAD: usize = 128;

/// A transaction that was received.
pub(super) struct Transaction<'a> {
    pub(super) parameters: &'a [u8],
    /// Where the parameters start in the message, which decides on padding of texts.
    pub(super) parameters_at: usize,
    pub(super) data: &'a [u8],
    /// Most bytes of data of the reply.
    pub(super) max_data: usize,
}

/// The result of a transaction.
#[derive(Default)]
pub(super) struct Transacted {
    pub(super) parameters: Vec<u8>,
    pub(super) data: Vec<u8>,
    /// The data were cut to what the client accepts.
    pub(super) cut: bool,
}

impl Transacted {
    /// A result of parameters that state that no extended attribute is wrong, and data.
    pub(super) fn new(data: Vec<u8>) -> Self {
        Self { parameters: vec![0; 2], data, cut: false }
    }
}

impl Smb1Call<'_> {
    /// TRANSACTION2.
    pub(super) fn transact(&mut self, body: &mut Vec<u8>) -> Reached<CallResponse> {
        let words: Request = self.words()?;
        // Transactions of several messages are for extended attributes and descriptors, which are not served.
        if words.total_parameters != words.parameters || words.total_data != words.data {
            return Err(NtStatus::NOT_SUPPORTED.into());
        }
        if words.setup_count & 0xFF != 1 {
            return Err(NtStatus::INVALID_PARAMETER.into());
        }
        let block = self.block;
        let part =
            |offset: u16, len: u16| block.slice(usize::from(offset), usize::from(len)).map_err(malformed);
        let request = Transaction {
            parameters: part(words.parameters_offset, words.parameters)?,
            parameters_at: usize::from(words.parameters_offset),
            data: part(words.data_offset, words.data)?,
            max_data: usize::from(words.max_data).min(self.state.max_buffer().saturating_sub(OVERHEAD)),
        };
        let mut found = match words.subcommand {
            subcommand::FIND_FIRST2 => self.find_first(&request)?,
            subcommand::FIND_NEXT2 => self.find_next(&request)?,
            subcommand::QUERY_FS_INFORMATION => self.query_fs(&request)?,
            subcommand::QUERY_PATH_INFORMATION => self.query_path(&request)?,
            subcommand::QUERY_FILE_INFORMATION => self.query_file(&request)?,
            subcommand::SET_PATH_INFORMATION => self.set_path(&request)?,
            subcommand::SET_FILE_INFORMATION => self.set_file(&request)?,
            _ => return Err(NtStatus::NOT_SUPPORTED.into()),
        };
        if found.data.len() > request.max_data {
            found.data.truncate(request.max_data);
            found.cut = true;
        }
        put_response(&found.parameters, &found.data, self.reply_at, body);
        Ok(CallResponse::Complete(if found.cut { NtStatus::BUFFER_OVERFLOW } else { NtStatus::SUCCESS }))
    }
}
