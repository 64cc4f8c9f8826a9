//! Semaphores (docs/protocols/ncp.md 3.3), by the classic calls, which every server has.

use std::time::Duration;

use super::ClientError;
use super::exchange::{Client, wire};
use super::locks::ticks;
use super::transport::Transport;
use crate::wire::Pstr;
use crate::wire::semaphore::{
    CloseSemaphore, ExamineSemaphore, ExaminedSemaphore, OpenSemaphore, OpenedSemaphore, SignalSemaphore,
    WaitOnSemaphore,
};

const SEMAPHORE: &str = "semaphore";

/// An open semaphore of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Semaphore(pub(super) u32);

impl<C: Transport> Client<C> {
    /// Opens a semaphore, which is created with `value`, at most 127, if it does not exist; returns it with the number
    /// of opens.
    pub async fn open_semaphore(&mut self, name: &[u8], value: u8) -> Result<(Semaphore, u8), ClientError> {
        let name = Pstr::new(name).map_err(wire(SEMAPHORE))?;
        let opened: OpenedSemaphore = self.ask(SEMAPHORE, &OpenSemaphore { value, name }.into()).await?;
        Ok((Semaphore(opened.handle), opened.opens))
    }

    /// The value of a semaphore, negative while requests wait, and the number of opens.
    pub async fn examine_semaphore(&mut self, semaphore: Semaphore) -> Result<(i8, u8), ClientError> {
        let call = ExamineSemaphore { handle: semaphore.0 };
        let found: ExaminedSemaphore = self.ask(SEMAPHORE, &call.into()).await?;
        Ok((found.value.cast_signed(), found.opens))
    }

    /// Decrements a semaphore once its value is positive; false when it is not within `patience`.
    pub async fn wait_on_semaphore(
        &mut self,
        semaphore: Semaphore,
        patience: Duration,
    ) -> Result<bool, ClientError> {
        let timeout = ticks(patience);
        let call = WaitOnSemaphore { handle: semaphore.0, timeout };
        self.call_waiting(SEMAPHORE, &call.into(), timeout).await
    }

    /// Increments a semaphore.
    pub async fn signal_semaphore(&mut self, semaphore: Semaphore) -> Result<(), ClientError> {
        self.call(SEMAPHORE, &SignalSemaphore { handle: semaphore.0 }.into()).await.map(|_| ())
    }

    /// Closes a semaphore.
    pub async fn close_semaphore(&mut self, semaphore: Semaphore) -> Result<(), ClientError> {
        self.call(SEMAPHORE, &CloseSemaphore { handle: semaphore.0 }.into()).await.map(|_| ())
    }
}
