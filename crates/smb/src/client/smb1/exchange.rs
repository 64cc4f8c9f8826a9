//! Requests that belong to no slot, one at a time: commands on names, logins and transactions.

use std::future::poll_fn;

use sharebench_client_core::submit_error::abandoned_request;
use sharebench_model::{ErrorClass, OpError, OpStep};

use super::connection::{Connection, Request};
use crate::nt1::message::{HEADER_LEN, Words, put_blocks};
use crate::nt1::trans2::{Collected, put_request};
use crate::nt1::{Header, command};
use crate::status::NtStatus;

impl Connection {
    /// Performs one request, whatever its status; the complete reply is in `reply`.
    pub(super) async fn exchange<W: Words>(
        &mut self,
        command: u8,
        words: &W,
        bytes: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Header, OpError> {
        // Offsets within a message decide on padding, so that the body is encoded after a header.
        self.body.clear();
        self.body.resize(HEADER_LEN, 0);
        put_blocks(words, &mut self.body, bytes);
        self.body.drain(..HEADER_LEN);
        self.exchange_body(command).await
    }

    /// Performs one transaction that must succeed; its parameters and data are in `collected`.
    pub(super) async fn transact(
        &mut self,
        subcommand: u16,
        parameters: &[u8],
        data: &[u8],
        max_data: u16,
    ) -> Result<NtStatus, OpError> {
        self.collected = Collected::default();
        self.body.clear();
        put_request(subcommand, parameters, data, max_data, &mut self.body);
        Ok(NtStatus(self.exchange_body(command::TRANSACTION2).await?.status))
    }

    async fn exchange_body(&mut self, command: u8) -> Result<Header, OpError> {
        let step = OpStep::Request(command::name(command));
        let at_step = |error: OpError| OpError { step, ..error };
        if let Some(error) = self.failure() {
            return Err(at_step(error));
        }
        let index = self.metadata_index();
        if !self.is_idle(index) {
            let error = abandoned_request(command::name(command));
            self.give_up(error.clone());
            return Err(error);
        }
        self.submit(index, Request::Metadata { command });
        let mut completions = Vec::with_capacity(1);
        poll_fn(|cx| self.poll(cx, &mut completions)).await;
        let completion = completions.into_iter().find(|completion| completion.index == index);
        completion.map_or(Ok(0), |completion| completion.result).map_err(at_step)?;
        Header::decode(&self.reply)
            .map_err(|error| OpError::new(ErrorClass::Protocol, step, error.to_string()))
    }

    /// Performs one request that must succeed.
    pub(super) async fn request<W: Words>(
        &mut self,
        command: u8,
        words: &W,
        bytes: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), OpError> {
        match NtStatus(self.exchange(command, words, bytes).await?.status) {
            NtStatus::SUCCESS => Ok(()),
            status => Err(status.failure(command::name(command))),
        }
    }
}
