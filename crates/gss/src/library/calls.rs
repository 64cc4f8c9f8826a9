//! One safe function per function of the library, and handles that release themselves.

use std::ffi::{c_int, c_void};
use std::ptr;

use sharebench_target::Secret;

use super::store::CredentialStore;
use super::symbols::{
    Buffer, BufferSet, Functions, Handle, LucidContext, LucidKey, ObjectId, ObjectIdSet, functions,
};
use crate::error::{GssError, Names, Status};
use crate::protection::{Encryption, Role, TokenKeys};

/// 1.2.840.113554.1.2.2, Kerberos (RFC 4121 1).
const KERBEROS: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 1, 2, 2];
/// 1.2.840.113554.1.2.1.4, `GSS_C_NT_HOSTBASED_SERVICE` (RFC 2743 4.1).
const HOST_BASED: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 1, 2, 1, 4];
/// 1.2.840.113554.1.2.2.1, `GSS_KRB5_NT_PRINCIPAL_NAME` (RFC 1964 2.1.1).
const PRINCIPAL: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 1, 2, 2, 1];
/// 1.2.840.113554.1.2.2.5.5, `GSS_C_INQ_SSPI_SESSION_KEY`.
const SESSION_KEY: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 1, 2, 2, 5, 5];

const COMPLETE: u32 = 0;
const CONTINUE_NEEDED: u32 = 1;
/// Calling and routine errors; the lower bits are supplementary (RFC 2744 3.9.1).
const ERROR_BITS: u32 = 0xFFFF_0000;
/// Supplementary bits of a token that arrives again or out of order.
const ORDER_BITS: u32 = 0x1E;
const INITIATE: c_int = 1;
const ACCEPT: c_int = 2;

/// Services of a context (RFC 2743 1.2.5-1.2.7), as bits of `req_flags`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flags(u32);

impl Flags {
    const MUTUAL: u32 = 2;
    /// Mutual authentication, confidentiality and integrity: everything that SMB and `RPCSEC_GSS` use. Neither wants the
    /// library to check the order of messages, because replies arrive in any order.
    pub(crate) const WANTED: Self = Self(Self::MUTUAL | 16 | 32);

    pub(crate) const fn is_mutual(self) -> bool {
        self.0 & Self::MUTUAL != 0
    }
}

/// A name in the library's form.
pub(crate) struct RawName(Handle);

/// A credential. The library locks it, so that several threads may use it at once.
pub(crate) struct RawCredential(Handle);

/// A security context, which one thread at a time uses.
pub(crate) struct RawContext {
    handle: Handle,
    flags: Flags,
}

/// What one call of `gss_init_sec_context` or `gss_accept_sec_context` returns.
pub(crate) struct Stepped {
    pub(crate) token: Vec<u8>,
    pub(crate) complete: bool,
    /// The client's name, as the acceptor sees it.
    pub(crate) client: Option<String>,
}

// SAFETY: the library's handles belong to no thread (RFC 2743 has none); MIT and Heimdal document that objects may move.
unsafe impl Send for RawName {}
// SAFETY: as above.
unsafe impl Send for RawCredential {}
// SAFETY: calls take the credential's own mutex; no call changes the handle.
unsafe impl Sync for RawCredential {}
// SAFETY: as for `RawName`; every call takes `&mut self` or is not repeated at the same time.
unsafe impl Send for RawContext {}

fn buffer(bytes: &[u8]) -> Buffer {
    Buffer { len: bytes.len(), value: bytes.as_ptr().cast_mut().cast() }
}

const fn object_id(bytes: &'static [u8]) -> ObjectId {
    ObjectId { len: bytes.len() as u32, elements: bytes.as_ptr().cast_mut().cast() }
}

/// Memory that the library filled, which is copied and released.
struct Filled<'a>(&'a Functions, Buffer);

impl<'a> Filled<'a> {
    fn new(library: &'a Functions) -> Self {
        Self(library, Buffer { len: 0, value: ptr::null_mut() })
    }

    fn bytes(&self) -> &[u8] {
        if self.1.value.is_null() {
            return &[];
        }
        // SAFETY: the library returned this memory with its length, and it is released only by `drop`.
        unsafe { std::slice::from_raw_parts(self.1.value.cast(), self.1.len) }
    }
}

