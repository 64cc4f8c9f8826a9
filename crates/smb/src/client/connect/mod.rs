//! From a URL to a session: [`dial`], [`negotiation`], [`login`] by a [`login_method`], then the share ([`handshake`]) and
//! [`binding`] of further channels. [`renewal`] repeats the login of an expired session.

pub(crate) mod binding;
pub(crate) mod dial;
pub(crate) mod handshake;
pub(crate) mod interfaces;
pub(crate) mod login;
pub(crate) mod login_method;
pub(crate) mod negotiation;
pub(crate) mod renewal;
