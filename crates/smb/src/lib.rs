//! SMB 2.0.2 to 3.1.1 in user space, and SMB1 for comparisons with measurements of its time.
//!
//! [`wire`] holds the message codecs, both directions, and [`nt1`] those of SMB1; [`SmbTarget`] is the client adapter on top of
//! them.
//!
//! ```no_run
//! use sharebench_smb::SmbTarget;
//! use sharebench_target::{Secret, TargetUrl};
//!
//! let url = TargetUrl::parse("smb://alice@nas/share/dir?dialect=3.1.1&sign=required").expect("a URL");
//! let target = SmbTarget::from_url(url, Secret::new("password")).expect("an SMB URL");
//! ```

mod auth;
mod client;
pub mod crypto;
mod incompatibility;
pub mod nt1;
pub mod requester;
mod status;
pub mod wire;

pub use auth::{
    AcceptedLogin, AcceptedTicket, AuthError, NtlmAcceptor, ReceivedLogin, ServerMechanisms, TokenRole,
    accept_ticket, decode_in_each_role,
};
pub use client::{SmbProbe, SmbTarget};
pub use incompatibility::Incompatibility;
pub use status::NtStatus;
