//! `READ_ANDX`, `WRITE_ANDX` and FLUSH (MS-CIFS 3.3.5.7, 3.3.5.35, 3.3.5.36; MS-SMB 3.3.5.7, 3.3.5.8).

use sharebench_smb::NtStatus;
use sharebench_smb::nt1::command;
use sharebench_smb::nt1::file::{
    FlushRequest, ReadRequest, ReadResponse, WRITE_THROUGH, WriteRequest, WriteResponse,
};
use sharebench_smb::nt1::message::{NO_ANDX, Words, put_blocks};

use super::call::{Smb1Call, put_empty};
use crate::smb::session::call::{CallResponse, DONE};
use crate::smb::status::{Outcome, malformed};
use crate::smb::transport::replies::Replies;

/// `Available` of files; pipes have a number.
const NOT_A_PIPE: u16 = 0xFFFF;
/// Words of a `READ_ANDX` or `WRITE_ANDX` request whose offset has 32 bits, in bytes.
const SMALL_READ: usize = 20;
const SMALL_WRITE: usize = 24;
/// Bytes of a `READ_ANDX` response before its padding: number of words, words, number of bytes.
const READ_HEAD: usize = 1 + 2 * ReadResponse::COUNT as usize + 2;
/// Upper half of a number of bytes that is a timeout of pipes instead.
const TIMEOUT: u32 = 0xFFFF;

impl Smb1Call<'_> {
    /// Words of a request, with zeros for those that a short form leaves out.
    fn words_or_short<W: Words>(&self, short: usize) -> Outcome<W> {
        let full = 2 * usize::from(W::COUNT);
        if self.block.words.len() != short {
            return self.words();
        }
        let mut words = self.block.words.to_vec();
        words.resize(full, 0);
        W::get(&words).map_err(malformed)
    }

    /// `READ_ANDX`; the data go from the volume into the reply, whose block starts at `reply_at` of its message.
    pub(super) fn read(&mut self, reply_at: usize, out: &mut Replies) -> Outcome<CallResponse> {
        self.check_context(command::READ_ANDX)?;
        let words: ReadRequest = self.words_or_short(SMALL_READ)?;
        let open = self.file(words.fid)?;
        let high = if words.count_high & TIMEOUT == TIMEOUT { 0 } else { words.count_high & TIMEOUT };
        let wanted = high << 16 | u32::from(words.count_low);
        let len = wanted.min(self.server.options.max_transfer) as usize;
        let head = (reply_at + READ_HEAD).next_multiple_of(4) - reply_at;
        let space = out.spare(head + len);
        let (front, data) = space.split_at_mut_checked(head).ok_or(NtStatus::INVALID_PARAMETER)?;
        let offset = u64::from(words.offset_high) << 32 | u64::from(words.offset_low);
        let count = self.server.read(&open, self.lock_owner(&open), offset, data)?;
        let mut encoded = Vec::with_capacity(head);
        let response = ReadResponse {
            andx: NO_ANDX,
            available: NOT_A_PIPE,
            len_low: count as u16,
            offset: (reply_at + head) as u16,
            len_high: (count >> 16) as u16,
            ..ReadResponse::default()
        };
        put_blocks(&response, &mut encoded, |bytes| bytes.resize(head, 0));
        // The length of the bytes, which a large read exceeds (MS-SMB 2.2.4.2.2).
        let bytes = ((head - READ_HEAD + count) as u16).to_le_bytes();
        if let Some(field) = encoded.get_mut(READ_HEAD - 2..READ_HEAD) {
            field.copy_from_slice(&bytes);
        }
        front.copy_from_slice(&encoded);
        out.advance(head + count);
        DONE
    }

    /// `WRITE_ANDX`; the data go from the message into the volume.
    pub(super) fn write(&self, body: &mut Vec<u8>) -> Outcome<()> {
        let words: WriteRequest = self.words_or_short(SMALL_WRITE)?;
        let open = self.file(words.fid)?;
        let len = u32::from(words.len_high) << 16 | u32::from(words.len_low);
        if len > self.server.options.max_transfer {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let data = self.block.slice(usize::from(words.data_offset), len as usize).map_err(malformed)?;
        let offset = u64::from(words.offset_high) << 32 | u64::from(words.offset_low);
        let through = words.mode & WRITE_THROUGH != 0;
        self.server.write(&open, self.lock_owner(&open), offset, data, through)?;
        let response = WriteResponse {
            andx: NO_ANDX,
            count_low: words.len_low,
            available: NOT_A_PIPE,
            count_high: words.len_high,
            reserved: 0,
        };
        put_blocks(&response, body, |_| {});
        Ok(())
    }

    /// FLUSH of a file, or of all files of the user (MS-CIFS 2.2.4.6.1).
    pub(super) fn flush(&self, body: &mut Vec<u8>) -> Outcome<()> {
        let words: FlushRequest = self.words()?;
        if words.fid == u16::MAX {
            let files = self.state.table().files_of(self.header.uid);
            for file in files {
                self.server.flush(&file.open)?;
            }
        } else {
            let open = self.file(words.fid)?;
            self.server.flush(&open)?;
        }
        put_empty(body);
        Ok(())
    }
}