impl Drop for Filled<'_> {
    fn drop(&mut self) {
        // SAFETY: the buffer was filled by the library, or is empty.
        unsafe { (self.0.gss_release_buffer)(&mut 0, &raw mut self.1) };
    }
}

/// Makes a call, which returns its status in Kerberos through the pointer, and turns a failure into an error; `names` take
/// part in the message. The major status of a success can have bits, too.
fn check(
    library: &Functions,
    call: &'static str,
    names: Names<'_>,
    make: impl FnOnce(*mut u32) -> u32,
) -> Result<u32, GssError> {
    let mut minor = 0;
    let major = make(&raw mut minor);
    if major & (ERROR_BITS | ORDER_BITS) == 0 {
        return Ok(major);
    }
    let minor_text = text_of(library, minor, 2);
    // Some failures, such as a token that is no ASN.1, have no code of Kerberos.
    let is_empty = minor == 0 || minor_text.is_empty() || minor_text == "Success";
    let text = if is_empty { text_of(library, major, 1) } else { minor_text };
    let minor = minor.cast_signed();
    Err(GssError::new(Status { call, major, minor, text }, names))
}

/// The text of a status: kind 1 is a major status, kind 2 one of Kerberos (RFC 2744 5.11).
fn text_of(library: &Functions, status: u32, kind: c_int) -> String {
    let mechanism = object_id(KERBEROS);
    let mut text = Filled::new(library);
    let mut more = 0;
    // SAFETY: all pointers are live; the buffer is released by `Filled`.
    let major = unsafe {
        (library.gss_display_status)(
            &mut 0,
            status,
            kind,
            &raw const mechanism,
            &raw mut more,
            &raw mut text.1,
        )
    };
    if major == COMPLETE { String::from_utf8_lossy(text.bytes()).into_owned() } else { String::new() }
}

impl RawName {
    /// Imports `service@host`, or a principal.
    pub(crate) fn import(text: &str, is_principal: bool) -> Result<Self, GssError> {
        let library = functions()?;
        let kind = object_id(if is_principal { PRINCIPAL } else { HOST_BASED });
        let text = buffer(text.as_bytes());
        let mut name = ptr::null_mut();
        // SAFETY: all pointers are live during the call, which copies the text.
        check(library, "gss_import_name", Names::default(), |minor| unsafe {
            (library.gss_import_name)(minor, &raw const text, &raw const kind, &raw mut name)
        })?;
        Ok(Self(name))
    }

    /// The name as text.
    fn display(&self) -> Option<String> {
        let library = functions().ok()?;
        let mut text = Filled::new(library);
        // SAFETY: the name is valid; the buffer is released by `Filled`.
        let major = unsafe { (library.gss_display_name)(&mut 0, self.0, &raw mut text.1, ptr::null_mut()) };
        (major == COMPLETE).then(|| String::from_utf8_lossy(text.bytes()).into_owned())
    }
}

impl Drop for RawName {
    fn drop(&mut self) {
        if let Ok(library) = functions() {
            // SAFETY: the handle came from the library and is released once.
            unsafe { (library.gss_release_name)(&mut 0, &raw mut self.0) };
        }
    }
}

/// The set of mechanisms that consists of Kerberos, for one call.
fn with_kerberos<T>(call: impl FnOnce(*const ObjectIdSet) -> T) -> T {
    let mut mechanism = object_id(KERBEROS);
    let set = ObjectIdSet { count: 1, elements: &raw mut mechanism };
    call(&raw const set)
}

fn handle_of(name: Option<&RawName>) -> Handle {
    name.map_or(ptr::null_mut(), |name| name.0)
}

impl RawCredential {
    /// The user's tickets, of this principal or of the default one.
    pub(crate) fn of_ticket_cache(name: Option<&RawName>, names: Names<'_>) -> Result<Self, GssError> {
        let library = functions()?;
        let mut credential = ptr::null_mut();
        // SAFETY: all pointers are live during the call.
        check(library, "gss_acquire_cred", names, |minor| {
            with_kerberos(|set| unsafe {
                (library.gss_acquire_cred)(
                    minor,
                    handle_of(name),
                    u32::MAX,
                    set,
                    INITIATE,
                    &raw mut credential,
                    ptr::null_mut(),
                    ptr::null_mut(),
                )
            })
        })?;
        Ok(Self(credential))
    }

