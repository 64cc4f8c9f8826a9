//! A message of SMB1 and its reply: signature, chain of commands, header (MS-CIFS 3.3.5.2).

use std::sync::Arc;

use sharebench_smb::NtStatus;
use sharebench_smb::nt1::message::{HEADER_LEN, NoWords, REPLY, put_blocks};
use sharebench_smb::nt1::{Header, Message, command};
use sharebench_smb::wire::frame::PREFIX_LEN;
use sharebench_smb::wire::header::Header as Smb2Header;

use super::call::Smb1Call;
use super::reply::{Smb1Reply, response_header};
use super::state::Smb1State;
use crate::smb::session::call::CallResponse;
use crate::smb::session::channel::Channel;
use crate::smb::session::connection::Connection;
use crate::smb::session::deferred::{Chain, DeferredRequest, DeferredRequests};
use crate::smb::session::pending::{PendingReply, ReplyForm};
use crate::smb::transport::frames::Broken;
use crate::smb::transport::replies::Replies;

/// Maximum number of commands of a message. Clients chain at most four.
const MAX_COMMANDS: usize = 16;
/// Commands of a chain are rejected once its reply has this many bytes.
const MAX_REPLY_BYTES: usize = 2 << 20;
/// Maximum number of replies to one ECHO.
const MAX_ECHOES: u16 = 16;

/// The result of one command of a chain.
enum CommandStep {
    /// Its block is in the reply; the next command and its offset.
    Next(Option<(u8, usize)>, NtStatus),
    /// There is no reply, or it follows later.
    None,
}

/// A message that is being answered.
struct Reply {
    /// Position of the header in the replies.
    start: usize,
    /// Position of the last block, whose words name the next command.
    last: Option<usize>,
}

impl Connection {
    /// Appends the reply to a message. A message that was `resumed` has waited, and its signature was verified when it arrived.
    pub(in crate::smb) fn answer_smb1(
        self: &Arc<Self>,
        message: &mut [u8],
        number: Option<u32>,
        resumed: bool,
        out: &mut Replies,
    ) -> Result<(), Broken> {
        let state = self.smb1.get().ok_or(Broken)?;
        let header = Header::decode(message).map_err(|_| Broken)?;
        if header.flags & REPLY != 0 {
            return Err(Broken);
        }
        if let Some(signer) = state.signatures.signer().filter(|_| !resumed) {
            // A message that overtook the end of the login has no number, and nobody can have signed it.
            let number = number.ok_or(Broken)?;
            if !signer.verify(message, number) {
                tracing::debug!(
                    command = command::name(header.command),
                    "SMB1 message with a wrong signature"
                );
                return Err(Broken);
            }
        }
        let mut call = Smb1Call::new(self, state, message, header, number, resumed);
        if header.command == command::ECHO {
            return echo(&call, out);
        }
        let start = out.len();
        out.put_zeros(PREFIX_LEN + HEADER_LEN);
        let mut reply = Reply { start: start + PREFIX_LEN, last: None };
        let mut next = Some((header.command, HEADER_LEN));
        let mut status = NtStatus::SUCCESS;
        let mut count = 0;
        while let Some((command, offset)) = next.take() {
            count += 1;
            if count > MAX_COMMANDS || out.len() - reply.start > MAX_REPLY_BYTES {
                status = NtStatus::INSUFFICIENT_RESOURCES;
                reply.put_error(command, out);
                break;
            }
            match self.answer_command(&mut call, command, offset, &mut reply, out)? {
                CommandStep::Next(following, answered) => {
                    status = answered;
                    next = following.filter(|_| answered == NtStatus::SUCCESS);
                }
                CommandStep::None => {
                    out.truncate(start);
                    return Ok(());
                }
            }
        }
        reply.finish(&call, status, out);
        out.finish_frame(start);
        Ok(())
    }

    /// Answers one command of a chain.
    fn answer_command(
        self: &Arc<Self>,
        call: &mut Smb1Call<'_>,
        command: u8,
        offset: usize,
        reply: &mut Reply,
        out: &mut Replies,
    ) -> Result<CommandStep, Broken> {
        let block = Message::block_at(call.message, offset);
        let Ok((block, bytes_at)) = block else {
            reply.put_error(command, out);
            return Ok(CommandStep::Next(None, NtStatus::INVALID_PARAMETER));
        };
        // The offset of a further command only grows, so that no chain has a loop.
        let next = match (command::is_andx(command), block.words) {
            (true, [next, _, low, high, ..]) if *next != command::NONE => {
                let at = usize::from(u16::from_le_bytes([*low, *high]));
                if at <= offset {
                    reply.put_error(command, out);
                    return Ok(CommandStep::Next(None, NtStatus::INVALID_PARAMETER));
                }
                Some((*next, at))
            }
            _ => None,
        };
        call.block = block;
        call.bytes_at = bytes_at;
        call.first = offset == HEADER_LEN;
        call.last = next.is_none();
        let at = reply.link(command, out);
        let mut body = std::mem::take(&mut out.scratch);
        body.clear();
        let answered = if command == command::READ_ANDX {
            call.read(at - reply.start, out)
        } else {
            call.reply_at = at - reply.start;
            call.dispatch(command, &mut body)
        };
        let step = match answered {
            Ok(CallResponse::Complete(status)) => {
                out.put(&body);
                reply.last = command::is_andx(command).then_some(at);
                CommandStep::Next(next, status)
            }
            Ok(CallResponse::Pending) => CommandStep::None,
            Ok(CallResponse::Deferred(deferred)) if call.first => {
                self.defer_smb1(call, &deferred);
                CommandStep::None
            }
            Ok(CallResponse::Deferred(_)) => {
                // The commands before it have been performed and must not be repeated.
                out.truncate(at);
                put_empty(out);
                CommandStep::Next(None, NtStatus::SHARING_VIOLATION)
            }
            Ok(CallResponse::Disconnect) => return Err(Broken),
            Err(status) => {
                out.truncate(at);
                put_empty(out);
                CommandStep::Next(None, status)
            }
        };
        out.scratch = body;
        Ok(step)
    }

