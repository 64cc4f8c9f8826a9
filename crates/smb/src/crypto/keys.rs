//! The keys of a session (MS-SMB2 3.1.4.2), derived as in SP800-108 counter mode with HMAC-SHA256.

use aws_lc_rs::hmac;

use super::Cipher;

const SIGNING_KEY_LEN: usize = 16;

/// Keys of one session, by the direction of the messages. They are overwritten when the value is dropped.
pub struct SessionKeys {
    /// Signs messages of both directions.
    pub signing: Vec<u8>,
    /// Encrypts and decrypts messages to the server; empty without a cipher.
    pub to_server: Vec<u8>,
    /// Encrypts and decrypts messages to the client; empty without a cipher.
    pub to_client: Vec<u8>,
}

/// What a key is derived for.
#[derive(Clone, Copy)]
struct Purpose<'a> {
    label: &'a [u8],
    context: &'a [u8],
}

const fn purpose<'a>(label: &'a [u8], context: &'a [u8]) -> Purpose<'a> {
    Purpose { label, context }
}

/// The purpose of each key.
struct Purposes<'a> {
    signing: Purpose<'a>,
    to_server: Purpose<'a>,
    to_client: Purpose<'a>,
}

impl SessionKeys {
    /// Derives the keys; `preauth` is the session's hash before the last response, for dialect 3.1.1 only.
    ///
    /// The session key of NTLM has 16 bytes. One of Kerberos may be longer: then the first 16 bytes are the session key, and
    /// all of it is the base of keys for AES-256 (MS-SMB2 3.2.5.3.1, `Session.FullSessionKey`). A shorter one is padded with
    /// zeros.
    pub fn derive(dialect: u16, full_key: &[u8], preauth: Option<&[u8; 64]>, cipher: Option<Cipher>) -> Self {
        let mut session_key = [0; SIGNING_KEY_LEN];
        for (place, byte) in session_key.iter_mut().zip(full_key) {
            *place = *byte;
        }
        // Dialects 2.x sign with the session key itself and cannot encrypt.
        if dialect < 0x0300 {
            return Self { signing: session_key.to_vec(), to_server: Vec::new(), to_client: Vec::new() };
        }
        let purposes = if dialect < 0x0311 {
            Purposes {
                signing: purpose(b"SMB2AESCMAC\0", b"SmbSign\0"),
                to_server: purpose(b"SMB2AESCCM\0", b"ServerIn \0"),
                to_client: purpose(b"SMB2AESCCM\0", b"ServerOut\0"),
            }
        } else {
            let context = preauth.map_or(&[][..], |hash| hash);
            Purposes {
                signing: purpose(b"SMBSigningKey\0", context),
                to_server: purpose(b"SMBC2SCipherKey\0", context),
                to_client: purpose(b"SMBS2CCipherKey\0", context),
            }
        };
        let base = hmac::Key::new(hmac::HMAC_SHA256, &session_key);
        let full = hmac::Key::new(hmac::HMAC_SHA256, full_key);
        let cipher_base = |len| if len > SIGNING_KEY_LEN { &full } else { &base };
        let cipher_key =
            |purpose| cipher.map_or_else(Vec::new, |c| key(cipher_base(c.key_len()), purpose, c.key_len()));
        Self {
            signing: key(&base, purposes.signing, SIGNING_KEY_LEN),
            to_server: cipher_key(purposes.to_server),
            to_client: cipher_key(purposes.to_client),
        }
    }
}

/// One key of at most 32 bytes: a single round of the counter.
fn key(base: &hmac::Key, Purpose { label, context }: Purpose<'_>, len: usize) -> Vec<u8> {
    let mut round = hmac::Context::with_key(base);
    round.update(&1u32.to_be_bytes());
    round.update(label);
    round.update(&[0]);
    round.update(context);
    round.update(&(len as u32 * 8).to_be_bytes());
    round.sign().as_ref().iter().copied().take(len).collect()
}

impl Drop for SessionKeys {
    fn drop(&mut self) {
        for key in [&mut self.signing, &mut self.to_server, &mut self.to_client] {
            key.fill(0);
            // Keeps the compiler from removing the fill as a dead store.
            std::hint::black_box(&*key);
        }
    }
}

impl std::fmt::Debug for SessionKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionKeys(..)")
    }
}
