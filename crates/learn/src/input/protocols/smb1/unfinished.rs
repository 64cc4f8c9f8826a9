//! Replies of SMB 1 in several messages: those of transactions (MS-CIFS 3.2.5.1.4) and of ECHO.

use std::collections::HashMap;
use std::net::SocketAddr;

use sharebench_smb::nt1::command::{ECHO, NT_TRANSACT};

use super::header::{Blocks, Header, RequestId};
use super::reply::Actions;
use super::transactions::Part;
use crate::input::protocols::Message;
use crate::input::recorder::Recorder;
use crate::operation::{Operation, Outcome};

/// Most replies of a connection of which parts are missing.
const MAX_UNFINISHED: usize = 1 << 10;

/// What a request did, according to the first part of its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Performed {
    pub(super) user: u32,
    pub(super) start: u64,
    /// When the last part arrived.
    pub(super) end: u64,
    pub(super) actions: Actions,
    pub(super) outcome: Outcome,
}

impl Performed {
    fn add(&self, server: SocketAddr, recorder: &mut Recorder) {
        let Self { user, start, end, actions, outcome } = *self;
        for action in actions.into_iter().flatten() {
            recorder.add(server, Operation { user, start, end: Some(end), action, outcome });
        }
    }
}

/// Requests whose reply has begun, with the number of bytes, or of replies to an ECHO, that are missing.
#[derive(Debug, Default)]
pub(super) struct UnfinishedReplies(HashMap<RequestId, (Performed, u64)>);

impl UnfinishedReplies {
    /// Adds the operations of a request, now or when the last part of its reply has arrived.
    pub(super) fn add(
        &mut self,
        id: RequestId,
        performed: Performed,
        missing: u64,
        server: SocketAddr,
        recorder: &mut Recorder,
    ) {
        if missing == 0 || self.0.len() >= MAX_UNFINISHED {
            performed.add(server, recorder);
        } else if let Some((earlier, _)) = self.0.insert(id, (performed, missing)) {
            earlier.add(server, recorder);
        }
    }

    /// Takes a reply that is not the first one to its request.
    pub(super) fn further_reply(
        &mut self,
        header: &Header,
        message: &Message<'_>,
        server: SocketAddr,
        recorder: &mut Recorder,
    ) {
        let Some((mut performed, missing)) = self.0.remove(&header.id) else {
            recorder.unseen().without_request += 1;
            return;
        };
        let here = if header.command == ECHO {
            1
        } else {
            let block = Blocks::new(message.head, header.command).next();
            let is_nt = header.command == NT_TRANSACT;
            let part = block.and_then(|block| Part::decode(is_nt, block.words, message.head));
            part.map_or(missing, |part| part.here)
        };
        performed.end = performed.end.max(message.end);
        match missing.saturating_sub(here) {
            0 => performed.add(server, recorder),
            missing => {
                self.0.insert(header.id, (performed, missing));
            }
        }
    }

    /// Nothing follows.
    pub(super) fn end(&mut self, server: SocketAddr, recorder: &mut Recorder) {
        let mut all: Vec<_> = self.0.drain().collect();
        all.sort_by_key(|(id, (performed, _))| (performed.start, *id));
        for (_, (performed, _)) in all {
            performed.add(server, recorder);
        }
    }
}
