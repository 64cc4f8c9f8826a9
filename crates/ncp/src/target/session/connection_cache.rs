//! How the operations of a connection use the caches of the session, and how dirty data is written back.

use sharebench_model::{DataOp, FileRef, OpError, OpStep};

use crate::client::{ClientError, File};
use crate::target::failure::failure;
use crate::target::session::cache::{DirtyRange, Store};
use crate::target::session::cache_table::{CacheTable, Claim};
use crate::target::session::connection::{Connection, PendingOperation, RequestPurpose, file_of};

impl Connection {
    /// Begins the next request of an operation that uses the cache. Returns `NoRequest` when the operation is
    /// complete, `Wait` while the cache belongs to another operation, and none when it must bypass the cache.
    pub(super) fn begin_from_cache(
        &mut self,
        pending: &mut PendingOperation,
        buffer: &mut [u8],
        caches: &mut CacheTable,
    ) -> Result<Option<RequestPurpose>, OpError> {
        let Some(cache) = caches.get(file_of(pending.op)) else { return Ok(None) };
        match pending.op {
            DataOp::Read { offset, len, .. } if cache.caches(len as usize) => {
                while pending.done < len {
                    let at = offset + u64::from(pending.done);
                    match buffer
                        .get_mut(pending.done as usize..len as usize)
                        .and_then(|into| cache.read(at, into))
                    {
                        Some(0) => break,
                        Some(came) => pending.done += came as u32,
                        None => return self.fetch(pending, at, caches).map(Some),
                    }
                }
                Ok(Some(RequestPurpose::NoRequest))
            }
            DataOp::Write { offset, len, .. } if cache.caches(len as usize) => {
                while pending.done < len {
                    let at = offset + u64::from(pending.done);
                    if !cache.accepts_write(at) {
                        return Ok(Some(RequestPurpose::Wait));
                    }
                    let data = buffer.get(pending.done as usize..len as usize).unwrap_or_default();
                    let Some(taken) = cache.write(at, data) else {
                        let store = cache.next_store();
                        return self.begin_store(pending, store, caches).map(Some);
                    };
                    pending.done += taken as u32;
                    if let Some(full) = cache.full() {
                        return self.begin_store(pending, Store::Range(full), caches).map(Some);
                    }
                }
                Ok(Some(RequestPurpose::NoRequest))
            }
            DataOp::Read { .. } => match cache.next_store() {
                // Dirty data is written first, so that the server has the current contents.
                Store::Nothing => Ok(None),
                store => self.begin_store(pending, store, caches).map(Some),
            },
            DataOp::Write { .. } | DataOp::Flush { .. } => self.begin_bypass(pending, caches),
        }
    }

    /// Prepares an operation that bypasses the cache and changes the file: writes dirty data, waits until no request of
    /// the cache is in progress, and empties it.
    fn begin_bypass(
        &mut self,
        pending: &mut PendingOperation,
        caches: &mut CacheTable,
    ) -> Result<Option<RequestPurpose>, OpError> {
        let Some(cache) = caches.get(file_of(pending.op)) else { return Ok(None) };
        match pending.claim {
            Claim::Held => return Ok(None),
            Claim::Waiting => {}
            Claim::None => {
                cache.claim();
                pending.claim = Claim::Waiting;
            }
        }
        match cache.next_store() {
            Store::Nothing if cache.is_quiet() => {
                cache.take();
                pending.claim = Claim::Held;
                Ok(None)
            }
            Store::Nothing => Ok(Some(RequestPurpose::Wait)),
            store => self.begin_store(pending, store, caches).map(Some),
        }
    }

    /// Begins to fetch the buffer around `offset`, after dirty data has been written.
    fn fetch(
        &mut self,
        pending: &PendingOperation,
        offset: u64,
        caches: &mut CacheTable,
    ) -> Result<RequestPurpose, OpError> {
        let Some(cache) = caches.get(file_of(pending.op)) else { return Ok(RequestPurpose::NoRequest) };
        if cache.is_claimed() {
            return Ok(RequestPurpose::Wait);
        }
        let store = cache.next_store();
        if store != Store::Nothing {
            return self.begin_store(pending, store, caches);
        }
        let (start, bytes) = cache.whole(offset);
        // Another connection fetches the same buffer.
        if cache.is_busy(start) {
            return Ok(RequestPurpose::Wait);
        }
        self.client()?.begin_read(pending.file, start, bytes).map_err(|error| failure(&error))?;
        cache.begin_request(start);
        Ok(RequestPurpose::Fetch(start))
    }

