//! A Linux packet socket that carries IPX in one Ethernet framing (packet(7)).

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Error, ErrorKind, Read, Write};
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::MAX_FRAME;
use crate::receive_buffer;
use crate::wire::ethernet::{Frame, Framing};

/// Frame protocols of the kernel (`linux/if_ether.h`).
const IPX: u16 = 0x8137;
const RAW_802_3: u16 = 0x0001;
const LLC_802_2: u16 = 0x0004;

/// A non-blocking packet socket on one interface.
#[derive(Debug)]
pub struct EtherSocket {
    frames: File,
    mac: [u8; 6],
    framing: Framing,
}

impl EtherSocket {
    /// Opens a socket on an interface.
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`] without the capability `CAP_NET_RAW`, [`ErrorKind::NotFound`] if the interface
    /// does not exist, [`ErrorKind::InvalidInput`] if it is not an Ethernet.
    pub fn open(interface: &str, framing: Framing) -> io::Result<Self> {
        let protocol = match framing {
            Framing::EthernetII => IPX,
            Framing::Raw8023 => RAW_802_3,
            Framing::Llc8022 | Framing::Snap => LLC_802_2,
        };
        let socket = packet_socket()?;
        // Best effort: what overruns a smaller buffer is retransmitted.
        let _ = receive_buffer::grow(&socket, receive_buffer::OF_CLIENT);
        let mac = bind(&socket, interface, protocol)?;
        Ok(Self { frames: File::from(socket), mac, framing })
    }

    /// Uses an open descriptor that preserves frame boundaries, with the given address. Tests use it without
    /// privileges.
    pub fn over(frames: impl Into<OwnedFd>, mac: [u8; 6], framing: Framing) -> Self {
        Self { frames: File::from(frames.into()), mac, framing }
    }

    /// Requests a receive buffer of `bytes`, see [`receive_buffer::grow`].
    pub fn grow_receive_buffer(&self, bytes: usize) -> io::Result<usize> {
        receive_buffer::grow(self, bytes)
    }

    /// The MAC address of the interface.
    pub const fn mac(&self) -> [u8; 6] {
        self.mac
    }

    /// The framing of IPX packets.
    pub const fn framing(&self) -> Framing {
        self.framing
    }

    /// Receives the next frame. Returns its source and the range of its IPX packet in `buffer`, which may include
    /// padding; none for frames of other protocols and for frames that this interface has sent.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<([u8; 6], Range<usize>)>> {
        let len = (&self.frames).read(buffer)?;
        let Ok(Some(frame)) = Frame::decode(&buffer[..len]) else { return Ok(None) };
        // A packet socket also receives what this machine sends.
        if frame.framing != self.framing || frame.source == self.mac {
            return Ok(None);
        }
        let start = len - frame.packet.len();
        Ok(Some((frame.source, start..len)))
    }

    /// Sends an IPX packet in a frame; fails with [`ErrorKind::InvalidInput`] if it is too long.
    pub fn send(&self, destination: [u8; 6], packet: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(MAX_FRAME);
        let frame = Frame { framing: self.framing, destination, source: self.mac, packet };
        frame.put(&mut bytes).map_err(|error| Error::new(ErrorKind::InvalidInput, error))?;
        (&self.frames).write(&bytes).map(|_| ())
    }

    /// Installs a kernel filter that accepts packets to the IPX sockets `socket` and `socket + 1` only. Without it,
    /// every connection would receive all frames of the segment.
    pub fn filter_socket(&self, socket: u16) -> io::Result<()> {
        const LOAD_HALF: u16 = (libc::BPF_LD | libc::BPF_H | libc::BPF_ABS) as u16;
        const CLEAR_BIT: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
        const JUMP_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
        // The Ethernet header, then the extra header of the framing, which is what it takes from 1500 bytes,
        // then 16 bytes to the destination socket of IPX.
        let at = 14 + (1500 - self.framing.max_packet()) + 16;
        let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
        let mut steps = [
            step(LOAD_HALF, 0, 0, at as u32),
            // The watchdog socket is the next one after the client's (docs/protocols/ncp.md 1.7), so the lowest
            // bit is ignored.
            step(CLEAR_BIT, 0, 0, 0xFFFE),
            step(JUMP_EQUAL, 0, 1, u32::from(socket & 0xFFFE)),
            step(RETURN, 0, 0, u32::MAX),
            step(RETURN, 0, 0, 0),
        ];
        let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
        // SAFETY: the program and its length describe a live array, which the kernel copies.
        let done = unsafe {
            libc::setsockopt(
                self.frames.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                (&raw const filter).cast(),
                size_of_val(&filter) as libc::socklen_t,
            )
        };
        if done < 0 { Err(Error::last_os_error()) } else { Ok(()) }
    }
}

impl AsRawFd for EtherSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.frames.as_raw_fd()
    }
}

/// Opens a packet socket that receives nothing yet.
fn packet_socket() -> io::Result<OwnedFd> {
    // SAFETY: the call takes no pointers.
    let fd = unsafe {
        libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0)
    };
    if fd >= 0 {
        // SAFETY: the descriptor is new and has no other owner.
        return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    let error = Error::last_os_error();
    Err(match error.kind() {
        ErrorKind::PermissionDenied => {
            let detail = "Ethernet frames require the capability CAP_NET_RAW; root has it, and \
                          'setcap cap_net_raw+ep' grants it to a program";
            Error::new(ErrorKind::PermissionDenied, detail)
        }
        _ => error,
    })
}

/// Binds the socket to a protocol on an interface; returns the MAC address of the interface.
fn bind(socket: &OwnedFd, interface: &str, protocol: u16) -> io::Result<[u8; 6]> {
    let missing = || Error::new(ErrorKind::NotFound, format!("no interface '{interface}'"));
    let name = CString::new(interface).map_err(|_| missing())?;
    // SAFETY: the name ends with a NUL.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(missing());
    }
    // SAFETY: all-zero bytes are a valid value of this plain structure.
    let mut addr: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    addr.sll_family = libc::AF_PACKET as u16;
    addr.sll_protocol = protocol.to_be();
    addr.sll_ifindex = index.cast_signed();
    let mut len = size_of_val(&addr) as libc::socklen_t;
    // SAFETY: address and length describe a live structure of this address family.
    if unsafe { libc::bind(socket.as_raw_fd(), (&raw const addr).cast(), len) } < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: address and length describe a live structure; the call writes at most that many bytes.
    if unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut addr).cast(), &raw mut len) } < 0 {
        return Err(Error::last_os_error());
    }
    if addr.sll_hatype != libc::ARPHRD_ETHER || addr.sll_halen != 6 {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            format!("'{interface}' is not an Ethernet interface"),
        ));
    }
    let [first, second, third, fourth, fifth, sixth, ..] = addr.sll_addr;
    Ok([first, second, third, fourth, fifth, sixth])
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn socket_sends_and_receives_frames_of_its_framing() {
        for framing in Framing::ALL {
            let (one, other) = UnixDatagram::pair().unwrap();
            other.set_nonblocking(true).unwrap();
            let one = EtherSocket::over(one, [2, 0, 0, 0, 0, 1], framing);
            let other = EtherSocket::over(other, [2, 0, 0, 0, 0, 2], framing);
            let packet = [[0xFF; 2].as_slice(), &[7; 60]].concat();
            one.send(other.mac(), &packet).unwrap();
            let mut buffer = [0; MAX_FRAME];
            let (from, at) = other.receive(&mut buffer).unwrap().unwrap();
            assert_eq!((from, &buffer[at]), (one.mac(), &packet[..]));
            let foreign = EtherSocket::over(one.frames.try_clone().unwrap(), other.mac(), framing);
            foreign.send(other.mac(), &packet).unwrap();
            assert_eq!(other.receive(&mut buffer).unwrap(), None, "a frame of its own");
            let too_long = one.send(other.mac(), &vec![0; framing.max_packet() + 1]).unwrap_err();
            assert_eq!(too_long.kind(), ErrorKind::InvalidInput);
            let nothing = other.receive(&mut buffer).unwrap_err();
            assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        }
    }

    #[test]
    fn opening_a_missing_or_wrong_interface_names_the_reason() {
        let refused = |name: &str| EtherSocket::open(name, Framing::Snap).unwrap_err();
        let nowhere = refused("no-such-if0");
        match nowhere.kind() {
            ErrorKind::PermissionDenied => assert!(nowhere.to_string().contains("CAP_NET_RAW")),
            kind => {
                assert_eq!(kind, ErrorKind::NotFound);
                assert!(nowhere.to_string().contains("'no-such-if0'"));
                assert!(refused("lo").to_string().contains("not an Ethernet"));
            }
        }
    }
}
