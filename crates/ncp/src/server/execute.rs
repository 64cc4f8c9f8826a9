//! Dispatches each call to its implementation; all others are answered with "unknown function".

use std::sync::Mutex;

use super::connection::Connection;
use super::connection_table::ConnectionTable;
use super::entry_filter::EntryFilter;
use super::files::{self, OpenRequest};
use super::names::NameSpace;
use super::paths::ResolvedPath;
use super::volume::{Volume, VolumeResult};
use super::{
    Environment, Shared, account, attributes, bindery_calls, bursts, directories, lock, semaphore_calls,
    volumes,
};
use crate::wire::TransportKind;
use crate::wire::directory::{EffectiveRights, HandlePathText};
use crate::wire::file::CopiedBytes;
use crate::wire::info::extended;
use crate::wire::large::{CopiedLarge, LargeSize};
use crate::wire::message::MessageText;
use crate::wire::name_space::{DirectoryBase, NameSpaceHandle, NameSpaces, mode};
use crate::wire::server_info::DateAndTime;
use crate::wire::{Codec, Completion, Pstr, Request};

/// The context of a call, in addition to its connection.
pub struct CallContext<'s> {
    /// Clock and randomness.
    pub environment: &'s dyn Environment,
    /// All connections.
    pub connections: &'s Mutex<ConnectionTable>,
    /// Transport of the packets.
    pub transport: TransportKind,
    /// Task that makes the call.
    pub task: u8,
}

/// Executes a call and appends the data of its reply.
pub fn execute<V: Volume>(
    shared: &Shared<V>,
    connection: &mut Connection,
    context: &CallContext<'_>,
    request: &Request<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    match request {
        Request::NegotiateBuffer(call) => account::negotiate(shared, connection, call.proposed, out),
        Request::PacketSize(call) => {
            account::packet_size(shared, connection, context.environment, (*call, context.transport), out);
        }
        Request::OfferBurst(call) => {
            let largest = u32::from(shared.options.max_packet);
            return bursts::offer(connection, (context.transport, largest), *call, out);
        }
        Request::GetServerInfo(_) => {
            let counts = lock(context.connections).counts();
            account::server_info(shared, counts, out);
        }
        Request::GetDateAndTime(_) => DateAndTime::put(&context.environment.date_and_time(), out),
        Request::GetLoginKey(_) => account::login_key(connection, context.environment, out),
        Request::KeyedLogin(call) => {
            let name = &call.name;
            return account::throttled(shared, connection, context.environment, name, |connection| {
                account::keyed_login(shared, connection, call, context.transport)
            });
        }
        Request::ClearLogin(call) => {
            let name = &call.name;
            return account::throttled(shared, connection, context.environment, name, |connection| {
                account::clear_login(shared, connection, call)
            });
        }
        Request::GetVolumeNumber(call) => return volumes::number(shared, &call.name, out),
        Request::GetVolumeName(call) => volumes::name(shared, call.volume, out),
        Request::GetVolumeUsage(call) => return volumes::usage(shared, call.volume, out),
        Request::GetVolumeInfo(call) => return volumes::info(shared, call.volume, out),
        // There are no messages, because nothing sends any.
        Request::GetMessage(_) | Request::GetMessageOld(_) => {
            MessageText::put(&MessageText { text: Pstr::default() }, out);
        }
        Request::EndOfTask(_) => connection.end_task(context.task),
        Request::Logout(_) => connection.logout(),
        Request::Unknown(..) => return Err(Completion::UnknownFunction),
        _ => return on_bindery(shared, connection, context, request, out),
    }
    Ok(())
}

