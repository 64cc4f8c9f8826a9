//! A packet capture on the loopback interface, analysed with tshark.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use rustix::process::Signal;

use crate::need::Need;
use crate::program::{PATIENCE, Program, poll, run};
use crate::scratch::Scratch;

/// The datagram that follows the last packets of a capture, and where it is sent: nobody listens there.
const MARKER: &[u8] = b"sharebench: the last packet of this capture";
const DISCARD: &str = "127.0.0.1:9";

/// A running capture of all packets to and from one TCP port of the loopback interface.
#[derive(Debug)]
pub struct Capture {
    program: Program,
    scratch: Scratch,
    port: u16,
    /// Sends the last packet; other captures do not see it. None on an interface without addresses.
    marker: Option<UdpSocket>,
}

/// A finished capture.
#[derive(Debug)]
pub struct Captured {
    scratch: Scratch,
    port: u16,
    apart: bool,
    /// Protocol that tshark uses to decode NCP datagrams.
    datagrams: &'static str,
}

/// TCP payload bytes of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Payload {
    /// Sent to the port.
    pub sent: u64,
    /// Received from the port.
    pub received: u64,
}

/// A protocol whose requests [`Captured::request_times`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestProtocol {
    /// SMB 2 and 3.
    Smb,
    /// NFS 3 and 4, without the mount protocol.
    Nfs,
    /// NCP on TCP.
    Ncp,
}

impl RequestProtocol {
    /// The protocol that tshark decodes on the port.
    const fn decoder(self) -> &'static str {
        match self {
            Self::Smb => "nbss",
            Self::Nfs => "rpc",
            Self::Ncp => "ncp",
        }
    }
}

/// A request of SMB2.
#[derive(Debug, Clone, PartialEq)]
pub struct SmbRequest {
    /// When it was sent, in seconds since 1970.
    pub time: f64,
    /// tshark's number of the TCP connection.
    pub stream: u32,
    /// Command number.
    pub command: u16,
    /// Path of the file; empty where the request has none.
    pub path: String,
}

impl Capture {
    /// Requirements of the machine.
    pub const NEEDS: [Need; 3] = [Need::Root, Need::Program("dumpcap"), Need::Program("tshark")];

    /// Starts capturing and returns when packets are being recorded.
    pub fn start(port: u16) -> io::Result<Self> {
        Self::start_filtered(port, &format!("tcp port {port}"))
    }

    /// Starts capturing TCP and UDP.
    pub fn start_with_datagrams(port: u16) -> io::Result<Self> {
        Self::start_filtered(port, &format!("port {port} or ip[6:2] & 0x1fff != 0"))
    }

    /// Starts capturing all frames on an Ethernet interface.
    pub fn start_on(interface: &str) -> io::Result<Self> {
        Self::start_with(interface, 0, "", None)
    }

    fn start_filtered(port: u16, filter: &str) -> io::Result<Self> {
        let marker = UdpSocket::bind("127.0.0.1:0")?;
        let filter = format!("({filter}) or udp src port {}", marker.local_addr()?.port());
        Self::start_with("lo", port, &filter, Some(marker))
    }

    fn start_with(interface: &str, port: u16, filter: &str, marker: Option<UdpSocket>) -> io::Result<Self> {
        let scratch = Scratch::new("capture")?;
        let file = scratch.file("packets.pcapng");
        let line = ["dumpcap", "-q", "-i", interface, "-f", filter, "-B", "256", "-s", "0", "-w", &file];
        let mut program = Program::start(&line, &[], &scratch.path().join("log"))?;
        program.wait_for_output("File: ", PATIENCE)?;
        Ok(Self { program, scratch, port, marker })
    }

    /// Stops the capture while packets still come. Dropped packets are an error, because the counts would be wrong.
    pub fn interrupt(self) -> io::Result<Captured> {
        self.program.signal(Signal::INT);
        self.finish()
    }

