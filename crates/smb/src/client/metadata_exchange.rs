//! One request after another, as handshakes and operations on names and attributes need it.

use std::future::poll_fn;

use sharebench_model::{ErrorClass, OpError, OpStep};
use sharebench_stream_client::submit_error::abandoned_request;

use crate::client::channel::Channel;
use crate::client::requests::Request;
use crate::status::NtStatus;
use crate::wire::header::{Header, command};

/// The metadata request that is being sent, and the reply to the last one.
#[derive(Debug, Default)]
pub(crate) struct MetadataExchange {
    pub(crate) body: Vec<u8>,
    /// Sign the request whenever there is a key.
    pub(crate) always_sign: bool,
    /// Keep complete requests, because the handshake hashes them.
    pub(crate) keep_requests: bool,
    /// The complete request, if requests are kept.
    pub(crate) request: Vec<u8>,
    /// The complete reply.
    pub(crate) reply: Vec<u8>,
}

impl MetadataExchange {
    /// Returns the memory; nothing may be in flight.
    pub(crate) fn release_buffers(&mut self) {
        self.body = Vec::new();
        self.request = Vec::new();
        self.reply = Vec::new();
    }

    /// Keeps a message that is about to be sent, if requests are kept.
    pub(crate) fn keep_request(&mut self, message: &[u8]) {
        if self.keep_requests {
            self.request.clear();
            self.request.extend_from_slice(message);
        }
    }
}

impl Channel {
    /// Performs one request, whatever its status; the complete reply is in [`MetadataExchange::reply`].
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
        let name = command::name(command);
        let step = OpStep::Request(name);
        let at_step = |error: OpError| OpError { step, ..error };
        if let Some(error) = self.failure() {
            return Err(at_step(error));
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
        let mut completions = Vec::with_capacity(1);
        poll_fn(|cx| self.poll(cx, &mut completions)).await;
        let completion = completions.into_iter().find(|completion| completion.index == index);
        completion.map_or(Ok(0), |completion| completion.result).map_err(at_step)?;
        Header::decode(&self.exchange.reply)
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
            return Ok(&self.exchange.reply);
        }
        Err(status.failure(command::name(command)))
    }
}
