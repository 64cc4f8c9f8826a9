//! Replies matched with the requests that await them.

use sharebench_client_core::connection_error::protocol_violation;
use sharebench_client_core::submit_error;
use sharebench_model::OpError;

use crate::client::channels::credits::Credits;
use crate::client::channels::lease_breaks::{Broken, LeaseBreaks};
use crate::client::channels::message_security::MessageSecurity;
use crate::client::channels::metadata_exchange::RenewalExchange;
use crate::client::channels::requests::{InFlight, Queued, Request, Requests};
use crate::client::channels::slot_buffers::SlotBuffers;
use crate::client::channels::watch_exchange::WatchExchange;
use crate::status::NtStatus;
use crate::wire::WireError;
use crate::wire::data::{ReadResponse, WriteResponse};
use crate::wire::header::{Header, UNSOLICITED, command, flags};
use crate::wire::lease::{LeaseAcknowledgment, LeaseBreak};
use crate::wire::oplock::OplockBreak;
use crate::wire::simple::{Empty, ErrorResponse};

/// Most requests for one operation, if the server rejects them for the time being: after the loss of a channel, or because
/// the session is expired again and again.
const MAX_TIMES_SENT: u32 = 64;

/// The outcome of a request.
#[derive(Debug)]
pub(crate) struct Completion {
    pub(crate) index: usize,
    pub(crate) request: Request,
    /// Bytes read or written.
    pub(crate) result: Result<u32, OpError>,
    /// Requests that were sent for it: 0 if it never left.
    pub(crate) requests: u32,
}

/// Everything that a reply changes.
///
/// The channel lends its parts for the duration of one receive. A reply is verified before anything else is believed;
/// then its credits are added, its data move into the slot, and its request is completed. Each request is completed
/// once. Any error that a method returns is about the connection, which cannot be used afterwards; the failure of one
/// request is part of its [`Completion`].
pub(crate) struct PendingReplies<'a> {
    pub(crate) requests: &'a mut Requests,
    pub(crate) buffers: &'a mut SlotBuffers,
    pub(crate) credits: &'a mut Credits,
    pub(crate) security: &'a MessageSecurity,
    /// The complete reply to the last metadata request that has no slot.
    pub(crate) metadata_reply: &'a mut Vec<u8>,
    /// The request that waits for a change in a directory.
    pub(crate) watch: &'a mut WatchExchange,
    /// The session has lost a channel.
    pub(crate) after_loss: bool,
    /// Requests to send again, see [`MAX_TIMES_SENT`].
    pub(crate) to_repeat: &'a mut Vec<Queued>,
    /// The renewal of the session's login on this connection.
    pub(crate) renewal: &'a mut RenewalExchange,
    /// Breaks of leases and oplocks that the server announces.
    pub(crate) breaks: &'a mut LeaseBreaks,
    pub(crate) completions: &'a mut Vec<Completion>,
}

/// Finds the request that a message answers; none if the message is a notification.
fn matching(header: &Header, requests: &Requests) -> Result<Option<(usize, InFlight)>, OpError> {
    let name = command::name(header.command);
    // This client never sends compounds, and a server may only compound replies to compounded requests
    // (MS-SMB2 3.3.4.1.3).
    if header.next != 0 {
        return Err(protocol_violation(format!("a compound reply to {name}, which was not compounded")));
    }
    if header.message_id == UNSOLICITED && header.command == command::OPLOCK_BREAK {
        return Ok(None);
    }
    match requests.find(header.message_id) {
        Some((index, sent)) if sent.request.command() == header.command && header.is(flags::RESPONSE) => {
            Ok(Some((index, sent)))
        }
        _ => {
            let id = header.message_id;
            Err(protocol_violation(format!("{name} with message id {id}, which is not in flight")))
        }
    }
}

