//! Packets of capture files: pcap and pcapng.

mod ip;
mod ipx;
mod link;
mod pcap;
mod pcapng;

use std::io::{self, Read};

pub(crate) use ip::{Datagram, Segment};

/// Most bytes of one packet: a capture with more is damaged. Large segment offload makes packets of 64 KiB and more.
const MAX_PACKET_BYTES: usize = 1 << 20;

/// A packet of a capture.
#[derive(Debug)]
pub(crate) struct Packet<'a> {
    /// ns since 1970.
    pub(crate) time: u64,
    /// How its first header is read (<https://www.tcpdump.org/linktypes.html>).
    link: u32,
    /// Bytes on the wire.
    len: usize,
    /// The bytes that were captured.
    bytes: &'a [u8],
}

/// What a packet carries.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'a> {
    Segment(Segment<'a>),
    Datagram(Datagram<'a>),
}

impl Packet<'_> {
    /// The segment or datagram in it.
    pub(crate) fn content(&self) -> Option<Content<'_>> {
        match link::network(self.link, self.bytes)? {
            link::Network::Ip(network) => {
                let header = self.bytes.len() - network.len();
                ip::content(network, self.len.saturating_sub(header))
            }
            link::Network::Ipx(network) => ipx::datagram(network).map(Content::Datagram),
        }
    }
}

/// Why no further packet comes.
#[derive(Debug)]
pub(crate) enum CaptureEnd {
    /// The file ends after a packet.
    Complete,
    /// The file ends within a packet.
    Truncated,
    /// What follows is no packet.
    Damaged(&'static str),
    /// It cannot be read.
    Failed(io::Error),
}

impl From<io::Error> for CaptureEnd {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Truncated,
            _ => Self::Failed(error),
        }
    }
}

/// Reads a capture from its first to its last packet.
pub(crate) enum Capture<R> {
    Pcap(pcap::Pcap<R>),
    PcapNg(Box<pcapng::PcapNg<R>>),
}

impl<R: Read> Capture<R> {
    /// Begins to read; none if its first bytes are those of no capture.
    pub(crate) fn open(mut input: R) -> Result<Option<Self>, CaptureEnd> {
        let mut magic = [0; 4];
        input.read_exact(&mut magic)?;
        if magic == pcapng::SECTION {
            return Ok(Some(Self::PcapNg(Box::new(pcapng::PcapNg::new(input)))));
        }
        Ok(pcap::Pcap::new(magic, input)?.map(Self::Pcap))
    }

    /// The next packet.
    pub(crate) fn next(&mut self) -> Result<Packet<'_>, CaptureEnd> {
        match self {
            Self::Pcap(capture) => capture.next(),
            Self::PcapNg(capture) => capture.next(),
        }
    }
}

/// Fills `bytes`, unless the input ends before the first of them.
fn read_or_end(input: &mut impl Read, bytes: &mut [u8]) -> Result<(), CaptureEnd> {
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..)
        && !rest.is_empty()
    {
        match input.read(rest) {
            Ok(0) if filled == 0 => return Err(CaptureEnd::Complete),
            Ok(0) => return Err(CaptureEnd::Truncated),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
