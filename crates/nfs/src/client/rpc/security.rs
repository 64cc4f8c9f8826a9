//! The security context of a session: signs or encrypts its calls, and opens the replies.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sharebench_gss::ProtectionError;

use crate::client::rpc::protected_call::{CallHead, EstablishedContext, ProtectedCall};
use crate::rpc::is_call;
use crate::rpcsec::{GssProcedure, MAX_SEQUENCE, SecurityError, Service};
use crate::xdr::Writer;

/// Starts to establish another context, which arrives in the slot; an error leaves it empty.
pub(crate) type Renew = Box<dyn Fn(Arc<Mutex<Option<EstablishedContext>>>)>;

/// The security of the calls of a session, on all its connections (RFC 2203 5.3).
///
/// Each call has the next sequence number of its context, and its reply is verified with the same number. A server drops a
/// call that later ones overtake by more than its window, without a reply. So no call gets a number that is further ahead of
/// an unanswered one ([`Self::has_number`]). For calls to wait seldom, a session with many calls in flight has several contexts
/// ([`contexts_for`]), and a call takes the one whose oldest unanswered call is the fewest numbers back.
/// When three quarters of a context's lifetime have passed, another one is established over a
/// connection of its own while calls continue, and calls from then on use it; replies to earlier calls are opened with the
/// context of their call. Contexts do not depend on a connection.
pub(crate) struct ClientSecurity {
    service: Service,
    contexts: Vec<ContextSlot>,
    /// The call in flight, by index.
    sent: Vec<Option<SentCall>>,
    renew: Renew,
    mic: Vec<u8>,
}

/// A call in flight.
#[derive(Clone)]
struct SentCall {
    call: ProtectedCall,
    /// Place of the context among those of the session.
    at: usize,
}

/// A context in use, and the one that will replace it.
struct ContextSlot {
    current: Arc<EstablishedContext>,
    next: u32,
    /// For each number from that of the oldest unanswered call on, whether its call is answered.
    answered: VecDeque<bool>,
    renew_at: Instant,
    /// The next context, while it is being established.
    renewed: Option<Arc<Mutex<Option<EstablishedContext>>>>,
}

/// Contexts for this many calls at the same time, at a server with this window: four times as many numbers as calls, so
/// that a call may be overtaken several times by all others.
pub(crate) fn contexts_for(calls: usize, window: u32) -> usize {
    (4 * calls).div_ceil((window as usize).max(1))
}

impl ContextSlot {
    fn take_number(&mut self) -> u32 {
        let number = self.next;
        self.next += 1;
        self.answered.push_back(false);
        number
    }

    fn note_answer(&mut self, number: u32) {
        let oldest = self.next - self.answered.len() as u32;
        if let Some(answered) = self.answered.get_mut(number.wrapping_sub(oldest) as usize) {
            *answered = true;
        }
        while self.answered.front() == Some(&true) {
            self.answered.pop_front();
        }
    }

    /// True if the server accepts the next number whatever arrives before it.
    fn has_number(&self) -> bool {
        self.answered.len() < self.current.window.max(1) as usize
    }

    fn new(context: EstablishedContext) -> Self {
        Self {
            renew_at: renewal_time(&context),
            current: Arc::new(context),
            next: 1,
            answered: VecDeque::new(),
            renewed: None,
        }
    }

    /// Starts to establish the next context when it is time, and changes to it when it is there.
    fn renew_in_time(&mut self, renew: &Renew) {
        if let Some(renewed) = &self.renewed {
            // Nobody holds the lock for longer than it takes to store the context.
            let arrived = renewed.try_lock().ok().and_then(|mut slot| slot.take());
            if let Some(context) = arrived {
                *self = Self::new(context);
            } else if Arc::strong_count(renewed) == 1 {
                // It failed: try again later, because calls still work until the context expires.
                self.renewed = None;
                self.renew_at = Instant::now() + RETRY;
            }
        } else if Instant::now() >= self.renew_at || self.next >= MAX_SEQUENCE / 2 {
            let slot = Arc::new(Mutex::new(None));
            renew(Arc::clone(&slot));
            self.renewed = Some(slot);
        }
    }
}

impl ClientSecurity {
    /// Protects the calls at `indexes` indexes.
    pub(crate) fn new(
        service: Service,
        contexts: Vec<EstablishedContext>,
        indexes: usize,
        renew: Renew,
    ) -> Self {
        let contexts = contexts.into_iter().map(ContextSlot::new).collect();
        Self { service, contexts, sent: vec![None; indexes], renew, mic: Vec::new() }
    }

    /// Number of contexts.
    pub(crate) fn contexts(&self) -> usize {
        self.contexts.len()
    }

    /// True if the next call is within the window of a context.
    pub(crate) fn has_number(&self) -> bool {
        self.contexts.iter().any(ContextSlot::has_number)
    }