impl PendingReplies<'_> {
    /// Processes a complete message. `encrypted` states that it was decrypted, which authenticates it.
    #[inline]
    pub(crate) fn accept(&mut self, message: &mut [u8], encrypted: bool) -> Result<(), OpError> {
        let header = Header::decode(message).map_err(protocol_violation)?;
        let Some((index, sent)) = matching(&header, self.requests)? else {
            // A break belongs to no session: it is neither signed nor encrypted (MS-SMB2 3.3.4.6, 3.3.4.7). A forged one makes
            // this client give up a right that it does not use. Other notifications are ignored.
            let lease = LeaseBreak::decode(message).map(Broken::Lease);
            let broken = lease.or_else(|_| OplockBreak::decode(message).map(Broken::Oplock));
            if let Ok(broken) = broken
                && !self.breaks.push(broken)
            {
                return Err(protocol_violation("more breaks of leases than the session can hold"));
            }
            return Ok(());
        };
        let status = NtStatus(header.status);
        // A rejected login ends the session, as a lost connection does, whoever sent the rejection. Nothing else about it has to
        // be believed, and a server that has removed the session cannot sign it.
        let rejected_login = sent.request == Request::LogIn
            && !matches!(status, NtStatus::SUCCESS | NtStatus::MORE_PROCESSING_REQUIRED | NtStatus::PENDING);
        if !encrypted && !rejected_login {
            self.security.verify(&header, sent.signed, message)?;
        }
        // Interim responses grant credits as well, so they are counted before the status is looked at.
        self.credits.granted(header.credits);
        // An interim response: the final one follows under the same message id (MS-SMB2 3.2.5.1.5).
        if status == NtStatus::PENDING && header.is(flags::ASYNC) {
            if matches!(sent.request, Request::Watch { .. }) {
                self.watch.accepted = Some((header.message_id, header.async_id));
            }
            return Ok(());
        }
        // After the loss of a channel the server answers so to a repeated change while it still performs the first one,
        // and to a change with the channel sequence from before the loss (MS-SMB2 3.3.5.2.10).
        if status == NtStatus::FILE_NOT_AVAILABLE && self.after_loss && sent.times_sent < MAX_TIMES_SENT {
            self.repeat(index, InFlight { replayed: true, ..sent });
            return Ok(());
        }
        // The server has not performed the request (MS-SMB2 3.3.5.2.9).
        if status == NtStatus::NETWORK_SESSION_EXPIRED
            && self.renewal.possible
            && sent.request.survives_expiry()
            && sent.times_sent < MAX_TIMES_SENT
        {
            self.renewal.needed = true;
            self.repeat(index, sent);
            return Ok(());
        }
        let result = self.read(index, sent.request, status, message).map_err(protocol_violation)?;
        self.complete(index, sent, result);
        Ok(())
    }

    /// Has a request sent again.
    #[cold]
    fn repeat(&mut self, index: usize, sent: InFlight) {
        self.credits.answered(sent.charge);
        self.requests.finish(index);
        let InFlight { request, times_sent, replayed, .. } = sent;
        self.to_repeat.push(Queued { index, request, times_sent, replayed });
    }

    /// Completes a request.
    #[inline]
    pub(crate) fn complete(&mut self, index: usize, sent: InFlight, result: Result<u32, OpError>) {
        self.credits.answered(sent.charge);
        self.requests.finish(index);
        let InFlight { request, times_sent, .. } = sent;
        if !request.completes() {
            return;
        }
        self.completions.push(Completion { index, request, result, requests: times_sent });
    }

    /// Decodes the reply to `request`: the outer result is about the message, the inner one about the operation.
    #[inline]
    fn read(
        &mut self,
        index: usize,
        request: Request,
        status: NtStatus,
        message: &[u8],
    ) -> Result<Result<u32, OpError>, WireError> {
        if let Request::Metadata { .. } = request {
            // The whole message is kept, because the handshake hashes it and each command decodes its own body.
            let reply = match self.buffers.call(index) {
                Some(call) => &mut call.reply,
                None => &mut *self.metadata_reply,
            };
            reply.clear();
            reply.extend_from_slice(message);
            return Ok(Ok(0));
        }
        if let Request::Watch { .. } = request {
            self.watch.finish(message);
            return Ok(Ok(0));
        }
        if request == Request::LogIn {
            self.renewal.reply = Some(message.to_vec());
            return Ok(Ok(0));
        }
        if status != NtStatus::SUCCESS {
            // Decoded only to be checked: the status is known, but a malformed error means that the stream is
            // out of step.
            ErrorResponse::decode(message)?;
            // A READ at or past the end of file is a read of 0 bytes, as in every other client.
            if status == NtStatus::END_OF_FILE && matches!(request, Request::Read { .. }) {
                return Ok(Ok(0));
            }
            return Ok(Err(status.failure(command::name(request.command()))));
        }
        match request {
            Request::Read { len, .. } => {
                let data = ReadResponse::decode(message)?.data(message)?;
                let too_long =
                    WireError::Field { what: "ReadResponse", field: "DataLength", value: data.len() as u64 };
                let place = self.buffers.payload_of(index, data.len());
                place.filter(|_| data.len() <= len as usize).ok_or(too_long)?.copy_from_slice(data);
                Ok(Ok(data.len() as u32))
            }
            Request::Write { len, .. } => {
                let count = WriteResponse::decode(message)?.count;
                // A short write is an error of the operation and not of the connection: the stream is intact.
                Ok(if count == len { Ok(len) } else { Err(submit_error::short_write(count, len)) })
            }
            Request::Acknowledge { .. } => LeaseAcknowledgment::decode(message).map(|_| Ok(0)),
            Request::AcknowledgeOplock { .. } => OplockBreak::decode(message).map(|_| Ok(0)),
            Request::Flush { .. } | Request::LogIn | Request::Watch { .. } | Request::Metadata { .. } => {
                Empty::decode(message).map(|_| Ok(0))
            }
        }
    }
}
