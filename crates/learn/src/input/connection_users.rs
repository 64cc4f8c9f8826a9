//! Which connections belong to one user, where a protocol has no sessions of users.
//!
//! NFS names a user by a uid, and every connection of a machine may carry requests of every uid. Two programs with one uid, each on
//! a connection of its own, are two users; one mount with several connections (`nconnect`) is one, whose requests on a file go
//! over all of them. Requests on one file in quick succession show which of both it is.

use std::collections::HashMap;

use crate::operation::{Action, Observed};

/// Requests on one file follow each other if they are no further apart, ns.
const SUCCESSION: u64 = 10_000_000;
/// Fewer successions show nothing.
const MIN_SUCCESSIONS: u64 = 10;
/// The share of successions on one connection, in percent, from which on each connection is a user of its own. With two
/// connections of one mount it is about half.
const OWN_PERCENT: u64 = 80;

/// Connections by the credential that they share.
#[derive(Debug, Default)]
pub(super) struct ConnectionUsers {
    /// The credential of each user that is a connection.
    credentials: HashMap<u32, u32>,
}

/// Successions of one credential.
#[derive(Debug, Default, Clone, Copy)]
struct Successions {
    all: u64,
    on_one_connection: u64,
}

impl ConnectionUsers {
    /// A user is a connection with this credential.
    pub(super) fn add(&mut self, user: u32, credential: u32) {
        self.credentials.insert(user, credential);
    }

    /// Joins the connections of one user; operations are in the order of their time.
    pub(super) fn join(&self, observed: &mut Observed) {
        let mut joined: Vec<u32> = (0..observed.users.len() as u32).collect();
        let successions = self.successions(observed);
        let mut first: HashMap<u32, u32> = HashMap::new();
        for user in 0..observed.users.len() as u32 {
            let Some(credential) = self.credentials.get(&user) else { continue };
            let Successions { all, on_one_connection } =
                successions.get(credential).copied().unwrap_or_default();
            let are_users = all >= MIN_SUCCESSIONS && on_one_connection * 100 >= all * OWN_PERCENT;
            if !are_users && let Some(place) = joined.get_mut(user as usize) {
                *place = *first.entry(*credential).or_insert(user);
            }
        }
        self.join_later_ones(observed, &mut joined);
        renumber(observed, &joined);
    }

    fn successions(&self, observed: &Observed) -> HashMap<u32, Successions> {
        let mut found: HashMap<u32, Successions> = HashMap::new();
        // User, start and end of the last request on each file, by credential.
        let mut last: HashMap<(u32, u32), (u32, u64, u64)> = HashMap::new();
        for operation in &observed.operations {
            let Some(credential) = self.credentials.get(&operation.user) else { continue };
            let Some(file) = file_of(&operation.action) else { continue };
            let end = operation.ended();
            let before = last.insert((*credential, file), (operation.user, operation.start, end));
            // A COMPOUND of NFS 4 is several operations, but one request on one connection.
            if let Some((user, start, ended)) = before
                && (user, start) != (operation.user, operation.start)
                && operation.start.saturating_sub(ended) <= SUCCESSION
            {
                let successions = found.entry(*credential).or_default();
                successions.all += 1;
                successions.on_one_connection += u64::from(user == operation.user);
            }
        }
        found
    }

    /// A connection that begins after the last request of another one continues it: its client has connected again.
    fn join_later_ones(&self, observed: &Observed, joined: &mut [u32]) {
        let mut spans: HashMap<u32, (u64, u64)> = HashMap::new();
        for operation in &observed.operations {
            let Some(user) = joined.get(operation.user as usize) else { continue };
            let end = operation.ended();
            let span = spans.entry(*user).or_insert((operation.start, end));
            span.1 = span.1.max(end);
        }
        let mut order: Vec<(u32, (u64, u64))> =
            spans.into_iter().filter(|(user, _)| self.credentials.contains_key(user)).collect();
        order.sort_unstable_by_key(|(user, span)| (span.0, *user));
        // The last end of each user so far, by credential.
        let mut ended: HashMap<u32, Vec<(u64, u32)>> = HashMap::new();
        for (user, (start, end)) in order {
            let Some(credential) = self.credentials.get(&user) else { continue };
            let ended = ended.entry(*credential).or_default();
            match ended.iter_mut().find(|(until, _)| *until < start) {
                Some((until, earlier)) => {
                    *until = end;
                    joined.iter_mut().filter(|place| **place == user).for_each(|place| *place = *earlier);
                }
                None => ended.push((end, user)),
            }
        }
    }
}

/// Numbers users again without those that have joined another one.
fn renumber(observed: &mut Observed, joined: &[u32]) {
    let mut numbers: HashMap<u32, u32> = HashMap::new();
    let mut users = Vec::new();
    for (user, person) in (0..).zip(&observed.users) {
        if joined.get(user as usize) == Some(&user) {
            numbers.insert(user, users.len() as u32);
            users.push(person.clone());
        }
    }
    for operation in &mut observed.operations {
        let user = joined.get(operation.user as usize).and_then(|user| numbers.get(user));
        operation.user = user.copied().unwrap_or(operation.user);
    }
    observed.users = users;
}

/// The file of a request on an open file or on attributes.
const fn file_of(action: &Action) -> Option<u32> {
    match *action {
        Action::Open { file, .. } | Action::Stat { file } | Action::Lookup { file } => file,
        Action::Close { file }
        | Action::Read { file, .. }
        | Action::Write { file, .. }
        | Action::Flush { file }
        | Action::SetAttributes { file }
        | Action::SetSize { file, .. }
        | Action::Lock { file, .. } => Some(file),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{Operation, Outcome, Person, Protocol};

    /// Two connections with one credential. Each file is read 20 times in a row, by the connection that `carrier` chooses.
    fn observed(carrier: impl Fn(u32, u32) -> u32) -> Observed {
        let users = vec![Person { client: 0, protocol: Protocol::Nfs3 }; 2];
        let mut observed = Observed { users, ..Observed::default() };
        for file in 0..10 {
            for read in 0..20 {
                let start = u64::from(file * 20 + read) * 1_000_000;
                observed.operations.push(Operation {
                    user: carrier(file, read),
                    start,
                    end: Some(start + 1000),
                    action: Action::Read { file, offset: 0, asked: 1, bytes: 1 },
                    outcome: Outcome::Done,
                });
            }
        }
        observed
    }

    fn joined(mut observed: Observed) -> Observed {
        let mut users = ConnectionUsers::default();
        users.add(0, 7);
        users.add(1, 7);
        users.join(&mut observed);
        observed
    }

    #[test]
    fn programs_with_a_connection_each_are_users() {
        let observed = joined(observed(|file, _| file % 2));
        assert_eq!((observed.users.len(), observed.operations[20].user), (2, 1));
    }

    #[test]
    fn connections_of_a_mount_are_one_user() {
        let observed = joined(observed(|_, read| read % 2));
        assert_eq!(observed.users.len(), 1);
        assert!(observed.operations.iter().all(|operation| operation.user == 0));
    }

    #[test]
    fn operations_of_one_request_show_nothing() {
        // Ten operations in each request; requests alternate between the connections.
        let mut observed = observed(|_, read| read / 10);
        for operation in &mut observed.operations {
            operation.start -= operation.start % 10_000_000;
        }
        assert_eq!(joined(observed).users.len(), 1);
    }

    #[test]
    fn a_client_that_connects_again_is_the_same_user() {
        let observed = joined(observed(|file, _| u32::from(file >= 5)));
        assert_eq!(observed.users.len(), 1);
    }
}
