//! The connections of one session: which one carries a request, and what happens to the requests of a lost one.

use std::future::poll_fn;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use sharebench_client_core::submit_error::abandoned_request;
use sharebench_model::{ErrorClass, OpError, PolicyCount, TcpReading, WireCount};
use tokio::net::TcpStream;

use crate::client::channels::channel::Channel;
use crate::client::channels::pending_replies::Completion;
use crate::client::channels::requests::Request;
use crate::client::channels::session_counts::SessionCounts;
use crate::client::channels::slot_buffers::SlotBuffers;
use crate::client::connect::renewal::{Progress, Renewal};
use crate::client::exchange::Exchange;
use crate::client::negotiated::Negotiated;
use crate::client::options::SmbOptions;
use crate::wire::FileId;
use crate::wire::header::command;
use crate::wire::simple::Empty;

/// What became of the request for several channels.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChannelGrant {
    /// Addresses in use, with the number of their channels.
    pub(crate) addresses: Vec<(IpAddr, u32)>,
    /// Why there are fewer channels than requested.
    pub(crate) missing: Option<String>,
}

/// Every channel of a session, and the slots' buffers that they share.
///
/// A request goes to the channel with the fewest unanswered requests, the first of them if several have as few. Each
/// slot has at most one request on all channels together, so that any channel may send from any slot and receive into
/// it.
///
/// A channel whose connection is lost is removed, the session's channel sequence is incremented, and its unanswered
/// requests are repeated on the remaining channels with the flag of a replay (MS-SMB2 3.2.4.1.5, 3.2.7.1), so that the
/// loss costs no operation. The last channel is never removed: its error is the error of the session. A channel that
/// breaks the protocol or fails its signatures ends the session at once, because a benchmark must not continue with a
/// peer that forges replies.
#[derive(Debug)]
pub(crate) struct Channels {
    /// Never empty.
    pub(crate) live: Vec<Channel>,
    pub(crate) buffers: SlotBuffers,
    counts: Arc<SessionCounts>,
    /// Place of the channel that carries the metadata request, or carried the last one.
    metadata: usize,
    /// True if the last metadata request was sent more than once.
    repeated: bool,
    /// How the login of an expired session is renewed; none while the session is being opened.
    renewal: Option<Renewal>,
    /// Counts of the channels that were lost.
    lost_wire: WireCount,
    lost_policy: PolicyCount,
}

impl Channels {
    /// A session with one channel.
    pub(crate) fn new(mut first: Channel, buffers: SlotBuffers, counts: Arc<SessionCounts>) -> Self {
        first.counts = Arc::clone(&counts);
        Self {
            live: vec![first],
            buffers,
            counts,
            metadata: 0,
            repeated: false,
            renewal: None,
            lost_wire: WireCount::default(),
            lost_policy: PolicyCount::default(),
        }
    }

    /// Adds a channel that is bound to the session.
    pub(crate) fn add(&mut self, mut channel: Channel) {
        channel.counts = Arc::clone(&self.counts);
        self.live.push(channel);
    }

    /// Takes breaks of leases from now on.
    pub(crate) fn hold_leases(&mut self) {
        for channel in &mut self.live {
            channel.breaks.expect();
        }
    }

    /// Waits for the break of this lease from now on.
    pub(crate) fn expect_break_of(&mut self, key: [u8; 16]) {
        for channel in &mut self.live {
            channel.breaks.expect_of(key);
        }
    }

    /// Keeps breaks of oplocks from now on.
    pub(crate) fn oplock_requested(&mut self) {
        for channel in &mut self.live {
            channel.breaks.oplock_requested();
        }
    }

    /// Waits for the break of the oplock of this file from now on.
    pub(crate) fn oplock_granted(&mut self, file: FileId, level: u8) {
        for channel in &mut self.live {
            channel.breaks.oplock_granted(file, level);
        }
    }

    /// The session has no oplock any more.
    pub(crate) fn forget_oplock(&mut self) {
        for channel in &mut self.live {
            channel.breaks.forget_oplock();
        }
    }

    /// The session has no oplock of this file any more.
    pub(crate) fn forget_oplock_of(&mut self, file: FileId) {
        for channel in &mut self.live {
            channel.breaks.forget_oplock_of(file);
        }
    }

    /// True if the break was acknowledged.
    pub(crate) fn is_broken(&self) -> bool {
        self.live.iter().any(|channel| channel.breaks.is_broken())
    }

    /// The channel that the next metadata request uses.
    pub(crate) fn primary(&mut self) -> &mut Channel {
        let place = self.least_busy();
        &mut self.live[place]
    }

    /// Changes every channel.
    #[cfg(test)]
    pub(crate) fn for_each(&mut self, change: impl FnMut(&mut Channel)) {
        self.live.iter_mut().for_each(change);
    }

