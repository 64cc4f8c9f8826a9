//! Types and functions of the library (RFC 2744, and MIT's extensions), and how they are loaded.

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

use libloading::Library;

use crate::error::GssError;

/// Names of the library: MIT Kerberos first, because only it exports the keys of a context.
const NAMES: [&str; 4] =
    ["libgssapi_krb5.so.2", "libgssapi.so.3", "libgssapi_krb5.2.2.dylib", "libgssapi_krb5.dylib"];

/// `gss_buffer_desc` (RFC 2744 3.2).
#[repr(C)]
pub(super) struct Buffer {
    pub(super) len: usize,
    pub(super) value: *mut c_void,
}

/// `gss_OID_desc` (RFC 2744 3.3).
#[repr(C)]
pub(super) struct ObjectId {
    pub(super) len: u32,
    pub(super) elements: *mut c_void,
}

/// `gss_OID_set_desc` (RFC 2744 3.4).
#[repr(C)]
pub(super) struct ObjectIdSet {
    pub(super) count: usize,
    pub(super) elements: *mut ObjectId,
}

/// `gss_buffer_set_desc`.
#[repr(C)]
pub(super) struct BufferSet {
    pub(super) count: usize,
    pub(super) elements: *mut Buffer,
}

/// `gss_key_value_element_desc`.
#[repr(C)]
pub(super) struct KeyValue {
    pub(super) key: *const c_char,
    pub(super) value: *const c_char,
}

/// `gss_key_value_set_desc`.
#[repr(C)]
pub(super) struct KeyValueSet {
    pub(super) count: u32,
    pub(super) elements: *mut KeyValue,
}

/// `gss_krb5_lucid_key_t`.
#[repr(C)]
pub(super) struct LucidKey {
    pub(super) kind: u32,
    pub(super) len: u32,
    pub(super) data: *mut c_void,
}

/// `gss_krb5_rfc1964_keydata_t`.
#[repr(C)]
pub(super) struct LegacyKeys {
    algorithms: [u32; 2],
    key: LucidKey,
}

/// `gss_krb5_cfx_keydata_t`.
#[repr(C)]
pub(super) struct CfxKeys {
    pub(super) has_acceptor_subkey: u32,
    pub(super) context_key: LucidKey,
    pub(super) acceptor_subkey: LucidKey,
}

/// `gss_krb5_lucid_context_v1_t`.
#[repr(C)]
pub(super) struct LucidContext {
    pub(super) version: u32,
    pub(super) initiate: u32,
    pub(super) end_time: u32,
    pub(super) send_sequence: u64,
    pub(super) receive_sequence: u64,
    /// 1 for the tokens of RFC 4121.
    pub(super) protocol: u32,
    pub(super) legacy: LegacyKeys,
    pub(super) cfx: CfxKeys,
}

pub(super) type Handle = *mut c_void;
type Oid = *const ObjectId;
type OidSet = *const ObjectIdSet;

/// Declares the table of functions, and how each is found by its name.
macro_rules! functions {
    (required { $($name:ident: fn($($argument:ty),*),)* } optional { $($extra:ident: fn($($extra_argument:ty),*),)* }) => {
        /// The functions of the library. All return a major status and write the minor one through their first argument.
        pub(super) struct Functions {
            $(pub(super) $name: unsafe extern "C" fn(*mut u32 $(, $argument)*) -> u32,)*
            $(pub(super) $extra: Option<unsafe extern "C" fn(*mut u32 $(, $extra_argument)*) -> u32>,)*
            /// Keeps the functions loaded.
            _library: Library,
        }

        impl Functions {
            fn find(library: Library) -> Result<Self, libloading::Error> {
                // SAFETY: the types are those of RFC 2744 and of the library's headers for these names.
                unsafe {
                    Ok(Self {
                        $($name: *library.get(concat!(stringify!($name), "\0").as_bytes())?,)*
                        $($extra: library.get(concat!(stringify!($extra), "\0").as_bytes()).ok().map(|found| *found),)*
                        _library: library,
                    })
                }
            }
        }
    };
}

functions! {
    required {
        gss_import_name: fn(*const Buffer, Oid, *mut Handle),
        gss_display_name: fn(Handle, *mut Buffer, *mut Oid),
        gss_release_name: fn(*mut Handle),
        gss_acquire_cred: fn(Handle, u32, OidSet, c_int, *mut Handle, *mut OidSet, *mut u32),
        gss_inquire_cred: fn(Handle, *mut Handle, *mut u32, *mut c_int, *mut OidSet),
        gss_release_cred: fn(*mut Handle),
        gss_init_sec_context: fn(Handle, *mut Handle, Handle, Oid, u32, u32, *const c_void, *const Buffer, *mut Oid, *mut Buffer, *mut u32, *mut u32),
        gss_accept_sec_context: fn(*mut Handle, Handle, *const Buffer, *const c_void, *mut Handle, *mut Oid, *mut Buffer, *mut u32, *mut u32, *mut Handle),
        gss_delete_sec_context: fn(*mut Handle, *mut Buffer),
        gss_context_time: fn(Handle, *mut u32),
        gss_get_mic: fn(Handle, c_int, *const Buffer, *mut Buffer),
        gss_verify_mic: fn(Handle, *const Buffer, *const Buffer, *mut c_int),
        gss_wrap: fn(Handle, c_int, c_int, *const Buffer, *mut c_int, *mut Buffer),
        gss_unwrap: fn(Handle, *const Buffer, *mut Buffer, *mut c_int, *mut c_int),
        gss_release_buffer: fn(*mut Buffer),
        gss_display_status: fn(u32, c_int, Oid, *mut u32, *mut Buffer),
    }
    optional {
        gss_acquire_cred_from: fn(Handle, u32, OidSet, c_int, *const KeyValueSet, *mut Handle, *mut OidSet, *mut u32),
        gss_acquire_cred_with_password: fn(Handle, *const Buffer, u32, OidSet, c_int, *mut Handle, *mut OidSet, *mut u32),
        gss_inquire_sec_context_by_oid: fn(Handle, Oid, *mut *mut BufferSet),
        gss_release_buffer_set: fn(*mut *mut BufferSet),
        gss_krb5_export_lucid_sec_context: fn(*mut Handle, u32, *mut *mut c_void),
        gss_krb5_free_lucid_sec_context: fn(*mut c_void),
    }
}

/// The functions of the library, which the first call loads.
pub(super) fn functions() -> Result<&'static Functions, GssError> {
    static LOADED: OnceLock<Result<Functions, String>> = OnceLock::new();
    let loaded = LOADED.get_or_init(load).as_ref();
    loaded.map_err(|reason| GssError::LibraryMissing { reason: reason.clone() })
}

fn load() -> Result<Functions, String> {
    let mut first = None;
    for name in NAMES {
        // SAFETY: the initialization of a Kerberos library has no requirements.
        match unsafe { Library::new(name) }.and_then(Functions::find) {
            Ok(functions) => return Ok(functions),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.map_or_else(String::new, |error| error.to_string()))
}