    /// Encodes a call with its protected arguments. A call in flight that is encoded again, because its connection is lost,
    /// has another number (RFC 2203 5.3.3.1).
    pub(crate) fn put_call(
        &mut self,
        writer: &mut Writer,
        index: usize,
        head: CallHead,
        arguments: impl FnOnce(&mut Writer),
    ) -> Result<(), ProtectionError> {
        self.forget_call(index);
        let nearest = self.contexts.iter().enumerate().min_by_key(|(_, slot)| slot.answered.len());
        let at = nearest.map_or(0, |(at, _)| at);
        self.put(writer, index, at, head, GssProcedure::Data, arguments)
    }

    /// Encodes the call that ends a context (RFC 2203 5.4).
    pub(crate) fn put_destroy(
        &mut self,
        writer: &mut Writer,
        index: usize,
        head: CallHead,
        context: usize,
    ) -> Result<(), ProtectionError> {
        self.put(writer, index, context, head, GssProcedure::Destroy, |_| ())
    }

    fn put(
        &mut self,
        writer: &mut Writer,
        index: usize,
        at: usize,
        head: CallHead,
        procedure: GssProcedure,
        arguments: impl FnOnce(&mut Writer),
    ) -> Result<(), ProtectionError> {
        let service = self.service;
        let Some(slot) = self.contexts.get_mut(at) else { return Ok(()) };
        slot.renew_in_time(&self.renew);
        let sequence = slot.take_number();
        let call = ProtectedCall { context: Arc::clone(&slot.current), service, sequence };
        let put = call.put(writer, head, procedure, &mut self.mic, arguments);
        if let Some(sent) = self.sent.get_mut(index) {
            *sent = Some(SentCall { call, at });
        }
        put
    }

    /// The protection of one call on a connection that does not belong to the session yet. Nothing may overtake it by more
    /// than the window.
    pub(crate) fn reserve(&mut self) -> Option<ProtectedCall> {
        let service = self.service;
        let slot = self.contexts.first_mut()?;
        slot.renew_in_time(&self.renew);
        let sequence = slot.take_number();
        slot.note_answer(sequence);
        Some(ProtectedCall { context: Arc::clone(&slot.current), service, sequence })
    }

    /// Verifies and decrypts a reply in place. Afterwards the returned part of the record is the reply as a server without
    /// security would send it. Calls of the server have no protection of ours.
    pub(crate) fn open_reply(
        &mut self,
        record: &mut [u8],
        find: impl FnOnce(u32) -> Option<usize>,
    ) -> Result<Range<usize>, SecurityError> {
        let xid = record.first_chunk().copied().map(u32::from_be_bytes);
        // A reply to no call is an error of the connection, which the receiver reports.
        let Some(index) = xid.filter(|_| !is_call(record)).and_then(find) else { return Ok(0..record.len()) };
        self.forget_call(index).ok_or(SecurityError::NotSent)?.open(record)
    }

    /// Ends the call at an index, whose reply was opened or cannot arrive any more.
    pub(crate) fn forget_call(&mut self, index: usize) -> Option<ProtectedCall> {
        let SentCall { call, at } = self.sent.get_mut(index).and_then(Option::take)?;
        let current = |slot: &&mut ContextSlot| Arc::ptr_eq(&slot.current, &call.context);
        if let Some(slot) = self.contexts.get_mut(at).filter(current) {
            slot.note_answer(call.sequence);
        }
        Some(call)
    }
}

/// How long after a failed renewal the next one starts.
const RETRY: Duration = Duration::from_secs(10);

fn renewal_time(context: &EstablishedContext) -> Instant {
    Instant::now() + context.lifetime * 3 / 4
}

/// Stores a context for the session that waits for it.
pub(crate) fn deliver(slot: &Mutex<Option<EstablishedContext>>, context: EstablishedContext) {
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(context);
}

impl std::fmt::Debug for ClientSecurity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ClientSecurity({}, {} contexts)", self.service.name(), self.contexts.len())
    }
}

#[cfg(test)]
mod tests {
    use sharebench_gss::{Encryption, Protection, Role, TokenKeys};

    use super::*;
    use crate::rpc::get_reply;
    use crate::rpcsec::{GSS_FLAVOR, put_body};
    use crate::xdr::Reader;

    fn side(role: Role) -> Protection {
        Protection::new(TokenKeys::new(Encryption::Aes256Sha1, &[8; 32], role, true, 0).unwrap())
    }

    fn context(lifetime: u64) -> EstablishedContext {
        let lifetime = Duration::from_secs(lifetime);
        EstablishedContext { protection: side(Role::Initiator), handle: b"h".to_vec(), window: 128, lifetime }
    }

    const HEAD: CallHead = CallHead { xid: 5, program: 100_003, version: 3, procedure: 6 };

    fn call(security: &mut ClientSecurity) -> Writer {
        let mut writer = Writer::default();
        security.put_call(&mut writer, 0, HEAD, |writer| writer.u32(77)).unwrap();
        writer
    }