/// Calls on the bindery, which decides itself what a client may read before the login.
fn on_bindery<V: Volume>(
    shared: &Shared<V>,
    connection: &mut Connection,
    context: &CallContext<'_>,
    request: &Request<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let table = context.connections;
    match request {
        Request::GetObjectId(call) => bindery_calls::object_id(shared, call.kind, &call.name, out),
        Request::GetObjectName(call) => bindery_calls::object_name(shared, connection, call.id, out),
        Request::ScanObject(call) => bindery_calls::scan(shared, connection, call, out),
        Request::ScanProperty(call) => bindery_calls::scan_property(shared, connection, call, out),
        Request::ReadProperty(call) => bindery_calls::read_property(shared, connection, call, out),
        Request::IsObjectInSet(call) => bindery_calls::is_in_set(shared, connection, call),
        Request::GetAccessLevel(_) => {
            bindery_calls::access_level(shared, connection, out);
            Ok(())
        }
        Request::GetObjectConnectionsOld(call) => {
            let object = (call.kind, &call.name[..]);
            bindery_calls::object_connections_old(shared, connection, table, object, out)
        }
        Request::GetObjectConnections(call) => {
            let object = (call.kind, &call.name[..], call.last);
            bindery_calls::object_connections(shared, connection, table, object, out)
        }
        Request::GetConnectionUserOld(call) => {
            bindery_calls::connection_user(shared, connection, table, u32::from(call.connection), out)
        }
        Request::GetConnectionUser(call) => {
            bindery_calls::connection_user(shared, connection, table, call.connection, out)
        }
        Request::GetConnectionAddressOld(call) => {
            bindery_calls::connection_address_old(connection, table, call.connection, out)
        }
        Request::GetConnectionAddress(call) => {
            bindery_calls::connection_address(connection, table, call.connection, out)
        }
        _ if connection.user.is_none() => Err(Completion::NoOpenRights),
        _ => on_files(shared, connection, context, request, out),
    }
}

/// Calls on open files and directory handles.
fn on_files<V: Volume>(
    shared: &Shared<V>,
    connection: &mut Connection,
    context: &CallContext<'_>,
    request: &Request<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    match request {
        Request::ReadFile(call) => {
            files::read(shared, connection, call.file.short(), (u64::from(call.offset), call.count), out)
        }
        Request::ReadLarge(call) => {
            files::read(shared, connection, call.file, (call.offset, call.count), out)
        }
        Request::WriteFile(call) => {
            files::write(shared, connection, call.file.short(), (u64::from(call.offset), call.data.bytes()))
        }
        Request::WriteLarge(call) => {
            files::write(shared, connection, call.file, (call.offset, call.data.bytes()))
        }
        Request::GetFileSize(call) => files::classic_size(shared, connection, call.file.short(), out),
        Request::GetLargeSize(call) => {
            let size = files::size(shared, connection, call.file)?;
            LargeSize::put(&LargeSize { size }, out);
            Ok(())
        }
        Request::ReadLong(call) => {
            files::read_long(shared, connection, call.file, (call.offset, call.count), out)
        }
        Request::WriteLong(call) => {
            // Unlike in 0x49, a write of 0 bytes does not set the size here: no document says that it does.
            let data = call.data.0;
            if data.is_empty() {
                connection.file(call.file).map(|_| ())
            } else {
                files::write(shared, connection, call.file, (call.offset, data))
            }
        }
        Request::CopyFile(call) => {
            let source = (call.source.short(), u64::from(call.source_offset));
            let target = (call.target.short(), u64::from(call.target_offset));
            let count = files::copy(shared, connection, source, target, u64::from(call.count))?;
            // The count is bounded by the 32 bits of the request.
            CopiedBytes::put(&CopiedBytes { count: count as u32 }, out);
            Ok(())
        }
        Request::CopyLarge(call) => {
            let source = (call.source.short(), call.source_offset);
            let target = (call.target.short(), call.target_offset);
            let count = files::copy(shared, connection, source, target, call.count)?;
            CopiedLarge::put(&CopiedLarge { count }, out);
            Ok(())
        }
        Request::SetFileTime(call) => attributes::set_time(shared, connection, call),
        Request::CommitFile(call) => files::commit(shared, connection, call.file.short()),
        Request::CommitFileOld(call) => files::commit(shared, connection, call.file.short()),
        Request::CloseFile(call) => connection.close(call.file.short()),
        _ => on_handles(shared, connection, context, request, out),
    }
}

