//! Messages in one direction of a connection.
//!
//! ONC RPC and SMB put four bytes with a length before each message (RFC 5531 11, MS-SMB2 2.1, RFC 1002 4.3.1), NCP a marker of
//! four bytes and the length (docs/protocols/ncp.md 1.5). Data of large messages are skipped without a copy. After a loss, reading continues with the next segment that begins with a message.

use sharebench_ncp::wire::tcp;

use super::message::HEAD_BYTES;
use super::protocols::is_message;

/// Most bytes of a message; a larger length is that of something else.
const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// Memory for a head that stays with its connection.
const KEPT_BYTES: usize = 1 << 10;
/// A keep-alive of the `NetBIOS` session service, which has no content.
const KEEP_ALIVE: u8 = 0x85;

/// How lengths are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// 31 bits, and one that marks the last fragment of a record.
    Record,
    /// A type, and 24 bits.
    Session,
    /// A marker, and a length that includes both.
    Ncp,
}

impl Framing {
    /// Bytes before a message.
    const fn header_len(self) -> usize {
        match self {
            Self::Record | Self::Session => 4,
            Self::Ncp => tcp::REPLY_HEADER_LEN,
        }
    }
}

/// A message of one direction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Framed<'a> {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) len: usize,
    pub(super) head: &'a [u8],
}

/// A message that is arriving.
#[derive(Debug, Clone, Copy)]
struct Arriving {
    start: u64,
    len: usize,
    /// Bytes of the current fragment that are missing.
    missing: usize,
    last: bool,
    /// Bytes were missing in the input, so that the head cannot grow any longer.
    holed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Frames {
    /// None while it is unknown where the next message begins.
    framing: Option<Framing>,
    header: [u8; tcp::REPLY_HEADER_LEN],
    header_len: usize,
    arriving: Option<Arriving>,
    head: Vec<u8>,
}

/// What was lost or not understood, in numbers of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Damage {
    pub(super) cut: u64,
}

