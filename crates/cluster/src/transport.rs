//! The transport of bytes between ranks.

use crate::tree;

/// A message could not be exchanged, so that the run cannot continue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank} was lost: {why}")]
pub struct Lost {
    /// The rank at the other end.
    pub rank: u32,
    /// The symptom.
    pub why: String,
}

/// How a rank waits for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitMode {
    /// With sleeps of up to a millisecond: waiting must not take CPU time from ranks that measure.
    Sleep,
    /// Busy, for exchanges of timestamps.
    Spin,
}

/// An urgent message that overtakes the others and needs no matching receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alert {
    /// Stop the run after the current operation.
    Stop,
    /// The launcher requested a stop, and this rank is alive.
    Stopping,
}

/// Exchanges messages of any length between ranks, in order between any two ranks and without loss.
///
/// The threads of a rank may share a transport. Collective calls, however, are made by one thread at a time, in the
/// same order on every rank: the messages have no tags that would match them otherwise. The provided methods
/// implement the collective operations with `send` and `receive`; a transport with faster ones overrides them.
pub trait Transport: Send + Sync {
    /// Returns the number of this rank, from 0.
    fn rank(&self) -> u32;

    /// Returns the number of ranks.
    fn size(&self) -> u32;

    /// Sends to one rank. May wait until it receives.
    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), Lost>;

    /// Receives the next message from one rank.
    fn receive(&self, from: u32, patience: WaitMode) -> Result<Vec<u8>, Lost>;

    /// Sends an alert without waiting. An alert to a rank that has exited is dropped.
    fn alert(&self, to: u32, alert: Alert);

    /// Returns the alerts since the last call, each with its sender.
    fn alerts(&self) -> Vec<(u32, Alert)>;

    /// Waits until all ranks have called it.
    fn barrier(&self) -> Result<(), Lost> {
        self.gather(&[])?;
        self.broadcast(&[]).map(drop)
    }

    /// Sends the bytes of rank 0 to every rank; those of the others are ignored.
    fn broadcast(&self, bytes: &[u8]) -> Result<Vec<u8>, Lost> {
        let bytes = match tree::parent(self.rank()) {
            Some(parent) => self.receive(parent, WaitMode::Sleep)?,
            None => bytes.to_vec(),
        };
        for child in tree::children(self.rank(), self.size()) {
            self.send(child, &bytes)?;
        }
        Ok(bytes)
    }

    /// Collects the bytes of all ranks on rank 0, by rank; returns nothing on the others.
    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Lost> {
        if self.rank() != 0 {
            self.send(0, bytes)?;
            return Ok(Vec::new());
        }
        let mut all = vec![bytes.to_vec()];
        for rank in 1..self.size() {
            all.push(self.receive(rank, WaitMode::Sleep)?);
        }
        Ok(all)
    }

    /// Creates a transport among the first `size` ranks. Collective over all ranks; returns `None` on the others and
    /// where it is not possible.
    fn subgroup(&self, size: u32) -> Option<Box<dyn Transport>>;
}

/// This process as one of a launcher's, from the start of the message library to its end.
pub trait RankProcess {
    /// Returns the transport between all processes.
    fn transport(&self) -> Box<dyn Transport>;

    /// Ends the library. Waits until all processes have called it.
    fn end(self: Box<Self>);

    /// Ends all processes, including this one, at once with an exit code.
    fn abort(&self, code: u8) -> !;
}

/// Starts the message library in this process, or says why it cannot be used.
pub type StartRank = fn() -> Result<Box<dyn RankProcess>, String>;
