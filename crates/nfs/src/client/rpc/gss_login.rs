//! Establishing a security context over a connection (RFC 2203 5.2).

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sharebench_client_core::{DialError, on_own_thread};
use sharebench_gss::{
    ContextStep, GssError, Initiator, Service as Principal, SharedCredential, TICKET_LIMIT,
};
use sharebench_model::{ErrorClass, OpError, OpStep};
use sharebench_target::UrlPart;

use crate::client::options::NfsOptions;
use crate::client::rpc::channel::Channel;
use crate::client::rpc::dial::{Service, connect, random};
use crate::client::rpc::dialect::Dialect;
use crate::client::rpc::link::Link;
use crate::client::rpc::protected_call::EstablishedContext;
use crate::client::rpc::replies::{rejected, undecodable};
use crate::client::rpc::security::{ClientSecurity, Renew, contexts_for, deliver};
use crate::protocol::NFS_PROGRAM;
use crate::rpc::{CallTemplate, Rejection, ReplyVerifier, VerifiedReply};
use crate::rpcsec::{GSS_FLAVOR, GssCredential, GssProcedure, InitResult, Service as Protected};
use crate::xdr::{Reader, Writer};

/// The service name of NFS (RFC 7530 3.2.1).
const SERVICE: &str = "nfs";
/// The step in errors.
const REQUEST: &str = "RPCSEC_GSS login";
/// Most tokens of a login; Kerberos sends one.
const MAX_TOKENS: usize = 4;
/// How long the renewal of a context may take.
const RENEWAL_LIMIT: Duration = Duration::from_secs(60);
/// Statuses of a token (RFC 2743 1.2.1.1).
const COMPLETE: u32 = 0;
const CONTINUE_NEEDED: u32 = 1;

/// The request for a ticket has no result.
const UNFINISHED: GssError = GssError::Order { step: "the request for a ticket" };

/// What the server answered to a token.
struct ContextReply {
    handle: Vec<u8>,
    complete: bool,
    window: u32,
    token: Vec<u8>,
    /// Signature over the window.
    verifier: Vec<u8>,
}

/// A channel for `slots` operations and one other call at the same time, whose calls are protected as the URL requires.
pub(crate) async fn open_channel<D: Dialect>(
    stream: Link,
    address: SocketAddr,
    options: &NfsOptions,
    slots: usize,
    slot_bytes: u32,
) -> Result<Channel<D>, DialError> {
    let slot_bytes = slot_bytes as usize;
    let Some(service) = options.security else {
        return Ok(Channel::new(stream, Some(&options.auth), slots, slot_bytes, random()));
    };
    // All contexts of a session are of one account.
    let tickets = options.tickets.next().ok_or_else(|| gss_error(&UNFINISHED))?;
    let login = Login { options: options.clone(), tickets, service, version: D::VERSION };
    let (stream, contexts) = login.perform(stream, slots + 1).await?;
    let mut channel = Channel::new(stream, None, slots, slot_bytes, random());
    let renew = renewal(address, login);
    channel.secure(ClientSecurity::new(service, contexts, slots + 1, renew));
    Ok(channel)
}

/// Ends the security contexts of an idle channel, so that the server need not keep them until they expire (RFC 2203 5.4).
pub(crate) async fn log_out<D: Dialect>(channel: &mut Channel<D>, buffers: &mut [Box<[u8]>]) {
    for context in 0..channel.contexts() {
        if channel.failure().is_some() || !channel.is_idle(channel.metadata_index()) {
            return;
        }
        channel.destroy_context(context);
        let mut completions = Vec::new();
        poll_fn(|cx| channel.poll(cx, buffers, &mut completions)).await;
    }
}

/// What a login needs.
#[derive(Clone)]
struct Login {
    options: NfsOptions,
    tickets: SharedCredential,
    service: Protected,
    /// Version of NFS.
    version: u32,
}

impl Login {
    /// Establishes contexts for `calls` calls at the same time on a new connection, which is returned for the calls.
    async fn perform(
        &self,
        stream: Link,
        calls: usize,
    ) -> Result<(Link, Vec<EstablishedContext>), DialError> {
        let mut connection = Service::on(stream, CallTemplate::new(NFS_PROGRAM, self.version, None));
        let first = self.establish(&mut connection).await?;
        let count = contexts_for(calls, first.window);
        let mut contexts = vec![first];
        while contexts.len() < count {
            contexts.push(self.establish(&mut connection).await?);
        }
        Ok((connection.into_link().0, contexts))
    }