    /// Stops the capture after the last packets. Dropped packets are an error, because the counts would be wrong.
    pub fn stop(self) -> io::Result<Captured> {
        // The last packets may still be on their way from the ring to the file.
        let file = self.scratch.path().join("packets.pcapng");
        let length = || fs::metadata(&file).map_or(0, |data| data.len());
        if let Some(marker) = &self.marker {
            let before = length();
            marker.send_to(MARKER, DISCARD)?;
            if !poll(PATIENCE, || contains_after(&file, before, MARKER).unwrap_or(false)) {
                return Err(io::Error::other("the last packet did not reach the capture"));
            }
        } else {
            poll(PATIENCE, || {
                let before = length();
                std::thread::sleep(Duration::from_millis(1500));
                length() == before
            });
        }
        self.program.signal(Signal::INT);
        self.finish()
    }

    fn finish(mut self) -> io::Result<Captured> {
        self.program.wait(PATIENCE)?;
        let said = self.program.output();
        // "Packets received/dropped on interface 'Loopback: lo': 42/0 (pcap:0/dumpcap:0/...) (100.0%)"
        if !said.contains("(100.0%)") {
            return Err(io::Error::other(format!("the capture is not complete:\n{said}")));
        }
        Ok(Captured { scratch: self.scratch, port: self.port, apart: false, datagrams: "ncp" })
    }
}

/// True if the file contains the bytes after this offset.
fn contains_after(file: &Path, offset: u64, bytes: &[u8]) -> io::Result<bool> {
    let mut file = fs::File::open(file)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut rest = Vec::new();
    file.read_to_end(&mut rest)?;
    Ok(rest.windows(bytes.len()).any(|window| window == bytes))
}

impl Captured {
    /// Path of the file, in the format pcapng.
    pub fn path(&self) -> String {
        self.scratch.file("packets.pcapng")
    }

    /// Declares that each request begins in a new segment, as with one request in flight. tshark then does not reassemble
    /// streams, which would lose requests in captures of gigabytes.
    #[must_use]
    pub fn one_request_at_a_time(mut self) -> Self {
        self.apart = true;
        self
    }

    /// Declares that datagrams contain IPX packets.
    #[must_use]
    pub fn of_ipx(mut self) -> Self {
        self.datagrams = "ipx";
        self
    }

    /// Counts SMB2 requests by command number, including each element of a compound request.
    pub fn smb_requests(&self) -> io::Result<BTreeMap<u16, u64>> {
        let rows = self.fields("nbss", "smb2.flags.response == 0", "smb2.cmd")?;
        let mut counts = BTreeMap::new();
        for command in rows.split([',', '\n', '\t']).filter_map(|text| text.trim().parse().ok()) {
            *counts.entry(command).or_default() += 1;
        }
        Ok(counts)
    }

    /// Counts encrypted SMB3 messages sent to the port.
    pub fn smb_encrypted(&self) -> io::Result<usize> {
        let filter = format!("smb2.header.transform.msg_size && tcp.dstport == {}", self.port);
        let rows = self.fields("nbss", &filter, "smb2.header.transform.msg_size")?;
        Ok(rows.split([',', '\n']).filter(|text| !text.trim().is_empty()).count())
    }

    /// Counts messages that match a tshark display filter, such as `smb2.cmd == 9`; `protocol` is `nbss` for SMB and
    /// `rpc` for NFS.
    pub fn count(&self, protocol: &str, filter: &str) -> io::Result<usize> {
        let rows = self.fields(protocol, filter, "frame.number")?;
        Ok(rows.lines().filter(|row| !row.trim().is_empty()).count())
    }

    /// Counts NFSv3 calls by procedure number.
    pub fn nfs3_calls(&self) -> io::Result<BTreeMap<u16, u64>> {
        let rows = self.fields("rpc", "rpc.msgtyp == 0", "nfs.procedure_v3")?;
        let mut counts = BTreeMap::new();
        for procedure in rows.split([',', '\n', '\t']).filter_map(|text| text.trim().parse().ok()) {
            *counts.entry(procedure).or_default() += 1;
        }
        Ok(counts)
    }

    /// Counts NFSv4 calls, and the operations in them by number.
    pub fn nfs4_calls(&self) -> io::Result<(u64, BTreeMap<u32, u64>)> {
        let rows = self.fields("rpc", "rpc.msgtyp == 0 && rpc.program == 100003", "rpc.xid\tnfs.opcode")?;
        let numbers = |text: &str| -> Vec<u32> {
            let number = |text: &str| match text.trim().strip_prefix("0x") {
                Some(hex) => u32::from_str_radix(hex, 16).ok(),
                None => text.trim().parse().ok(),
            };
            text.split(',').filter_map(number).collect()
        };
        let mut calls = 0;
        let mut operations = BTreeMap::new();
        for row in rows.lines() {
            let mut fields = row.split('\t');
            calls += numbers(fields.next().unwrap_or_default()).len() as u64;
            for operation in numbers(fields.next().unwrap_or_default()) {
                *operations.entry(operation).or_default() += 1;
            }
        }
        Ok((calls, operations))
    }

