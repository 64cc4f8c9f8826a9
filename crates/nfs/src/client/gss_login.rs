//! Establishing a security context over a connection (RFC 2203 5.2).

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sharebench_gss::{GssError, Initiator, Service as Principal, Step};
use sharebench_model::{ErrorClass, OpError, OpStep};
use sharebench_stream_client::{DialError, on_own_thread};
use sharebench_target::UrlPart;
use tokio::net::TcpStream;

use crate::client::dial::{Service, connect};
use crate::client::options::NfsOptions;
use crate::client::replies::{rejected, undecodable};
use crate::client::security::{EstablishedContext, Renew, contexts_for, deliver};
use crate::protocol::{NFS_PROGRAM, NFS_VERSION};
use crate::rpc::{CallTemplate, ReplyVerifier, VerifiedReply};
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

/// What the server answered to a token.
struct Answer {
    handle: Vec<u8>,
    complete: bool,
    window: u32,
    token: Vec<u8>,
    /// Signature over the window.
    verifier: Vec<u8>,
}

/// Establishes contexts for `calls` calls at the same time on a new connection, which is returned for the calls.
pub(crate) async fn log_in(
    stream: TcpStream,
    options: &NfsOptions,
    service: Protected,
    calls: usize,
) -> Result<(TcpStream, Vec<EstablishedContext>), DialError> {
    let mut connection = Service::on(stream, CallTemplate::new(NFS_PROGRAM, NFS_VERSION, None));
    let first = establish(&mut connection, options, service).await?;
    let count = contexts_for(calls, first.window);
    let mut contexts = vec![first];
    while contexts.len() < count {
        contexts.push(establish(&mut connection, options, service).await?);
    }
    Ok((connection.into_stream().0, contexts))
}

async fn establish(
    connection: &mut Service,
    options: &NfsOptions,
    service: Protected,
) -> Result<EstablishedContext, DialError> {
    let principal = match &options.spn {
        Some(name) => Principal::principal(name),
        None => Principal::on_host(SERVICE, &options.host),
    };
    let unfinished = GssError::Order { step: "the request for a ticket" };
    let tickets = options.tickets.next().ok_or_else(|| gss_error(&unfinished))?;
    let begun = on_own_thread(move || {
        let mut initiator = Initiator::new(tickets.get()?, &principal);
        initiator.step(&[]).map(|step| (initiator, step))
    });
    let (mut initiator, mut step) =
        begun.await.unwrap_or(Err(unfinished)).map_err(|error| gss_error(&error))?;
    let mut answer = None;
    for _ in 0..MAX_TOKENS {
        let (Step::Continue(token) | Step::Done(token)) = &step;
        if !token.is_empty() {
            answer = Some(send_token(connection, service, answer.as_ref(), token).await.map_err(blame)?);
        }
        if matches!(step, Step::Done(_)) {
            break;
        }
        let received = answer.as_ref().map_or(&[][..], |answer| &answer.token);
        step = initiator.step(received).map_err(|error| gss_error(&error))?;
    }
    let answer = answer.filter(|answer| answer.complete).ok_or_else(|| blame(incomplete()))?;
    let context = initiator.into_context().map_err(|error| gss_error(&error))?;
    // The signature proves that the window comes from the server (RFC 2203 5.2.3.1).
    context.verify_mic(&answer.window.to_be_bytes(), &answer.verifier).map_err(|error| gss_error(&error))?;
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
    connection: &mut Service,
    service: Protected,
    before: Option<&Answer>,
    token: &[u8],
) -> Result<Answer, OpError> {
    let procedure = if before.is_some() { GssProcedure::ContinueInit } else { GssProcedure::Init };
    let handle = before.map_or(&[][..], |answer| &answer.handle);
    let credential = GssCredential { procedure, sequence: 0, service: service.number(), handle };
    let (xid, record) = connection
        .exchange(REQUEST, |writer: &mut Writer, xid| {
            writer.words(&[xid, 0, 2, NFS_PROGRAM, NFS_VERSION, 0]);
            credential.put(writer);
            writer.u64(0);
            writer.opaque(token);
        })
        .await?;
    let mut reader = Reader::new(&record);
    let broken = |error| undecodable(error, REQUEST);
    let reply = VerifiedReply::get(&mut reader).map_err(broken)?;
    if reply.xid != xid {
        return Err(protocol(format!("a reply to xid {:#010x}, which was not sent", reply.xid)));
    }
    reply.outcome.map_err(|rejection| rejected(rejection, REQUEST))?;
    let result = InitResult::get(&mut reader).map_err(broken)?;
    if result.major != COMPLETE && result.major != CONTINUE_NEEDED {
        let major = result.major;
        let minor = result.minor;
        let detail = format!(
            "the server rejects the Kerberos ticket: it has no current key for its name, or its clock differs (GSS status \
             {major:#x}, {minor})"
        );
        return Err(OpError::new(ErrorClass::Refused, OpStep::Request(REQUEST), detail));
    }
    let signature = reply.verifier.filter(|verifier| verifier.flavor == GSS_FLAVOR);
    Ok(Answer {
        handle: result.handle.to_vec(),
        complete: result.major == COMPLETE,
        window: result.window,
        token: result.token.to_vec(),
        verifier: signature.map_or_else(Vec::new, |ReplyVerifier { body, .. }| body.to_vec()),
    })
}

/// Establishes further contexts for a session, each on a thread and a connection of its own.
pub(crate) fn renewal(address: SocketAddr, options: &NfsOptions, service: Protected) -> Renew {
    let options = options.clone();
    Box::new(move |slot: Arc<Mutex<Option<EstablishedContext>>>| {
        let options = options.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            let login = async {
                let stream = connect(address, &options.route, UrlPart::Port).await?;
                log_in(stream, &options, service, 1).await
            };
            let login = runtime.block_on(async { tokio::time::timeout(RENEWAL_LIMIT, login).await });
            let (_, mut contexts) = login.ok()?.ok()?;
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
