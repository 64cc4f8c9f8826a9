//! Signatures: MD5 over the key and the message with its sequence number (MS-CIFS 3.1.4.1, MS-SMB 3.1.5.1).

use super::message::SIGNATURE;
use crate::auth::md5;

/// The key of a session and the sequence numbers of its messages.
///
/// Each request takes two numbers: its own and that of its response. The last `SESSION_SETUP_ANDX` has the numbers 0 and 1, so
/// that the first request after it has number 2.
#[derive(Debug)]
pub struct Signer {
    key: Vec<u8>,
    next: u32,
}

impl Signer {
    /// The signer after a login with this session key.
    pub fn new(key: &[u8]) -> Self {
        Self { key: key.to_vec(), next: 2 }
    }

    /// Signs a request and returns the number of its response.
    pub fn sign(&mut self, message: &mut [u8]) -> u32 {
        let number = self.next;
        self.next = self.next.wrapping_add(2);
        self.sign_as(message, number);
        number.wrapping_add(1)
    }

    /// Signs a message with a number, as a server does with a response.
    pub fn sign_as(&self, message: &mut [u8], number: u32) {
        let signature = self.signature(message, number);
        if let Some(field) = message.get_mut(SIGNATURE) {
            field.copy_from_slice(&signature);
        }
    }

    /// True if a message has the signature for this number.
    pub fn verify(&self, message: &mut [u8], number: u32) -> bool {
        let Some(found) = message.get(SIGNATURE).and_then(|field| <[u8; 8]>::try_from(field).ok()) else {
            return false;
        };
        let expected = self.signature(message, number);
        aws_lc_rs::constant_time::verify_slices_are_equal(&found, &expected).is_ok()
    }

    fn signature(&self, message: &mut [u8], number: u32) -> [u8; 8] {
        let mut field = [0; 8];
        field[..4].copy_from_slice(&number.to_le_bytes());
        if let Some(place) = message.get_mut(SIGNATURE) {
            place.copy_from_slice(&field);
        }
        let digest = md5(&[&self.key, message]);
        let mut signature = [0; 8];
        signature.copy_from_slice(&digest[..8]);
        signature
    }
}

impl Drop for Signer {
    fn drop(&mut self) {
        self.key.fill(0);
        // Keeps the compiler from removing the fill as a dead store.
        std::hint::black_box(&self.key);
    }
}