    /// Returns when requests of a protocol were sent, in seconds since 1970, and how many the frame has: each element of a compound
    /// request over SMB is one, and so is each call of NFS.
    pub fn request_times(&self, protocol: RequestProtocol) -> io::Result<Vec<(f64, u64)>> {
        let (filter, field) = match protocol {
            RequestProtocol::Smb => ("smb2.flags.response == 0", "smb2.cmd"),
            RequestProtocol::Nfs => ("rpc.msgtyp == 0 && rpc.program == 100003", "rpc.xid"),
            RequestProtocol::Ncp => ("ncp.type == 0x2222", "ncp.func"),
        };
        self.times(protocol, filter, field)
    }

    /// Returns when frames that match a tshark display filter were sent, in seconds since 1970, and how many values each of them
    /// has in a field.
    pub fn times(&self, protocol: RequestProtocol, filter: &str, field: &str) -> io::Result<Vec<(f64, u64)>> {
        let rows = self.fields(protocol.decoder(), filter, &format!("frame.time_epoch\t{field}"))?;
        let row = |row: &str| {
            let (time, values) = row.split_once('\t')?;
            let count = values.split(',').filter(|value| !value.trim().is_empty()).count();
            Some((time.trim().parse().ok()?, count as u64))
        };
        let times: Option<Vec<_>> = rows.lines().map(row).collect();
        times.ok_or_else(|| io::Error::other("tshark printed a line without a time"))
    }

    /// Returns the SMB2 requests in the order of their frames, for clients with one request in flight per connection.
    pub fn smb_requests_in_order(&self) -> io::Result<Vec<SmbRequest>> {
        let names = "frame.time_epoch\ttcp.stream\tsmb2.cmd\tsmb2.filename";
        let rows = self.fields("nbss", "smb2.flags.response == 0", names)?;
        let row = |row: &str| {
            let mut fields = row.split('\t').map(str::trim);
            let mut next = || fields.next();
            Some(SmbRequest {
                time: next()?.parse().ok()?,
                stream: next()?.parse().ok()?,
                command: next()?.parse().ok()?,
                path: next().unwrap_or_default().to_owned(),
            })
        };
        let request = |text: &str| {
            let several = || io::Error::other(format!("no frame with one request: {text}"));
            row(text).ok_or_else(several)
        };
        rows.lines().map(request).collect()
    }

    /// Returns the NCP requests on TCP and UDP by function and sub-function, each with whether it has a reply.
    pub fn ncp_requests(&self) -> io::Result<BTreeMap<(u16, u16), u64>> {
        let rows = self.fields("ncp", "ncp.type == 0x2222", "ncp.func\tncp.subfunc")?;
        let mut counts = BTreeMap::new();
        for row in rows.lines() {
            let number = |text: &str| {
                let text = text.split(',').next().unwrap_or_default();
                text.strip_prefix("0x")
                    .map_or_else(|| text.parse().ok(), |hex| u16::from_str_radix(hex, 16).ok())
            };
            let mut fields = row.split('\t').map(number);
            if let Some(Some(function)) = fields.next() {
                *counts.entry((function, fields.next().flatten().unwrap_or(0))).or_default() += 1;
            }
        }
        Ok(counts)
    }

    /// Returns the calls of NCP on TCP with their mean service time in seconds, by function and sub-function of family 0x57,
    /// from tshark's table.
    pub fn ncp_service_times(&self) -> io::Result<BTreeMap<(u16, u16), (u64, f64)>> {
        let file = self.scratch.file("packets.pcapng");
        let decode = format!("tcp.port=={},ncp", self.port);
        let table = run(
            &["sh", "-c", &format!("tshark -n -q -r '{file}' -d '{decode}' -z ncp,srt 2>/dev/null")],
            &[],
        )?;
        let mut times = BTreeMap::new();
        let mut function = None;
        for line in table.lines() {
            if let Some(filter) = line.strip_prefix("Filter: ") {
                function = match filter.trim() {
                    "ncp.func==87 && ncp.subfunc" => Some(87),
                    _ => None,
                };
                continue;
            }
            // Index, name, calls, minimum, maximum, mean and sum, in columns parted by blanks.
            let words: Vec<&str> = line.split_whitespace().collect();
            if let (Some(function), [index, .., calls, _, _, mean, _]) = (function, words.as_slice())
                && let (Ok(index), Ok(calls), Ok(mean)) = (index.parse(), calls.parse(), mean.parse())
            {
                times.insert((function, index), (calls, mean));
            }
        }
        Ok(times)
    }

