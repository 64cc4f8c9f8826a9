//! CREATE and CLOSE (MS-SMB2 3.3.5.9, 3.3.5.10).

use std::sync::{Arc, PoisonError};

use sharebench_smb::NtStatus;
use sharebench_smb::wire::create::{CreateRequest, CreateResponse, options};
use sharebench_smb::wire::create_context::{CreateContext, name, put_contexts};
use sharebench_smb::wire::durable::DurableContext;
use sharebench_smb::wire::lease::{LEVEL, LeaseContext};
use sharebench_smb::wire::oplock;
use sharebench_smb::wire::simple::{CloseRequest, CloseResponse};
use sharebench_smb::wire::{FileId, HEADER_LEN};

use crate::Attributes;
use crate::smb::caching::cache_request::{CacheRequest, GrantedCache, LeaseRequest};
use crate::smb::caching::grants::Holder;
use crate::smb::files::create_disposition::{ALL_ACCESS, CONTENT, OPENED, OpenedNode, READ_ACCESS, Wanted};
use crate::smb::files::durability::ReconnectTarget;
use crate::smb::files::durable::has_other_contexts;
use crate::smb::files::file_info::{describe, is_read_only};
use crate::smb::files::open_count::OpenCount;
use crate::smb::files::open_file::OpenFile;
use crate::smb::files::pipe::Pipe;
use crate::smb::names::resolve::normalized;
use crate::smb::session::call::{Call, CallResponse, DONE};
use crate::smb::session::established::{Opened, Tree};
use crate::smb::status::{Outcome, malformed};

/// The contexts of a response (MS-SMB2 2.2.14.2).
fn answered_contexts(
    request: &CreateRequest,
    read_only: bool,
    attributes: &Attributes,
) -> Vec<CreateContext> {
    let mut answered = Vec::new();
    for context in &request.contexts {
        if context.name == name::QUERY_MAXIMAL_ACCESS {
            let protected = if is_read_only(attributes) { CONTENT } else { 0 };
            let access = if read_only { READ_ACCESS } else { ALL_ACCESS & !protected };
            let data = [0u32.to_le_bytes(), access.to_le_bytes()].concat();
            answered.push(CreateContext::new(name::QUERY_MAXIMAL_ACCESS, &data));
        } else if context.name == name::QUERY_ON_DISK_ID {
            let mut data = [0; 32];
            data[..8].copy_from_slice(&attributes.node.0.to_le_bytes());
            answered.push(CreateContext::new(name::QUERY_ON_DISK_ID, &data));
        }
    }
    answered
}

/// Encodes a response with its contexts.
fn put_response(response: CreateResponse, answered: &[CreateContext], body: &mut Vec<u8>) {
    let mut contexts = Vec::new();
    put_contexts(answered, &mut contexts);
    let offset = (HEADER_LEN + 88) as u32;
    CreateResponse {
        contexts_offset: if contexts.is_empty() { 0 } else { offset },
        contexts_len: contexts.len() as u32,
        ..response
    }
    .encode(body);
    if contexts.is_empty() {
        // The variable part must have at least one byte.
        body.push(0);
    }
    body.append(&mut contexts);
}

