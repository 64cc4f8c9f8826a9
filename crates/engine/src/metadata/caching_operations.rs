//! The single operations of the tests of leases and delegations, and whether a target supports them.

use sharebench_model::{CacheRight, ErrorClass, FileRef, MetaYield, OpError, OpStep, OpenHow, SessionOp};

use crate::metadata::connected::Connected;
use crate::metadata::rejection::{Rejection, rejection};
use crate::metadata::wrong_reply::wrong;
use crate::record::tally::Tally;

/// The right to cache a file that a test requests and needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequiredRight {
    /// A lease or an oplock of any kind.
    Lease,
    /// A lease or an oplock on writes: an open breaks no lease that caches only reads, a write does.
    WriteLease,
    /// A delegation. An open for writing takes back one for reading, too.
    Delegation,
}

impl RequiredRight {
    /// Fails with this class if the right that was granted is not enough for the test.
    fn check(self, granted: CacheRight, otherwise: ErrorClass) -> Result<(), OpError> {
        let detail = match (self, granted) {
            (Self::Delegation, CacheRight::None) => "the server granted no delegation",
            (_, CacheRight::None) => "the server granted no lease and no oplock",
            (Self::WriteLease, CacheRight::Reads) => {
                "the server granted no lease or oplock on writes, and an open breaks no other one"
            }
            _ => return Ok(()),
        };
        Err(OpError::new(otherwise, OpStep::Reply, detail))
    }

    /// Opens a file with a request for the right to cache it.
    async fn open(self, path: &str, at: &mut Connected<'_, '_>) -> Result<(FileRef, CacheRight), OpError> {
        let path = path.to_owned();
        let op = match self {
            Self::Delegation => SessionOp::OpenDelegated { path },
            Self::Lease | Self::WriteLease => SessionOp::OpenLeased { path },
        };
        at.call(op).await.and_then(MetaYield::into_right)
    }

    /// Opens a file to cache it and closes it.
    async fn open_and_close(
        self,
        path: &str,
        otherwise: ErrorClass,
        at: &mut Connected<'_, '_>,
    ) -> Result<(), OpError> {
        let (file, granted) = self.open(path, at).await?;
        at.close(file).await.and(self.check(granted, otherwise))
    }
}

/// Opens a file to cache it and closes it, timed as one operation. An open without the right is a failure of the class busy, so
/// that the share of these opens is reported, and the numbers are valid.
pub(crate) async fn open_and_close(
    right: RequiredRight,
    path: &str,
    at: &mut Connected<'_, '_>,
    tally: &mut Tally,
) -> Result<(), OpError> {
    let started = at.context.clock.now();
    let result = right.open_and_close(path, ErrorClass::Busy, at).await;
    tally.operation(started, at.context.clock.now());
    tally.outcome(result)
}

/// Opens a file with one session to cache it, and with another one in a way that takes the right back. The second open is
/// timed. Both sessions close the file, whatever happened.
///
/// # Errors
/// An operation failed, or the server has not granted the right (class busy), or has not taken it back.
pub(crate) async fn take_back(
    right: RequiredRight,
    path: &str,
    holder: &mut Connected<'_, '_>,
    at: &mut Connected<'_, '_>,
    tally: &mut Tally,
) -> Result<(), OpError> {
    let (held, granted) = right.open(path, holder).await?;
    let taken = match right.check(granted, ErrorClass::Busy) {
        Ok(()) => open_against(path, held, holder, at, tally).await,
        Err(error) => Err(error),
    };
    let closed = match &taken {
        Ok(file) => at.close(*file).await,
        Err(_) => Ok(()),
    };
    let released = holder.close(held).await;
    taken.and(closed).and(released)
}

/// The same on a file that is made for it and removed afterwards: a server that has recalled the delegation of a file grants no
/// other one of it for some time.
pub(crate) async fn recall_of_new_file(
    path: String,
    holder: &mut Connected<'_, '_>,
    at: &mut Connected<'_, '_>,
    tally: &mut Tally,
) -> Result<(), OpError> {
    at.create_empty(&path).await?;
    let taken = take_back(RequiredRight::Delegation, &path, holder, at, tally).await;
    taken.and(at.remove(path).await)
}

/// Opens a file for writing while its holder waits to give its right back.
async fn open_against(
    path: &str,
    held: FileRef,
    holder: &mut Connected<'_, '_>,
    at: &mut Connected<'_, '_>,
    tally: &mut Tally,
) -> Result<FileRef, OpError> {
    let clock = at.context.clock;
    let started = clock.now();
    let given_back = async { Ok(give_back_when_recalled(held, holder).await) };
    let opened = async {
        let (file, _) = at.open(path, OpenHow::ReadWrite).await?;
        Ok::<_, OpError>((file, clock.now()))
    };
    // If the open fails, the holder does not wait any longer.
    let ((file, ended), given_back) = tokio::try_join!(opened, given_back)?;
    tally.operation(started, ended);
    match given_back {
        Ok(()) => Ok(file),
        Err(error) => {
            at.close(file).await?;
            Err(not_taken_back(error))
        }
    }
}

/// Waits until the server takes back the right of a file, and gives it back.
async fn give_back_when_recalled(file: FileRef, holder: &mut Connected<'_, '_>) -> Result<(), OpError> {
    holder.call(SessionOp::AwaitRecall { file }).await?;
    holder.call(SessionOp::GiveBack { file }).await.map(drop)
}

/// A right that is not taken back in time is what the test looks for, and no trouble with the connection.
fn not_taken_back(error: OpError) -> OpError {
    if error.class == ErrorClass::Timeout {
        return wrong("the server opened the file without taking back the right to cache it");
    }
    error
}

/// Opens a file in the directory of the run to cache it.
pub(crate) async fn try_right(
    right: RequiredRight,
    directory: &str,
    at: &mut Connected<'_, '_>,
) -> Result<Rejection, OpError> {
    let path = format!("{directory}/cached");
    at.create_empty(&path).await?;
    let rejection = rejection(right.open_and_close(&path, ErrorClass::Unsupported, at).await)?;
    at.remove(path).await?;
    Ok(rejection)
}
