//! The signatures of a connection of SMB1 (MS-SMB 3.3.5.3, MS-CIFS 3.3.4.1.1).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use sharebench_smb::nt1::command;
use sharebench_smb::nt1::signing::Signer;

/// Position of the command in a message.
const COMMAND: usize = 4;

/// The key of the first session of a connection that has one, and the numbers of messages.
///
/// Every message after the login of that session has a number by its position on the connection, which
/// [`Self::note_arrival`] takes before the messages are distributed to threads.
#[derive(Default)]
pub(in crate::smb) struct Signatures {
    signer: OnceLock<Signer>,
    next_number: AtomicU32,
}

impl Signatures {
    /// The key that signs messages, once a login has activated signatures.
    pub(super) fn signer(&self) -> Option<&Signer> {
        self.signer.get()
    }

    /// Signs all later messages with a key, unless another one does already. True if this login is the first one.
    pub(super) fn sign_with(&self, key: &[u8]) -> bool {
        // The login itself has the numbers 0 and 1.
        if self.signer.get().is_none() {
            self.next_number.store(2, Ordering::Relaxed);
        }
        self.signer.set(Signer::new(key)).is_ok()
    }

    /// The number of a message that has arrived; none before signatures are active. `NT_CANCEL` takes one number, because the response to
    /// the request that it names has the next one; any other message takes two (MS-CIFS 3.3.4.1.1). So does the acknowledgment of an
    /// oplock break, which has no response, at smbd and for the clients of Samba and Linux.
    pub(in crate::smb) fn note_arrival(&self, message: &[u8]) -> Option<u32> {
        self.signer.get()?;
        let step = if message.get(COMMAND) == Some(&command::NT_CANCEL) { 1 } else { 2 };
        Some(self.next_number.fetch_add(step, Ordering::Relaxed))
    }

    /// Signs the response to the request with this number.
    pub(super) fn sign(&self, message: &mut [u8], number: Option<u32>) {
        if let (Some(number), Some(signer)) = (number, self.signer.get()) {
            signer.sign_as(message, number.wrapping_add(1));
        }
    }
}
