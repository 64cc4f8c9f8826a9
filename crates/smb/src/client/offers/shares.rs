//! The list of shares, over a pipe of the share `IPC$`.

use crate::client::channels::channel::Channel;
use crate::client::exchange::Exchange;
use crate::status::NtStatus;
use crate::wire::FileId;
use crate::wire::WireError;
use crate::wire::create::{CreateRequest, CreateResponse, SHARE_ALL, access, disposition};
use crate::wire::data::{ReadRequest, ReadResponse};
use crate::wire::header::command;
use crate::wire::ioctl::{IoctlRequest, PIPE_TRANSCEIVE, output};
use crate::wire::share_list::{
    Fragment, ListedShare, MAX_FRAGMENT, PIPE, bind, check_bind_ack, share_enum, shares,
};
use crate::wire::simple::CloseRequest;
use crate::wire::tree::TreeConnectRequest;

/// Name of the share with the pipes.
const PIPES: &str = "IPC$";
/// Maximum size of a list in bytes.
const MAX_LIST: usize = 256 << 10;
/// Maximum number of reads for one list.
const MAX_READS: usize = 128;

/// Connects the session to the share with the pipes.
pub(super) async fn connect_pipes(channel: &mut Channel, host: &str) -> Result<(), String> {
    let request = TreeConnectRequest { path: format!("\\\\{host}\\{PIPES}") };
    // A server of dialect 3.1.1 rejects an unsigned TREE_CONNECT (MS-SMB2 3.3.5.7).
    channel.exchange.always_sign = true;
    let header = channel.exchange(command::TREE_CONNECT, |body| request.encode(body)).await;
    channel.exchange.always_sign = false;
    let header = header.map_err(|error| error.to_string())?;
    match NtStatus(header.status) {
        NtStatus::SUCCESS => {
            channel.tree_id = header.tree_id;
            Ok(())
        }
        status => Err(format!("{PIPES}: {status}")),
    }
}

/// Lists the shares; the session must be connected to the share with the pipes.
pub(super) async fn list(channel: &mut Channel, host: &str) -> Result<Vec<ListedShare>, String> {
    let request = CreateRequest {
        access: access::READ_DATA | access::WRITE_DATA | access::READ_ATTRIBUTES | access::SYNCHRONIZE,
        share: SHARE_ALL,
        disposition: disposition::OPEN,
        name: PIPE.into(),
        ..CreateRequest::default()
    };
    let reply = channel.request(command::CREATE, |body| request.encode(body)).await;
    let pipe = reply.map_err(|error| error.to_string())?;
    let pipe = CreateResponse::decode(pipe).map_err(|error| error.to_string())?.file;
    let listed = call(channel, pipe, host).await;
    let close = CloseRequest { file: pipe, ..CloseRequest::default() };
    // The session ends next, which closes the pipe as well.
    let _ = channel.request(command::CLOSE, |body| close.encode(body)).await;
    listed
}

async fn call(channel: &mut Channel, pipe: FileId, host: &str) -> Result<Vec<ListedShare>, String> {
    let malformed = |error: WireError| error.to_string();
    let answer = transceive(channel, pipe, bind()).await?;
    check_bind_ack(&answer).map_err(malformed)?;
    let mut received = transceive(channel, pipe, share_enum(host)).await?;
    let mut stub = Vec::new();
    for _ in 0..MAX_READS {
        while let Some(fragment) = Fragment::decode(&received).map_err(malformed)? {
            stub.extend_from_slice(fragment.stub);
            let last = fragment.last;
            let len = fragment.len;
            if last {
                return shares(&stub).map_err(malformed);
            }
            received.drain(..len);
        }
        if stub.len() > MAX_LIST {
            break;
        }
        received.extend(read(channel, pipe).await?);
    }
    Err(format!("the list exceeds {MAX_LIST} bytes"))
}

/// Writes a packet to the pipe, and reads the first part of the answer.
async fn transceive(channel: &mut Channel, pipe: FileId, packet: Vec<u8>) -> Result<Vec<u8>, String> {
    let max_output = u32::from(MAX_FRAGMENT);
    let request = IoctlRequest { code: PIPE_TRANSCEIVE, file: pipe, input: packet, max_output };
    let header = channel.exchange_sized(command::IOCTL, max_output, |body| request.encode(body)).await;
    let header = header.map_err(|error| error.to_string())?;
    accept(NtStatus(header.status))?;
    output(&channel.exchange.reply).map(<[u8]>::to_vec).map_err(|error| error.to_string())
}

/// Reads a further part of an answer.
async fn read(channel: &mut Channel, pipe: FileId) -> Result<Vec<u8>, String> {
    let len = u32::from(MAX_FRAGMENT);
    let request = ReadRequest { padding: 80, len, file: pipe, ..ReadRequest::default() };
    let header = channel.exchange_sized(command::READ, len, |body| request.encode(body)).await;
    let header = header.map_err(|error| error.to_string())?;
    accept(NtStatus(header.status))?;
    let reply = &channel.exchange.reply;
    let data = ReadResponse::decode(reply).and_then(|response| response.data(reply).map(<[u8]>::to_vec));
    match data {
        Ok(data) if data.is_empty() => Err("the pipe ends within the list".to_owned()),
        Ok(data) => Ok(data),
        Err(error) => Err(error.to_string()),
    }
}

/// A pipe answers `BUFFER_OVERFLOW` if more of the message follows (MS-SMB2 3.3.4.4).
fn accept(status: NtStatus) -> Result<(), String> {
    match status {
        NtStatus::SUCCESS | NtStatus::BUFFER_OVERFLOW => Ok(()),
        status => Err(status.to_string()),
    }
}