    /// Returns fields of every IPX frame that matches a display filter, as text; a missing field is empty.
    pub fn ipx_fields(&self, filter: &str, names: &[&str]) -> io::Result<Vec<Vec<String>>> {
        let rows = self.fields("ipx", filter, &names.join("\t"))?;
        Ok(rows.lines().map(|row| row.split('\t').map(str::to_owned).collect()).collect())
    }

    /// Counts packets of packet bursts.
    pub fn ncp_bursts(&self) -> io::Result<u64> {
        Ok(self.fields("ncp", "ncp.type == 0x7777", "frame.number")?.lines().count() as u64)
    }

    /// Counts NCP frames that tshark cannot parse, and replies without a request. Control packets of a burst are excluded,
    /// because tshark parses some of them as calls.
    pub fn ncp_oddities(&self) -> io::Result<(usize, usize)> {
        let malformed = "_ws.malformed && !(ncp.system_flags.sys == 1)";
        let malformed = self.fields("ncp", malformed, "frame.number")?;
        // A connection number that is used again: tshark takes the create (sequence number 0) for one of the connection
        // before, and lists its reply as one without a request.
        let lonely = "ncp.type == 0x3333 && !ncp.req_frame_num && !(ncp.seq == 0)";
        let lonely = self.fields("ncp", lonely, "frame.number")?;
        Ok((malformed.lines().count(), lonely.lines().count()))
    }

    /// Returns the bytes of TCP payload in both directions, without retransmissions.
    pub fn payload(&self) -> io::Result<Payload> {
        let filter = "tcp.len > 0 && !tcp.analysis.retransmission";
        let rows = self.fields("nbss", filter, "tcp.dstport\ttcp.len")?;
        let mut payload = Payload::default();
        for row in rows.lines() {
            let mut numbers = row.split('\t').map(|text| text.parse::<u64>().unwrap_or_default());
            let to_port = numbers.next() == Some(self.port.into());
            let bytes = numbers.next().unwrap_or_default();
            *(if to_port { &mut payload.sent } else { &mut payload.received }) += bytes;
        }
        Ok(payload)
    }

    fn fields(&self, protocol: &str, filter: &str, names: &str) -> io::Result<String> {
        let file = self.scratch.file("packets.pcapng");
        let decode = format!("tcp.port=={},{protocol}", self.port);
        let datagrams = format!("udp.port=={},{}", self.port, self.datagrams);
        let fields = names.split('\t').flat_map(|name| ["-e", name]);
        // Two CPUs may record the two ends of loopback out of order.
        let streams: &[&str] = if self.apart {
            &["-o", "tcp.desegment_tcp_streams:FALSE", "-o", "tcp.analyze_sequence_numbers:FALSE"]
        } else {
            &["-o", "tcp.reassemble_out_of_order:TRUE"]
        };
        let mut line = vec!["tshark", "-n", "-r", &file, "-Y", filter, "-T", "fields"];
        // Frames contain the type of their payload.
        if self.port != 0 {
            line.extend(["-d", &decode]);
        }
        line.extend(streams);
        if protocol == "ncp" && self.port != 0 {
            line.extend(["-d", &datagrams]);
        }
        line.extend(fields);
        let errors = self.scratch.file("tshark.err");
        let quoted: Vec<_> = line.iter().map(|word| format!("'{word}'")).collect();
        // tshark as root warns on standard error; only its output counts.
        run(&["sh", "-c", &format!("{} 2>{errors}", quoted.join(" "))], &[]).map_err(|error| {
            io::Error::other(format!("{error}\n{}", fs::read_to_string(&errors).unwrap_or_default()))
        })
    }
}
