//! The event stream of the dashboard: the newest state, and each finished step once.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use hyper::body::{Bytes, Frame};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout_at};

/// Longest time of one stream. It is shorter than the deadline of a connection, so that the stream ends between two
/// events; the browser then connects again.
const STREAM_TIME: Duration = Duration::from_secs(45);
/// Time in which a browser connects again.
const RECONNECT: Duration = Duration::from_secs(1);
/// Largest number of finished steps in one event.
pub const MAX_STEPS_PER_EVENT: usize = 500;
/// Largest number of finished steps that are kept for pages: the newest ones.
pub const MAX_STEPS: usize = 20_000;
/// First line of a stream: the time after which the browser connects again, milliseconds.
const RETRY: &str = "retry: 500\n\n";

/// What the run's thread and the listener's thread share.
///
/// The run's thread publishes; the streams read. Each event contains the whole state, so an event that a slow page misses
/// is not needed. Finished steps are the exception: a stream sends each of them once, from the number that the browser
/// names in `Last-Event-ID` after a reconnect. The number of steps per event and the number kept are bounded.
#[derive(Debug)]
pub struct Shared {
    page: Bytes,
    state: watch::Sender<Published>,
    steps: Mutex<FinishedSteps>,
    report: OnceLock<Bytes>,
    /// Open streams, and those that a browser is about to open again.
    streams: AtomicUsize,
    /// Pages that have not yet loaded the report.
    unread: AtomicUsize,
}

/// The newest state as JSON.
#[derive(Debug, Clone, Default)]
struct Published {
    json: Arc<str>,
    /// True after the end of the run.
    ended: bool,
}

/// The newest finished steps as JSON.
#[derive(Debug, Default)]
struct FinishedSteps {
    /// Number of the first one that is kept.
    first: u64,
    json: VecDeque<String>,
}

impl FinishedSteps {
    fn end(&self) -> u64 {
        self.first + self.json.len() as u64
    }
}

impl Shared {
    /// The state before the first event.
    pub fn new(page: String) -> Self {
        Self {
            page: page.into(),
            state: watch::Sender::new(Published { json: "null".into(), ended: false }),
            steps: Mutex::default(),
            report: OnceLock::new(),
            streams: AtomicUsize::new(0),
            unread: AtomicUsize::new(0),
        }
    }

    /// The page during the run.
    pub fn page(&self) -> Bytes {
        self.page.clone()
    }

    /// The report, once there is one; the caller sends it to a page.
    pub fn report(&self) -> Option<Bytes> {
        let report = self.report.get()?;
        let less = |unread: usize| unread.checked_sub(1);
        // More pages than were open at the end may load it.
        let _ = self.unread.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        Some(report.clone())
    }

    /// True if there is a report.
    pub fn has_report(&self) -> bool {
        self.report.get().is_some()
    }

    /// Number of pages that were open at the end and have not loaded the report.
    pub fn unread_pages(&self) -> usize {
        self.unread.load(Ordering::SeqCst)
    }

    /// Adds a finished step, whose JSON is made from its number.
    pub fn add_step(&self, json: impl FnOnce(u64) -> String) {
        let mut steps = self.steps();
        if steps.json.len() == MAX_STEPS {
            steps.json.pop_front();
            steps.first += 1;
        }
        let number = steps.end();
        steps.json.push_back(json(number));
    }

    /// Publishes a state.
    pub fn publish(&self, json: String) {
        self.state.send_modify(|state| state.json = json.into());
    }

    /// Ends all streams. The report, if there is one, replaces the page.
    pub fn end(&self, report: Option<Bytes>) {
        if let Some(report) = report {
            self.unread.store(self.streams.load(Ordering::SeqCst), Ordering::SeqCst);
            let _ = self.report.set(report);
        }
        self.state.send_modify(|state| state.ended = true);
    }

    /// The event with the state and the next finished steps from number `next`; the number after the last of them, and
    /// whether there are more.
    pub fn event(&self, state: &str, next: u64) -> (String, u64, bool) {
        let steps = self.steps();
        // A number beyond the end is not from this run.
        let from = if next > steps.end() { steps.first } else { next.max(steps.first) };
        let skipped = (from - steps.first) as usize;
        let sent: Vec<&str> =
            steps.json.iter().skip(skipped).take(MAX_STEPS_PER_EVENT).map(String::as_str).collect();
        let next = from + sent.len() as u64;
        let list = sent.join(",");
        let text = format!("id: {next}\nevent: state\ndata: {{\"state\":{state},\"finished\":[{list}]}}\n\n");
        (text, next, next < steps.end())
    }

    fn steps(&self) -> MutexGuard<'_, FinishedSteps> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The events from the finished step `next` on, as the body of an answer.
pub fn events(shared: Arc<Shared>, next: u64) -> Body {
    // One event at a time: a page that does not read makes its own stream wait, and receives the newest state later.
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        shared.streams.fetch_add(1, Ordering::SeqCst);
        if let Ok(Ended::Time) = send(&shared, next, &sender).await {
            drop(sender);
            // The page is about to connect again. A run that ends meanwhile has to wait for it.
            sleep(RECONNECT).await;
        }
        shared.streams.fetch_sub(1, Ordering::SeqCst);
    });
    Body::new(EventStream(receiver))
}

/// The reader has closed its connection.
struct Gone;

/// Why a stream has ended.
enum Ended {
    /// The run has ended.
    Run,
    /// The time of the stream has passed.
    Time,
}

/// Sends events until the run or the time of the stream ends.
async fn send(shared: &Shared, mut next: u64, page: &mpsc::Sender<Bytes>) -> Result<Ended, Gone> {
    let end = Instant::now() + STREAM_TIME;
    let mut states = shared.state.subscribe();
    let put = async |text: String| page.send(text.into()).await.map_err(|_| Gone);
    put(RETRY.to_owned()).await?;
    loop {
        let Published { json, ended } = states.borrow_and_update().clone();
        let (text, following, has_more) = shared.event(&json, next);
        next = following;
        put(text).await?;
        if has_more {
            continue;
        }
        if ended {
            let report = shared.has_report();
            put(format!("event: end\ndata: {{\"report\":{report}}}\n\n")).await?;
            return Ok(Ended::Run);
        }
        tokio::select! {
            () = page.closed() => return Err(Gone),
            changed = timeout_at(end, states.changed()) => match changed {
                Ok(Ok(())) => {}
                // The dashboard is gone.
                Ok(Err(_)) => return Ok(Ended::Run),
                Err(_) => return Ok(Ended::Time),
            },
        }
    }
}

/// The body of the answer: what the task of the stream sends.
struct EventStream(mpsc::Receiver<Bytes>);

impl hyper::body::Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.get_mut().0.poll_recv(context).map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
    }
}
