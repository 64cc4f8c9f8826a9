//! The system under test, as the engine sees it: [`Target`] opens [`Session`]s.
//!
//! A session owns its I/O buffers ("slots"), accepts data operations by [`Session::submit`] and returns
//! replies in whatever order they arrive by [`Session::poll_replies`]; names and attributes go through
//! [`Session::perform_call`]. One operation is one request on the wire, or its reply says how many.
//! Sessions never take times, read ahead, cache, split, merge or reply without a request on the wire, except where
//! [`Target::caches`] says so.

mod altered;
pub mod buffer_pool;
mod listing;
mod null;
pub mod offers;
mod policy;
pub mod readiness;
mod scripted;
mod secret;
mod session;
mod url;
mod with_bypass;
mod working_directory;

pub use altered::{Alteration, Altered};
pub use listing::{
    HeldEntries, ListingGuard, MAX_HELD_BYTES, MAX_HELD_ENTRIES, MAX_LISTED_ENTRIES, MAX_NAME_BYTES,
};
pub use null::NullTarget;
pub use policy::{PolicyRefusal, PolicyTerms};
pub use scripted::{ScriptedReply, ScriptedTarget};
pub use secret::{Exposed, Secret, wipe};
pub use session::{
    Adapter, CacheRights, CallDepth, CallReply, CallResult, Capabilities, ClientCache, ConnectError,
    Connecting, Extensions, Idle, LocalBoxFuture, Locks, LoginPhase, Operations, OverlappingCalls,
    PhaseObserver, Probe, Readings, Semaphores, ServerSide, Session, SessionSpec, Target, UrlPart, Watch,
    WholeFiles, call, no_client_cache, no_request, perform, perform_counted, reply_for, whole_transfer,
};
pub use url::{TargetUrl, UrlError};
pub use with_bypass::WithBypass;
pub use working_directory::{
    DIRECTORY_PREFIX, MARKER, SHORT_MARKER, chosen_name, is_marker, is_same_directory, is_working_directory,
    marker_of, short_directory, short_hash,
};
