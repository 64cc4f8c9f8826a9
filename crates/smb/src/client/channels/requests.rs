//! Requests in flight: one per slot, one each for changes, login, acknowledgment and metadata; found again by their message id.

use sharebench_client_core::{MIN_DIRECT_BYTES, RequestTable, TrackedRequest};
use sharebench_model::{CachePolicy, PolicyCount};

use crate::client::open_file::OpenFile;
use crate::wire::FileId;
use crate::wire::data::WRITE_THROUGH;
use crate::wire::header::command;

/// A request to the server, before it has a message id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// READ into the slot's buffer, with the message's flags.
    Read { file: OpenFile, offset: u64, len: u32, flags: u8 },
    /// WRITE from the slot's buffer, with the message's flags.
    Write { file: OpenFile, offset: u64, len: u32, flags: u32 },
    /// FLUSH.
    Flush { file: FileId },
    /// The acknowledgment of the break of a lease. No caller waits for it.
    Acknowledge { key: [u8; 16], state: u32 },
    /// The acknowledgment of the break of an oplock, likewise.
    AcknowledgeOplock { file: FileId, level: u8 },
    /// `SESSION_SETUP` that renews the login of an expired session. No caller waits for it; its body waits in the
    /// channel's [`RenewalExchange`].
    ///
    /// [`RenewalExchange`]: crate::client::channels::metadata_exchange::RenewalExchange
    LogIn,
    /// `CHANGE_NOTIFY`, which stays in flight until something changes. Its body waits in the channel's [`WatchExchange`].
    ///
    /// [`WatchExchange`]: crate::client::channels::watch_exchange::WatchExchange
    Watch { reply_bytes: u32 },
    /// Any other command. Its body waits in the channel's [`MetadataExchange`] or, if it is one of several in flight, in the
    /// [`SlotBuffers`](crate::client::channels::slot_buffers::SlotBuffers).
    ///
    /// [`MetadataExchange`]: crate::client::channels::metadata_exchange::MetadataExchange
    Metadata { command: u16, reply_bytes: u32 },
}

impl Request {
    pub(crate) const fn command(self) -> u16 {
        match self {
            Self::Read { .. } => command::READ,
            Self::Write { .. } => command::WRITE,
            Self::Flush { .. } => command::FLUSH,
            Self::Acknowledge { .. } | Self::AcknowledgeOplock { .. } => command::OPLOCK_BREAK,
            Self::LogIn => command::SESSION_SETUP,
            Self::Watch { .. } => command::CHANGE_NOTIFY,
            Self::Metadata { command, .. } => command,
        }
    }

    /// Bytes of payload that it moves, which determine its credit charge.
    pub(crate) const fn payload(self) -> u32 {
        match self {
            Self::Read { len, .. } | Self::Write { len, .. } => len,
            Self::Metadata { reply_bytes, .. } | Self::Watch { reply_bytes } => reply_bytes,
            Self::Flush { .. } | Self::Acknowledge { .. } | Self::AcknowledgeOplock { .. } | Self::LogIn => 0,
        }
    }

    /// True if it belongs to the session itself, so that no operation counts it.
    pub(crate) const fn is_internal(self) -> bool {
        matches!(self, Self::Acknowledge { .. } | Self::AcknowledgeOplock { .. } | Self::LogIn)
    }

    /// True if it ends in a [`Completion`](crate::client::channels::pending_replies::Completion): its caller waits for nothing else.
    pub(crate) const fn completes(self) -> bool {
        !self.is_internal() && !matches!(self, Self::Watch { .. })
    }

    /// True if it can be sent again after a server has rejected it because its session is expired. A log-off then has
    /// nothing left to end.
    pub(crate) const fn survives_expiry(self) -> bool {
        !matches!(self, Self::LogIn | Self::Metadata { command: command::LOGOFF, .. })
    }

    /// The policies that the request applies, by its own flags or by those of its open file.
    pub(crate) fn policy_count(self) -> PolicyCount {
        let unbuffered = |file: OpenFile| u64::from(file.policy.cache == CachePolicy::Unbuffered);
        match self {
            Self::Read { file, .. } => PolicyCount { unbuffered: unbuffered(file), ..PolicyCount::default() },
            Self::Write { file, flags, .. } => {
                let through = file.policy.writes_through() || flags & WRITE_THROUGH != 0;
                PolicyCount {
                    through: u64::from(through),
                    unbuffered: unbuffered(file),
                    ..PolicyCount::default()
                }
            }
            Self::Flush { .. }
            | Self::Acknowledge { .. }
            | Self::AcknowledgeOplock { .. }
            | Self::LogIn
            | Self::Watch { .. }
            | Self::Metadata { .. } => PolicyCount::default(),
        }
    }
}

/// A request that waits to be sent, for the first time or again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Queued {
    pub(crate) index: usize,
    pub(crate) request: Request,
    /// How often it was sent before, on this channel or on another one of its session.
    pub(crate) times_sent: u32,
    /// The server may have performed it already, because the connection was lost before its reply arrived. A request that the
    /// server has rejected is sent again without this mark.
    pub(crate) replayed: bool,
}