    /// A reply of a server with the same keys.
    fn reply(server: &Protection, service: Service, signed: u32, sequence: u32) -> Vec<u8> {
        let mut mic = Vec::new();
        server.mic(&[&signed.to_be_bytes()], &mut mic);
        let mut writer = Writer::default();
        writer.words(&[HEAD.xid, 1, 0, GSS_FLAVOR]);
        writer.opaque(&mic);
        writer.u32(0);
        put_body(&mut writer, server, service, sequence, |writer| writer.u32(99)).unwrap();
        writer.as_slice().to_vec()
    }

    #[test]
    fn a_reply_is_opened_with_the_number_of_its_call_only() {
        let server = side(Role::Acceptor);
        for service in Service::ALL {
            let mut security = ClientSecurity::new(service, vec![context(1000)], 1, Box::new(|_| ()));
            call(&mut security);
            let mut record = reply(&server, service, 1, 1);
            let place = security.open_reply(&mut record, |_| Some(0)).unwrap();
            let mut reader = Reader::new(&record[place]);
            assert_eq!(get_reply(&mut reader), Ok((HEAD.xid, Ok(()))));
            assert_eq!((reader.u32(), reader.rest().len()), (Ok(99), 0));
            call(&mut security);
            assert!(
                security.open_reply(&mut reply(&server, service, 1, 1), |_| Some(0)).is_err(),
                "replayed"
            );
        }
    }

    #[test]
    fn an_unsigned_reply_is_rejected_and_a_denied_call_is_passed_on() {
        let mut security = ClientSecurity::new(Service::None, vec![context(1000)], 1, Box::new(|_| ()));
        call(&mut security);
        let mut denied = [HEAD.xid, 1, 1, 1, 13].map(u32::to_be_bytes).concat();
        assert_eq!(security.open_reply(&mut denied, |_| Some(0)), Ok(0..20));
        assert_eq!(security.open_reply(&mut denied, |_| Some(0)), Err(SecurityError::NotSent));
        call(&mut security);
        let mut unsigned = [HEAD.xid, 1, 0, 0, 0, 0].map(u32::to_be_bytes).concat();
        let error = security.open_reply(&mut unsigned, |_| Some(0));
        assert_eq!(error, Err(SecurityError::Verifier { flavor: 0 }));
    }

    #[test]
    fn a_call_that_is_sent_again_has_a_new_number_and_does_not_hold_up_the_window() {
        let mut security = ClientSecurity::new(Service::Integrity, vec![context(1000)], 1, Box::new(|_| ()));
        call(&mut security);
        call(&mut security);
        assert_eq!((security.contexts[0].next, security.contexts[0].answered.len()), (3, 1));
        let server = side(Role::Acceptor);
        assert!(security.open_reply(&mut reply(&server, Service::Integrity, 2, 2), |_| Some(0)).is_ok());
        let mut of_server = [HEAD.xid, 0, 2, 1, 1, 0].map(u32::to_be_bytes).concat();
        assert_eq!(security.open_reply(&mut of_server, |_| Some(0)), Ok(0..24), "a call of the server");
    }

    #[test]
    fn a_call_takes_the_context_with_the_fewest_numbers_since_its_oldest_unanswered_call() {
        let contexts = vec![context(1000), context(1000)];
        let mut security = ClientSecurity::new(Service::None, contexts, 3, Box::new(|_| ()));
        let server = side(Role::Acceptor);
        let send = |security: &mut ClientSecurity, index| {
            let mut writer = Writer::default();
            security.put_call(&mut writer, index, HEAD, |_| ()).unwrap();
        };
        send(&mut security, 0);
        // The first call stays unanswered: all others use the second context.
        for sequence in 1..=40 {
            send(&mut security, 1);
            let mut record = reply(&server, Service::None, sequence, sequence);
            security.open_reply(&mut record, |_| Some(1)).unwrap();
        }
        let taken: Vec<u32> = security.contexts.iter().map(|slot| slot.next).collect();
        assert_eq!(taken, [2, 41]);
        assert_eq!((contexts_for(1, 32), contexts_for(33, 32), contexts_for(1025, 128)), (1, 5, 33));
    }

    #[test]
    fn a_context_is_renewed_before_it_expires_and_old_replies_are_still_opened() {
        let renew: Renew = Box::new(|slot| deliver(&slot, context(1000)));
        let mut security = ClientSecurity::new(Service::Privacy, vec![context(0)], 2, renew);
        call(&mut security);
        let first = security.contexts[0].next;
        let mut writer = Writer::default();
        security.put_call(&mut writer, 1, HEAD, |_| ()).unwrap();
        assert_eq!(
            (first, security.contexts[0].next),
            (2, 2),
            "the second call is the first of the next context"
        );
        let server = side(Role::Acceptor);
        for index in 0..2 {
            let mut record = reply(&server, Service::Privacy, 1, 1);
            assert!(security.open_reply(&mut record, |_| Some(index)).is_ok());
        }
    }
}
