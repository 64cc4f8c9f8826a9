//! A reply matched with its request and read.

use sharebench_model::{ErrorClass, OpError};

use crate::client::buffers::Buffers;
use crate::client::calls::{Calls, Order, Sent};
use crate::client::credits::Credits;
use crate::client::guard::Guard;
use crate::client::receiver::lost;
use crate::status::NtStatus;
use crate::wire::WireError;
use crate::wire::data::{ReadResponse, WriteResponse};
use crate::wire::header::{Header, UNSOLICITED, command, flags};
use crate::wire::simple::{Empty, ErrorResponse};

/// The end of a request.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) index: usize,
    pub(crate) order: Order,
    /// Bytes read or written.
    pub(crate) result: Result<u32, OpError>,
    /// Requests sent for it: 0 when it never left.
    pub(crate) requests: u32,
}

/// What a reply changes.
pub(crate) struct Ledger<'a> {
    pub(crate) calls: &'a mut Calls,
    pub(crate) buffers: &'a mut Buffers,
    pub(crate) credits: &'a mut Credits,
    pub(crate) guard: &'a Guard,
    /// The whole reply to the last request for names and attributes.
    pub(crate) meta_reply: &'a mut Vec<u8>,
    pub(crate) arrivals: &'a mut Vec<Arrival>,
}

fn broken(error: impl std::fmt::Display) -> OpError {
    lost(ErrorClass::Protocol, error.to_string())
}

/// Finds the request that a reply answers; none for what needs no answer.
fn matching(header: &Header, calls: &Calls) -> Result<Option<(usize, Sent)>, OpError> {
    let name = command::name(header.command);
    if header.next != 0 {
        return Err(broken(format!("a compound reply to {name}, which was no compound")));
    }
    if header.message_id == UNSOLICITED && header.command == command::OPLOCK_BREAK {
        // This client holds no oplocks, so there is nothing to give back.
        return Ok(None);
    }
    match calls.find(header.message_id) {
        Some((index, sent)) if sent.order.command() == header.command && header.is(flags::RESPONSE) => {
            Ok(Some((index, sent)))
        }
        _ => Err(broken(format!("{name} with message id {}, which is not in flight", header.message_id))),
    }
}

impl Ledger<'_> {
    /// Takes a whole message. An error means that the connection is beyond use.
    #[inline]
    pub(crate) fn settle(&mut self, message: &mut [u8], sealed: bool) -> Result<(), OpError> {
        let header = Header::decode(message).map_err(broken)?;
        let Some((index, sent)) = matching(&header, self.calls)? else { return Ok(()) };
        if !sealed {
            self.guard.admit(&header, sent.signed, message)?;
        }
        self.credits.granted(header.credits);
        let status = NtStatus(header.status);
        if status == NtStatus::PENDING && header.is(flags::ASYNC) {
            return Ok(());
        }
        let result = self.read(index, sent.order, status, message).map_err(broken)?;
        self.end(index, sent, result);
        Ok(())
    }

    /// Ends a request.
    #[inline]
    pub(crate) fn end(&mut self, index: usize, sent: Sent, result: Result<u32, OpError>) {
        self.credits.answered(sent.charge);
        self.calls.end(index);
        self.arrivals.push(Arrival { index, order: sent.order, result, requests: 1 });
    }

    #[inline]
    fn read(
        &mut self,
        index: usize,
        order: Order,
        status: NtStatus,
        message: &[u8],
    ) -> Result<Result<u32, OpError>, WireError> {
        if let Order::Meta { .. } = order {
            self.meta_reply.clear();
            self.meta_reply.extend_from_slice(message);
            return Ok(Ok(0));
        }
        if status != NtStatus::SUCCESS {
            ErrorResponse::decode(message)?;
            if status == NtStatus::END_OF_FILE && matches!(order, Order::Read { .. }) {
                return Ok(Ok(0));
            }
            return Ok(Err(status.failure(command::name(order.command()))));
        }
        match order {
            Order::Read { len, .. } => {
                let data = ReadResponse::decode(message)?.data(message)?;
                let too_long =
                    WireError::Field { what: "ReadResponse", field: "DataLength", value: data.len() as u64 };
                let place = self.buffers.place(index, data.len());
                place.filter(|_| data.len() <= len as usize).ok_or(too_long)?.copy_from_slice(data);
                Ok(Ok(data.len() as u32))
            }
            Order::Write { len, .. } => {
                let count = WriteResponse::decode(message)?.count;
                let detail = || format!("short write: {count} of {len} bytes taken");
                Ok(if count == len { Ok(len) } else { Err(OpError::new(ErrorClass::Io, "WRITE", detail())) })
            }
            Order::Flush { .. } | Order::Meta { .. } => Empty::decode(message).map(|_| Ok(0)),
        }
    }
}
