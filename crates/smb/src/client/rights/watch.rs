//! Directories that the server watches for this client (`CHANGE_NOTIFY`, MS-SMB2 2.2.35).

use std::future::poll_fn;
use std::task::Poll;

use sharebench_model::{ChangeKind, ErrorClass, FileRef, IoPolicy, MetaYield, NameChange, OpError, OpStep};
use sharebench_target::{CallResult, Watch};

use crate::client::channels::channel::Channel;
use crate::client::channels::requests::Request;
use crate::client::channels::session_channels::Channels;
use crate::client::names::operations::{ATTRIBUTE_ACCESS, unreadable};
use crate::client::open_file::OpenFile;
use crate::client::session::SmbSession;
use crate::status::NtStatus;
use crate::wire::WireError;
use crate::wire::change_notify::{Action, ChangeNotifyRequest, changes, filter};
use crate::wire::create::{access, disposition, options};
use crate::wire::header::{Header, command};
use crate::wire::info::InfoResponse;

/// Bytes of a report: a few changes with names of any length.
const REPORT_BYTES: u32 = 4096;

const NAME: &str = command::name(command::CHANGE_NOTIFY);

impl Channel {
    /// True if this channel carries the request that waits for a change, or its reply.
    fn is_watching(&self) -> bool {
        !self.is_idle(self.watch_index()) || self.watch.reply.is_some()
    }
}

impl Channels {
    /// The channel that carries the request that waits for a change, or its reply.
    fn watching(&mut self) -> Option<&mut Channel> {
        self.live.iter_mut().find(|channel| channel.is_watching())
    }

    /// Receives until the server has answered the request: at last, or also by an interim response.
    async fn watch_answered(&mut self, or_accepted: bool) -> Result<(), OpError> {
        let mut completions = Vec::new();
        poll_fn(|cx| {
            // Nothing else is in flight, so that nothing completes.
            let _ = self.poll(cx, &mut completions);
            if let Some(error) = self.failure() {
                return Poll::Ready(Err(OpError { step: OpStep::Request(NAME), ..error }));
            }
            let Some(channel) = self.watching() else {
                return Poll::Ready(Err(OpError::not_watched("no directory is watched")));
            };
            let accepted = or_accepted && channel.watch.accepted.is_some();
            if accepted || channel.watch.reply.is_some() { Poll::Ready(Ok(())) } else { Poll::Pending }
        })
        .await
    }

    /// Sends the request, and waits until the server has accepted it, or has replied.
    async fn begin_watch(&mut self, request: &ChangeNotifyRequest) -> Result<(), OpError> {
        if let Some(error) = self.failure() {
            return Err(OpError { step: OpStep::Request(NAME), ..error });
        }
        let channel = self.primary();
        let index = channel.watch_index();
        channel.watch.body.clear();
        request.encode(&mut channel.watch.body);
        channel.submit(index, Request::Watch { reply_bytes: request.output_len });
        self.watch_answered(true).await
    }

    /// The final reply, if it has arrived.
    fn watch_reply(&mut self) -> Option<Vec<u8>> {
        self.watching()?.watch.reply.take()
    }

    /// Withdraws the request with CANCEL (MS-SMB2 3.2.4.24) unless it was answered, and waits for its final reply.
    async fn end_watch(&mut self) -> Result<(), OpError> {
        self.watch_answered(true).await?;
        if let Some(channel) = self.watching()
            && channel.watch.reply.is_none()
        {
            channel.cancel_watch();
            self.watch_answered(false).await?;
        }
        self.watch_reply();
        Ok(())
    }
}

impl Watch for SmbSession {
    /// CREATE of a directory with the right to list it, without which a server reports no changes (MS-SMB2 3.3.5.19).
    async fn open_directory(&mut self, path: &str) -> CallResult {
        let rights = access::READ_DATA | ATTRIBUTE_ACCESS;
        let (directory, _) = self.create(path, rights, disposition::OPEN, options::DIRECTORY_FILE).await?;
        match self.files.open(OpenFile { id: directory, policy: IoPolicy::default() }) {
            Ok(file) => Ok(MetaYield::Opened { file, size: 0 }),
            Err(error) => {
                self.close_file(directory).await?;
                Err(error)
            }
        }
    }

    /// `CHANGE_NOTIFY` for names, not below the directory. The server answers at once that the request is pending, or with changes
    /// since the last one.
    async fn watch(&mut self, file: FileRef) -> CallResult {
        let directory = self.files.get(file)?.id;
        if self.watched.is_some() {
            return Err(OpError::not_watched("the session watches a directory already"));
        }
        let request = ChangeNotifyRequest {
            output_len: REPORT_BYTES.min(self.negotiated.max_transact),
            file: directory,
            filter: filter::FILE_NAME | filter::DIR_NAME,
            ..ChangeNotifyRequest::default()
        };
        self.watched = Some(file);
        self.channels.begin_watch(&request).await?;
        let rejected = self.channels.watching().and_then(|channel| {
            let status = status_of(channel.watch.reply.as_deref()?).ok()?;
            (!is_report(status)).then_some(status)
        });
        if let Some(status) = rejected {
            self.channels.watch_reply();
            self.watched = None;
            return Err(status.failure(NAME));
        }
        Ok(MetaYield::Done)
    }

    /// Waits for the report of [`Self::watch`].
    async fn await_change(&mut self, file: FileRef) -> CallResult {
        if self.watched != Some(file) {
            return Err(OpError::not_watched("the directory is not watched"));
        }
        self.channels.watch_answered(false).await?;
        self.watched = None;
        let reply = self.channels.watch_reply().unwrap_or_default();
        match status_of(&reply)? {
            NtStatus::SUCCESS => reported(&reply).map(MetaYield::Changes).map_err(unreadable(NAME)),
            NtStatus::NOTIFY_ENUM_DIR => Ok(MetaYield::Changes(Vec::new())),
            status => Err(status.failure(NAME)),
        }
    }
}

impl SmbSession {
    /// Withdraws the request of [`Self::watch`] if it concerns this file.
    pub(crate) async fn end_watch_of(&mut self, file: FileRef) -> Result<(), OpError> {
        if self.watched != Some(file) {
            return Ok(());
        }
        self.watched = None;
        self.channels.end_watch().await
    }
}

/// True for the statuses of a report, which are no errors (MS-SMB2 3.3.4.4).
fn is_report(status: NtStatus) -> bool {
    matches!(status, NtStatus::SUCCESS | NtStatus::NOTIFY_ENUM_DIR)
}

fn status_of(reply: &[u8]) -> Result<NtStatus, OpError> {
    let header = Header::decode(reply);
    header
        .map(|header| NtStatus(header.status))
        .map_err(|error| OpError::new(ErrorClass::Protocol, OpStep::Request(NAME), error.to_string()))
}

/// The changes of a reply.
fn reported(reply: &[u8]) -> Result<Vec<NameChange>, WireError> {
    let information = InfoResponse::decode(reply)?;
    if information.is_empty() {
        return Ok(Vec::new());
    }
    if information.len() > REPORT_BYTES as usize {
        let value = information.len() as u64;
        return Err(WireError::Field { what: "InfoResponse", field: "OutputBufferLength", value });
    }
    let kind = |action: u32| match Action::from_number(action) {
        Some(Action::Added | Action::RenamedNewName) => ChangeKind::Added,
        Some(Action::Removed | Action::RenamedOldName) => ChangeKind::Removed,
        _ => ChangeKind::Other,
    };
    let named = |(action, name)| NameChange { name, kind: kind(action) };
    Ok(changes(information)?.into_iter().map(named).collect())
}