/// Calls on directory handles and on the directories that they refer to.
fn on_handles<V: Volume>(
    shared: &Shared<V>,
    connection: &mut Connection,
    context: &CallContext<'_>,
    request: &Request<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let temporary = Some(context.task);
    match request {
        Request::AllocatePermanent(call) => {
            volumes::allocate(shared, connection, (call.base, &call.path), None, out)
        }
        Request::AllocateTemporary(call) => {
            volumes::allocate(shared, connection, (call.base, &call.path), temporary, out)
        }
        Request::AllocateSpecial(call) => {
            volumes::allocate(shared, connection, (call.base, &call.path), temporary, out)
        }
        Request::SetHandle(call) => {
            let directory = shared.directory(&shared.resolve_path(connection, call.base, &call.path)?)?;
            connection.set_handle(call.target, directory)
        }
        Request::GetHandlePath(call) => {
            let path = shared.text(connection.handle(call.handle)?)?;
            let path = Pstr::new(&path).map_err(|_| Completion::InvalidPath)?;
            HandlePathText::put(&HandlePathText { path }, out);
            Ok(())
        }
        Request::FreeHandle(call) => connection.free_handle(call.handle),
        Request::GetVolumeInfoOfHandle(call) => {
            volumes::info(shared, connection.handle(call.handle)?.volume, out)
        }
        Request::GetDirectorySpace(call) => {
            volumes::directory_space(shared, connection.handle(call.handle)?.volume, out)
        }
        Request::GetEffectiveRights(call) => {
            let directory = shared.directory(&shared.resolve_path(connection, call.base, &call.path)?)?;
            let rights = volumes::rights(shared, directory.volume)?;
            EffectiveRights::put(&EffectiveRights { rights }, out);
            Ok(())
        }
        Request::MakeDirectory(call) => {
            let place = shared.resolve_path(connection, call.base, &call.path)?;
            files::make_directory(shared, &place).map(|_| ())
        }
        Request::RemoveDirectory(call) => {
            let place = shared.resolve_path(connection, call.base, &call.path)?;
            directories::remove(shared, connection, &place, EntryFilter::DIRECTORIES)
        }
        Request::RenameDirectory(call) => {
            let from = shared.resolve_path(connection, call.base, &call.path)?;
            if !shared.entry(&from)?.directory {
                return Err(Completion::InvalidPath);
            }
            let name = Some(from.space.checked(&call.name)?);
            let to = ResolvedPath { name, ..from.clone() };
            directories::rename(shared, connection, (&from, &to), EntryFilter::DIRECTORIES)
        }
        _ => on_paths(shared, connection, context, request, out),
    }
}

/// Classic calls on paths.
fn on_paths<V: Volume>(
    shared: &Shared<V>,
    connection: &mut Connection,
    context: &CallContext<'_>,
    request: &Request<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let both = crate::wire::dos::access::READ | crate::wire::dos::access::WRITE;
    let new = |mode: u8, attributes: u8| OpenRequest {
        mode,
        access: both,
        task: context.task,
        filter: EntryFilter::of_classic(attributes),
        attributes: u32::from(attributes),
    };
    let mut open = |at: u8, path: &[u8], wish: OpenRequest| {
        files::open_classic(shared, connection, (at, path), wish, out)
    };
    match request {
        Request::OpenFile(call) => {
            let wish = new(mode::OPEN, call.search);
            open(call.directory, &call.path, OpenRequest { access: u16::from(call.access), ..wish })
        }
        Request::CreateFile(call) => {
            open(call.directory, &call.path, new(mode::CREATE | mode::REPLACE, call.attributes))
        }
        Request::CreateNewFile(call) => open(call.directory, &call.path, new(mode::CREATE, call.attributes)),
        Request::OpenOrCreateFile(call) => {
            let wish = new(call.action, call.attributes);
            open(call.directory, &call.path, OpenRequest { access: u16::from(call.access), ..wish })
        }
        Request::BeginSearch(call) => directories::begin(shared, connection, call, out),
        Request::ContinueSearch(call) => directories::go_on(shared, connection, call, out),
        Request::SearchFile(call) => directories::search_file(shared, connection, call, out),
        Request::SetFileAttributes(call) => attributes::set(shared, connection, call),
        Request::EraseFile(call) => {
            let files = shared.split_path(connection, call.directory, &call.path)?;
            directories::erase(shared, connection, files, call.search)
        }
        Request::RenameFile(call) => {
            let from = shared.resolve_path(connection, call.directory, &call.path)?;
            let to = shared.resolve_path(connection, call.new_directory, &call.new_path)?;
            directories::rename(shared, connection, (&from, &to), EntryFilter::of_classic(call.search))
        }
        _ => in_name_spaces(shared, connection, context, request, out),
    }
}

