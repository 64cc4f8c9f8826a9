//! Which experiments a diagnosis makes, on sessions of their own.

use sharebench_model::OpError;

use crate::evidence::{Evidence, Experiment};
use crate::experiments::{Arm, block_bytes, compare};
use crate::files::{Connection, Files};
use crate::work::{MORE_SESSIONS, WIDE_SLOTS, Work};

/// Bytes of the smaller requests with which large ones are compared.
const SMALL_REQUEST_BYTES: u32 = 64 << 10;

impl Work<'_> {
    pub(crate) async fn experiments(
        &self,
        connections: &mut [Connection],
        files: &Files,
        evidence: &mut Evidence,
        deadline: u64,
    ) -> Result<(), OpError> {
        let wanted = 3 + self.variants.len() as u64;
        let time = (deadline.saturating_sub(self.clock.now()) / wanted).min(2_000_000_000);
        let block = block_bytes(&evidence.series);
        if connections.len() == 1 + MORE_SESSIONS
            && connections.iter().all(|connection| connection.slots == WIDE_SLOTS)
        {
            match self.target.connect(&self.spec(WIDE_SLOTS)).await {
                Ok(session) => {
                    let mut single = Connection::new(session, WIDE_SLOTS);
                    let tcp = single.session.tcp();
                    let mut base = Arm::new([&mut single], WIDE_SLOTS, files, block).await?;
                    let mut changed = Arm::new(connections.iter_mut(), WIDE_SLOTS / 4, files, block).await?;
                    let arms = (&mut base, &mut changed);
                    self.compare(Experiment::Connections, arms, files, evidence, (time, deadline)).await?;
                    // The session of one slot requests fewer credits than the server would grant.
                    if let Some(credits) = single.session.facts().remove("credits") {
                        evidence.facts.insert("credits".to_owned(), credits);
                    }
                    evidence.read = tcp.and_then(|tcp| single.session.tcp()?.since(tcp));
                    single.session.close().await;
                }
                Err(error) => {
                    evidence.not_compared.insert(Experiment::Connections, error.to_string());
                }
            }
        }
        if let [wide, other, ..] = &mut *connections
            && wide.slots > 1
        {
            let mut changed = Arm::new([wide], WIDE_SLOTS, files, block).await?;
            let mut base = Arm::new([other], 1, files, block).await?;
            let arms = (&mut base, &mut changed);
            self.compare(Experiment::Depth, arms, files, evidence, (time, deadline)).await?;
        }
        for (experiment, target) in self.variants {
            let is_used = match experiment {
                Experiment::Signing => evidence.is_on("signing") || evidence.is_on_true("signed"),
                Experiment::Encryption => evidence.is_on("encryption"),
                _ => true,
            };
            if !is_used || connections.is_empty() {
                continue;
            }
            let slots = connections[0].slots;
            match target.connect(&self.spec(slots)).await {
                Ok(session) => {
                    evidence.changed_facts.insert(*experiment, session.facts());
                    let mut other = Connection::new(session, slots);
                    let mut base = Arm::new([&mut connections[0]], slots, files, block).await?;
                    match Arm::new([&mut other], slots, files, block).await {
                        Ok(mut changed) => {
                            let arms = (&mut base, &mut changed);
                            self.compare(*experiment, arms, files, evidence, (time, deadline)).await?;
                        }
                        Err(error) => drop(evidence.not_compared.insert(*experiment, error.to_string())),
                    }
                    other.session.close().await;
                }
                Err(error) => drop(evidence.not_compared.insert(*experiment, error.detail)),
            }
        }
        Ok(())
    }

    /// Compares requests of 1 MiB with smaller ones, where the server permits both.
    pub(crate) async fn compare_requests(
        &self,
        connection: &mut Connection,
        connections: &mut [Connection],
        files: &Files,
        evidence: &mut Evidence,
        deadline: u64,
    ) -> Result<(), OpError> {
        let Some(other) = connections.first_mut() else { return Ok(()) };
        if evidence.max_read <= SMALL_REQUEST_BYTES || self.target.capabilities().blocking {
            return Ok(());
        }
        let time = (deadline.saturating_sub(self.clock.now()) / 4).min(1_500_000_000);
        let mut base = Arm::new([connection], 1, files, SMALL_REQUEST_BYTES).await?;
        let mut changed = Arm::new([other], 1, files, block_bytes(&evidence.series)).await?;
        self.compare(Experiment::LargeRequests, (&mut base, &mut changed), files, evidence, (time, deadline))
            .await
    }

    async fn compare(
        &self,
        experiment: Experiment,
        arms: (&mut Arm<'_>, &mut Arm<'_>),
        files: &Files,
        evidence: &mut Evidence,
        (time, deadline): (u64, u64),
    ) -> Result<(), OpError> {
        match compare(arms, files, self.clock, time, deadline).await? {
            Some(comparison) => drop(evidence.comparisons.insert(experiment, comparison)),
            None => drop(evidence.not_compared.insert(experiment, "no time was left".to_owned())),
        }
        Ok(())
    }
}
