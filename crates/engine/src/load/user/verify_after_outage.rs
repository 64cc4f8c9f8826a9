//! Verification after an outage: all files of the users are read once, also those that no transaction would read.

use std::sync::atomic::Ordering;

use sharebench_model::{DataOp, ErrorClass, MetaOp, OpError, OpStep, OpenHow, Slot};
use sharebench_plan::Verify;

use crate::data::mismatch::mismatch_error;
use crate::data::set_content::{set_content, shared};
use crate::data::stamp;
use crate::data::stamp::Content;
use crate::load::user::virtual_user::VirtualUser;

/// A file to be read after an outage, with the content that it must have.
struct ExpectedFile {
    path: String,
    /// Minimum length that the file must have.
    bytes: u64,
    /// Offset, length and content of each run of bytes that is known.
    runs: Vec<(u64, u64, Content)>,
}

impl VirtualUser<'_> {
    /// Reads the user's own files, and with the others who lost their sessions every shared one, if it lost its own in
    /// this step. What is wrong is a failure of the step.
    pub(crate) async fn verify_after_outage(&mut self) {
        if !self.outage || self.thread.verify == Verify::Off || self.thread.stop.is_stopped() {
            return;
        }
        // All files and not only those that failed: an outage shows that the server lost something, not what.
        let own: Vec<usize> = self.own.files.keys().copied().collect();
        for index in own {
            let known = self.known_own(index);
            self.look_at(known).await;
        }
        let workload = &self.thread.work.workload;
        loop {
            // Each of them is one user's.
            let next = self.thread.counters.looked_at.fetch_add(1, Ordering::Relaxed) as usize;
            let Some((index, file)) = shared(workload).nth(next) else { return };
            let runs = vec![(0, file.bytes, set_content(index, file))];
            let path = format!("{}/{}", self.thread.set_directory, file.path);
            self.look_at(ExpectedFile { path, bytes: file.bytes, runs }).await;
        }
    }

    fn known_own(&self, index: usize) -> ExpectedFile {
        let own = self.own.files.get(&index);
        let bytes = own.map_or(0, |own| own.bytes);
        let runs = own.into_iter().flat_map(|own| own.expected(0, bytes));
        let runs = runs.map(|(at, len, generation)| (at, len as u64, self.own_content(index, generation)));
        ExpectedFile { path: self.own_name(index), bytes, runs: runs.collect() }
    }

    async fn look_at(&mut self, known: ExpectedFile) {
        let result = self.read_known(&known).await;
        let mut tally = self.thread.tally.borrow_mut();
        let seen = &mut tally.detail.set_check;
        match result {
            Ok(bytes) => (seen.files, seen.bytes) = (seen.files + 1, seen.bytes + bytes),
            Err(error) if error.class == ErrorClass::DataMismatch => {
                (seen.files, seen.wrong) = (seen.files + 1, seen.wrong + 1);
                tally.failure(error);
            }
            Err(_) => seen.unread += 1,
        }
    }

    /// Reads what is known of a file; gives how many bytes that were.
    async fn read_known(&mut self, known: &ExpectedFile) -> Result<u64, OpError> {
        let open = MetaOp::open(known.path.clone(), OpenHow::Read);
        let wrong = |why: String| OpError::new(ErrorClass::DataMismatch, OpStep::Verify, why);
        let (file, size) = match self.call(open).await {
            Ok(reply) => reply.into_opened()?,
            Err(error) if error.class == ErrorClass::NotFound => {
                return Err(wrong(format!("after the outage {} is not there any more", known.path)));
            }
            Err(error) => return Err(error),
        };
        let mut result = Ok(0);
        if size < known.bytes {
            result =
                Err(wrong(format!("after the outage {} has {size} bytes of {}", known.path, known.bytes)));
        }
        for &(mut at, len, content) in &known.runs {
            let end = at + len;
            while let (Ok(bytes), true) = (&result, at < end) {
                let bytes = *bytes;
                self.turn().await;
                let len = u32::try_from(end - at).unwrap_or(u32::MAX).min(self.thread.spec.slot_bytes);
                let len = self.max_transfer(DataOp::Read { file, offset: at, len })?;
                let read = self.reply(DataOp::Read { file, offset: at, len }).await?;
                let verify = self.thread.verify;
                let found = &self.session_mut()?.buffer(Slot(0))[..read.min(len) as usize];
                result = match stamp::verify(found, content, at, verify) {
                    Ok(()) if read == len => Ok(bytes + u64::from(read)),
                    Ok(()) => {
                        let end = at + u64::from(read);
                        Err(wrong(format!("after the outage {} ends at {end}", known.path)))
                    }
                    Err(mismatch) => Err(mismatch_error(&known.path, &mismatch)),
                };
                at += u64::from(len);
            }
        }
        // The result of the read is kept, whatever the close returns.
        let _ = self.call(MetaOp::Close { file }).await;
        result
    }
}
