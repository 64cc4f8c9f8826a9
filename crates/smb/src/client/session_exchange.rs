//! The requests of operations on names: of the only operation, or of one of several in flight.

use sharebench_client_core::submit_error::abandoned_request;
use sharebench_model::OpError;

use crate::client::channels::requests::Request;
use crate::client::exchange::Exchange;
use crate::client::session::SmbSession;
use crate::wire::header::command;

impl SmbSession {
    /// True if the last request of the operation was sent more than once, so that the server may have performed it twice.
    pub(crate) fn was_repeated(&self) -> bool {
        if self.is_one_of_several() {
            self.channels.buffers.is_call_repeated(self.index)
        } else {
            self.channels.was_repeated()
        }
    }
}

impl Exchange for SmbSession {
    fn last_reply(&self) -> &[u8] {
        if self.is_one_of_several() {
            self.channels.buffers.call_reply(self.index)
        } else {
            self.channels.last_reply()
        }
    }

    async fn perform_request(
        &mut self,
        command: u16,
        reply_bytes: u32,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), OpError> {
        if !self.is_one_of_several() {
            return self.channels.perform_request(command, reply_bytes, body).await;
        }
        if let Some(error) = self.channels.failure() {
            return Err(error);
        }
        let index = self.index;
        if !self.channels.is_idle(index) {
            return Err(abandoned_request(command::name(command)));
        }
        body(&mut self.channels.buffers.begin_call(index).body);
        self.channels.submit(index, Request::Metadata { command, reply_bytes });
        let (result, requests) = self.reply(|_| {}).await;
        self.requests += requests;
        result.map(drop)
    }
}