impl Frames {
    /// Takes the bytes of one segment, and gives the messages that are complete to `found`.
    pub(super) fn bytes(&mut self, time: u64, mut bytes: &[u8], found: &mut dyn FnMut(&Framed<'_>)) {
        if self.framing.is_none() {
            self.framing = framing(bytes);
        }
        let Some(framing) = self.framing else { return };
        while !bytes.is_empty() {
            if self.arriving.is_none_or(|arriving| arriving.missing == 0) {
                bytes = self.header(framing, time, bytes);
                if self.framing.is_none() {
                    return;
                }
                self.complete(time, found);
                continue;
            }
            let Some(arriving) = &mut self.arriving else { return };
            let count = arriving.missing.min(bytes.len());
            let (taken, rest) = bytes.split_at(count);
            bytes = rest;
            arriving.missing -= count;
            if self.head.is_empty() && arriving.missing == 0 && arriving.last && !arriving.holed {
                // All of it is in this segment.
                let Arriving { start, len, .. } = *arriving;
                self.arriving = None;
                let head = taken.get(..HEAD_BYTES).unwrap_or(taken);
                found(&Framed { start, end: time, len, head });
                continue;
            }
            if !arriving.holed {
                let space = HEAD_BYTES.saturating_sub(self.head.len());
                self.head.extend_from_slice(taken.get(..space).unwrap_or(taken));
            }
            self.complete(time, found);
        }
    }

    /// Takes bytes of a header; returns the rest.
    fn header<'a>(&mut self, framing: Framing, time: u64, bytes: &'a [u8]) -> &'a [u8] {
        let wanted = framing.header_len();
        let count = bytes.len().min(wanted.saturating_sub(self.header_len));
        let (taken, rest) = bytes.split_at(count);
        for (place, byte) in self.header.iter_mut().skip(self.header_len).zip(taken) {
            *place = *byte;
        }
        self.header_len += count;
        if self.header_len < wanted {
            return rest;
        }
        self.header_len = 0;
        let [a, b, c, d, length @ ..] = self.header;
        let word = u32::from_be_bytes([a, b, c, d]);
        let (len, last) = match framing {
            Framing::Record => ((word & 0x7FFF_FFFF) as usize, word & 0x8000_0000 != 0),
            Framing::Session if self.header[0] == 0 => (word as usize, true),
            Framing::Session if self.header[0] == KEEP_ALIVE => return rest,
            Framing::Ncp if is_ncp(&self.header) => {
                // Wireshark takes the top bits as flags.
                let len = (u32::from_be_bytes(length) & 0x0FFF_FFFF) as usize;
                (len.checked_sub(wanted).unwrap_or(usize::MAX), true)
            }
            Framing::Session | Framing::Ncp => (usize::MAX, true),
        };
        let before = self.arriving.map_or(0, |arriving| arriving.len);
        let Some(total) = before.checked_add(len).filter(|total| *total <= MAX_MESSAGE_BYTES) else {
            self.lose();
            return rest;
        };
        let first = Arriving { start: time, len: 0, missing: 0, last, holed: false };
        let arriving = self.arriving.unwrap_or(first);
        self.arriving = Some(Arriving { len: total, missing: len, last, ..arriving });
        rest
    }

    /// Gives the message to `found` if it is complete.
    fn complete(&mut self, time: u64, found: &mut dyn FnMut(&Framed<'_>)) {
        let Some(Arriving { start, len, missing: 0, last: true, .. }) = self.arriving else { return };
        self.arriving = None;
        found(&Framed { start, end: time, len, head: &self.head });
        self.head.clear();
        self.head.shrink_to(KEPT_BYTES);
    }

    /// `len` bytes were there, and are not in the input.
    pub(super) fn hole(
        &mut self,
        time: u64,
        len: usize,
        damage: &mut Damage,
        found: &mut dyn FnMut(&Framed<'_>),
    ) {
        if self.framing.is_none() || len == 0 {
            return;
        }
        match &mut self.arriving {
            Some(arriving) if arriving.missing >= len => {
                if !arriving.holed && self.head.len() < HEAD_BYTES {
                    damage.cut += 1;
                }
                arriving.missing -= len;
                arriving.holed = true;
                self.complete(time, found);
            }
            // Where the next message begins is in the hole. What is known of this one may suffice.
            Some(arriving) => {
                damage.cut += 1;
                let Arriving { start, len, .. } = *arriving;
                found(&Framed { start, end: time, len, head: &self.head });
                self.lose();
            }
            None => {
                damage.cut += 1;
                self.lose();
            }
        }
    }

    fn lose(&mut self) {
        *self = Self::default();
    }
}

/// How a segment that begins with a message is framed.
fn framing(bytes: &[u8]) -> Option<Framing> {
    if is_ncp(bytes) {
        return Some(Framing::Ncp);
    }
    let message = bytes.get(4..)?;
    if !is_message(message) {
        return None;
    }
    let session = matches!(message, [0xFC..=0xFF, b'S', b'M', b'B', ..]);
    Some(if session { Framing::Session } else { Framing::Record })
}

/// True at the marker of a request or a reply.
fn is_ncp(bytes: &[u8]) -> bool {
    bytes.starts_with(b"DmdT") || bytes.starts_with(b"tNcP")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_on_port_139_begins_with_messages_of_netbios() {
        // SESSION REQUEST and POSITIVE SESSION RESPONSE (RFC 1002 4.3.2, 4.3.3), each in a segment of its own: a client
        // waits for the response.
        let name = [b" CACACACACACACACACACACACACACACACA".as_slice(), b"\0"].concat();
        let request = [b"\x81\0\0\x44".as_slice(), &name, &name].concat();
        let mut message = b"\xFFSMB\x72".to_vec();
        message.resize(35, 0);
        let framed = [&(message.len() as u32).to_be_bytes()[..], &message].concat();
        for before in [request.as_slice(), b"\x82\0\0\0"] {
            let mut frames = Frames::default();
            let mut lengths = Vec::new();
            for segment in [before, &framed, b"\x85\0\0\0", &framed] {
                frames.bytes(0, segment, &mut |framed| lengths.push(framed.len));
            }
            assert_eq!(lengths, [35, 35]);
        }
    }
}
