//! Open-owners (RFC 7530, 9.1.1 and 9.1.7): one per open file, used again after it is closed.

/// The open-owners of a client.
///
/// Two opens of the same file by the same owner are one open for the server, which the first CLOSE ends. Each open file
/// therefore has an owner of its own. Owners are used again, so that the server keeps no more of them than files were
/// open at the same time, and minor version 0 confirms each only once.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    owners: Vec<Owner>,
    free: Vec<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Owner {
    /// Sequence number of its next operation, minor version 0 only.
    sequence: u32,
    /// The owner of the locks on its open file, which is no open-owner; none before the first lock.
    locks: Option<u32>,
}

impl Owners {
    /// Takes an owner that has no open file.
    pub(crate) fn acquire(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.owners.push(Owner::default());
            self.owners.len() as u32 - 1
        })
    }

    /// Returns an owner whose file is closed.
    pub(crate) fn release(&mut self, owner: u32) {
        self.free.push(owner);
    }

    /// The lock-owner that goes with an open-owner. It is used again with the next file of the open-owner.
    pub(crate) fn lock_owner(&mut self, owner: u32) -> u32 {
        if let Some(known) = self.owners.get(owner as usize).and_then(|owner| owner.locks) {
            return known;
        }
        let added = self.owners.len() as u32;
        self.owners.push(Owner::default());
        if let Some(owner) = self.owners.get_mut(owner as usize) {
            owner.locks = Some(added);
        }
        added
    }

    /// Begins all sequences anew, for a client that the server does not know.
    pub(crate) fn restart(&mut self) {
        for owner in &mut self.owners {
            owner.sequence = 0;
        }
    }

    /// Sequence number of the owner's next operation.
    pub(crate) fn sequence(&self, owner: u32) -> u32 {
        self.owners.get(owner as usize).map_or(0, |owner| owner.sequence)
    }

    /// Counts an operation that the server has accepted.
    pub(crate) fn advance(&mut self, owner: u32) {
        if let Some(owner) = self.owners.get_mut(owner as usize) {
            owner.sequence = owner.sequence.wrapping_add(1);
        }
    }
}