    async fn establish(&self, connection: &mut Service) -> Result<EstablishedContext, DialError> {
        let principal = match &self.options.spn {
            Some(name) => Principal::principal(name),
            None => Principal::on_host(SERVICE, &self.options.host),
        };
        let tickets = self.tickets.clone();
        let begun = on_own_thread(move || {
            let mut initiator = Initiator::new(tickets.get()?, &principal);
            initiator.step(&[]).map(|step| (initiator, step))
        });
        let begun = tokio::time::timeout(TICKET_LIMIT, begun).await;
        let begun = begun.unwrap_or(Some(Err(GssError::KdcSilent { limit: TICKET_LIMIT })));
        let (mut initiator, mut step) =
            begun.unwrap_or(Err(UNFINISHED)).map_err(|error| gss_error(&error))?;
        let mut answer = None;
        for _ in 0..MAX_TOKENS {
            let (ContextStep::Continue(token) | ContextStep::Done(token)) = &step;
            if !token.is_empty() {
                answer = Some(self.send_token(connection, answer.as_ref(), token).await?);
            }
            if matches!(step, ContextStep::Done(_)) {
                break;
            }
            let received = answer.as_ref().map_or(&[][..], |answer| &answer.token);
            step = initiator.step(received).map_err(|error| gss_error(&error))?;
        }
        let answer = answer.filter(|answer| answer.complete).ok_or_else(|| blame(incomplete()))?;
        let context = initiator.into_context().map_err(|error| gss_error(&error))?;
        // The signature proves that the window comes from the server (RFC 2203 5.2.3.1).
        context
            .verify_mic(&answer.window.to_be_bytes(), &answer.verifier)
            .map_err(|error| gss_error(&error))?;
        let lifetime = context.lifetime_s().map_err(|error| gss_error(&error))?;
        Ok(EstablishedContext {
            protection: context.into_protection().map_err(|error| gss_error(&error))?,
            handle: answer.handle,
            window: answer.window,
            lifetime: Duration::from_secs(lifetime.into()),
        })
    }

    /// Sends a token in a NULL call, and returns the server's answer.
    async fn send_token(
        &self,
        connection: &mut Service,
        before: Option<&ContextReply>,
        token: &[u8],
    ) -> Result<ContextReply, DialError> {
        let procedure = if before.is_some() { GssProcedure::ContinueInit } else { GssProcedure::Init };
        let handle = before.map_or(&[][..], |answer| &answer.handle);
        let credential = GssCredential { procedure, sequence: 0, service: self.service.number(), handle };
        let (xid, record) = connection
            .exchange(REQUEST, |writer: &mut Writer, xid| {
                writer.words(&[xid, 0, 2, NFS_PROGRAM, self.version, 0]);
                credential.put(writer);
                writer.u64(0);
                writer.opaque(token);
            })
            .await
            .map_err(blame)?;
        let mut reader = Reader::new(&record);
        let broken = |error| blame(undecodable(error, REQUEST));
        let reply = VerifiedReply::get(&mut reader).map_err(broken)?;
        if reply.xid != xid {
            return Err(blame(protocol(format!("a reply to xid {:#010x}, which was not sent", reply.xid))));
        }
        reply.outcome.map_err(|rejection| self.rejected(rejection))?;
        let result = InitResult::get(&mut reader).map_err(broken)?;
        if result.major != COMPLETE && result.major != CONTINUE_NEEDED {
            let major = result.major;
            let minor = result.minor;
            let detail = format!(
                "the server rejects the Kerberos ticket: it has no current key for its name, or its clock differs (GSS status \
                 {major:#x}, {minor})"
            );
            return Err(DialError::new(UrlPart::Credentials, ErrorClass::Refused, detail));
        }
        let signature = reply.verifier.filter(|verifier| verifier.flavor == GSS_FLAVOR);
        Ok(ContextReply {
            handle: result.handle.to_vec(),
            complete: result.major == COMPLETE,
            window: result.window,
            token: result.token.to_vec(),
            verifier: signature.map_or_else(Vec::new, |ReplyVerifier { body, .. }| body.to_vec()),
        })
    }

    /// The error of a token that the RPC layer rejected: the server may not serve this version at all.
    fn rejected(&self, rejection: Rejection) -> DialError {
        match rejection {
            Rejection::ProgramMismatch { .. } | Rejection::ProgramUnavailable => {
                let detail = format!("the server does not offer NFS version {} ({rejection})", self.version);
                DialError::new(UrlPart::Option("vers"), ErrorClass::Unsupported, detail)
            }
            // AUTH_BADCRED, AUTH_REJECTEDCRED and AUTH_TOOWEAK: the server knows no credential of this flavor.
            Rejection::Auth(1 | 2 | 5) => {
                let detail = format!("the server does not accept Kerberos; try sec=sys ({rejection})");
                DialError::new(UrlPart::Option("sec"), ErrorClass::Unsupported, detail)
            }
            _ => blame(rejected(rejection, REQUEST)),
        }
    }
}

/// Establishes further contexts for a session, each on a thread and a connection of its own.
fn renewal(address: SocketAddr, login: Login) -> Renew {
    Box::new(move |slot: Arc<Mutex<Option<EstablishedContext>>>| {
        let login = login.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            let renewed = async {
                let stream = connect(address, &login.options.route, UrlPart::Port).await?;
                login.perform(stream, 1).await
            };
            let renewed = runtime.block_on(async { tokio::time::timeout(RENEWAL_LIMIT, renewed).await });
            let (_, mut contexts) = renewed.ok()?.ok()?;
            let context = contexts.pop()?;
            deliver(&slot, context);
            Some(())
        });
    })
}

fn gss_error(error: &GssError) -> DialError {
    DialError::new(UrlPart::Credentials, error.class(), error.to_string())
}

fn blame(error: OpError) -> DialError {
    DialError::blame(UrlPart::Credentials)(error)
}

fn incomplete() -> OpError {
    protocol("the server does not complete the login".into())
}

fn protocol(detail: String) -> OpError {
    OpError::new(ErrorClass::Protocol, OpStep::Request(REQUEST), detail)
}
