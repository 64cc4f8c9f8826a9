//! The server's side of `RPCSEC_GSS`: contexts, and calls that they protect (RFC 2203 5.3.3).

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sharebench_gss::{Acceptor, AcceptorKeys, ContextStep, GssError, Protection};

use super::{
    GSS_FLAVOR, GssCredential, GssProcedure, InitResult, MAX_SEQUENCE, MAX_TOKEN_BYTES, SequenceWindow,
    Service, open_body, put_body,
};
use crate::rpc::{MAX_AUTH_BYTES, Rejection, put_success};
use crate::xdr::{Reader, Writer, XdrError};

/// Contexts that the server keeps; the oldest one makes place for a new one.
const MAX_CONTEXTS: usize = 8192;
/// Statuses of a rejected credential (RFC 2203 5.3.3.3).
const CREDENTIAL_PROBLEM: u32 = 13;
const CONTEXT_PROBLEM: u32 = 14;
/// `GSS_S_FAILURE` (RFC 2744 3.9.1).
const FAILURE: u32 = 13 << 16;
/// Bytes of the header of a call with two empty authentications.
const PLAIN_CALL: usize = 40;
/// Bytes of the header of a successful reply with an empty verifier.
const PLAIN_REPLY: usize = 24;

/// A context that a client has established.
struct ServerContext {
    protection: Protection,
    window: Mutex<SequenceWindow>,
    expires: Instant,
}

#[derive(Default)]
struct Contexts {
    last: u64,
    known: HashMap<u64, Arc<ServerContext>>,
    order: VecDeque<u64>,
}

/// The contexts of a server, and the keys for which it accepts tickets.
///
/// Contexts belong to no connection, so that a client may renew them over another one. Their number is limited.
pub struct GssServer {
    keys: AcceptorKeys,
    contexts: Mutex<Contexts>,
}

/// What to do with a call.
pub enum OpenedCall {
    /// Perform the call in this part of the record, which has an empty credential, and seal its reply.
    Perform(Range<usize>, ReplySeal),
    /// Send this reply, which is complete but for its fragment header.
    Answer(Writer),
    /// Send nothing: the call was replayed, or is too old.
    Drop,
}

/// What protects the reply to one call.
pub struct ReplySeal {
    context: Arc<ServerContext>,
    service: Service,
    sequence: u32,
}

/// A call with a credential of this flavor, as far as it is decoded.
struct SignedCall<'a> {
    xid: u32,
    credential: GssCredential<'a>,
    /// Length of the signed header, from the xid to the end of the credential.
    signed: usize,
    verifier: (u32, &'a [u8]),
    arguments: usize,
}

impl<'a> SignedCall<'a> {
    /// None for a call with another flavor.
    fn get(record: &'a [u8]) -> Result<Option<Self>, XdrError> {
        let mut reader = Reader::new(record);
        let xid = reader.u32()?;
        let kind = reader.u32()?;
        let version = reader.u32()?;
        let _ = reader.u32()?;
        let _ = reader.u32()?;
        let _ = reader.u32()?;
        let flavor = reader.u32()?;
        if (kind, version, flavor) != (0, 2, GSS_FLAVOR) {
            return Ok(None);
        }
        let credential = GssCredential::get(reader.opaque("credential", MAX_AUTH_BYTES)?)?;
        let signed = record.len() - reader.rest().len();
        let verifier = (reader.u32()?, reader.opaque("verifier", MAX_AUTH_BYTES)?);
        let arguments = record.len() - reader.rest().len();
        Ok(Some(Self { xid, credential, signed, verifier, arguments }))
    }
}

impl GssServer {
    /// A server without contexts.
    pub fn new(keys: AcceptorKeys) -> Self {
        Self { keys, contexts: Mutex::default() }
    }

    fn contexts(&self) -> MutexGuard<'_, Contexts> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Verifies and decrypts a call in place; none if it has another flavor.
    pub fn open(&self, record: &mut [u8]) -> Result<Option<OpenedCall>, XdrError> {
        let Some(call) = SignedCall::get(record)? else { return Ok(None) };
        let xid = call.xid;
        if matches!(call.credential.procedure, GssProcedure::Init | GssProcedure::ContinueInit) {
            let token = Reader::new(&record[call.arguments..]).opaque("token", MAX_TOKEN_BYTES)?;
            return Ok(Some(OpenedCall::Answer(self.establish(xid, token))));
        }
        let reject = |status| Ok(Some(answer(|writer| Rejection::Auth(status).put(writer, xid))));
        let number = call.credential.handle.first_chunk().copied().map(u64::from_be_bytes);
        let context = number.and_then(|number| self.contexts().known.get(&number).cloned());
        let Some(context) = context.filter(|context| context.expires > Instant::now()) else {
            return reject(CREDENTIAL_PROBLEM);
        };
        let (flavor, mic) = call.verifier;
        let header = record.get(..call.signed).unwrap_or_default();
        if flavor != GSS_FLAVOR || context.protection.verify_mic(&[header], mic).is_err() {
            return reject(CREDENTIAL_PROBLEM);
        }
        let sequence = call.credential.sequence;
        let Some(service) = Service::of_number(call.credential.service).filter(|_| sequence < MAX_SEQUENCE)
        else {
            return reject(CONTEXT_PROBLEM);
        };
        let in_window = context.window.lock().unwrap_or_else(PoisonError::into_inner).accept(sequence);
        if !in_window {
            return Ok(Some(OpenedCall::Drop));
        }
        let arguments = call.arguments;
        let procedure = call.credential.procedure;
        let seal = ReplySeal { context, service, sequence };
        if procedure == GssProcedure::Destroy {
            self.forget(number.unwrap_or_default());
            return Ok(Some(seal.answer(|writer| put_success(writer, xid))));
        }
        let body = record.get_mut(arguments..).unwrap_or_default();
        let Ok(place) = open_body(body, &seal.context.protection, service, sequence) else {
            return Ok(Some(seal.answer(|writer| Rejection::GarbageArguments.put(writer, xid))));
        };
        // The arguments follow credential and verifier, which are longer than two empty ones.
        let start = arguments + place.start - PLAIN_CALL;
        record.copy_within(..PLAIN_CALL - 16, start);
        if let Some(empty) = record.get_mut(start + PLAIN_CALL - 16..start + PLAIN_CALL) {
            empty.fill(0);
        }
        Ok(Some(OpenedCall::Perform(start..arguments + place.end, seal)))
    }

