"""Reads captures (pcap and pcapng): TCP connections, and the messages of SMB in them with the frame that completed each."""
import re
import struct

# Link types (tcpdump.org/linktypes.html).
NULL, ETHERNET, RAW, LINUX, LINUX2 = 0, 1, 101, 113, 276
TCP = 6
# Bytes that a capture lacks are replaced by zeros, up to this number; a longer gap ends the messages of a direction.
MAX_GAP = 16 << 20
START = re.compile(rb"\x00...[\xfc-\xff]SMB", re.DOTALL)


class Message:
    """One message of a direction: its bytes without the length, its last frame, and the offsets of bytes that are missing."""

    def __init__(self, data, frame, missing):
        self.data, self.frame, self.missing = data, frame, missing


class Connection:
    """A TCP connection: its client, its server, and the messages of both."""

    def __init__(self, client, server, requests, replies):
        self.client, self.server, self.requests, self.replies = client, server, requests, replies


def packets(data):
    """Link type, bytes and original length of every frame."""
    if data[:4] == b"\x0a\x0d\x0d\x0a":
        yield from packets_of_pcapng(data)
        return
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    link = struct.unpack_from(order + "I", data, 20)[0] & 0xFFFF
    at = 24
    while at + 16 <= len(data):
        captured, original = struct.unpack_from(order + "II", data, at + 8)
        yield link, data[at + 16:at + 16 + captured], original
        at += 16 + captured


def packets_of_pcapng(data):
    order, links, at = "<", [], 0
    while at + 12 <= len(data):
        if data[at:at + 4] == b"\x0a\x0d\x0d\x0a":
            order = "<" if data[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            links = []
        kind, length = struct.unpack_from(order + "II", data, at)
        if length < 12:
            return
        if kind == 1:
            links.append(struct.unpack_from(order + "H", data, at + 8)[0])
        elif kind == 6:
            interface, _, _, captured, original = struct.unpack_from(order + "IIIII", data, at + 8)
            yield links[interface], data[at + 28:at + 28 + captured], original
        elif kind == 3:
            original = struct.unpack_from(order + "I", data, at + 8)[0]
            yield links[0], data[at + 12:at + 12 + min(original, length - 16)], original
        at += length


def network_layer(link, frame):
    """The IP packet of a frame."""
    if link == ETHERNET:
        at = 12
        while frame[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
            at += 4
        return frame[at + 2:] if frame[at:at + 2] in (b"\x08\x00", b"\x86\xdd") else b""
    return {NULL: frame[4:], RAW: frame, LINUX: frame[16:], LINUX2: frame[20:]}.get(link, b"")


def segment(packet):
    """Source, destination, sequence number, flags and payload (with zeros for what the capture cut) of a TCP segment."""
    if len(packet) < 40:
        return None
    if packet[0] >> 4 == 4:
        header, length, protocol = 4 * (packet[0] & 15), struct.unpack_from(">H", packet, 2)[0], packet[9]
        addresses = packet[12:16], packet[16:20]
        # The sender's network card divides the packet.
        length = length or len(packet)
    else:
        header, length, protocol = 40, 40 + struct.unpack_from(">H", packet, 4)[0], packet[6]
        addresses = packet[8:24], packet[24:40]
    if protocol != TCP or len(packet) < header + 20:
        return None
    source, destination, sequence = struct.unpack_from(">HHI", packet, header)
    start = header + 4 * (packet[header + 12] >> 4)
    payload = packet[start:length]
    cut = max(0, length - start - len(payload))
    return (addresses[0], source), (addresses[1], destination), sequence, packet[header + 13], payload, cut


def assembled(segments):
    """The bytes of a direction in order, the frame of each piece, and the ranges that are missing."""
    first = segments[0][0]
    relative = sorted((((sequence - first + (1 << 31)) & 0xFFFFFFFF) - (1 << 31), frame, payload, cut) for sequence, frame, payload, cut in segments)
    data, pieces, missing = bytearray(), [], []
    start = relative[0][0]
    for at, frame, payload, cut in relative:
        at -= start
        if at - len(data) > MAX_GAP:
            break
        if at > len(data):
            missing.append((len(data), at))
            data += bytes(at - len(data))
        known = len(data) - at
        if known < len(payload) + cut:
            if cut:
                missing.append((at + max(known, len(payload)), at + len(payload) + cut))
            data += (payload + bytes(cut))[known:]
            pieces.append((len(data), frame))
    return bytes(data), pieces, missing


def messages(segments):
    if not segments:
        return
    data, pieces, missing = assembled(segments)
    at, piece, frame = 0, 0, 0
    while found := START.search(data, at):
        at = found.start() + 4
        end = at + int.from_bytes(data[found.start() + 1:at], "big")
        if end > len(data):
            return
        # The last frame that contributed, even if an earlier part was captured later.
        while piece < len(pieces) and (piece == 0 or pieces[piece - 1][0] < end):
            frame = max(frame, pieces[piece][1])
            piece += 1
        lost = [(max(low, at) - at, min(high, end) - at) for low, high in missing if low < end and high > at]
        yield Message(data[at:end], frame, lost)
        at = end


def connections(data):
    """The connections with messages of SMB, in the order of their first frame."""
    directions = {}
    generations = {}
    for frame, (link, content, _) in enumerate(packets(data), 1):
        found = segment(network_layer(link, content))
        if not found:
            continue
        source, destination, sequence, flags, payload, cut = found
        pair = frozenset((source, destination))
        # SYN without ACK: the ports are used again.
        if flags & 0x12 == 0x02:
            generations[pair] = generations.get(pair, 0) + 1
        if payload or cut:
            directions.setdefault((pair, generations.get(pair, 0)), {}).setdefault((source, destination), []).append((sequence, frame, payload, cut))
    for sides in directions.values():
        parsed = {ends: list(messages(segments)) for ends, segments in sides.items()}
        for (source, destination), sent in parsed.items():
            if any(from_client(message.data) for message in sent):
                yield Connection(source, destination, sent, parsed.get((destination, source), []))
                break


def from_client(data):
    """Whether a message is a request: flags of SMB2 (MS-SMB2 2.2.1) and SMB1 (MS-CIFS 2.2.3.1)."""
    if data[:4] == b"\xfeSMB":
        return len(data) >= 64 and not data[16] & 1
    return data[:4] == b"\xffSMB" and len(data) >= 32 and not data[9] & 0x80
