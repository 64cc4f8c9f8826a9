//! What carries bytes between ranks.

use crate::tree;

/// Why a message could not be exchanged: the run cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank} was lost: {why}")]
pub struct Lost {
    /// The rank at the other end.
    pub rank: u32,
    /// What was seen of it.
    pub why: String,
}

/// How a rank waits for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// With naps of up to a millisecond: waiting must not take processors from ranks that measure.
    Nap,
    /// Without a pause, for exchanges of clocks.
    Spin,
}

/// Something small and urgent that is told out of turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alert {
    /// The run is to stop after what is under way.
    Stop,
    /// This rank was asked to stop by its system, and is alive.
    Stopping,
}

/// Carries messages of any length between ranks: in order between any two, none lost.
///
/// Calls may come from several threads of a rank, but collective ones only from one at a time, and in the
/// same order on every rank.
pub trait Transport: Send + Sync {
    /// This one's number, from 0.
    fn rank(&self) -> u32;

    /// How many there are.
    fn size(&self) -> u32;

    /// Sends to one rank; may wait until it receives.
    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), Lost>;

    /// Receives the next message from one rank.
    fn receive(&self, from: u32, patience: Patience) -> Result<Vec<u8>, Lost>;

    /// Tells a rank something without waiting for it; one that is gone hears nothing.
    fn alert(&self, to: u32, alert: Alert);

    /// What was told out of turn since the last call, with the rank that told it.
    fn alerts(&self) -> Vec<(u32, Alert)>;

    /// Waits until all ranks are here.
    fn barrier(&self) -> Result<(), Lost> {
        self.gather(&[])?;
        self.broadcast(&[]).map(drop)
    }

    /// Rank 0's bytes, on every rank; what others give is ignored.
    fn broadcast(&self, bytes: &[u8]) -> Result<Vec<u8>, Lost> {
        let bytes = match tree::parent(self.rank()) {
            Some(parent) => self.receive(parent, Patience::Nap)?,
            None => bytes.to_vec(),
        };
        for child in tree::children(self.rank(), self.size()) {
            self.send(child, &bytes)?;
        }
        Ok(bytes)
    }

    /// Every rank's bytes by rank, on rank 0; nothing on the others.
    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Lost> {
        if self.rank() != 0 {
            self.send(0, bytes)?;
            return Ok(Vec::new());
        }
        let mut all = vec![bytes.to_vec()];
        for rank in 1..self.size() {
            all.push(self.receive(rank, Patience::Nap)?);
        }
        Ok(all)
    }

    /// A transport of the first `size` ranks alone, made by all ranks together; none on the others, nor where it
    /// cannot be made.
    fn first(&self, size: u32) -> Option<Box<dyn Transport>>;
}