    /// Keys of a keytab: for a client with a principal, for a server without one.
    pub(crate) fn of_store(
        store: &CredentialStore,
        client: Option<&RawName>,
        names: Names<'_>,
    ) -> Result<Self, GssError> {
        let library = functions()?;
        let what = "keytabs (gss_acquire_cred_from is missing)";
        let acquire = library.gss_acquire_cred_from.ok_or(GssError::Unsupported { what })?;
        let usage = if client.is_some() { INITIATE } else { ACCEPT };
        let mut credential = ptr::null_mut();
        // SAFETY: all pointers are live during the call; the store is copied.
        check(library, "gss_acquire_cred_from", names, |minor| {
            store.with(|store| {
                with_kerberos(|set| unsafe {
                    acquire(
                        minor,
                        handle_of(client),
                        u32::MAX,
                        set,
                        usage,
                        store,
                        &raw mut credential,
                        ptr::null_mut(),
                        ptr::null_mut(),
                    )
                })
            })
        })?;
        Ok(Self(credential))
    }

    /// Tickets that the library requests with a password.
    pub(crate) fn of_password(name: &RawName, password: &Secret, names: Names<'_>) -> Result<Self, GssError> {
        let library = functions()?;
        let what = "passwords (gss_acquire_cred_with_password is missing)";
        let acquire = library.gss_acquire_cred_with_password.ok_or(GssError::Unsupported { what })?;
        let exposed = password.expose();
        let text = buffer(exposed.as_bytes());
        let mut credential = ptr::null_mut();
        // SAFETY: all pointers are live during the call.
        check(library, "gss_acquire_cred_with_password", names, |minor| {
            with_kerberos(|set| unsafe {
                acquire(
                    minor,
                    name.0,
                    &raw const text,
                    u32::MAX,
                    set,
                    INITIATE,
                    &raw mut credential,
                    ptr::null_mut(),
                    ptr::null_mut(),
                )
            })
        })?;
        Ok(Self(credential))
    }

    /// Name of the principal and remaining lifetime in seconds. This requests the initial ticket if there is none yet.
    pub(crate) fn inquire(&self, names: Names<'_>) -> Result<(Option<String>, u32), GssError> {
        let library = functions()?;
        let mut name = RawName(ptr::null_mut());
        let mut lifetime = 0;
        // SAFETY: the credential is valid, and all pointers are live during the call.
        check(library, "gss_inquire_cred", names, |minor| unsafe {
            (library.gss_inquire_cred)(
                minor,
                self.0,
                &raw mut name.0,
                &raw mut lifetime,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        })?;
        Ok((name.display(), lifetime))
    }
}

impl Drop for RawCredential {
    fn drop(&mut self) {
        if let Ok(library) = functions() {
            // SAFETY: the handle came from the library and is released once.
            unsafe { (library.gss_release_cred)(&mut 0, &raw mut self.0) };
        }
    }
}

impl RawContext {
    /// A context that does not exist yet.
    pub(crate) const fn new() -> Self {
        Self { handle: ptr::null_mut(), flags: Flags(0) }
    }

    /// Services of the context.
    pub(crate) const fn flags(&self) -> Flags {
        self.flags
    }

    /// The initiator's next token; `received` is empty at first. Requests the ticket of the service if the cache has none.
    pub(crate) fn initiate(
        &mut self,
        credential: &RawCredential,
        service: &RawName,
        received: &[u8],
        names: Names<'_>,
    ) -> Result<Stepped, GssError> {
        let library = functions()?;
        let mechanism = object_id(KERBEROS);
        let received = buffer(received);
        let mut token = Filled::new(library);
        let mut flags = 0;
        // SAFETY: the handles are valid, all pointers are live during the call, and channel bindings may be null.
        let major = check(library, "gss_init_sec_context", names, |minor| unsafe {
            (library.gss_init_sec_context)(
                minor,
                credential.0,
                &raw mut self.handle,
                service.0,
                &raw const mechanism,
                Flags::WANTED.0,
                0,
                ptr::null::<c_void>(),
                &raw const received,
                ptr::null_mut(),
                &raw mut token.1,
                &raw mut flags,
                ptr::null_mut(),
            )
        })?;
        self.flags = Flags(flags);
        Ok(Stepped { token: token.bytes().to_vec(), complete: major & CONTINUE_NEEDED == 0, client: None })
    }

