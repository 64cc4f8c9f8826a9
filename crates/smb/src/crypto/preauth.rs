//! The preauthentication integrity hash of dialect 3.1.1 (MS-SMB2 3.1.4.4.1).

use aws_lc_rs::digest::{Context, SHA512};

/// SHA-512 over the chain of messages that set up a connection, and then a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreauthHash([u8; 64]);

impl PreauthHash {
    /// The hash before the first message.
    pub fn new() -> Self {
        Self([0; 64])
    }

    /// Adds one complete SMB2 message to the chain.
    pub fn update(&mut self, message: &[u8]) {
        let mut context = Context::new(&SHA512);
        context.update(&self.0);
        context.update(message);
        self.0.copy_from_slice(context.finish().as_ref());
    }

    /// The hash so far.
    pub fn value(&self) -> [u8; 64] {
        self.0
    }
}

impl Default for PreauthHash {
    fn default() -> Self {
        Self::new()
    }
}
