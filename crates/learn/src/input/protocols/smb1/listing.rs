//! Searches of SMB 1: those of TRANSACTION2, and SEARCH and FIND (MS-CIFS 2.2.6.2, 2.2.6.3, 2.2.4.58).

use super::bytes::short;
use super::numbers::{Searches, Sid, Smb1Scope};
use super::reply::Reply;
use crate::input::protocols::smb::shares::directory;
use crate::operation::Action;

/// A part of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Listing {
    /// `FIND_FIRST2`.
    First { name: String },
    /// `FIND_NEXT2`.
    Next { sid: Sid },
    /// `FIND_CLOSE2`, which is no operation.
    Close { sid: Sid },
    /// SEARCH and FIND; without a name where they continue.
    Search { name: String },
}

impl Listing {
    /// The operation of one that failed, or has no reply.
    pub(super) fn attempted(&self, searches: &mut Searches, scope: &mut Smb1Scope<'_, '_>) -> Option<Action> {
        Some(match self {
            Self::First { name } | Self::Search { name } => match scope.known(directory(name)) {
                Some(directory) => Action::List { directory, entries: 0, first: true },
                None => Action::Other("FIND_FIRST2"),
            },
            Self::Next { sid } => {
                let directory = searches.directory(*sid, scope.recorder);
                Action::List { directory, entries: 0, first: false }
            }
            Self::Close { .. } => return None,
        })
    }

    /// The operation of one that succeeded.
    pub(super) fn succeeded(
        &self,
        reply: &Reply<'_>,
        searches: &mut Searches,
        scope: &mut Smb1Scope<'_, '_>,
    ) -> Option<Action> {
        let count = |entries: Option<u16>| entries.map_or(0, u32::from);
        let (directory, entries, first) = match self {
            Self::First { name } => {
                let listed = scope.existing(directory(name));
                // TRANS2_FIND_FIRST2 (2.2.6.2.2): SID, SearchCount.
                if let Some(sid) = short(reply.parameters, 0) {
                    searches.begin(Sid(sid), listed);
                }
                (listed, count(short(reply.parameters, 2)), true)
            }
            Self::Next { sid } => {
                (searches.directory(*sid, scope.recorder), count(short(reply.parameters, 0)), false)
            }
            Self::Search { name } => {
                let listed = match searches.last {
                    Some(searched) if name.is_empty() => searched,
                    _ => scope.existing(directory(name)),
                };
                searches.last = Some(listed);
                (listed, count(short(reply.words, 0)), !name.is_empty())
            }
            Self::Close { sid } => {
                searches.end(*sid, scope.recorder);
                return None;
            }
        };
        scope.recorder.directory(directory);
        Some(Action::List { directory, entries, first })
    }
}
