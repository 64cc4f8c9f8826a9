//! The state of NFSv4: clients, sessions, opens, locks and delegations.
//!
//! One lock protects the tables. It is held for look-ups only and never while the volume is called. What every call
//! needs (the session, its slot, the lease) is outside it.

pub(super) mod clients;
pub(super) mod clients_v40;
pub(super) mod delegations;
pub(super) mod entry;
pub(super) mod expiry;
mod grace;
pub(super) mod locks;
pub(super) mod opens;
pub(super) mod owned;
pub(super) mod owner_sequence;
pub(super) mod ranges;
pub(super) mod session;
pub(super) mod sessions;
pub(super) mod shares;
pub(super) mod slot;
pub(super) mod stable;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use sharebench_nfs::v4::data::StateId;
use sharebench_nfs::v4::session::SessionId;
use sharebench_nfs::v4::status::Nfs4Status;

use crate::NodeId;
use crate::front_ends::state_budget::StateBudget;
use crate::nfs::v4::callback::Callback;
use crate::nfs::v4::clock::{LeaseClock, milliseconds};
use crate::nfs::v4::state::clients::Client;
use crate::nfs::v4::state::entry::{FileState, StateEntry};
use crate::nfs::v4::state::grace::Grace;
use crate::nfs::v4::state::owned::OwnedStates;
use crate::nfs::v4::state::session::Session;
use crate::nfs::v4::state::stable::StableStore;

/// Result of an operation on the state.
pub(super) type StateResult<T> = Result<T, Nfs4Status>;

/// Identity of a client: true for minor version 0, whose clients are others, and its owner string.
pub(super) type ClientOwner = (bool, Box<[u8]>);

/// An owner of opens or locks of a client: true for one of locks, and its name.
type OwnerKey = (bool, Arc<[u8]>);

/// All state of NFSv4 of one server. What clients cause is charged to a budget before it is allocated.
pub(super) struct StateTable {
    pub(super) clock: LeaseClock,
    pub(super) lease_ms: u64,
    /// Number of this start of the server, a part of every client id and state id.
    boot: u32,
    random: RandomState,
    budget: StateBudget,
    tables: Mutex<Tables>,
}

/// What the lock protects.
pub(super) struct Tables {
    /// Last number of a client, session or state.
    last: u64,
    pub(super) clients: HashMap<u64, Client>,
    /// Numbers of the confirmed and the unconfirmed record of an owner.
    owners: HashMap<ClientOwner, OwnerRecords>,
    /// The clients that have not confirmed their record, the oldest first.
    unconfirmed: BTreeSet<u64>,
    pub(super) sessions: HashMap<SessionId, Arc<Session>>,
    pub(super) states: HashMap<u64, StateEntry>,
    owned: OwnedStates,
    pub(super) files: HashMap<NodeId, FileState>,
    /// Numbers of the delegations that were recalled.
    recalled: Vec<u64>,
    /// Recalls to repeat, at most one per session at a time.
    retries: Vec<(Weak<Session>, Callback)>,
    /// Opens of minor version 0 that were closed last, with client and owner, for a repeated CLOSE.
    closed: VecDeque<(u64, u64, Arc<[u8]>)>,
    /// Files of which a client that was removed had locks, so that others may get theirs.
    unlocked: Vec<NodeId>,
    /// The end of the grace period was recorded.
    grace_ended: bool,
    grace: Grace,
    stable: Option<StableStore>,
}

/// The records of one owner: a client that restarts has two until it confirms the second.
#[derive(Debug, Default, Clone, Copy)]
struct OwnerRecords {
    confirmed: Option<u64>,
    unconfirmed: Option<u64>,
}

impl StateTable {
    /// An empty table with this lease. `stable` is the file of the server and the clients of its earlier start.
    pub(super) fn new(
        clock: LeaseClock,
        lease: Duration,
        stable: Option<(StableStore, BTreeSet<Box<[u8]>>)>,
        budget: StateBudget,
    ) -> Self {
        let random = RandomState::new();
        let lease_ms = milliseconds(lease).max(1);
        // Without a file, a random number makes it unlikely that a state of an earlier start is taken for one of this.
        let boot =
            stable.as_ref().map_or_else(|| random.hash_one("boot") as u32 | 1, |(store, _)| store.boot());
        let until_ms = clock.now_ms().saturating_add(lease_ms);
        let (stable, expected) =
            stable.map_or_else(Default::default, |(store, expected)| (Some(store), expected));
        let tables = Tables {
            last: 0,
            clients: HashMap::new(),
            owners: HashMap::new(),
            unconfirmed: BTreeSet::new(),
            sessions: HashMap::new(),
            states: HashMap::new(),
            owned: OwnedStates::default(),
            files: HashMap::new(),
            recalled: Vec::new(),
            retries: Vec::new(),
            closed: VecDeque::new(),
            unlocked: Vec::new(),
            grace_ended: false,
            grace: Grace::new(expected, until_ms),
            stable,
        };
        Self { clock, lease_ms, boot, random, budget, tables: Mutex::new(tables) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds since the start of the server.
    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// The lease in seconds, as clients see it.
    pub(super) fn lease_seconds(&self) -> u32 {
        u32::try_from(self.lease_ms.div_ceil(1000)).unwrap_or(u32::MAX)
    }

    /// Bytes that a peer cannot guess.
    fn random_bytes(&self, number: u64) -> [u8; 8] {
        self.random.hash_one(number).to_be_bytes()
    }

    /// The state id of a number.
    pub(super) fn state_id(&self, number: u64, sequence: u32) -> StateId {
        let mut other = [0; 12];
        other[..4].copy_from_slice(&self.boot.to_be_bytes());
        other[4..].copy_from_slice(&number.to_be_bytes());
        StateId { sequence, other }
    }

    /// The number in a state id: an error if it is of another start of the server.
    #[inline]
    pub(super) fn number(&self, state: &StateId, minor_version: u32) -> StateResult<u64> {
        // Where a state of a client is needed, the special ones are none (RFC 7530, 9.1.4.3).
        if *state == StateId::ANONYMOUS || *state == StateId::READ_BYPASS {
            return Err(Nfs4Status::BadStateid);
        }
        let (boot, number) = state.other.split_first_chunk::<4>().ok_or(Nfs4Status::BadStateid)?;
        if u32::from_be_bytes(*boot) != self.boot {
            return Err(if minor_version == 0 { Nfs4Status::StaleStateid } else { Nfs4Status::BadStateid });
        }
        Ok(<[u8; 8]>::try_from(number).map_or(0, u64::from_be_bytes))
    }
}

impl Tables {
    /// A number that was never given before.
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// A client whose record is confirmed.
    pub(super) fn client(&mut self, id: u64) -> StateResult<&mut Client> {
        self.clients.get_mut(&id).filter(|client| client.confirmed).ok_or(Nfs4Status::StaleClientid)
    }
}
