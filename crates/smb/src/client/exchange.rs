//! One request after another: what handshakes and operations on names are made of.

use std::future::poll_fn;

use sharebench_model::{ErrorClass, OpError};

use crate::client::calls::Order;
use crate::client::channel::Channel;
use crate::status::NtStatus;
use crate::wire::header::{Header, command};

/// The request for names and attributes: its body, and what came back.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    pub(crate) body: Vec<u8>,
    /// Sign the request whenever there is a key.
    pub(crate) always_sign: bool,
    /// Keep whole requests.
    pub(crate) keep: bool,
    /// The whole request, when it was to be kept.
    pub(crate) request: Vec<u8>,
    /// The whole reply.
    pub(crate) reply: Vec<u8>,
}

impl Exchange {
    /// Gives memory back; nothing may be in flight.
    pub(crate) fn release_buffers(&mut self) {
        (self.body, self.request, self.reply) = (Vec::new(), Vec::new(), Vec::new());
    }

    /// Notes a message that is about to leave.
    pub(crate) fn sent(&mut self, message: &[u8]) {
        if self.keep {
            self.request.clear();
            self.request.extend_from_slice(message);
        }
    }
}

impl Channel {
    /// Performs one request whatever its status; the whole reply is in [`Exchange::reply`].
    pub(crate) async fn exchange(
        &mut self,
        command: u16,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Header, OpError> {
        let step = command::name(command);
        let named = |error: OpError| OpError { step, ..error };
        if let Some(error) = self.failure() {
            return Err(named(error));
        }
        let index = self.meta_index();
        if !self.is_idle(index) {
            let error = OpError::new(ErrorClass::Disconnected, step, "an earlier request was abandoned");
            self.give_up(error.clone());
            return Err(error);
        }
        self.exchange.body.clear();
        body(&mut self.exchange.body);
        self.submit(index, Order::Meta { command });
        let mut arrivals = Vec::with_capacity(1);
        poll_fn(|cx| self.poll(cx, &mut arrivals)).await;
        let end = arrivals.into_iter().find(|arrival| arrival.index == index);
        end.map_or(Ok(0), |arrival| arrival.result).map_err(named)?;
        Header::decode(&self.exchange.reply)
            .map_err(|error| OpError::new(ErrorClass::Protocol, step, error.to_string()))
    }

    /// Performs one request that must succeed, and gives the reply's message.
    pub(crate) async fn ask(
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