    /// The channel of a session that has only one.
    pub(crate) fn into_first(mut self) -> Channel {
        self.live.swap_remove(0)
    }

    /// Number of channels.
    pub(crate) fn count(&self) -> usize {
        self.live.len()
    }

    /// Credits of all channels.
    pub(crate) fn credits(&self) -> u32 {
        self.live.iter().map(|channel| channel.credits.available()).sum()
    }

    pub(crate) fn wire(&self) -> WireCount {
        let mut sum = self.lost_wire;
        for channel in &self.live {
            sum += channel.wire();
        }
        sum
    }

    pub(crate) fn policy_count(&self) -> PolicyCount {
        let mut sum = self.lost_policy;
        for channel in &self.live {
            sum += channel.policy_count();
        }
        sum
    }

    /// The kernel's figures of all connections as one.
    pub(crate) fn tcp(&self) -> Option<TcpReading> {
        self.live.iter().map(Channel::tcp).reduce(|sum, next| Some(sum?.and(next?)))?
    }

    /// The socket of the first connection.
    pub(crate) fn socket(&self) -> Option<&TcpStream> {
        self.live.first().map(Channel::socket)
    }

    /// Requests arrival times of the kernel for all connections; false if it has none.
    pub(crate) fn time_arrivals(&mut self) -> bool {
        self.live.iter_mut().all(Channel::time_arrivals)
    }

    /// When the last data of any connection arrived, nanoseconds since 1970.
    pub(crate) fn last_arrival_ns(&self) -> Option<u64> {
        self.live.iter().filter_map(|channel| channel.arrivals.last_ns()).max()
    }

    /// Returns the memory that only requests need, unless one is in flight.
    pub(crate) fn release_buffers(&mut self) {
        self.live.iter_mut().for_each(Channel::release_buffers);
        if self.live.iter().all(Channel::is_at_rest) {
            self.buffers.release_buffers();
        }
    }

    /// The error of a request on this session, if its last connection is lost.
    #[inline]
    pub(crate) fn failure(&self) -> Option<OpError> {
        self.live.iter().find_map(Channel::failure)
    }

    /// True if no request of this index waits or is in flight.
    #[inline]
    pub(crate) fn is_idle(&self, index: usize) -> bool {
        self.live.iter().all(|channel| channel.is_idle(index))
    }

    /// Queues a request at an idle index.
    #[inline]
    pub(crate) fn submit(&mut self, index: usize, request: Request) {
        let place = self.least_busy();
        self.live[place].submit(index, request);
    }

    #[inline]
    fn least_busy(&self) -> usize {
        if self.live.len() == 1 {
            return 0;
        }
        let places = self.live.iter().map(Channel::load).enumerate();
        places.min_by_key(|(_, load)| *load).map_or(0, |(place, _)| place)
    }