    /// Begins to write a dirty range.
    fn begin_store(
        &mut self,
        pending: &PendingOperation,
        store: Store,
        caches: &mut CacheTable,
    ) -> Result<RequestPurpose, OpError> {
        let Some(cache) = caches.get(file_of(pending.op)) else { return Ok(RequestPurpose::NoRequest) };
        // An operation that waits for the cache writes its dirty data itself.
        let foreign = cache.is_claimed() && pending.claim == Claim::None;
        let range = match store {
            Store::Range(range) if !foreign => range,
            _ => return Ok(RequestPurpose::Wait),
        };
        self.client()?;
        let begun = self.client.begin_write(pending.file, range.offset, cache.bytes(range));
        begun.map_err(|error| failure(&error))?;
        cache.begin_request(cache.whole(range.offset).0);
        Ok(RequestPurpose::Store(range))
    }

    /// Stores a fetched buffer in the cache. If the cache has no place for it, the operation takes its data from the
    /// reply; returns true if that completes the operation.
    pub(super) fn fetched(
        &mut self,
        pending: &mut PendingOperation,
        start: u64,
        buffer: &mut [u8],
        caches: &mut CacheTable,
    ) -> Result<bool, OpError> {
        caches.note_change();
        let Some(cache) = caches.get(file_of(pending.op)) else { return Ok(false) };
        cache.end_request(start);
        let whole = cache.whole(start).1;
        let data = match self.client.read_data(start, whole) {
            Ok(data) => data,
            Err(error) => return Err(self.record_failure(&error)),
        };
        self.payload.1 += data.len() as u64;
        if cache.keep(start, data) {
            return Ok(false);
        }
        let DataOp::Read { offset, len, .. } = pending.op else { return Ok(false) };
        let at = (offset + u64::from(pending.done)).saturating_sub(start) as usize;
        let came = data.get(at..).unwrap_or_default();
        let into = buffer.get_mut(pending.done as usize..len as usize).unwrap_or_default();
        let count = came.len().min(into.len());
        into[..count].copy_from_slice(&came[..count]);
        pending.done += count as u32;
        // A short reply means the end of the file.
        Ok(pending.done >= len || data.len() < whole)
    }

    pub(super) fn stored(&mut self, name: FileRef, store: DirtyRange, caches: &mut CacheTable) {
        self.payload.0 += store.len as u64;
        caches.note_change();
        if let Some(cache) = caches.get(name) {
            cache.stored(store);
        }
    }

    /// Records the failure of a request. A dirty range that cannot be written is lost, and the error says so.
    pub(super) fn request_failed(
        &mut self,
        pending: &PendingOperation,
        error: &ClientError,
        caches: &mut CacheTable,
    ) -> OpError {
        let failed = self.record_failure(error);
        caches.note_change();
        match pending.request {
            RequestPurpose::Store(store) => lose(file_of(pending.op), store, &failed, caches),
            RequestPurpose::Fetch(start) => {
                if let Some(cache) = caches.get(file_of(pending.op)) {
                    cache.end_request(start);
                }
                failed
            }
            RequestPurpose::NoRequest | RequestPurpose::Wait | RequestPurpose::Part(_) => failed,
        }
    }

    /// Writes the dirty data of all files. Errors are deferred to the next operation on the file concerned.
    pub(crate) async fn write_back_all(&mut self, handles: &[(FileRef, File)], caches: &mut CacheTable) {
        for (name, file) in handles {
            if let Err(error) = self.write_back(*name, *file, caches).await {
                caches.defer_error(*name, error);
            }
        }
    }

    /// Writes the dirty data of a file.
    ///
    /// # Errors
    /// The first error of a write-back since the last operation on the file.
    pub(crate) async fn write_back(
        &mut self,
        name: FileRef,
        file: File,
        caches: &mut CacheTable,
    ) -> Result<(), OpError> {
        // The first error is kept, because later ones are usually its consequences. The loop continues until
        // no dirty range is left.
        let mut first = caches.take_error(name);
        while let Some((store, data)) = caches
            .get(name)
            .and_then(|cache| cache.first_store().map(|store| (store, cache.bytes(store).to_vec())))
        {
            let written = match self.client() {
                Ok(client) => client.write(file, store.offset, &data).await,
                Err(error) => {
                    let lost = lose(name, store, &error, caches);
                    first.get_or_insert(lost);
                    continue;
                }
            };
            match written {
                Ok(_) => self.stored(name, store, caches),
                Err(error) => {
                    let failed = self.record_failure(&error);
                    let lost = lose(name, store, &failed, caches);
                    first.get_or_insert(lost);
                }
            }
        }
        first.map_or(Ok(()), Err)
    }
}

/// Drops a dirty range that could not be written, and returns the error that says so.
fn lose(name: FileRef, store: DirtyRange, failed: &OpError, caches: &mut CacheTable) -> OpError {
    if let Some(cache) = caches.get(name) {
        cache.lose(store);
    }
    let DirtyRange { offset, len } = store;
    let detail = format!("{len} bytes at offset {offset} could not be written back: {}", failed.detail);
    OpError::new(failed.class, OpStep::ClientCache, detail)
}
