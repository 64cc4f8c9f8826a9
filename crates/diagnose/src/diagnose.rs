//! The course of a diagnosis: sessions, files, measuring, experiments, removal.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sharebench_engine::{Clock, OwnDirectory};
use sharebench_model::{ErrorClass, MetaOp, OpError, TcpReading};
use sharebench_target::{ConnectError, Target, call};

use crate::budget::{Budget, budget};
use crate::causes::{Verdict, judge};
use crate::client_limits::{ClientLimits, LimitReading};
use crate::evidence::{Bulk, Evidence, WriteRefusal};
use crate::experiments::Variant;
use crate::files::{Connection, Files, open};
use crate::login;
use crate::measure::{Meter, Rounds, bytes_written};
use crate::mount::MountFacts;
use crate::observations::{find_network, own_uid};
use crate::operations::{LARGE_BYTES, Operation};
use crate::tcp_options::compare_acknowledgements;
use crate::work::{LoadOfServer, MORE_SESSIONS, Options, WIDE_SLOTS, Work};

/// Its slots over NCP, where each one is a connection with a login of its own, of which a licence may permit few.
const NCP_SLOTS: u32 = 4;
/// Time between two looks at the stop signal.
const STOP_INTERVAL: Duration = Duration::from_millis(20);

/// Why there is no diagnosis.
#[derive(Debug, thiserror::Error)]
pub enum DiagnoseError {
    /// The share cannot be reached or refused us.
    #[error("{0}")]
    Connect(#[from] ConnectError),
    /// An operation failed.
    #[error("{target}: {error}")]
    Operation {
        /// URL of the share.
        target: String,
        /// What failed.
        error: OpError,
    },
    /// The directory could not be removed.
    #[error("{target}: cannot remove {directory}: {error}; sharebench clean removes it")]
    Leftover {
        /// URL of the share.
        target: String,
        /// What is left.
        directory: String,
        /// Why.
        error: String,
    },
    /// A stop was requested.
    #[error("stopped before the diagnosis was complete")]
    Stopped,
    /// The system provides no event queue or timer.
    #[error("cannot start the runtime: {0}")]
    Runtime(String),
}

/// The result.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// URL of the share.
    pub url: String,
    /// What was measured.
    pub evidence: Evidence,
    /// The parts of the time of typical operations.
    pub budgets: Vec<Budget>,
    /// Causes, the most expensive first.
    pub verdict: Verdict,
    /// Duration of the diagnosis, seconds.
    pub elapsed_s: f64,
    /// Bytes of file data that were written.
    pub bytes_written: u64,
}

/// Diagnoses a share. `variants` are the same share with other options of the URL, or another one to compare with.
///
/// It writes into one directory, which it removes also after a failure or a stop. The calling thread is busy meanwhile.
///
/// # Errors
/// There is no diagnosis, or something is left on the share.
pub fn diagnose(
    target: &dyn Target,
    variants: &[Variant],
    options: &Options,
    server_load: &LoadOfServer<'_>,
) -> Result<Diagnosis, DiagnoseError> {
    let clock = Clock::start();
    let work = Work { target, variants, options, server_load, clock: &clock };
    let done = clock.block_on(work.run());
    done.unwrap_or_else(|error| Err(DiagnoseError::Runtime(error.to_string())))
}

/// What the work has made so far.
#[derive(Default)]
struct Progress {
    evidence: Evidence,
    made_directory: bool,
    bytes_written: u64,
}