/// A request that was sent and has no final response yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InFlight {
    pub(crate) request: Request,
    /// How often it was sent.
    pub(crate) times_sent: u32,
    /// It was sent with the mark of [`Queued::replayed`].
    pub(crate) replayed: bool,
    /// Credits that were paid for it.
    pub(crate) charge: u16,
    /// The request was signed, so its response must be signed too.
    pub(crate) signed: bool,
}

impl TrackedRequest for InFlight {
    #[inline]
    fn is_direct_read(&self) -> bool {
        matches!(self.request, Request::Read { len, .. } if len >= MIN_DIRECT_BYTES)
    }
}

/// The requests of a connection, found by message id.
///
/// The client assigns message ids in ascending order, so a ring indexed by the low bits of the id finds almost every
/// request in one step. A request whose place in the ring was taken by a later one, because it is still unanswered after
/// a full ring of others, is found by a search of the table.
#[derive(Debug)]
pub(crate) struct Requests {
    table: RequestTable<u64, InFlight>,
    /// Index of the request that used this place last.
    ring: Vec<u32>,
}

impl Requests {
    /// Makes a table for `slots` data operations, one watch, one login, one acknowledgment and one metadata request.
    pub(crate) fn new(slots: usize) -> Self {
        // Requests that cost several credits take several ids, so the ring is larger than the table.
        let ring = (4 * (slots + 1)).next_power_of_two();
        Self { table: RequestTable::new(slots + 3), ring: vec![0; ring] }
    }

    pub(crate) fn metadata_index(&self) -> usize {
        self.table.metadata_index()
    }

    /// Index of the acknowledgment.
    pub(crate) fn acknowledgment_index(&self) -> usize {
        self.table.metadata_index() - 1
    }

    /// Index of the login that renews the session.
    pub(crate) fn login_index(&self) -> usize {
        self.table.metadata_index() - 2
    }

    /// Index of the request that waits for a change in a directory.
    pub(crate) fn watch_index(&self) -> usize {
        self.table.metadata_index() - 3
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.table.in_flight()
    }

    pub(crate) fn is_idle(&self, index: usize) -> bool {
        self.table.is_idle(index)
    }

    pub(crate) fn expects_direct_read(&self) -> bool {
        self.table.expects_direct_read()
    }

    /// Reserves `index` for a request that waits for credits.
    #[inline]
    pub(crate) fn reserve(&mut self, index: usize) {
        self.table.reserve(index);
    }

    /// Records that a request is sent.
    #[inline]
    pub(crate) fn start(&mut self, index: usize, message_id: u64, request: InFlight) {
        self.table.start(index, message_id, request);
        let mask = self.ring.len() - 1;
        self.ring[message_id as usize & mask] = index as u32;
    }

    /// The request in flight with this message id.
    #[inline]
    pub(crate) fn find(&self, message_id: u64) -> Option<(usize, InFlight)> {
        let likely = self.ring[message_id as usize & (self.ring.len() - 1)] as usize;
        match self.table.get(likely, message_id) {
            Some(request) => Some((likely, request)),
            // Only a request that was overtaken by a whole ring of others gets here, so a linear search is
            // acceptable.
            None => self.table.search(message_id),
        }
    }

    /// Makes `index` idle and returns its request if that was in flight.
    #[inline]
    pub(crate) fn finish(&mut self, index: usize) -> Option<InFlight> {
        self.table.finish(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_share_a_place_of_the_ring_are_all_found() {
        let read = |len: u32| {
            let file = OpenFile { id: FileId::default(), policy: sharebench_model::IoPolicy::default() };
            let request = Request::Read { file, offset: 0, len, flags: 0 };
            InFlight { request, times_sent: 1, replayed: false, charge: 1, signed: false }
        };
        let mut requests = Requests::new(3);
        // The ring has 16 places: these ids meet in place 5.
        for (index, id) in [(0, 5), (1, 5 + 16), (2, 5 + 32)] {
            requests.start(index, id, read(index as u32));
        }
        for (index, id) in [(0, 5), (1, 5 + 16), (2, 5 + 32)] {
            assert_eq!(requests.find(id), Some((index, read(index as u32))));
            assert!(requests.finish(index).is_some() && requests.finish(index).is_none());
            assert_eq!(requests.find(id), None);
        }
        assert_eq!(requests.in_flight(), 0);
    }

    #[test]
    fn only_reads_of_at_least_the_direct_size_are_direct() {
        let file = OpenFile { id: FileId::default(), policy: sharebench_model::IoPolicy::default() };
        let direct = |request| {
            InFlight { request, times_sent: 1, replayed: false, charge: 1, signed: false }.is_direct_read()
        };
        let read = |len| Request::Read { file, offset: 0, len, flags: 0 };
        assert!(direct(read(MIN_DIRECT_BYTES)));
        assert!(!direct(read(MIN_DIRECT_BYTES - 1)));
        assert!(!direct(Request::Write { file, offset: 0, len: MIN_DIRECT_BYTES, flags: 0 }));
    }
}