    /// Drives every channel. It is ready when `completions` has an entry.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, completions: &mut Vec<Completion>) -> Poll<()> {
        let mut intact = true;
        for channel in &mut self.live {
            channel.poll(cx, &mut self.buffers, completions);
            intact &= channel.cause().is_none() && !channel.renewal.needed;
        }
        if !intact {
            self.restore(cx, completions);
        }
        if completions.is_empty() { Poll::Pending } else { Poll::Ready(()) }
    }

    /// Receives breaks of leases while nothing is in flight, and acknowledges them.
    pub(crate) fn listen(&mut self, cx: &mut Context<'_>) {
        for channel in &mut self.live {
            channel.listen(cx, &mut self.buffers);
        }
        if self.live.iter().any(|channel| channel.renewal.needed || channel.cause().is_some()) {
            self.restore(cx, &mut Vec::new());
        }
    }

    /// Renews the login from now on whenever the server states that the session is expired.
    pub(crate) fn renew_logins(&mut self, options: &SmbOptions, negotiated: &Negotiated) {
        self.renewal = Some(Renewal::new(options, negotiated));
        for channel in &mut self.live {
            channel.renewal.possible = true;
        }
    }

    /// Handles lost channels and an expired session, as far as that is possible without waiting.
    #[cold]
    fn restore(&mut self, cx: &mut Context<'_>, completions: &mut Vec<Completion>) {
        loop {
            self.handle_losses(cx, completions);
            if self.failure().is_some() || !self.advance_renewal(cx, completions) {
                return;
            }
        }
    }

    /// Does the next step of the renewal of the login, if one is needed; false if it has to wait, or there is none.
    ///
    /// Nothing else is sent meanwhile: a server rejects the requests of an expired session. The login begins when every
    /// request has its reply, so that no rejection from before the renewal arrives after it and causes another one.
    fn advance_renewal(&mut self, cx: &mut Context<'_>, completions: &mut Vec<Completion>) -> bool {
        let Self { live, buffers, renewal, counts, .. } = self;
        let Some(renewal) = renewal.as_mut().filter(|_| live.iter().any(|channel| channel.renewal.needed))
        else {
            return false;
        };
        for channel in live.iter_mut() {
            channel.renewal.needed = true;
        }
        if !renewal.has_begun() && !live.iter().all(Channel::is_drained) {
            return false;
        }
        let Some(carrier) = live.first_mut() else { return false };
        match renewal.advance(cx, &mut carrier.renewal) {
            Progress::Waiting => return false,
            Progress::Send => {
                carrier.submit_login();
                carrier.poll(cx, buffers, completions);
            }
            Progress::Renewed => {
                counts.login_renewed();
                for channel in live {
                    channel.renewal.needed = false;
                    channel.poll(cx, buffers, completions);
                }
            }
            Progress::Failed(error) => self.end(&error, completions),
        }
        true
    }

    /// Ends the session, and fails all of its requests. Its channels are not lost one by one: one of them keeps the error.
    fn end(&mut self, error: &OpError, completions: &mut Vec<Completion>) {
        for channel in &mut self.live {
            channel.give_up(error.clone());
            channel.fail_all(error, completions);
        }
        for channel in self.live.drain(1..) {
            self.lost_wire += channel.wire();
            self.lost_policy += channel.policy_count();
        }
        self.metadata = 0;
    }

    /// Moves the requests of lost channels to the others, or fails all requests if the session is lost.
    #[cold]
    fn handle_losses(&mut self, cx: &mut Context<'_>, completions: &mut Vec<Completion>) {
        while let Some(place) = self.live.iter().position(|channel| channel.cause().is_some()) {
            let Some(cause) = self.live[place].cause().cloned() else { return };
            if self.live.len() == 1 || cause.class != ErrorClass::Disconnected {
                return self.end(&cause, completions);
            }
            self.remove(place);
            // The repeated requests leave now, and each connection registers its waker.
            for channel in &mut self.live {
                channel.poll(cx, &mut self.buffers, completions);
            }
        }
    }

    /// Removes a lost channel and repeats its unanswered requests on others (MS-SMB2 3.2.7.1).
    fn remove(&mut self, place: usize) {
        let mut lost = self.live.remove(place);
        self.lost_wire += lost.wire();
        self.lost_policy += lost.policy_count();
        self.counts.channel_lost();
        // A login that was on its way over the lost channel begins again on another one.
        if let (0, Some(renewal)) = (place, &mut self.renewal) {
            renewal.begin_again();
        }
        let sequence = lost.sequence.wrapping_add(1);
        for channel in &mut self.live {
            channel.sequence = sequence;
        }
        if self.metadata > place {
            self.metadata -= 1;
        }
        for queued in lost.take_unfinished() {
            let to = self.least_busy();
            if queued.index == lost.metadata_index() {
                self.metadata = to;
                self.repeated |= queued.replayed;
                self.live[to].exchange.continue_with(&mut lost.exchange);
            }
            if matches!(queued.request, Request::Metadata { .. })
                && let Some(call) = self.buffers.call(queued.index)
            {
                call.repeated |= queued.replayed;
            }
            if matches!(queued.request, Request::Watch { .. }) {
                self.live[to].watch.continue_with(&mut lost.watch);
            }
            self.live[to].resubmit(queued);
        }
    }

    /// True if the last metadata request was sent more than once, so that the server may have performed it twice.
    pub(crate) fn was_repeated(&self) -> bool {
        self.repeated
    }

    /// Ends the session. An error is ignored: the connection is closed next.
    pub(crate) async fn log_off(&mut self) {
        let _ = self.request(command::LOGOFF, |body| Empty::default().encode(body)).await;
    }
}

impl Exchange for Channels {
    fn last_reply(&self) -> &[u8] {
        self.live.get(self.metadata).map_or(&[], |channel| &channel.exchange.reply)
    }

    async fn perform_request(
        &mut self,
        command: u16,
        reply_bytes: u32,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), OpError> {
        // A caller dropped its future while the request was in flight: its reply would be taken for the reply to this
        // one.
        if !self.is_idle(self.live[0].metadata_index()) {
            let error = abandoned_request(command::name(command));
            self.live.iter_mut().for_each(|channel| channel.give_up(error.clone()));
            return Err(error);
        }
        self.metadata = self.least_busy();
        self.repeated = false;
        let index = self.live[self.metadata].begin(command, reply_bytes, body)?;
        let mut completions = Vec::with_capacity(1);
        poll_fn(|cx| self.poll(cx, &mut completions)).await;
        let completion = completions.into_iter().find(|completion| completion.index == index);
        completion.map_or(Ok(()), |completion| completion.result.map(drop))
    }
}
