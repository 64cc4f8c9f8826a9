//! Protocols that a server may speak instead of the expected one.

use std::fmt;

/// Largest ONC RPC record that is taken for a reply to a greeting.
const MAX_RPC_RECORD: u32 = 1 << 20;
/// Bit of an ONC RPC record mark that marks the last fragment (RFC 5531, 11).
const LAST_FRAGMENT: u32 = 0x8000_0000;

/// The protocol of a peer, recognised by the first bytes that it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerProtocol {
    /// HTTP (RFC 9112).
    Http,
    /// TLS (RFC 8446), which hides the protocol in it.
    Tls,
    /// SSH (RFC 4253).
    Ssh,
    /// FTP or SMTP, whose greetings are alike.
    FtpOrSmtp,
    /// SMB 2 or 3.
    Smb,
    /// SMB1 (CIFS).
    Smb1,
    /// ONC RPC: NFS, MOUNT, the port mapper and others.
    OncRpc,
    /// NetWare Core Protocol over TCP.
    Ncp,
}

impl PeerProtocol {
    /// The protocol that begins a stream with these bytes; none if there are too few of them, or it is another one.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let begins =
            |prefix: &[u8]| bytes.len() >= prefix.len() && bytes[..prefix.len()].eq_ignore_ascii_case(prefix);
        if begins(b"HTTP") || begins(b"<!DO") || begins(b"<htm") {
            return Some(Self::Http);
        }
        if begins(b"SSH-") {
            return Some(Self::Ssh);
        }
        if begins(b"220 ") || begins(b"220-") {
            return Some(Self::FtpOrSmtp);
        }
        if begins(b"tNcP") {
            return Some(Self::Ncp);
        }
        match *bytes {
            // An alert or a handshake message.
            [0x15 | 0x16, 3, 0..=4, ..] => Some(Self::Tls),
            [0, _, _, _, 0xFC..=0xFE, b'S', b'M', b'B', ..] => Some(Self::Smb),
            [0, _, _, _, 0xFF, b'S', b'M', b'B', ..] => Some(Self::Smb1),
            [a, b, c, d, _, _, _, _, 0, 0, 0, 1, ..] => {
                // A record mark, any xid, and REPLY.
                let mark = u32::from_be_bytes([a, b, c, d]);
                let is_record = mark & LAST_FRAGMENT != 0 && mark & !LAST_FRAGMENT <= MAX_RPC_RECORD;
                is_record.then_some(Self::OncRpc)
            }
            _ => None,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::Tls => "TLS",
            Self::Ssh => "SSH",
            Self::FtpOrSmtp => "FTP or SMTP",
            Self::Smb => "SMB",
            Self::Smb1 => "SMB1",
            Self::OncRpc => "ONC RPC (as NFS does)",
            Self::Ncp => "NCP",
        }
    }
}

impl fmt::Display for PeerProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_recognised_by_their_first_bytes() {
        for (bytes, protocol) in [
            (&b"HTTP/1.1 400 Bad Request\r\n"[..], PeerProtocol::Http),
            (b"HTTP", PeerProtocol::Http),
            (b"<!DOCTYPE HTML PUBLIC", PeerProtocol::Http),
            (b"<html><body>", PeerProtocol::Http),
            (b"\x15\x03\x01\x00\x02\x02\x46", PeerProtocol::Tls),
            (b"SSH-2.0-OpenSSH_9.2", PeerProtocol::Ssh),
            (b"220 mail.example ESMTP", PeerProtocol::FtpOrSmtp),
            (b"\0\0\x01\x40\xfeSMB\x40\0", PeerProtocol::Smb),
            (b"\0\0\0\x40\xffSMB\x72", PeerProtocol::Smb1),
            (b"\x80\0\0\x18\x12\x34\x56\x78\0\0\0\x01\0\0\0\0", PeerProtocol::OncRpc),
            (b"tNcP\0\0\0\x10", PeerProtocol::Ncp),
        ] {
            assert_eq!(PeerProtocol::of_bytes(bytes), Some(protocol), "{bytes:?}");
        }
    }

    #[test]
    fn other_bytes_are_not_recognised() {
        for bytes in [
            &b""[..],
            b"HTT",
            b"\0\0\0\x40",
            b"\x15\x03",
            // An ONC RPC call, and a record that exceeds every reply.
            b"\x80\0\0\x18\x12\x34\x56\x78\0\0\0\0\0\0\0\0",
            b"\xff\xff\xff\xff\x12\x34\x56\x78\0\0\0\x01",
            b"hello",
        ] {
            assert_eq!(PeerProtocol::of_bytes(bytes), None, "{bytes:?}");
        }
    }
}
