//! Packet signatures of a bindery session (docs/protocols/ncp.md 5.1).
//!
//! A signature covers at most 52 bytes of each packet. It therefore does not protect most of the file data against a
//! man in the middle.

use super::compression::{INITIAL, compress};
use super::password::PasswordHash;
use crate::wire::TransportKind;

/// A packet signature.
pub type Signature = [u8; 8];

/// Bytes that a signature covers.
const COVERED: usize = 52;
const PURPOSE: &[u8; 25] = b"Authorized NetWare Client";

/// The signature chain of one session. Both sides keep the same state.
#[derive(Clone)]
pub struct Signer {
    root: [u8; 8],
    last: [u8; 16],
    transport: TransportKind,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The root key suffices to sign, so it must not appear in logs.
        f.debug_struct("Signer").field("transport", &self.transport).finish_non_exhaustive()
    }
}

impl Signer {
    /// Starts the chain of a session that logged in with this key and password hash.
    pub fn new(hash: &PasswordHash, key: &[u8; 8], transport: TransportKind) -> Self {
        let mut block = [0; 64];
        for (place, byte) in block.iter_mut().zip(hash.0.iter().chain(key).chain(PURPOSE)) {
            *place = *byte;
        }
        Self { root: first_half(compress(INITIAL, &block)), last: INITIAL, transport }
    }

    /// Signs the next request and advances the chain; a retransmission must repeat the signature. `wire_len` is the
    /// length of the whole message; it matters on TCP only.
    pub fn request(&mut self, packet: &[u8], wire_len: usize) -> Signature {
        self.last = self.step(packet, wire_len, 6);
        first_half(self.last)
    }

    /// Signs the reply to the last request; the chain does not advance.
    pub fn reply(&self, packet: &[u8], wire_len: usize) -> Signature {
        // Replies over UDP leave out completion code and status; observed with libncp and the kernel's client
        // (docs/protocols/ncp.md 5.1).
        let start = if self.transport == TransportKind::Udp { 8 } else { 6 };
        first_half(self.step(packet, wire_len, start))
    }

    fn step(&self, packet: &[u8], wire_len: usize, start: usize) -> [u8; 16] {
        let total = match self.transport {
            // The byte order differs between the transports; both were observed (docs/protocols/ncp.md 5.1).
            TransportKind::Tcp => (wire_len as u32).to_be_bytes(),
            _ => (packet.len() as u32).to_le_bytes(),
        };
        let covered = packet.iter().skip(start).take(COVERED);
        let mut block = [0; 64];
        for (place, byte) in block.iter_mut().zip(self.root.iter().chain(&total).chain(covered)) {
            *place = *byte;
        }
        compress(self.last, &block)
    }
}

fn first_half(state: [u8; 16]) -> [u8; 8] {
    std::array::from_fn(|at| state[at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::security::password;
    use crate::wire::tcp::{TcpReply, TcpRequest};
    use crate::wire::tests::hex;

    fn signer(transport: TransportKind) -> Signer {
        let key = hex("0011223344556677").try_into().unwrap();
        Signer::new(&password::hash(0x0001_0002, b"BENCHPW"), &key, transport)
    }

    /// docs/protocols/ncp.md 5.1, known answers.
    #[test]
    fn root_key_matches_the_known_answer() {
        assert_eq!(signer(TransportKind::Tcp).root, hex("fdc136445980017e")[..]);
    }

    /// docs/protocols/ncp.md 5.1, known answers; libncp-client-udp-tcp-signed.pcap, frames 11, 13 and 14.
    #[test]
    fn datagram_signatures_match_the_known_answers() {
        let mut signer = signer(TransportKind::Udp);
        let first = hex("22220501010017000111");
        assert_eq!(signer.request(&first, 0), hex("79829049e0b9ecef")[..]);
        assert_eq!(signer.last[8..], hex("c7291d85b8344fea")[..]);
        let second = hex("22220601010014");
        assert_eq!(signer.request(&second, 0), hex("75e83faf8d2ed6f8")[..]);
        let reply = hex("33330601010000007e0b1501020306");
        assert_eq!(signer.reply(&reply, 0), hex("20eba018a0b6d9d1")[..]);
        assert_eq!(signer.reply(&reply, 0), hex("20eba018a0b6d9d1")[..], "a reply does not move the chain");
    }

    /// docs/protocols/ncp.md 5.1, known answers; libncp-client-udp-tcp-signed.pcap, frames 78, 80 and 81.
    #[test]
    fn tcp_signatures_match_the_known_answers() {
        let mut signer = signer(TransportKind::Tcp);
        let mut sign = |packet: &str, expected: &str| {
            let packet = hex(packet);
            let message = TcpRequest { reply_buffer: 0x1_0000, signature: Some([0; 8]), packet: &packet };
            assert_eq!(signer.request(&packet, message.wire_len()), hex(expected)[..]);
        };
        sign("22220502010017000111", "16357f85362201bd");
        sign("22220602010014", "cd3d2952840efc27");
        let packet = hex("33330602010000007e0b1501020306");
        let message = TcpReply { signature: Some([0; 8]), packet: &packet };
        assert_eq!(signer.reply(&packet, message.wire_len()), hex("fc8e98403eb0a6b3")[..]);
    }

    #[test]
    fn signature_covers_52_bytes() {
        let mut packet = vec![7; 100];
        let signature = signer(TransportKind::IpxInUdp).request(&packet, 0);
        packet[58] = 8;
        assert_eq!(signer(TransportKind::IpxInUdp).request(&packet, 0), signature);
        packet[57] = 8;
        assert_ne!(signer(TransportKind::IpxInUdp).request(&packet, 0), signature);
    }

    #[test]
    fn short_and_empty_packets_can_be_signed() {
        assert_ne!(
            signer(TransportKind::Udp).request(&[], 0),
            signer(TransportKind::Udp).request(&[0; 7], 0)
        );
    }
}
