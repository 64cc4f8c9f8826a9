//! A relay between a client and a server, which changes the messages to one of them as the input determines.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use sharebench_model::{DataOp, FileRef, MetaOp, MetaYield, OpenHow, SessionOp, Slot, Stability};
use sharebench_server::{ROOT, Volume};
use sharebench_target::{Session, SessionSpec, Target, call, reply_for};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;

/// Length before a message of SMB and before a fragment of an NFS record.
const PREFIX: usize = 4;
/// Longest message that is relayed.
const MAX_MESSAGE: usize = 2 << 20;
/// How long to wait for a peer that may be waiting itself.
const PATIENCE: Duration = Duration::from_millis(250);

/// The peer under test, which receives changed messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The server is under test.
    Server,
    /// The client is under test.
    Client,
}

/// The input, which determines the change of each message in turn.
pub struct Changes {
    role: Role,
    /// Bytes of a head that finds the right place to be parsed.
    head: usize,
    rest: Vec<u8>,
}

impl Changes {
    pub fn new(role: Role, head: usize, input: &[u8]) -> Self {
        Self { role, head, rest: input.iter().rev().copied().collect() }
    }

    /// What is sent instead of a message, without prefix; a byte says what, and a length how much of the input it takes.
    fn change(&mut self, mut message: Vec<u8>) -> Vec<Vec<u8>> {
        let Some(what) = self.rest.pop() else { return vec![message] };
        if what % 8 < 2 {
            return vec![message];
        }
        let len = usize::from(self.rest.pop().unwrap_or(0));
        let bytes: Vec<u8> = (0..len).map_while(|_| self.rest.pop()).collect();
        let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
        let at = usize::from(*first) | usize::from(what >> 3 & 3) << 8;
        match what % 8 {
            2 => {
                for (place, byte) in message.iter_mut().skip(at).zip(rest) {
                    *place = *byte;
                }
            }
            3 => message.truncate(message.len().saturating_sub(at)),
            4 => message.extend_from_slice(&bytes),
            5 => {
                message.truncate(self.head);
                message.extend_from_slice(&bytes);
            }
            6 => return vec![message.clone(), message],
            _ => message = bytes,
        }
        vec![message]
    }
}

/// Runs every operation of a client against a server, through the relay.
pub fn converse(
    server: SocketAddr,
    volume: &dyn Volume,
    changes: Changes,
    target: impl FnOnce(u16) -> Box<dyn Target>,
) {
    empty(volume);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = LocalSet::new();
    local.block_on(&runtime, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = target(listener.local_addr().unwrap().port());
        let changes = Rc::new(RefCell::new(changes));
        let passing = tokio::task::spawn_local(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(server).await else { return };
                link(client, server, &changes);
            }
        });
        // Every error is acceptable; only an endless wait is not.
        let _ = tokio::time::timeout(PATIENCE, work(target.as_ref())).await;
        passing.abort();
    });
}

/// State that earlier inputs left.
fn empty(volume: &dyn Volume) {
    let mut open = vec![ROOT];
    let mut made = Vec::new();
    while let Some(directory) = open.pop() {
        for entry in volume.list(directory, 0, 1000).unwrap_or_default() {
            if entry.attributes.directory {
                open.push(entry.attributes.node);
                made.push((directory, entry.name));
            } else {
                let _ = volume.remove(directory, &entry.name);
            }
        }
    }
    for (directory, name) in made.into_iter().rev() {
        let _ = volume.remove_directory(directory, &name);
    }
}

/// Relays until one side ends, then resets both connections. Otherwise each session would occupy four pairs of ports for
/// a minute, and after some thousand sessions the machine could run out of ports.
fn link(mut client: TcpStream, mut server: TcpStream, changes: &Rc<RefCell<Changes>>) {
    if client.set_zero_linger().and_then(|()| server.set_zero_linger()).is_err() {
        return;
    }
    let changes = Rc::clone(changes);
    tokio::task::spawn_local(async move {
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let _ = tokio::select! {
            ended = pass(from_client, to_server, Role::Server, &changes) => ended,
            ended = pass(from_server, to_client, Role::Client, &changes) => ended,
        };
    });
}

async fn pass(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    role: Role,
    changes: &RefCell<Changes>,
) -> io::Result<()> {
    loop {
        let mut prefix = [0; PREFIX];
        from.read_exact(&mut prefix).await?;
        let word = u32::from_be_bytes(prefix);
        let mut message = vec![0; (word as usize & 0x7FFF_FFFF).min(MAX_MESSAGE)];
        from.read_exact(&mut message).await?;
        let changed =
            if changes.borrow().role == role { changes.borrow_mut().change(message) } else { vec![message] };
        for message in changed {
            let word = word & 0x8000_0000 | message.len() as u32;
            to.write_all(&[&word.to_be_bytes()[..], &message].concat()).await?;
        }
    }
}

/// Performs everything that a session can do. No read may return more than was requested.
async fn work(target: &dyn Target) {
    let spec =
        SessionSpec { slots: 2, slot_bytes: 40_000, connect_timeout: PATIENCE, ..SessionSpec::default() };
    let Ok(mut session) = target.connect(&spec).await else { return };
    let session = session.as_mut();
    let _ = call(session, MetaOp::Space).await;
    let _ = call(session, MetaOp::MakeDir { path: "dir".into() }).await;
    if let Ok(MetaYield::Opened { file, .. }) =
        call(session, MetaOp::open("dir/file", OpenHow::CreateNew)).await
    {
        data(session, file).await;
        let _ = call(session, MetaOp::SetSize { file, size: 7 }).await;
        let _ = call(session, MetaOp::Close { file }).await;
    }
    let _ = call(session, MetaOp::Stat { path: "dir/file".into() }).await;
    let _ = call(session, MetaOp::List { path: "dir".into() }).await;
    let _ = call(session, MetaOp::ListPage { path: String::new(), restart: true }).await;
    let _ = call(session, MetaOp::Rename { from: "dir/file".into(), to: "dir/other".into() }).await;
    let _ = call(session, MetaOp::Remove { path: "dir/other".into() }).await;
    let _ = call(session, MetaOp::RemoveDir { path: "dir".into() }).await;
    cache(session).await;
}

/// Opens a file with a request for the right to cache it, which the canned responder of SMB1 breaks at once.
async fn cache(session: &mut dyn Session) {
    let path = "leased".to_owned();
    if let Ok(MetaYield::Opened { file, .. }) =
        call(session, MetaOp::open(path.clone(), OpenHow::CreateNew)).await
    {
        let _ = call(session, MetaOp::Close { file }).await;
    }
    if let Ok(MetaYield::OpenedToCache { file, .. }) =
        call(session, SessionOp::OpenLeased { path: path.clone() }).await
    {
        let _ = call(session, MetaOp::Stat { path }).await;
        let _ = call(session, MetaOp::Close { file }).await;
    }
}

async fn data(session: &mut dyn Session, file: FileRef) {
    session.buffer(Slot(0)).fill(7);
    let stability = Stability::Unstable;
    let _ = reply_for(session, Slot(0), DataOp::Write { file, offset: 0, len: 40_000, stability }).await;
    let _ = reply_for(session, Slot(0), DataOp::Flush { file }).await;
    // Large reads go straight into their slot, small ones through the receive buffer.
    for (offset, len) in [(0, 40_000), (1, 100), (39_990, 512)] {
        let reply = reply_for(session, Slot(1), DataOp::Read { file, offset, len }).await;
        assert!(reply.result.map_or(true, |count| count <= len));
    }
}
