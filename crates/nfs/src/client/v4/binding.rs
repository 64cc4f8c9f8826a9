//! Further connections of a session, and those that replace a lost one: `BIND_CONN_TO_SESSION`.

use std::net::SocketAddr;

use sharebench_client_core::DialError;
use sharebench_model::{OpError, WireCount};
use sharebench_target::UrlPart;

use crate::client::options::Route;
use crate::client::rpc::dial::{Service, connect};
use crate::client::rpc::link::Link;
use crate::client::rpc::protected_call::ProtectedCall;
use crate::client::v4::compound::{Compound, Results};
use crate::client::v4::session::Nfs4State;
use crate::protocol::NFS_PROGRAM;
use crate::rpc::{AuthSys, CallTemplate};
use crate::v4::compound::{COMPOUND, NFS4_VERSION};
use crate::v4::operation::Operation;
use crate::v4::session::{BIND_FORE_OR_BOTH, BindConnection, BoundConnection, SessionId};
use crate::xdr::{Reader, Writer};

/// How to open a connection of a session. It borrows nothing, so that a lost connection is replaced while the session
/// continues.
#[derive(Debug)]
pub(crate) struct Binding {
    address: SocketAddr,
    route: Route,
    auth: AuthSys,
    minor: u32,
    /// None in minor version 0, where every connection serves the client.
    session: Option<SessionId>,
    /// What protects the call; none for `sec=sys`.
    protection: Option<ProtectedCall>,
}

impl Binding {
    pub(crate) fn from_session(session: &mut Nfs4State) -> Self {
        let id = session.slots.as_ref().map(|slots| slots.session);
        Self {
            address: session.address,
            route: session.options.route.clone(),
            auth: session.options.auth.clone(),
            minor: session.minor,
            session: id,
            protection: id.and_then(|_| session.channel.reserve()),
        }
    }

    /// Connects and binds the connection to the session (RFC 8881, 18.34). Returns what crossed the wire as well.
    pub(crate) async fn connect(&self) -> Result<(Link, WireCount), DialError> {
        let part = UrlPart::Option("nconnect");
        let stream = connect(self.address, &self.route, part).await?;
        let Some(session) = self.session else { return Ok((stream, WireCount::default())) };
        let template = CallTemplate::new(NFS_PROGRAM, NFS4_VERSION, Some(&self.auth));
        let mut service = Service::on(stream, template);
        // The only operation of its call, without SEQUENCE.
        let arguments = |writer: &mut Writer| {
            let bind = BindConnection { session, direction: BIND_FORE_OR_BOTH, rdma: false };
            let mut compound = Compound::begin(writer, self.minor, None, false);
            compound.operation(Operation::BindConnToSession, &bind);
            compound.end();
        };
        let result = |reader: &mut Reader<'_>| Ok(bound(reader.rest()));
        let bound = match &self.protection {
            None => service.call(REQUEST, COMPOUND, arguments, result).await,
            Some(call) => {
                service.call_protected(call, REQUEST, NFS4_VERSION, COMPOUND, arguments, result).await
            }
        };
        bound.and_then(|bound| bound).map_err(DialError::blame(part))?;
        let (stream, wire) = service.into_link();
        Ok((stream, WireCount { operations: 1, ..wire }))
    }
}

const REQUEST: &str = Operation::BindConnToSession.name();

fn bound(result: &[u8]) -> Result<(), OpError> {
    Results::new(result, false)?.get::<BoundConnection>(Operation::BindConnToSession).map(drop)
}
