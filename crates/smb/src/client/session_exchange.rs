//! One request after another, for each operation on names: of the only operation, or of one of several in flight.

use sharebench_client_core::submit_error::abandoned_request;
use sharebench_model::{ErrorClass, OpError, OpStep};

use crate::client::channels::requests::Request;
use crate::client::session::SmbSession;
use crate::status::NtStatus;
use crate::wire::header::{Header, command};

impl SmbSession {
    /// The complete reply to the last request of the operation.
    pub(crate) fn last_reply(&self) -> &[u8] {
        if self.is_one_of_several() {
            self.channels.buffers.call_reply(self.index)
        } else {
            self.channels.reply()
        }
    }

    /// True if the last request of the operation was sent more than once, so that the server may have performed it twice.
    pub(crate) fn was_repeated(&self) -> bool {
        if self.is_one_of_several() {
            self.channels.buffers.is_call_repeated(self.index)
        } else {
            self.channels.was_repeated()
        }
    }

    /// Performs one request, whatever its status; the complete reply is [`Self::last_reply`].
    pub(crate) async fn exchange(
        &mut self,
        command: u16,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Header, OpError> {
        self.exchange_sized(command, 0, body).await
    }

    /// Performs one request whose reply holds up to `reply_bytes`, which determines its credit charge.
    pub(crate) async fn exchange_sized(
        &mut self,
        command: u16,
        reply_bytes: u32,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Header, OpError> {
        if !self.is_one_of_several() {
            return self.channels.exchange_sized(command, reply_bytes, body).await;
        }
        let name = command::name(command);
        let step = OpStep::Request(name);
        if let Some(error) = self.channels.failure() {
            return Err(OpError { step, ..error });
        }
        let index = self.index;
        if !self.channels.is_idle(index) {
            return Err(abandoned_request(name));
        }
        body(&mut self.channels.buffers.begin_call(index).body);
        self.channels.submit(index, Request::Metadata { command, reply_bytes });
        let (result, requests) = self.reply(|_| {}).await;
        self.requests += requests;
        result.map_err(|error| OpError { step, ..error })?;
        Header::decode(self.last_reply())
            .map_err(|error| OpError::new(ErrorClass::Protocol, step, error.to_string()))
    }

    /// Performs one request that must succeed, and returns the reply's message.
    pub(crate) async fn request(
        &mut self,
        command: u16,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<&[u8], OpError> {
        let status = NtStatus(self.exchange(command, body).await?.status);
        if status == NtStatus::SUCCESS {
            return Ok(self.last_reply());
        }
        Err(status.failure(command::name(command)))
    }
}