    /// The acceptor's next token. On failure the token for the client, if there is one, is in `failure_token`.
    pub(crate) fn accept(
        &mut self,
        credential: &RawCredential,
        received: &[u8],
        failure_token: &mut Vec<u8>,
    ) -> Result<Stepped, GssError> {
        let library = functions()?;
        let received = buffer(received);
        let mut token = Filled::new(library);
        let mut flags = 0;
        let mut client = RawName(ptr::null_mut());
        // SAFETY: the handles are valid, all pointers are live during the call, and channel bindings may be null.
        let major = check(library, "gss_accept_sec_context", Names::default(), |minor| unsafe {
            (library.gss_accept_sec_context)(
                minor,
                &raw mut self.handle,
                credential.0,
                &raw const received,
                ptr::null::<c_void>(),
                &raw mut client.0,
                ptr::null_mut(),
                &raw mut token.1,
                &raw mut flags,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        })
        .inspect_err(|_| failure_token.extend_from_slice(token.bytes()))?;
        self.flags = Flags(flags);
        let complete = major & CONTINUE_NEEDED == 0;
        let client = (!client.0.is_null()).then(|| client.display()).flatten();
        Ok(Stepped { token: token.bytes().to_vec(), complete, client })
    }

    /// Remaining lifetime in seconds; 0 if the context is expired.
    pub(crate) fn lifetime(&self) -> Result<u32, GssError> {
        let library = functions()?;
        let mut lifetime = 0;
        // SAFETY: the context is valid, and all pointers are live during the call.
        check(library, "gss_context_time", Names::default(), |minor| unsafe {
            (library.gss_context_time)(minor, self.handle, &raw mut lifetime)
        })?;
        Ok(lifetime)
    }

    /// The key that both sides share, as SSPI returns it (MS-KILE 3.1.1.2).
    pub(crate) fn session_key(&self) -> Result<Vec<u8>, GssError> {
        let library = functions()?;
        let what = "session keys (gss_inquire_sec_context_by_oid is missing)";
        let missing = GssError::Unsupported { what };
        let (Some(inquire), Some(release)) =
            (library.gss_inquire_sec_context_by_oid, library.gss_release_buffer_set)
        else {
            return Err(missing);
        };
        let wanted = object_id(SESSION_KEY);
        let mut set = ptr::null_mut::<BufferSet>();
        // SAFETY: the context is valid, and all pointers are live during the call.
        check(library, "gss_inquire_sec_context_by_oid", Names::default(), |minor| unsafe {
            inquire(minor, self.handle, &raw const wanted, &raw mut set)
        })?;
        // SAFETY: the library returned the set with its count; the first buffer is the key, a second one its type.
        let key = unsafe {
            set.as_ref()
                .filter(|set| set.count > 0)
                .and_then(|set| set.elements.as_ref())
                .map(|first| std::slice::from_raw_parts(first.value.cast::<u8>(), first.len).to_vec())
        };
        // SAFETY: the set came from the library and is released once.
        unsafe { release(&mut 0, &raw mut set) };
        key.ok_or(missing)
    }

    /// Signs a message.
    pub(crate) fn mic(&self, message: &[u8]) -> Result<Vec<u8>, GssError> {
        let library = functions()?;
        let message = buffer(message);
        let mut mic = Filled::new(library);
        // SAFETY: the context is valid, and all pointers are live during the call.
        check(library, "gss_get_mic", Names::default(), |minor| unsafe {
            (library.gss_get_mic)(minor, self.handle, 0, &raw const message, &raw mut mic.1)
        })?;
        Ok(mic.bytes().to_vec())
    }

    /// Verifies the peer's signature of a message.
    pub(crate) fn verify_mic(&self, message: &[u8], mic: &[u8]) -> Result<(), GssError> {
        let library = functions()?;
        let message = buffer(message);
        let mic = buffer(mic);
        // SAFETY: the context is valid, and all pointers are live during the call.
        check(library, "gss_verify_mic", Names::default(), |minor| unsafe {
            (library.gss_verify_mic)(minor, self.handle, &raw const message, &raw const mic, ptr::null_mut())
        })?;
        Ok(())
    }

    /// Encrypts and signs a message.
    pub(crate) fn wrap(&self, message: &[u8]) -> Result<Vec<u8>, GssError> {
        let library = functions()?;
        let message = buffer(message);
        let mut wrapped = Filled::new(library);
        let mut encrypted = 0;
        // SAFETY: the context is valid, and all pointers are live during the call.
        check(library, "gss_wrap", Names::default(), |minor| unsafe {
            (library.gss_wrap)(
                minor,
                self.handle,
                1,
                0,
                &raw const message,
                &raw mut encrypted,
                &raw mut wrapped.1,
            )
        })?;
        if encrypted == 0 {
            return Err(GssError::Unsupported { what: "encryption in this context" });
        }
        Ok(wrapped.bytes().to_vec())
    }

    /// Decrypts and verifies a message of the peer.
    pub(crate) fn unwrap(&self, wrapped: &[u8]) -> Result<Vec<u8>, GssError> {
        let library = functions()?;
        let wrapped = buffer(wrapped);
        let mut message = Filled::new(library);
        let mut encrypted = 0;
        // SAFETY: the context is valid, and all pointers are live during the call.
        check(library, "gss_unwrap", Names::default(), |minor| unsafe {
            (library.gss_unwrap)(
                minor,
                self.handle,
                &raw const wrapped,
                &raw mut message.1,
                &raw mut encrypted,
                ptr::null_mut(),
            )
        })?;
        if encrypted == 0 {
            return Err(GssError::Unsupported { what: "messages without encryption" });
        }
        Ok(message.bytes().to_vec())
    }

    /// Takes the keys out of the library, which frees its context; `None` if it does not export them.
    pub(crate) fn into_keys(mut self) -> Result<TokenKeys, GssError> {
        let library = functions()?;
        let missing = GssError::Unsupported { what: "the export of a context's keys" };
        let (Some(export), Some(free)) =
            (library.gss_krb5_export_lucid_sec_context, library.gss_krb5_free_lucid_sec_context)
        else {
            return Err(missing);
        };
        let mut exported = ptr::null_mut::<c_void>();
        // SAFETY: the context is valid, and all pointers are live during the call. The library clears the handle.
        check(library, "gss_krb5_export_lucid_sec_context", Names::default(), |minor| unsafe {
            export(minor, &raw mut self.handle, 1, &raw mut exported)
        })?;
        // SAFETY: version 1 was requested, so that the structure is `LucidContext`; it is live until it is freed.
        let keys = unsafe { exported.cast::<LucidContext>().as_ref().and_then(|context| keys_of(context)) };
        // SAFETY: the structure came from the library and is freed once.
        unsafe { free(&mut 0, exported) };
        keys.ok_or(missing)
    }
}

/// Copies the keys of an exported context.
///
/// # Safety
/// The context must come from the library, and be live.
unsafe fn keys_of(context: &LucidContext) -> Option<TokenKeys> {
    if context.version != 1 || context.protocol != 1 {
        return None;
    }
    let has_acceptor_subkey = context.cfx.has_acceptor_subkey != 0;
    let LucidKey { kind, len, data } =
        if has_acceptor_subkey { &context.cfx.acceptor_subkey } else { &context.cfx.context_key };
    let encryption = Encryption::of_number(*kind)?;
    // SAFETY: the library states the length of the key with it.
    let key = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), *len as usize) };
    let role = if context.initiate != 0 { Role::Initiator } else { Role::Acceptor };
    TokenKeys::new(encryption, key, role, has_acceptor_subkey, context.send_sequence)
}

impl Drop for RawContext {
    fn drop(&mut self) {
        if !self.handle.is_null()
            && let Ok(library) = functions()
        {
            // SAFETY: the handle came from the library and is deleted once; no token is wanted.
            unsafe { (library.gss_delete_sec_context)(&mut 0, &raw mut self.handle, ptr::null_mut()) };
        }
    }
}
