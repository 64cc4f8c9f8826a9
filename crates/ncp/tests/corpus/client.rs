//! The client on arbitrary replies: no panic, no endless wait, and no more data than requested.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use sharebench_ncp::client::{
    Access, BurstOptions, Client, ClientError, Lock, LockRange, Login, ObjectName, Options, Path, Transport,
    block_on,
};
use sharebench_ncp::security::level::Level;
use sharebench_ncp::wire::TransportKind;
use sharebench_ncp::wire::bindery::ANY_KIND;
use sharebench_ncp::wire::login::USER;

/// Turns the input into replies: each is a byte that selects the kind, a length, and that many bytes.
struct Scripted<'i> {
    transport: TransportKind,
    now: Duration,
    sent: Vec<u8>,
    rest: &'i [u8],
    message: Vec<u8>,
}

impl Scripted<'_> {
    /// The next reply, adapted to the request if the input says so.
    fn next(&mut self) -> Option<()> {
        let [what, len, after @ ..] = self.rest else { return None };
        let (bytes, rest) = after.split_at(usize::from(*len).min(after.len()));
        self.rest = rest;
        let tcp = self.transport == TransportKind::Tcp;
        let start = if tcp { 16 } else { 0 };
        let header: [u8; 6] = *self.sent.get(start..)?.first_chunk()?;
        self.message.clear();
        match what % 4 {
            0 | 1 if header[..2] == [0x77; 2] => {
                // A packet of the burst connection from the server.
                self.message.extend_from_slice(self.sent.get(..36)?);
                let source = self.sent.get(4..8)?.to_vec();
                let other = self.sent.get(8..12)?.to_vec();
                self.message[4..8].copy_from_slice(&other);
                self.message[8..12].copy_from_slice(&source);
                let (own, data) = bytes.split_at(bytes.len().min(13));
                for (at, byte) in [2, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35].iter().zip(own) {
                    self.message[*at] = *byte;
                }
                self.message.extend_from_slice(data);
            }
            0 | 1 => {
                let kind = if what % 4 == 0 { [0x33; 2] } else { [0x99; 2] };
                let [_, _, sequence, low, task, high] = header;
                // A create is answered with connection number 1.
                let connection = if [low, high] == [0xFF; 2] { [1, 0] } else { [low, high] };
                let completion = if what & 4 == 0 { 0 } else { what >> 3 | 0x80 };
                let [low, high] = connection;
                let head = [kind[0], kind[1], sequence, low, task, high, completion, 0];
                if tcp {
                    let len = (8 + head.len() + bytes.len()) as u32;
                    self.message.extend_from_slice(b"tNcP");
                    self.message.extend_from_slice(&len.to_be_bytes());
                }
                self.message.extend_from_slice(&head);
                self.message.extend_from_slice(bytes);
            }
            // Makes long replies of short inputs.
            2 => self.message.extend(bytes.iter().cycle().take(bytes.len() * 40)),
            _ => self.message.extend_from_slice(bytes),
        }
        Some(())
    }
}

impl Transport for Scripted<'_> {
    fn kind(&self) -> TransportKind {
        self.transport
    }

    fn now(&self) -> Duration {
        self.now
    }

    fn poll_send(&mut self, _: &mut Context<'_>, message: &[u8], _: Duration) -> Poll<io::Result<()>> {
        self.sent.clear();
        self.sent.extend_from_slice(message);
        Poll::Ready(Ok(()))
    }

    fn poll_receive(&mut self, _: &mut Context<'_>, until: Duration) -> Poll<io::Result<bool>> {
        let came = self.next().is_some();
        self.now = if came { self.now + Duration::from_millis(1) } else { until.max(self.now) };
        Poll::Ready(Ok(came))
    }

    fn message(&self) -> &[u8] {
        &self.message
    }
}

/// The first byte selects transport, signatures and bursts.
pub fn run(input: &[u8]) {
    let Some((form, rest)) = input.split_first() else { return };
    let transport = [TransportKind::Udp, TransportKind::Tcp, TransportKind::IpxInUdp][usize::from(form % 3)];
    let transport = Scripted { transport, now: Duration::ZERO, sent: Vec::new(), rest, message: Vec::new() };
    let options = Options {
        timeout: Duration::from_secs(2),
        signatures: if form & 0x40 == 0 { Level::IfRequested } else { Level::IfPossible },
        burst: (form & 0x80 != 0).then(|| BurstOptions {
            adapts_window: form & 0x20 != 0,
            adapts_gap: form & 0x10 != 0,
            ..BurstOptions::default()
        }),
        ..Options::default()
    };
    // Every error is acceptable.
    let _ = block_on(converse(transport, options));
}

async fn converse(transport: Scripted<'_>, options: Options) -> Result<(), ClientError> {
    let mut client = Client::connect(transport, options).await?;
    // A refusal ends a step, not the connection.
    let _ = client.login(Login { user: "bench", password: "secret" }).await;
    let Ok(name) = Path::dos("SYS:DIR\\FILE") else { return Ok(()) };
    let mut buffer = vec![0; 100_000];
    let data = [7; 3000];
    if let Ok((file, _)) = client.open(&name, Access::Create, false).await {
        for offset in [0, 1, 1 << 33] {
            let read = client.read(file, offset, &mut buffer).await;
            assert!(read.map_or(true, |len| len <= buffer.len()));
            let _ = client.write(file, offset, &data).await;
        }
        let _ = client
            .lock(file, LockRange { start: 0, length: 9 }, Lock::Exclusive, Duration::from_secs(1))
            .await;
        let _ = client.unlock(file, LockRange { start: 0, length: 9 }).await;
        let _ = (client.size(file).await, client.commit(file).await, client.resize(file, 7).await);
        let _ = client.close(file).await;
    }
    let second = Duration::from_secs(1);
    if let Ok((semaphore, _)) = client.open_semaphore(b"NAME", 1).await {
        let _ = client.examine_semaphore(semaphore).await;
        let _ = client.wait_on_semaphore(semaphore, second).await;
        let _ = client.close_semaphore(semaphore).await;
    }
    let _ = client.entry_info(&name).await;
    let _ = client.volume_space("SYS").await;
    let _ = client.name_spaces("SYS").await;
    let _ = client.list(&name, 100, |_, _| {}).await;
    let _ = (client.make_directory(&name).await, client.rename(&name, &name).await);
    read_bindery(&mut client).await;
    client.disconnect().await
}

/// Calls whose loops end with the replies of the server.
async fn read_bindery(client: &mut Client<Scripted<'_>>) {
    let _ = client.object_with_id(1).await;
    let _ = client.objects(ANY_KIND, "*").await;
    let _ = client.properties(USER, "BENCH").await;
    let _ = client.set(USER, "BENCH", "GROUPS_I'M_IN").await;
    let _ = client
        .is_in_set(
            ObjectName { kind: USER, name: "BENCH" },
            "GROUPS_I'M_IN",
            ObjectName { kind: USER, name: "BENCH" },
        )
        .await;
    let _ = client.object_connections(USER, "BENCH").await;
    let _ = client.connection_address(1).await;
    let _ = client.users().await;
}
