//! The part of a connection that keeps the requester's caches of files: what operations take from them, and what is kept
//! back in them until it is stored.

use sharebench_model::{DataOp, FileRef, OpError};
use sharebench_ncp::client::{ClientError, File};

use crate::failure::failure;
use crate::session::cache::{CacheSize, DirtyRange, FileCache};
use crate::session::connection::{Connection, PendingOperation, RequestPurpose, file_of};

impl Connection {
    /// From now on a file goes by a cache.
    pub(crate) fn add_cache(&mut self, file: FileRef, size: CacheSize) {
        self.caches.insert(file, FileCache::new(size));
    }

    /// What an operation needs next: a request that was begun, or nothing more. None when it does not go by the cache, or
    /// not any more.
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
            // Past the cache, which keeps nothing that would differ, and a commit keeps nothing at all.
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

    /// Begins to fetch the buffer around `offset`; what was kept back goes first.
    fn fetch(&mut self, name: FileRef, file: File, offset: u64) -> Result<RequestPurpose, OpError> {
        let Some(cache) = self.caches.get(&name) else { return Ok(RequestPurpose::NoRequest) };
        if let Some(store) = cache.first_store() {
            return self.store(name, file, Some(store));
        }
        let (start, bytes) = cache.whole(offset);
        self.client()?.begin_read(file, start, bytes).map_err(|error| failure(&error))?;
        Ok(RequestPurpose::Fetch(start))
    }

    /// Begins to store what was kept back.
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

    /// Keeps a buffer that came.
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

    /// The failure of a request. What could not be stored is gone, and whoever comes next is told.
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
        let detail = format!("{len} bytes at {offset}, kept back until now: {}", failed.detail);
        OpError::new(failed.class, "write behind", detail)
    }

    /// Stores everything that is kept back of all files; what fails is told by the next operation on its file.
    pub(crate) async fn write_back_all(&mut self, handles: &[(FileRef, File)]) {
        for (name, file) in handles {
            if let Err(error) = self.write_back(*name, *file).await {
                self.deferred_errors.entry(*name).or_insert(error);
            }
        }
    }

    /// Stores everything that is kept back of a file.
    ///
    /// # Errors
    /// The first that could not be stored, now or since the last operation on it.
    pub(crate) async fn write_back(&mut self, name: FileRef, file: File) -> Result<(), OpError> {
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

    /// Forgets what the server has of a file.
    pub(crate) fn invalidate(&mut self, name: FileRef) {
        if let Some(cache) = self.caches.get_mut(&name) {
            cache.invalidate();
        }
    }

    /// The file is closed.
    pub(crate) fn remove_cache(&mut self, name: FileRef) {
        self.caches.remove(&name);
        self.deferred_errors.remove(&name);
    }
}