impl Work<'_> {
    async fn run(&self) -> Result<Diagnosis, DiagnoseError> {
        let start = self.clock.now();
        let start_ms = unix_ms();
        let limits = LimitReading::now();
        let mut progress = Progress::default();
        let limit = self.options.time * 2 + self.options.timeout;
        let measured = tokio::select! {
            measured = self.measure(&mut progress) => measured,
            () = self.stopped() => Err(DiagnoseError::Stopped),
            () = tokio::time::sleep(limit) => {
                let why = format!("the share is too slow for a diagnosis within {limit:?}; give a longer --for");
                Err(self.failed(OpError::new(ErrorClass::Timeout, sharebench_model::OpStep::Reply, why)))
            }
        };
        // Also after a failure, whose message is then the one of what is left.
        if progress.made_directory {
            self.remove().await?;
        }
        measured?;
        let Progress { mut evidence, bytes_written, .. } = progress;
        let other_threads = evidence.client_limits.other_threads;
        let limits = LimitReading::now().since(limits, self.clock.now() - start);
        evidence.client_limits = ClientLimits { other_threads, ..limits };
        evidence.server_load = (self.server_load)(start_ms, unix_ms());
        let budgets: Vec<Budget> =
            Operation::TYPICAL.into_iter().filter_map(|operation| budget(&evidence, operation)).collect();
        let verdict = judge(&evidence, &budgets);
        let elapsed_s = (self.clock.now() - start) as f64 / 1e9;
        Ok(Diagnosis { url: self.target.url(), evidence, budgets, verdict, elapsed_s, bytes_written })
    }

    fn failed(&self, error: OpError) -> DiagnoseError {
        DiagnoseError::Operation { target: self.target.url(), error }
    }

    async fn stopped(&self) {
        while !self.options.stop.is_stopped() {
            tokio::time::sleep(STOP_INTERVAL).await;
        }
    }

    async fn measure(&self, progress: &mut Progress) -> Result<(), DiagnoseError> {
        let start = self.clock.now();
        let (session, phases) = match login::connect(self.target, &self.spec(1), self.clock).await {
            Ok(opened) => opened,
            Err(error) => return Err(self.target.explain(error, self.options.timeout / 8).await.into()),
        };
        let mut connection = Connection::new(session, 1);
        let evidence = &mut progress.evidence;
        self.target.capabilities().protocol.clone_into(&mut evidence.protocol);
        evidence.facts = connection.session.facts().stored();
        evidence.mount = MountFacts::from_facts(&evidence.facts);
        evidence.login = phases;
        if evidence.login.needs_repetition()
            && let Ok((second, phases)) = login::connect(self.target, &self.spec(1), self.clock).await
        {
            second.close().await;
            evidence.login = std::mem::take(&mut evidence.login).faster(&phases);
        }
        let mut connections = self.more_sessions(evidence).await;
        let result = self.with_sessions(start, progress, &mut connection, &mut connections).await;
        result.map_err(|error| self.failed(error))?;
        for connection in connections.into_iter().chain([connection]) {
            connection.session.close().await;
        }
        Ok(())
    }

    /// The session for streams and three more; fewer where the server or the system permits no more.
    async fn more_sessions(&self, evidence: &mut Evidence) -> Vec<Connection> {
        let capabilities = self.target.capabilities();
        let wanted = if capabilities.protocol == "ncp" { NCP_SLOTS } else { WIDE_SLOTS };
        let slots = wanted.min(capabilities.max_queue_depth);
        let number = if capabilities.blocking { 1 } else { 1 + MORE_SESSIONS };
        let mut connections = Vec::new();
        for index in 0..number {
            // Over NCP the slots of one session are connections already.
            let slots = if capabilities.protocol == "ncp" && index > 0 { 1 } else { slots };
            match self.target.connect(&self.spec(slots)).await {
                Ok(session) => connections.push(Connection::new(session, slots)),
                Err(error) => {
                    evidence.notes.push(format!("session {} of {number}: {error}", index + 2));
                    break;
                }
            }
        }
        connections
    }

    async fn with_sessions(
        &self,
        start: u64,
        progress: &mut Progress,
        connection: &mut Connection,
        connections: &mut [Connection],
    ) -> Result<(), OpError> {
        let mut files = self.files(start, progress, connection, connections).await?;
        progress.bytes_written = files.bytes_written;
        if files.written.is_some() {
            let until = self.at(start, 0.25);
            files
                .add_entries(
                    if connections.is_empty() { std::slice::from_mut(connection) } else { connections },
                    self.clock,
                    until,
                )
                .await?;
        }
        let evidence = &mut progress.evidence;
        let mut rounds = Rounds::new(self.target, &files, self.clock, connection, evidence).await?;
        rounds.run(connection, connections.first_mut(), evidence, self.at(start, 0.6)).await?;
        progress.bytes_written += bytes_written(evidence);
        let tcp = connection.session.tcp();
        let probe = sharebench_model::DataOp::Read {
            file: sharebench_model::FileRef(0),
            offset: 0,
            len: LARGE_BYTES,
        };
        evidence.negotiated_read = connection.session.max_transfer(probe);
        evidence.max_read = evidence.negotiated_read.min(connection.max_piece);
        find_network(evidence, tcp);
        self.observe_server(connection, &files, evidence).await?;
        let deadline = self.at(start, 0.95);
        let large = open(&mut *connection.session, &files.large).await?;
        compare_acknowledgements(connection, large, &files, evidence, self.clock, deadline).await?;
        self.compare_requests(connection, connections, &files, evidence, deadline).await?;
        self.experiments(connections, &files, evidence, deadline).await?;
        if files.written.is_some() {
            files.remove_entries(connections).await;
        }
        Ok(())
    }

    fn own_directory(&self) -> OwnDirectory<'_> {
        OwnDirectory { name: &self.options.directory, clock: self.clock, timeout: self.options.timeout }
    }

    /// Makes the files, or finds some where nothing may be written.
    async fn files(
        &self,
        start: u64,
        progress: &mut Progress,
        connection: &mut Connection,
        connections: &mut [Connection],
    ) -> Result<Files, OpError> {
        if !self.options.read_only {
            match self.own_directory().make(&mut *connection.session).await {
                Ok(()) => {
                    progress.made_directory = true;
                    let evidence = &mut progress.evidence;
                    let connection = connections.first_mut().unwrap_or(connection);
                    return self.make_files(start, evidence, connection).await;
                }
                Err(error) if matches!(error.class, ErrorClass::Refused | ErrorClass::ReadOnly) => {
                    progress.evidence.refusal = Some(WriteRefusal {
                        error: error.detail.clone(),
                        is_read_only: error.class == ErrorClass::ReadOnly,
                        uid: own_uid(&progress.evidence),
                    });
                    progress
                        .evidence
                        .notes
                        .push(format!("nothing may be written ({error}): only reads were measured"));
                }
                // Whether the directory exists is unknown.
                Err(error) => {
                    progress.made_directory = error.class.ends_connection();
                    return Err(error);
                }
            }
        }
        Files::find(connection, self.clock, self.at(start, 0.15)).await
    }

    async fn make_files(
        &self,
        start: u64,
        evidence: &mut Evidence,
        connection: &mut Connection,
    ) -> Result<Files, OpError> {
        let meter = Meter::new(self.clock);
        let tcp = connection.session.tcp();
        let before = meter.before();
        let files =
            Files::make(&self.options.directory, connection, self.clock, self.at(start, 0.12)).await?;
        let sample = meter.sample(&before, 0);
        let since = |earlier: TcpReading| connection.session.tcp()?.since(earlier);
        evidence.write = Some(Bulk {
            bytes_per_s: files.large_bytes as f64 / (sample.elapsed_ns / 1e9),
            client_share: sample.cpu_ns / sample.elapsed_ns.max(1.0),
            tcp: tcp.and_then(since),
        });
        Ok(files)
    }

    /// Removes the directory over a new session: the others may be in the middle of an operation.
    async fn remove(&self) -> Result<(), DiagnoseError> {
        let left = |error: String| DiagnoseError::Leftover {
            target: self.target.url(),
            directory: self.options.directory.clone(),
            error,
        };
        let mut session =
            self.target.connect(&self.spec(1)).await.map_err(|error| left(error.to_string()))?;
        let removed = self.own_directory().remove(&mut *session).await;
        removed.map_err(|error| left(error.to_string()))?;
        let path = self.options.directory.clone();
        let gone = call(&mut *session, MetaOp::Stat { path }).await.is_err();
        session.close().await;
        if gone { Ok(()) } else { Err(left("it is still there".to_owned())) }
    }
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