    /// Answers the token of a new context.
    fn establish(&self, xid: u32, token: &[u8]) -> Writer {
        let mut out = Writer::with_capacity(512);
        if let Ok((handle, answer, mic)) = self.accept(token) {
            out.words(&[xid, 1, 0, GSS_FLAVOR]);
            out.opaque(&mic);
            out.u32(0);
            let handle = &handle.to_be_bytes();
            let window = SequenceWindow::LEN;
            InitResult { handle, major: 0, minor: 0, window, token: &answer }.put(&mut out);
        } else {
            put_success(&mut out, xid);
            InitResult { handle: &[], major: FAILURE, minor: 0, window: 0, token: &[] }.put(&mut out);
        }
        out
    }

    /// Accepts a ticket: the number of its context, the token for the client, and the signature over the window.
    fn accept(&self, token: &[u8]) -> Result<(u64, Vec<u8>, Vec<u8>), GssError> {
        let mut acceptor = Acceptor::new(self.keys.clone());
        let ContextStep::Done(answer) = acceptor.step(token)? else {
            return Err(GssError::Order { step: "a second token of the client" });
        };
        let context = acceptor.into_context()?;
        let mic = context.mic(&SequenceWindow::LEN.to_be_bytes())?;
        let lifetime = Duration::from_secs(context.lifetime_s()?.into());
        Ok((self.keep(context.into_protection()?, lifetime), answer, mic))
    }

    fn keep(&self, protection: Protection, lifetime: Duration) -> u64 {
        let expires = Instant::now() + lifetime;
        let context = ServerContext { protection, window: Mutex::default(), expires };
        let mut contexts = self.contexts();
        if contexts.order.len() >= MAX_CONTEXTS
            && let Some(oldest) = contexts.order.pop_front()
        {
            contexts.known.remove(&oldest);
        }
        contexts.last += 1;
        let number = contexts.last;
        contexts.known.insert(number, Arc::new(context));
        contexts.order.push_back(number);
        number
    }

    fn forget(&self, number: u64) {
        let mut contexts = self.contexts();
        contexts.known.remove(&number);
        contexts.order.retain(|known| *known != number);
    }
}

impl ReplySeal {
    /// Appends a reply as the context protects it; `plain` is the reply of a server without security. False if the system
    /// has no randomness, and nothing can be sent.
    pub fn seal(&self, plain: &[u8], out: &mut Writer) -> bool {
        let Some((header, results)) = plain.split_first_chunk::<PLAIN_REPLY>() else {
            out.raw(plain);
            return true;
        };
        let [a, b, c, d, ..] = *header;
        // A denied reply has no verifier.
        if header.get(8..12) != Some(&[0; 4]) {
            out.raw(plain);
            return true;
        }
        let protection = &self.context.protection;
        let mut mic = Vec::with_capacity(protection.mic_len());
        protection.mic(&[&self.sequence.to_be_bytes()], &mut mic);
        out.words(&[u32::from_be_bytes([a, b, c, d]), 1, 0, GSS_FLAVOR]);
        out.opaque(&mic);
        let status = header.get(20..).unwrap_or_default();
        out.raw(status);
        if status == [0; 4] {
            return put_body(out, protection, self.service, self.sequence, |out| out.raw(results)).is_ok();
        }
        out.raw(results);
        true
    }

    fn answer(&self, encode: impl FnOnce(&mut Writer)) -> OpenedCall {
        let mut plain = Writer::default();
        let mut out = Writer::default();
        encode(&mut plain);
        if self.seal(plain.as_slice(), &mut out) { OpenedCall::Answer(out) } else { OpenedCall::Drop }
    }
}

fn answer(encode: impl FnOnce(&mut Writer)) -> OpenedCall {
    let mut out = Writer::default();
    encode(&mut out);
    OpenedCall::Answer(out)
}

impl std::fmt::Debug for GssServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GssServer({} contexts)", self.contexts().known.len())
    }
}
