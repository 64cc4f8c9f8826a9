//! Decodes the reply to each call and encodes it again.

use sharebench_ncp::wire::bindery::*;
use sharebench_ncp::wire::directory::*;
use sharebench_ncp::wire::file::*;
use sharebench_ncp::wire::find::*;
use sharebench_ncp::wire::large::*;
use sharebench_ncp::wire::login::*;
use sharebench_ncp::wire::name_space::*;
use sharebench_ncp::wire::name_space_search::*;
use sharebench_ncp::wire::negotiate::*;
use sharebench_ncp::wire::server_info::*;
use sharebench_ncp::wire::volume::*;
use sharebench_ncp::wire::{
    BinderyCall, Codec, ConnectionCall, DirectoryCall, FileCall, NameSpaceCall, NamedInfo, PathCall,
    ReadReply, Reader, Request, VolumeCall, WireError,
};

fn again<'a, C: Codec<'a>>(data: &'a [u8]) -> Result<Vec<u8>, WireError> {
    let mut out = Vec::new();
    C::put(&C::decode(data)?, &mut out);
    Ok(out)
}

fn read_again(offset: u64, data: &[u8]) -> Result<Vec<u8>, WireError> {
    let mut out = Vec::new();
    ReadReply::decode(offset, data)?.put(&mut out);
    Ok(out)
}

fn set_again(search: &SearchSet<'_>, data: &[u8]) -> Result<Vec<u8>, WireError> {
    let found = FoundSet::decode(search.mask, data)?;
    let mut out = Vec::new();
    FoundSet::put_head(&found.sequence, found.more, found.count, &mut out);
    for entry in found.entries() {
        entry?.put(&mut out);
    }
    Ok(out)
}

/// The data of a successful reply to `request`, decoded and encoded again.
pub fn encode_again(request: &Request<'_>, data: &[u8]) -> Result<Vec<u8>, WireError> {
    let mut reader = Reader::new(data);
    let mut out = Vec::new();
    match request {
        Request::Connection(ConnectionCall::NegotiateBuffer(_)) => return again::<NegotiatedBuffer>(data),
        Request::Connection(ConnectionCall::PacketSize(_)) => return again::<AcceptedPacketSize>(data),
        Request::Connection(ConnectionCall::OfferBurst(_)) => return again::<AcceptedBurst>(data),
        Request::Connection(ConnectionCall::GetServerInfo(_)) => return again::<ServerInfo>(data),
        Request::Connection(ConnectionCall::GetDateAndTime(_)) => return again::<DateAndTime>(data),
        Request::Connection(ConnectionCall::GetLoginKey(_)) => return again::<LoginKey>(data),
        Request::Bindery(BinderyCall::GetObjectId(_)) => return again::<ObjectId>(data),
        Request::Bindery(BinderyCall::ScanObject(_)) => return again::<ScannedObject>(data),
        Request::Bindery(BinderyCall::ReadProperty(_)) => return again::<PropertyValue>(data),
        Request::Volume(VolumeCall::GetVolumeNumber(_)) => return again::<VolumeNumber>(data),
        Request::Volume(VolumeCall::GetVolumeName(_)) => return again::<VolumeName<'_>>(data),
        Request::Volume(VolumeCall::GetVolumeUsage(_)) => return again::<VolumeUsage<'_>>(data),
        Request::Directory(DirectoryCall::AllocateTemporary(_)) => return again::<AllocatedHandle>(data),
        Request::Path(PathCall::CreateFile(_) | PathCall::OpenFile(_)) => {
            return again::<OpenedFile>(data);
        }
        Request::File(FileCall::GetFileSize(_)) => return again::<FileSize>(data),
        Request::File(FileCall::GetLargeSize(_)) => return again::<LargeSize>(data),
        Request::Path(PathCall::BeginSearch(_)) => return again::<SearchBegun>(data),
        Request::Path(PathCall::ContinueSearch(_)) => return again::<FoundFile>(data),
        Request::NameSpace(NameSpaceCall::InitSearch(_)) => return again::<Sequence>(data),
        Request::NameSpace(NameSpaceCall::GetDirectoryBase(_)) => return again::<DirectoryBase>(data),
        Request::NameSpace(NameSpaceCall::GetNameSpaces(_)) => return again::<NameSpaces<'_>>(data),
        Request::NameSpace(NameSpaceCall::SearchSet(search)) => return set_again(search, data),
        Request::File(FileCall::ReadFile(read)) => return read_again(u64::from(read.offset), data),
        Request::File(FileCall::ReadLarge(read)) => return read_again(read.offset, data),
        Request::NameSpace(NameSpaceCall::OpenCreate(open)) => {
            Opened::get(open.mask, &mut reader)?.put(&mut out);
        }
        Request::NameSpace(NameSpaceCall::ObtainInfo(obtain)) => {
            NamedInfo::get(obtain.mask, &mut reader)?.put(&mut out);
        }
        Request::NameSpace(NameSpaceCall::SearchNext(search)) => {
            FoundNext::get(search.mask, &mut reader)?.put(&mut out);
        }
        // The other calls have replies without data.
        _ => {}
    }
    Ok(out)
}
