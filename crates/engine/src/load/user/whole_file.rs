//! Small files that one request opens, reads and closes, where the session has such a request.

use sharebench_model::{DataOp, FileRef, OpError};
use sharebench_plan::{Operation, Owner, RequestPattern, Requests, Times};

use crate::load::user::requests::Piece;
use crate::load::user::virtual_user::VirtualUser;
use crate::record::operation_kind::OperationKind;
use crate::record::request::complete;

/// The operations after an open, a read of the whole file and a close, and the smallest request of that read, if the
/// transaction continues with these three.
pub(crate) fn whole_read(operations: &[Operation], block: u64) -> Option<(&[Operation], u64)> {
    let [Operation::Open { write: false }, Operation::Read(requests), Operation::Close, rest @ ..] =
        operations
    else {
        return None;
    };
    let Requests { size, pattern, times } = requests;
    let whole = *pattern == RequestPattern::Sequential && matches!(times, Times::All | Times::Count(1));
    whole.then(|| (rest, size.as_ref().map_or(block, sharebench_plan::Sizes::least)))
}

impl VirtualUser<'_> {
    /// Bytes of a file of the data set, if the session reads it by one request and the transaction would not read it in
    /// several requests, of `request` bytes each.
    pub(crate) fn bytes_at_once(&mut self, file: usize, request: u64) -> Option<u32> {
        if !self.session.as_mut()?.reads_whole_files() {
            return None;
        }
        let bytes = match self.thread.work.workload.set.files[file].owner {
            Owner::User => self.own_mut(file).bytes,
            Owner::Shared => self.thread.work.workload.set.files[file].bytes,
        };
        let len = u32::try_from(bytes).ok().filter(|len| *len > 0 && bytes <= request)?;
        let op = DataOp::Read { file: FileRef(0), offset: 0, len };
        (self.max_transfer(op).ok()? == len).then_some(len)
    }

    /// Opens, reads, verifies and closes a file of the data set, timed and counted as one operation.
    pub(crate) async fn read_at_once(&mut self, file: usize, len: u32) -> Result<(), OpError> {
        self.turn().await;
        let path = self.path_of(file);
        let part = Piece { handle: FileRef(0), file, offset: 0, len };
        let op = DataOp::Read { file: part.handle, offset: 0, len };
        let started = self.thread.clock.now();
        let (session, deadline) = self.link()?;
        let result = complete(op, deadline.read_file(session, &path, len).await);
        self.count(OperationKind::ReadFile, started, result.as_ref().err(), u64::from(len));
        result?;
        self.verify_part(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_read_from_beginning_to_end_between_open_and_close_is_one_request() {
        let requests = |pattern, times| Operation::Read(Requests { size: None, pattern, times });
        let all = requests(RequestPattern::Sequential, Times::All);
        let open = Operation::Open { write: false };
        let found = |operations: &[Operation]| {
            whole_read(operations, 4096).map(|(rest, request)| (rest.len(), request))
        };
        let three = [open.clone(), all.clone(), Operation::Close, Operation::Stat];
        assert_eq!(found(&three), Some((1, 4096)));
        assert_eq!(found(&three[1..]), None);
        assert_eq!(found(&[Operation::Open { write: true }, all.clone(), Operation::Close]), None);
        assert_eq!(found(&[open.clone(), all, Operation::Flush, Operation::Close]), None);
        let random = requests(RequestPattern::Random, Times::All);
        assert_eq!(found(&[open.clone(), random, Operation::Close]), None);
        let twice = requests(RequestPattern::Sequential, Times::Count(2));
        assert_eq!(found(&[open, twice, Operation::Close]), None);
    }
}
