//! A responder that answers every call at once with fixed bytes. It measures the cost of a client, without a server.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::attributes::{FileAttributes, FileKind, NfsTime};
use crate::canned_v4::put_compound;
use crate::mount;
use crate::protocol::{MAX_HANDLE_BYTES, MOUNT_PROGRAM, Procedure};
use crate::record::{NextRecord, begin_record, end_record, next_record};
use crate::rpc::{CallError, CallHeader, Rejection, put_success};
use crate::v4::compound::{COMPOUND, NFS4_VERSION};
use crate::xdr::{Reader, Writer};

/// Largest record in both directions.
const MAX_RECORD: usize = (1 << 20) + 4096;
/// Reported size of every file.
const FILE_BYTES: u64 = 1 << 40;

/// Answers calls on one connection until the peer closes it. MNT, LOOKUP, GETATTR and FSINFO describe every name as a
/// file of 1 TiB below a directory, READ returns zeros, and WRITE reports success. A COMPOUND of NFSv4 is answered in the
/// same way. Nothing is stored.
pub fn serve_connection(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; MAX_RECORD + 4];
    let mut filled = 0;
    let mut out = Writer::with_capacity(MAX_RECORD);
    loop {
        let count = stream.read(&mut buffer[filled..])?;
        if count == 0 {
            return Ok(());
        }
        filled += count;
        let mut at = 0;
        while let NextRecord::Whole { start, end } =
            next_record(&buffer[at..filled], MAX_RECORD).map_err(io::Error::other)?
        {
            answer(&buffer[at + start..at + end], &mut out).map_err(io::Error::other)?;
            at += end;
        }
        buffer.copy_within(at..filled, 0);
        filled -= at;
        stream.write_all(out.as_slice())?;
        out.clear();
    }
}

/// Serves each connection of a listener on its own thread until accepting fails.
pub fn serve(listener: &TcpListener) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept()?;
        std::thread::Builder::new().name("canned".into()).spawn(move || serve_connection(stream))?;
    }
}

fn attributes(kind: FileKind) -> FileAttributes {
    let time = NfsTime { seconds: 1, nanos: 0 };
    FileAttributes {
        kind,
        mode: 0o777,
        links: 1,
        uid: 0,
        gid: 0,
        size: FILE_BYTES,
        used: FILE_BYTES,
        fsid: 1,
        file_id: 1,
        accessed: time,
        modified: time,
        changed: time,
    }
}

/// Encodes the reply to one call, with its fragment header, and appends it.
pub fn answer(record: &[u8], out: &mut Writer) -> Result<(), CallError> {
    let mut reader = Reader::new(record);
    let header = CallHeader::get(&mut reader)?;
    let at = begin_record(out);
    let procedure = Procedure::from_number(header.procedure);
    if header.program == MOUNT_PROGRAM {
        put_success(out, header.xid);
        match header.procedure {
            mount::MNT => {
                out.u32(0);
                out.opaque(b"root");
                out.u32(0);
            }
            // Empty lists.
            mount::DUMP | mount::EXPORT => out.u32(0),
            _ => {}
        }
    } else if header.version == NFS4_VERSION && header.procedure == COMPOUND {
        put_success(out, header.xid);
        put_compound(&mut reader, out)?;
    } else {
        match procedure {
            Some(procedure) => put_result(procedure, header.xid, &mut reader, out)?,
            None => Rejection::ProcedureUnavailable.put(out, header.xid),
        }
    }
    end_record(out, at, 0);
    Ok(())
}

fn put_result(
    procedure: Procedure,
    xid: u32,
    reader: &mut Reader<'_>,
    out: &mut Writer,
) -> Result<(), CallError> {
    if procedure == Procedure::Null {
        put_success(out, xid);
        return Ok(());
    }
    let handle = reader.opaque("file handle", MAX_HANDLE_BYTES)?;
    let directory = handle == b"root";
    put_success(out, xid);
    out.u32(0);
    match procedure {
        Procedure::GetAttr => {
            attributes(if directory { FileKind::Directory } else { FileKind::Regular }).put(out);
        }
        Procedure::Lookup => {
            out.opaque(b"file");
            out.boolean(true);
            attributes(FileKind::Regular).put(out);
            out.boolean(false);
        }
        Procedure::FsInfo => {
            let max = 1 << 20;
            out.words(&[0, max, max, 1, max, max, 1, 64 << 10]);
            out.u64(u64::MAX >> 1);
            out.u64(0);
            out.u32(0);
        }
        Procedure::Access => {
            out.boolean(false);
            // Grant all requested access.
            out.u32(reader.u32()?);
        }
        Procedure::Read => {
            reader.u64()?;
            let count = reader.u32()?.min(1 << 20);
            out.boolean(true);
            attributes(FileKind::Regular).put(out);
            out.words(&[count, 0, count]);
            let bytes = (count as usize).next_multiple_of(4);
            out.spare(bytes);
            out.advance(bytes);
        }
        Procedure::Write => {
            reader.u64()?;
            let count = reader.u32()?;
            let stable = reader.u32()?;
            out.words(&[0, 0, count, stable]);
            out.u64(1);
        }
        Procedure::Commit => out.words(&[0, 0, 0, 1]),
        _ => {
            out.truncate(out.len() - 4);
            out.u32(10_004);
            // Zeros for the longest failure result: two wcc_data.
            out.raw(&[0; 16]);
        }
    }
    Ok(())
}
