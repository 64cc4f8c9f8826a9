//! One request after another on one channel, as handshakes need it.

use std::future::poll_fn;
use std::task::Poll;

use sharebench_client_core::submit_error::abandoned_request;
use sharebench_model::{ErrorClass, OpError, OpStep};

use crate::client::channels::channel::Channel;
use crate::client::channels::requests::Request;
use crate::client::channels::slot_buffers::SlotBuffers;
use crate::status::NtStatus;
use crate::wire::header::{Header, command};

impl Channel {
    /// Performs one request of a handshake, whatever its status; the complete reply is in
    /// [`MetadataExchange::reply`].
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
        let step = OpStep::Request(command::name(command));
        self.begin(command, reply_bytes, body)?;
        // A handshake transfers no file data.
        let mut buffers = SlotBuffers::new(0, 0);
        let mut completions = Vec::with_capacity(1);
        poll_fn(|cx| {
            self.poll(cx, &mut buffers, &mut completions);
            if completions.is_empty() && self.cause().is_none() { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        if let Some(cause) = self.cause().cloned() {
            self.fail_all(&cause, &mut completions);
            return Err(OpError { step, ..cause });
        }
        if let Some(error) = completions.into_iter().find_map(|completion| completion.result.err()) {
            return Err(OpError { step, ..error });
        }
        Header::decode(&self.exchange.reply)
            .map_err(|error| OpError::new(ErrorClass::Protocol, step, error.to_string()))
    }

    /// Submits a metadata request and returns its index.
    pub(crate) fn begin(
        &mut self,
        command: u16,
        reply_bytes: u32,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<usize, OpError> {
        let name = command::name(command);
        if let Some(error) = self.failure() {
            return Err(OpError { step: OpStep::Request(name), ..error });
        }
        let index = self.metadata_index();
        // A caller dropped its future while the request was in flight. Its reply would be taken for the reply
        // to this request, so the connection is given up.
        if !self.is_idle(index) {
            let error = abandoned_request(name);
            self.give_up(error.clone());
            return Err(error);
        }
        self.exchange.body.clear();
        body(&mut self.exchange.body);
        self.submit(index, Request::Metadata { command, reply_bytes });
        Ok(index)
    }

    /// Performs one request that must succeed, and returns the reply's message.
    pub(crate) async fn request(
        &mut self,
        command: u16,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<&[u8], OpError> {
        let status = NtStatus(self.exchange(command, body).await?.status);
        if status == NtStatus::SUCCESS {
            return Ok(&self.exchange.reply);
        }
        Err(status.failure(command::name(command)))
    }
}
