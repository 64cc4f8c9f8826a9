//! SipHash-2-4, the authentication code of file handles (Aumasson and Bernstein, 2012).

/// The key, as two little-endian words.
#[derive(Clone, Copy)]
pub(super) struct SipKey(pub(super) [u64; 2]);

/// The four words of the state.
struct Words([u64; 4]);

impl Words {
    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.0;
        a = a.wrapping_add(b);
        c = c.wrapping_add(d);
        b = b.rotate_left(13) ^ a;
        d = d.rotate_left(16) ^ c;
        a = a.rotate_left(32);
        c = c.wrapping_add(b);
        a = a.wrapping_add(d);
        b = b.rotate_left(17) ^ c;
        d = d.rotate_left(21) ^ a;
        c = c.rotate_left(32);
        self.0 = [a, b, c, d];
    }

    fn absorb(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.round();
        self.0[0] ^= word;
    }
}

impl SipKey {
    /// The code of a message.
    pub(super) fn code(&self, message: &[u8]) -> u64 {
        let [low, high] = self.0;
        let mut words = Words([
            low ^ 0x736f_6d65_7073_6575,
            high ^ 0x646f_7261_6e64_6f6d,
            low ^ 0x6c79_6765_6e65_7261,
            high ^ 0x7465_6462_7974_6573,
        ]);
        let (whole, rest) = message.as_chunks::<8>();
        for chunk in whole {
            words.absorb(u64::from_le_bytes(*chunk));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // The length modulo 256 is the last byte.
        last[7] = message.len() as u8;
        words.absorb(u64::from_le_bytes(last));
        words.0[2] ^= 0xff;
        for _ in 0..4 {
            words.round();
        }
        words.0.into_iter().fold(0, |sum, word| sum ^ word)
    }
}

#[cfg(test)]
mod tests {
    use super::SipKey;

    #[test]
    fn the_code_is_that_of_the_paper() {
        let key = SipKey([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908]);
        let message: Vec<u8> = (0..15).collect();
        assert_eq!(key.code(&message), 0xa129_ca61_49be_45e5);
    }
}