impl Call<'_> {
    /// CREATE.
    pub(crate) fn create(&mut self, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        let mut request = CreateRequest::decode(self.message).map_err(malformed)?;
        request.name = normalized(&request.name);
        let server = &self.connection.server;
        let count = self.connection.count_open(OpenFile::bytes(&request.name))?;
        let id = server.new_file_id();
        if self.tree()? == Tree::Pipes {
            let pipe = Pipe::open(&request.name, &server.options.share, count)?;
            return self.opened_pipe(id, pipe, body);
        }
        let holder = self.holder();
        let cache = self.wanted_cache(&request)?;
        let durable = self.wanted_durable(&request)?;
        let lost = match durable {
            Some(DurableContext::ReconnectV1(file)) => Some(ReconnectTarget { file, guid: None }),
            Some(DurableContext::Reconnect(wanted)) => {
                Some(ReconnectTarget { file: wanted.file, guid: Some(wanted.guid) })
            }
            _ => None,
        };
        if let Some(lost) = lost {
            return self.reconnect(&request, lost, cache, &holder, count, body);
        }
        let wanted = Wanted::new(&request, id, server.options.read_only, cache, holder, !self.resumed)?;
        let opened = match wanted.open(server)? {
            Ok(opened) => opened,
            Err(deferred) => return Ok(CallResponse::Deferred(deferred)),
        };
        let open = Arc::new(wanted.open_file(&opened, self.channel_state(), durable, count));
        let OpenedNode { attributes, action, cache, .. } = opened;
        if !self.session.add(id, self.tree_id, Opened::File(Arc::clone(&open))) {
            server.files.close(&open, server.volume.as_ref());
            return Err(NtStatus::USER_SESSION_DELETED);
        }
        self.file = Some(id);
        let mut answered = answered_contexts(&request, server.options.read_only, &attributes);
        answered.extend(open.durable.map(|durable| durable.context()));
        self.put_opened(&open, &attributes, action, cache, answered, body);
        DONE
    }

    /// Encodes the response for an open.
    fn put_opened(
        &self,
        open: &OpenFile,
        attributes: &Attributes,
        action: u32,
        cache: GrantedCache,
        mut answered: Vec<CreateContext>,
        body: &mut Vec<u8>,
    ) {
        let shown = open.file.as_shown(attributes.clone());
        let found = describe(self.connection.server.volume.as_ref(), &shown);
        let oplock = match cache {
            GrantedCache::Nothing => oplock::NONE,
            GrantedCache::Oplock(level) => level,
            GrantedCache::Lease(lease) => {
                answered.push(CreateContext::new(name::REQUEST_LEASE, &lease.encode()));
                LEVEL
            }
        };
        let response = CreateResponse {
            oplock,
            action,
            times: found.times(),
            allocation: found.allocation.max(open.allocation),
            end_of_file: found.end_of_file,
            attributes: found.attributes,
            file: open.id,
            ..CreateResponse::default()
        };
        put_response(response, &answered, body);
    }

    /// What a CREATE requests about a loss of the connection. Version 2 needs dialect 3.0.
    fn wanted_durable(&self, request: &CreateRequest) -> Outcome<Option<DurableContext>> {
        let wanted = DurableContext::find(&request.contexts).map_err(malformed)?;
        let v2 = self.connection.negotiated.get().is_some_and(|negotiated| negotiated.dialect >= 0x0300);
        Ok(wanted.filter(|wanted| match wanted {
            DurableContext::RequestV1 | DurableContext::ReconnectV1(_) => true,
            DurableContext::Request(_) | DurableContext::Reconnect(_) => v2,
        }))
    }

    /// Returns an open that its client has lost.
    fn reconnect(
        &mut self,
        request: &CreateRequest,
        target: ReconnectTarget,
        cache: CacheRequest,
        holder: &Arc<Holder>,
        count: OpenCount,
        body: &mut Vec<u8>,
    ) -> Outcome<CallResponse> {
        let server = &self.connection.server;
        if has_other_contexts(&request.contexts) {
            return Err(NtStatus::OBJECT_NAME_NOT_FOUND);
        }
        let cache = match self.wanted_lease(request)? {
            Some(lease) => lease,
            // The requested level is ignored.
            None => cache.without_lease(),
        };
        let open = match server.find_lost(self.session, target, &request.name, &cache) {
            Ok(open) => open,
            Err(status) => {
                let first = status == NtStatus::OBJECT_NAME_NOT_FOUND && !self.resumed;
                let deferred =
                    first.then(|| server.await_lost(target.file, &self.connection.runtime)).flatten();
                return deferred.map(CallResponse::Deferred).ok_or(status);
            }
        };
        *open.count.lock().unwrap_or_else(PoisonError::into_inner) = count;
        open.changes.continue_with(self.channel_state());
        let granted = open.file.state().rebind(open.id.volatile, &cache, holder);
        let attributes = open.attributes(server.volume.as_ref());
        let added = self.session.add(open.id, self.tree_id, Opened::File(Arc::clone(&open)));
        let Some(attributes) = attributes.ok().filter(|_| added) else {
            self.session.remove(open.id, self.tree_id).ok();
            server.files.close(&open, server.volume.as_ref());
            return Err(NtStatus::OBJECT_NAME_NOT_FOUND);
        };
        self.file = Some(open.id);
        let answered = answered_contexts(request, server.options.read_only, &attributes);
        self.put_opened(&open, &attributes, OPENED, granted, answered, body);
        DONE
    }

    /// Where the client of this request learns of breaks.
    fn holder(&self) -> Arc<Holder> {
        let session = Arc::clone(self.session);
        let client = self.connection.client.get().cloned();
        Arc::new(Holder { session, client, sealed: self.sealed, smb1: None })
    }

    /// What a CREATE may cache. A lease needs a context, and a dialect with leases (MS-SMB2 3.3.5.9.8).
    fn wanted_cache(&self, request: &CreateRequest) -> Outcome<CacheRequest> {
        if request.oplock != LEVEL {
            let directory = request.options & options::DIRECTORY_FILE != 0;
            let none = directory || !self.connection.server.options.leases;
            return Ok(if none || request.oplock == oplock::NONE {
                CacheRequest::Nothing
            } else {
                CacheRequest::Oplock(request.oplock)
            });
        }
        Ok(self.wanted_lease(request)?.unwrap_or(CacheRequest::Nothing))
    }

    /// The lease that a CREATE requests.
    fn wanted_lease(&self, request: &CreateRequest) -> Outcome<Option<CacheRequest>> {
        let mut contexts = request.contexts.iter();
        let context = contexts.find(|context| context.name == name::REQUEST_LEASE);
        let negotiated = self.connection.negotiated.get().filter(|negotiated| negotiated.leases);
        let (Some(negotiated), Some(context)) = (negotiated, context) else { return Ok(None) };
        let context = LeaseContext::decode(&context.data).map_err(malformed)?;
        Ok(Some(CacheRequest::Lease(LeaseRequest {
            client: negotiated.client_guid(),
            context,
            directories: negotiated.directory_leases,
        })))
    }

    fn opened_pipe(&mut self, id: FileId, pipe: Pipe, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        if !self.session.add(id, self.tree_id, Opened::Pipe(Arc::new(pipe))) {
            return Err(NtStatus::USER_SESSION_DELETED);
        }
        self.file = Some(id);
        CreateResponse { action: OPENED, attributes: 0x80, file: id, ..CreateResponse::default() }
            .encode(body);
        body.push(0);
        DONE
    }

    /// CLOSE, with the attributes of the file if the client requests them.
    pub(crate) fn close(&mut self, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        let request = CloseRequest::decode(self.message).map_err(malformed)?;
        let id = self.file_id(request.file)?;
        let server = &self.connection.server;
        let mut response = CloseResponse::default();
        if let Opened::File(open) = self.session.remove(id, self.tree_id)? {
            open.end_writes(server.volume.as_ref());
            if request.flags & 1 != 0
                && let Ok(attributes) = open.attributes(server.volume.as_ref())
            {
                let found = describe(server.volume.as_ref(), &attributes);
                response = CloseResponse {
                    flags: 1,
                    times: found.times(),
                    allocation: found.allocation,
                    end_of_file: found.end_of_file,
                    attributes: found.attributes,
                    ..response
                };
            }
            server.files.close(&open, server.volume.as_ref());
        }
        response.encode(body);
        DONE
    }
}
