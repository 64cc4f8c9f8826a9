//! The requester's caches of a connection: how operations use them, and how dirty data is written back.

use sharebench_model::{DataOp, FileRef, OpError, OpStep};
use sharebench_ncp::client::{ClientError, File};

use crate::failure::failure;
use crate::session::cache::{CacheSize, DirtyRange, FileCache};
use crate::session::connection::{Connection, PendingOperation, RequestPurpose, file_of};

impl Connection {
    /// Caches a file from now on.
    pub(crate) fn add_cache(&mut self, file: FileRef, size: CacheSize) {
        self.caches.insert(file, FileCache::new(size));
    }

    /// Begins the next request of an operation that uses the cache. Returns `NoRequest` when the operation is
    /// complete, and none when it must bypass the cache.
    pub(super) fn begin_from_cache(
        &mut self,
        pending: &mut PendingOperation,
        buffer: &mut [u8],
    ) -> Result<Option<RequestPurpose>, OpError> {
        let name = file_of(pending.op);
        let Some(cache) = self.caches.get_mut(&name) else { return Ok(None) };
        let done = pending.done as usize;
        match pending.op {
            DataOp::Read { offset, len, .. } if cache.caches(len as usize) => {
                let mut done = done;
                while done < len as usize {
                    let at = offset + done as u64;
                    match buffer.get_mut(done..len as usize).and_then(|into| cache.read(at, into)) {
                        Some(0) => break,
                        Some(came) => done += came,
                        None => {
                            pending.done = done as u32;
                            return self.fetch(name, pending.file, at).map(Some);
                        }
                    }
                }
                pending.done = done as u32;
                Ok(Some(RequestPurpose::NoRequest))
            }
            DataOp::Write { offset, len, .. } if cache.caches(len as usize) => {
                let mut done = done;
                while done < len as usize {
                    let data = buffer.get(done..len as usize).unwrap_or_default();
                    match cache.write(offset + done as u64, data) {
                        Some(taken) if cache.full().is_none() => done += taken,
                        Some(taken) => {
                            pending.done = (done + taken) as u32;
                            let full = cache.full();
                            return self.store(name, pending.file, full).map(Some);
                        }
                        None => {
                            pending.done = done as u32;
                            let first = cache.first_store();
                            return self.store(name, pending.file, first).map(Some);
                        }
                    }
                }
                pending.done = done as u32;
                Ok(Some(RequestPurpose::NoRequest))
            }
            // The operation bypasses the cache. Dirty data is written first, so that the server has the current
            // contents; a write or commit then invalidates the cache.
            _ => {
                if let Some(store) = cache.first_store() {
                    return self.store(name, pending.file, Some(store)).map(Some);
                }
                if !matches!(pending.op, DataOp::Read { .. }) {
                    cache.invalidate();
                }
                Ok(None)
            }
        }
    }

    /// Begins to fetch the buffer around `offset`, after dirty data has been written.
    fn fetch(&mut self, name: FileRef, file: File, offset: u64) -> Result<RequestPurpose, OpError> {
        let Some(cache) = self.caches.get(&name) else { return Ok(RequestPurpose::NoRequest) };
        if let Some(store) = cache.first_store() {
            return self.store(name, file, Some(store));
        }
        let (start, bytes) = cache.whole(offset);
        self.client()?.begin_read(file, start, bytes).map_err(|error| failure(&error))?;
        Ok(RequestPurpose::Fetch(start))
    }

    /// Begins to write a dirty range.
    fn store(
        &mut self,
        name: FileRef,
        file: File,
        store: Option<DirtyRange>,
    ) -> Result<RequestPurpose, OpError> {
        self.client()?;
        let (Some(store), Some(cache)) = (store, self.caches.get(&name)) else {
            return Ok(RequestPurpose::NoRequest);
        };
        let begun = self.client.begin_write(file, store.offset, cache.bytes(store));
        begun.map_err(|error| failure(&error))?;
        Ok(RequestPurpose::Store(store))
    }

    /// Stores a fetched buffer in the cache.
    pub(super) fn fetched(&mut self, name: FileRef, start: u64) -> Result<(), OpError> {
        let Some(cache) = self.caches.get_mut(&name) else { return Ok(()) };
        match self.client.read_data(start, cache.whole(start).1) {
            Ok(data) => {
                cache.keep(start, data);
                self.payload.1 += data.len() as u64;
                Ok(())
            }
            Err(error) => Err(self.record_failure(&error)),
        }
    }

    pub(super) fn stored(&mut self, name: FileRef, store: DirtyRange) {
        self.payload.0 += store.len as u64;
        if let Some(cache) = self.caches.get_mut(&name) {
            cache.stored(store);
        }
    }

    /// Records the failure of a request. A dirty range that cannot be written is lost, and the error says so.
    pub(super) fn request_failed(&mut self, pending: &PendingOperation, error: &ClientError) -> OpError {
        let failed = self.record_failure(error);
        let RequestPurpose::Store(store) = pending.request else { return failed };
        self.lose(file_of(pending.op), store, &failed)
    }

    fn lose(&mut self, name: FileRef, store: DirtyRange, failed: &OpError) -> OpError {
        if let Some(cache) = self.caches.get_mut(&name) {
            cache.lose(store);
        }
        let DirtyRange { offset, len } = store;
        let detail = format!("{len} bytes at offset {offset} could not be written back: {}", failed.detail);
        OpError::new(failed.class, OpStep::ClientCache, detail)
    }

    /// Writes the dirty data of all files. Errors are deferred to the next operation on the file concerned.
    pub(crate) async fn write_back_all(&mut self, handles: &[(FileRef, File)]) {
        for (name, file) in handles {
            if let Err(error) = self.write_back(*name, *file).await {
                self.deferred_errors.entry(*name).or_insert(error);
            }
        }
    }

    /// Writes the dirty data of a file.
    ///
    /// # Errors
    /// The first error of a write-back since the last operation on the file.
    pub(crate) async fn write_back(&mut self, name: FileRef, file: File) -> Result<(), OpError> {
        // The first error is kept, because later ones are usually its consequences. The loop continues until
        // no dirty range is left.
        let mut first = self.deferred_errors.remove(&name);
        while let Some((store, data)) = self
            .caches
            .get(&name)
            .and_then(|cache| cache.first_store().map(|store| (store, cache.bytes(store).to_vec())))
        {
            let written = match self.client() {
                Ok(client) => client.write(file, store.offset, &data).await,
                Err(error) => {
                    let lost = self.lose(name, store, &error);
                    first.get_or_insert(lost);
                    continue;
                }
            };
            match written {
                Ok(_) => self.stored(name, store),
                Err(error) => {
                    let failed = self.record_failure(&error);
                    let lost = self.lose(name, store, &failed);
                    first.get_or_insert(lost);
                }
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// Invalidates the clean data of a file.
    pub(crate) fn invalidate(&mut self, name: FileRef) {
        if let Some(cache) = self.caches.get_mut(&name) {
            cache.invalidate();
        }
    }

    /// Removes the cache of a closed file.
    pub(crate) fn remove_cache(&mut self, name: FileRef) {
        self.caches.remove(&name);
        self.deferred_errors.remove(&name);
    }
}