/// Calls of family 0x57 on paths.
fn in_name_spaces<V: Volume>(
    shared: &Shared<V>,
    connection: &mut Connection,
    context: &CallContext<'_>,
    request: &Request<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    match request {
        Request::OpenCreate(call) => {
            old_style(call.extended)?;
            files::open_create(shared, connection, call, context.task, out)
        }
        Request::ObtainInfo(call) => {
            old_style(call.extended)?;
            directories::obtain(shared, connection, call, out)
        }
        Request::InitSearch(call) => directories::init(shared, connection, call, out),
        Request::SearchNext(call) => {
            old_style(call.extended)?;
            directories::search_next(shared, connection, call, out)
        }
        Request::SearchSet(call) => {
            old_style(call.extended)?;
            directories::search_set(shared, connection, call, out)
        }
        Request::Rename(call) => {
            let space = NameSpace::of(call.space)?;
            let from = shared.resolve_handle_path(connection, space, &call.paths.from)?;
            let to = shared.resolve_handle_path(connection, space, &call.paths.to)?;
            directories::rename(shared, connection, (&from, &to), EntryFilter::of_name_space(call.search))
        }
        Request::ScanTrustees(call) => {
            let place = shared.resolve_handle_path(connection, NameSpace::of(call.space)?, &call.path)?;
            shared.entry(&place)?;
            // Trustees are not stored: all users have the same rights. The code means that there are no more.
            Err(Completion::InvalidPath)
        }
        Request::GetFullPath(call) => directories::full_path(shared, connection, call, out),
        Request::GetEntryRights(call) => {
            old_style(call.extended)?;
            directories::entry_rights(shared, connection, call, out)
        }
        Request::ModifyInfo(call) => attributes::modify(shared, connection, call),
        Request::Delete(call) => {
            let place = shared.resolve_handle_path(connection, NameSpace::of(call.space)?, &call.path)?;
            directories::remove(shared, connection, &place, EntryFilter::of_name_space(call.search))
        }
        Request::AllocateHandle(call) => {
            let place = shared.resolve_handle_path(connection, NameSpace::of(call.space)?, &call.path)?;
            let directory = shared.directory(&place)?;
            let handle = connection.add_handle(directory, (call.mode != 0).then_some(context.task))?;
            NameSpaceHandle::put(&NameSpaceHandle { handle, volume: directory.volume, reserved: 0 }, out);
            Ok(())
        }
        Request::GetDirectoryBase(call) => {
            let place = shared.resolve_handle_path(connection, NameSpace::of(call.space)?, &call.path)?;
            shared.name_space(place.directory.volume, call.answer_space)?;
            let base = shared.entry(&place)?.node;
            let volume = place.directory.volume;
            DirectoryBase::put(&DirectoryBase { base, dos_base: base, volume }, out);
            Ok(())
        }
        Request::GetNameSpaces(call) => {
            let ids = NameSpace::ids(shared.volume(call.volume)?.has_long_names());
            NameSpaces::put(&NameSpaces { count: ids.len() as u16, ids }, out);
            Ok(())
        }
        _ => semaphore_calls::execute(connection, context, request, out),
    }
}

/// Refuses requests for replies in the new style, which are not implemented.
const fn old_style(form: u16) -> VolumeResult<()> {
    if form & extended::NEW_STYLE == 0 { Ok(()) } else { Err(Completion::UnknownFunction) }
}
