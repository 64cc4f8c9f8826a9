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
use sharebench_ncp::wire::{Codec, NamedInfo, ReadReply, Reader, Request, WireError};

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
        Request::NegotiateBuffer(_) => return again::<NegotiatedBuffer>(data),
        Request::PacketSize(_) => return again::<AcceptedPacketSize>(data),
        Request::OfferBurst(_) => return again::<AcceptedBurst>(data),
        Request::GetServerInfo(_) => return again::<ServerInfo>(data),
        Request::GetDateAndTime(_) => return again::<DateAndTime>(data),
        Request::GetLoginKey(_) => return again::<LoginKey>(data),
        Request::GetObjectId(_) => return again::<ObjectId>(data),
        Request::ScanObject(_) => return again::<ScannedObject>(data),
        Request::ReadProperty(_) => return again::<PropertyValue>(data),
        Request::GetVolumeNumber(_) => return again::<VolumeNumber>(data),
        Request::GetVolumeName(_) => return again::<VolumeName<'_>>(data),
        Request::GetVolumeUsage(_) => return again::<VolumeUsage<'_>>(data),
        Request::AllocateTemporary(_) => return again::<AllocatedHandle>(data),
        Request::CreateFile(_) | Request::OpenFile(_) => return again::<OpenedFile>(data),
        Request::GetFileSize(_) => return again::<FileSize>(data),
        Request::GetLargeSize(_) => return again::<LargeSize>(data),
        Request::BeginSearch(_) => return again::<SearchBegun>(data),
        Request::ContinueSearch(_) => return again::<FoundFile>(data),
        Request::InitSearch(_) => return again::<Sequence>(data),
        Request::GetDirectoryBase(_) => return again::<DirectoryBase>(data),
        Request::GetNameSpaces(_) => return again::<NameSpaces<'_>>(data),
        Request::SearchSet(search) => return set_again(search, data),
        Request::ReadFile(read) => return read_again(u64::from(read.offset), data),
        Request::ReadLarge(read) => return read_again(read.offset, data),
        Request::OpenCreate(open) => Opened::get(open.mask, &mut reader)?.put(&mut out),
        Request::ObtainInfo(obtain) => NamedInfo::get(obtain.mask, &mut reader)?.put(&mut out),
        Request::SearchNext(search) => FoundNext::get(search.mask, &mut reader)?.put(&mut out),
        // The other calls have replies without data.
        _ => {}
    }
    Ok(out)
}
