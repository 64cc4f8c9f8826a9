//! The requests of a handshake on one channel.

use std::future::poll_fn;
use std::task::Poll;

use sharebench_client_core::submit_error::abandoned_request;
use sharebench_model::{OpError, OpStep};

use crate::client::channels::channel::Channel;
use crate::client::channels::requests::Request;
use crate::client::channels::slot_buffers::SlotBuffers;
use crate::client::exchange::Exchange;
use crate::wire::header::command;

impl Channel {
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
}

impl Exchange for Channel {
    fn last_reply(&self) -> &[u8] {
        &self.exchange.reply
    }

    async fn perform_request(
        &mut self,
        command: u16,
        reply_bytes: u32,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), OpError> {
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
            return Err(cause);
        }
        completions.into_iter().find_map(|completion| completion.result.err()).map_or(Ok(()), Err)
    }
}
