//! The directory in which a user replays its loadfile: created before the first line, removed after the last.

use sharebench_model::{DataOp, ErrorClass, MetaOp, MetaYield, OpError, OpenHow};
use sharebench_plan::{Loadfile, Verify};

use crate::data::stamp::Content;
use crate::load::user::replay_state::{Replay, Stored};
use crate::load::user::user_files::OwnFile;
use crate::load::user::virtual_user::VirtualUser;
use crate::record::operation_kind::OperationKind;
use crate::record::request::write_next;

impl VirtualUser<'_> {
    /// The content of a file of a client. No two users share a file.
    pub(crate) fn replayed_content(&self, file: &Loadfile, id: u32, generation: u32) -> Content {
        let number = u64::from(self.number) * file.names.len() as u64 + u64::from(id) + 1;
        Content { file: number as u32 & 0x7FFF_FFFF, generation, kind: None }
    }

    /// Makes the user's directory what the first line wants; whatever an earlier pass left there goes.
    pub(crate) async fn lay_out_replay(&mut self, file: &Loadfile) -> Result<(), OpError> {
        self.close_replayed().await?;
        let top = self.replayed_path(file, 0);
        match self.call(MetaOp::MakeDir { path: top.clone() }).await {
            Err(error) if error.class == ErrorClass::Exists => {
                self.delete_tree(file, 0, false).await?;
                self.call(MetaOp::MakeDir { path: top }).await?;
            }
            made => drop(made?),
        }
        self.replay.files.clear();
        for given in &file.given {
            let path = self.replayed_path(file, given.name);
            match given.bytes {
                None => drop(self.call(MetaOp::MakeDir { path }).await?),
                Some(bytes) => self.give(file, given.name, path, bytes).await?,
            }
        }
        self.replay = Replay {
            ready: true,
            files: std::mem::take(&mut self.replay.files),
            generation: self.replay.generation,
            ..Replay::default()
        };
        if let Some(session) = self.session.as_deref() {
            // What was sent for this is no line's.
            self.wire = session.wire();
        }
        Ok(())
    }

    /// Writes a file that must exist before the first line.
    async fn give(&mut self, file: &Loadfile, name: u32, path: String, bytes: u64) -> Result<(), OpError> {
        let handle = self.open_unmeasured(path, OpenHow::CreateNew).await?;
        self.replay.generation += 1;
        let generation = self.replay.generation;
        let content = self.replayed_content(file, name, generation);
        let mut own = OwnFile::default();
        let mut offset = 0;
        while offset < bytes {
            self.turn().await;
            let (session, deadline) = self.link()?;
            let written = write_next(session, deadline, handle, offset..bytes, content).await?;
            own.written(offset, u64::from(written), generation);
            offset += u64::from(written);
        }
        self.reply(DataOp::Flush { file: handle }).await?;
        self.call(MetaOp::Close { file: handle }).await?;
        self.replay.files.insert(name, Stored { id: name, own });
        Ok(())
    }

    /// Closes the files that the replayed lines left open.
    async fn close_replayed(&mut self) -> Result<(), OpError> {
        let open = std::mem::take(&mut self.replay.open);
        for file in open.into_values().filter_map(|held| held.file) {
            self.call(MetaOp::Close { file }).await?;
        }
        Ok(())
    }

    /// Removes everything. What cannot be removed here is removed with the directory of the run.
    pub(crate) async fn leave_replay(&mut self, file: &Loadfile) {
        self.replay.ready = false;
        let closed = self.close_replayed().await;
        if closed.is_ok() && self.session.is_some() {
            let _ = self.delete_tree(file, 0, false).await;
        }
    }

    /// Removes a directory with all that is in it; one that is not there is removed already. With `timed` it is part of
    /// a transaction, so that its operations are timed and counted.
    pub(crate) async fn delete_tree(
        &mut self,
        file: &Loadfile,
        name: u32,
        timed: bool,
    ) -> Result<(), OpError> {
        let mut open = vec![self.replayed_path(file, name)];
        let mut made = Vec::new();
        while let Some(path) = open.pop() {
            let entries = match self.listed(path.clone(), timed).await? {
                Some(entries) => entries,
                None if made.is_empty() => return Ok(()),
                None => continue,
            };
            for entry in entries {
                let child = format!("{path}/{}", entry.name);
                if entry.directory {
                    open.push(child);
                } else {
                    self.on_tree(MetaOp::Remove { path: child }, timed).await?;
                }
            }
            made.push(path);
        }
        let keep_top = timed && name == 0;
        for path in made.into_iter().skip(usize::from(keep_top)).rev() {
            self.on_tree(MetaOp::RemoveDir { path }, timed).await?;
        }
        let top = file.names.get(name as usize).map_or("", String::as_str);
        let is_below = |path: &str| {
            path.strip_prefix(top)
                .is_some_and(|rest| top.is_empty() || rest.is_empty() || rest.starts_with('/'))
        };
        self.replay
            .files
            .retain(|name, _| !is_below(file.names.get(*name as usize).map_or("", String::as_str)));
        Ok(())
    }

    async fn on_tree(&mut self, op: MetaOp, timed: bool) -> Result<(), OpError> {
        if timed { self.meta(op).await.map(drop) } else { self.call(op).await.map(drop) }
    }

    /// A directory's content; nothing where it is not there, which is no failure.
    async fn listed(
        &mut self,
        path: String,
        timed: bool,
    ) -> Result<Option<Vec<sharebench_model::Entry>>, OpError> {
        let started = self.thread.clock.now();
        let result = match self.call(MetaOp::List { path }).await {
            Ok(MetaYield::Entries(entries)) => Ok(Some(entries)),
            Ok(_) => Ok(None),
            Err(error) if error.class == ErrorClass::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        if timed {
            self.count(OperationKind::List, started, result.as_ref().err(), 0);
        }
        result
    }

    /// Verifies what was read at `at`, as far as its content is known.
    pub(crate) fn verify_replayed(
        &mut self,
        file: &Loadfile,
        name: u32,
        at: u64,
        read: u64,
    ) -> Result<(), OpError> {
        if self.thread.verify == Verify::Off {
            return Ok(());
        }
        let Some(stored) = self.replay.files.get(&name) else { return Ok(()) };
        let runs = stored
            .own
            .expected(at, read)
            .map(|(from, len, generation)| (from, len, self.replayed_content(file, stored.id, generation)))
            .collect();
        let path = file.names.get(name as usize).map_or("", String::as_str);
        self.verify_read(path, at, runs)
    }
}