    /// Keeps a message until it is released, and answers it then from its start.
    fn defer_smb1(self: &Arc<Self>, call: &Smb1Call<'_>, deferred: &Arc<DeferredRequests>) {
        let Some(pending) = call.pending() else { return };
        let connection: Arc<Self> = Arc::clone(self);
        let request = DeferredRequest {
            connection,
            messages: call.message.to_vec(),
            chain: Chain::default(),
            related: false,
            sealing: None,
            pending,
        };
        deferred.defer(request, !call.resumed);
    }
}

impl Smb1Call<'_> {
    /// A reply that is sent later, to this message.
    pub(super) fn pending(&self) -> Option<PendingReply> {
        let session = self.session.as_ref()?;
        let message_id = cancel_key(&self.header);
        let header = Smb2Header { message_id, ..Smb2Header::default() };
        let form = ReplyForm::Smb1(Smb1Reply::new(self.header, self.number, &self.state.signatures));
        let channel = Channel::of_session(session);
        // All of the message waits: no reply precedes its own.
        Some(self.connection.pending_reply(self.server.new_id(), header, channel, form, 0))
    }

    /// `NT_CANCEL` (MS-CIFS 3.3.5.52): the request with the same ids is answered at once. It has no reply of its own.
    pub(super) fn cancel(&self) {
        let message_id = cancel_key(&self.header);
        self.connection.cancel(&Smb2Header { message_id, ..Smb2Header::default() });
    }
}

/// What identifies a request that may be cancelled (MS-CIFS 2.2.4.65.1).
fn cancel_key(header: &Header) -> u64 {
    let ids = [header.mid, header.pid_low, header.uid, header.tid];
    ids.iter().fold(0, |key, id| key << 16 | u64::from(*id))
}

/// A block without words and bytes, which is that of an error.
fn put_empty(out: &mut Replies) {
    out.put_zeros(3);
}

impl Reply {
    /// Starts the block of a command and names it in the block before; returns its position.
    fn link(&mut self, command: u8, out: &mut Replies) -> usize {
        let len = out.len() - self.start;
        if let Some(last) = self.last.take() {
            // Each block starts at a multiple of four bytes, as Windows does it.
            out.put_zeros(len.next_multiple_of(4) - len);
            let offset = u16::try_from(out.len() - self.start).unwrap_or(u16::MAX).to_le_bytes();
            // The words of an ANDX command start with the next command, a reserved byte and its offset.
            if let Some(andx) = out.tail(last).get_mut(1..5) {
                andx.copy_from_slice(&[command, 0, offset[0], offset[1]]);
            }
        }
        out.len()
    }

    fn put_error(&mut self, command: u8, out: &mut Replies) {
        self.link(command, out);
        put_empty(out);
    }

    /// Writes the header, and signs.
    fn finish(&self, call: &Smb1Call<'_>, status: NtStatus, out: &mut Replies) {
        // The login that activates signatures has the number 0.
        let number = call.number.or(call.activates_signing.then_some(0));
        let mut encoded = std::mem::take(&mut out.scratch);
        encoded.clear();
        response_header(&call.header, status, number.is_some()).encode(&mut encoded);
        let message = out.tail(self.start);
        if let Some(location) = message.get_mut(..HEADER_LEN) {
            location.copy_from_slice(&encoded);
        }
        call.state.signatures.sign(message, number);
        out.scratch = encoded;
    }
}

/// ECHO (MS-CIFS 3.3.5.32): as many replies as requested, up to a limit. It needs no session.
fn echo(call: &Smb1Call<'_>, out: &mut Replies) -> Result<(), Broken> {
    let (block, _) = Message::block_at(call.message, HEADER_LEN).map_err(|_| Broken)?;
    let wanted = block.get::<sharebench_smb::nt1::path::Echo>().map(|echo| echo.count);
    let mut body = Vec::new();
    let (count, status) = match wanted {
        Ok(count) => (count.min(MAX_ECHOES), NtStatus::SUCCESS),
        Err(_) => (1, NtStatus::INVALID_PARAMETER),
    };
    for nth in 1..=count {
        body.clear();
        if status == NtStatus::SUCCESS {
            put_blocks(&sharebench_smb::nt1::path::Echo { count: nth }, &mut body, |bytes| {
                bytes.extend_from_slice(block.bytes);
            });
        } else {
            put_blocks(&NoWords {}, &mut body, |_| {});
        }
        let start = out.len();
        out.put_zeros(PREFIX_LEN + HEADER_LEN);
        out.put(&body);
        Reply { start: start + PREFIX_LEN, last: None }.finish(call, status, out);
        out.finish_frame(start);
    }
    Ok(())
}

/// A state of a connection that has just negotiated SMB1.
pub(super) fn new_state() -> Arc<Smb1State> {
    Arc::default()
}
