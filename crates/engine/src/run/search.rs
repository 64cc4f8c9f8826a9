//! Steps after those that a plan names: up to the stress point, or in search of the knee.
//!
//! What comes next follows from the results so far alone, so that a resumed run takes the same steps.

use sharebench_model::{RunEvent, StepError, StepResult};
use sharebench_plan::{Cell, Pace, Search, Slo, StepOrder, TransactionWork, Work};

use crate::run::Run;
use crate::run::rounds::{Done, RunResources};
use crate::threads::descriptor_limit;

/// Smallest relative decline of throughput that counts as a decline, the same as in the analysis.
const DECLINE: f64 = 0.05;
/// Shares of the closed load's ceiling that are measured first as open loads.
const SHARES: [f64; 6] = [0.1, 0.5, 0.7, 0.8, 0.9, 1.0];
/// The search for the knee ends when kept and missed rate differ by this share of the ceiling.
const RESOLUTION: f64 = 0.02;
/// Smallest ceiling in transactions per second at which a knee can be searched, because rates are whole numbers.
const MIN_CEILING: f64 = 10.0;
/// Minimum number of users of an open load.
const MIN_POOL: u32 = 32;
/// Maximum number of users of a step that a search adds.
const MAX_USERS: u32 = 100_000;

/// The number of users after which more users had a rate that is lower by at least 5 %; none if the rate has not fallen.
/// `steps` has the users and the rate of each finished step of a target, in the order of measuring.
pub fn stress_point(steps: &[(u32, f64)]) -> Option<u32> {
    let pairs = steps.iter().zip(steps.iter().skip(1));
    let mut grown = pairs.filter(|(before, after)| after.0 > before.0);
    grown.find(|(before, after)| after.1 < before.1 * (1.0 - DECLINE)).map(|(before, _)| before.0)
}

/// The next number of users on the way to the stress point. There is none once every target has passed it, or when
/// the maximum number of steps was added without finding one. `rates` has a list of (users, rate) for each target.
fn next_users(rates: &[Vec<(u32, f64)>], added: u32) -> Option<u32> {
    let fell = |steps: &Vec<(u32, f64)>| stress_point(steps).is_some() || steps.is_empty();
    if added >= Search::MAX_ADDED || rates.iter().all(fell) {
        return None;
    }
    let users: Vec<u32> = rates.first()?.iter().map(|(users, _)| *users).collect();
    let last = *users.last()?;
    let before = users.len().checked_sub(2).map_or(0, |index| users[index]);
    // Growing distances reach a distant stress point within the steps that may be added
    // (docs/design/load-steps.md, Searches).
    let next = last.saturating_add((last - before).max(last / 4).max(1));
    (next <= MAX_USERS).then_some(next)
}

/// The next rate in the search for the knee; none when the knee is known to the required resolution, or no rate was
/// missed.
fn next_rate(ceiling: f64, tried: &[(u32, bool)]) -> Option<u32> {
    let rate = |share: f64| ((ceiling * share).floor() as u32).max(1);
    let known = |rate: u32| tried.iter().any(|(tried, _)| *tried == rate);
    if let Some(next) = SHARES.iter().map(|share| rate(*share)).find(|rate| !known(*rate)) {
        return Some(next);
    }
    let missed = tried.iter().filter(|(_, kept)| !kept).map(|(rate, _)| *rate).min()?;
    let kept =
        tried.iter().filter(|(rate, kept)| *kept && *rate < missed).map(|(rate, _)| *rate).max().unwrap_or(0);
    let enough = ((ceiling * RESOLUTION) as u32).max(1);
    let next = kept + (missed - kept) / 2;
    (missed - kept > enough && !known(next) && next > 0).then_some(next)
}

impl Run<'_> {
    /// Adds steps after those that the plan names, as its search requires; `measured` are the named ones. Returns what was
    /// added, in order.
    pub(crate) async fn search(
        &self,
        schedule: &mut StepOrder<'_>,
        measured: Vec<StepResult>,
        done: &Done<'_>,
        resources: &mut RunResources<'_, '_>,
    ) -> Result<Vec<Cell>, StepError> {
        let Some(Work::Transactions(work)) = self.plan.loads.last().map(|(_, work)| work) else {
            return Ok(Vec::new());
        };
        match &self.plan.search {
            None => Ok(Vec::new()),
            Some(Search::Stress) => self.climb(work, schedule, measured, done, resources).await,
            Some(Search::Knee(slo)) => self.find_knee(slo, work, schedule, measured, done, resources).await,
        }
    }

    async fn climb(
        &self,
        work: &TransactionWork,
        schedule: &mut StepOrder<'_>,
        measured: Vec<StepResult>,
        done: &Done<'_>,
        resources: &mut RunResources<'_, '_>,
    ) -> Result<Vec<Cell>, StepError> {
        let mut rates: Vec<Vec<(u32, f64)>> = vec![Vec::new(); self.targets.len()];
        let mut note = |step: &StepResult, users: u32| {
            let rate = step.measure.throughput().filter(|rate| *rate > 0.0);
            let rate = rate.or(step.measure.transaction_rate()).unwrap_or(0.0);
            if let Some(rates) = rates.get_mut(step.target as usize) {
                rates.push((users, rate));
            }
            rates.clone()
        };
        let mut standing = Vec::new();
        for step in &measured {
            let users = step.coordinates.number(sharebench_model::axis::USERS).unwrap_or(0);
            standing = note(step, users as u32);
        }
        let mut added: Vec<Cell> = Vec::new();
        while let Some(users) = next_users(&standing, added.len() as u32) {
            let each = self.targets.iter().map(|target| target.descriptors()).max().unwrap_or(1);
            if let Err(why) = descriptor_limit::ensure_descriptors(users, each) {
                self.emit(RunEvent::Warning(format!("no step of {users} users is added: {why}")));
                break;
            }
            let cell = TransactionWork { users, ..work.clone() }.into_cell();
            for step in schedule.further(&cell, 0) {
                let result = self.result_of(&step, done, resources).await?;
                standing = note(&result, users);
            }
            added.push(cell);
        }
        Ok(added)
    }

    async fn find_knee(
        &self,
        slo: &Slo,
        work: &TransactionWork,
        schedule: &mut StepOrder<'_>,
        measured: Vec<StepResult>,
        done: &Done<'_>,
        resources: &mut RunResources<'_, '_>,
    ) -> Result<Vec<Cell>, StepError> {
        if let Some(first) = measured.first()
            && let (false, said) = slo.judge(&first.measure)
        {
            let users = first.measure.users_assigned;
            self.emit(RunEvent::Warning(format!(
                "the objective is missed with {users} users already ({said}): there is no knee to find below"
            )));
            return Ok(Vec::new());
        }
        let rates = measured.iter().filter_map(|step| step.measure.transaction_rate());
        let ceiling = rates.fold(0.0, f64::max);
        if ceiling < MIN_CEILING {
            self.emit(RunEvent::Warning(format!(
                "the closed load reached {ceiling:.1} transactions/s, and rates are whole numbers: use a smaller \
                 workload, or more users in --users, to search for a knee"
            )));
            return Ok(Vec::new());
        }
        let users = measured.iter().map(|step| step.measure.users_assigned).max().unwrap_or(1);
        // The users of an open load are a pool: where none is free, a start waits.
        let users = users.saturating_mul(2).clamp(MIN_POOL, MAX_USERS);
        let mut tried: Vec<(u32, bool)> = Vec::new();
        let mut added = Vec::new();
        while let Some(rate) = next_rate(ceiling, &tried) {
            let pace = Pace::Open { poisson: true, rate };
            let cell = TransactionWork { users, pace, ..work.clone() }.into_cell();
            for step in schedule.further(&cell, 0) {
                let result = self.result_of(&step, done, resources).await?;
                tried.push((rate, slo.judge_open(&result.measure, rate).0));
            }
            added.push(cell);
        }
        Ok(added)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_added_until_every_target_has_fallen() {
        let rates = |second: &[f64]| {
            let one = vec![(5, 100.0), (10, 150.0), (20, 120.0)];
            let other = [5, 10, 20].into_iter().zip(second.iter().copied()).collect();
            vec![one, other]
        };
        assert_eq!(next_users(&rates(&[1.0, 2.0, 3.0]), 0), Some(30));
        assert_eq!(next_users(&rates(&[1.0, 2.0, 1.0]), 0), None);
        assert_eq!(next_users(&rates(&[1.0, 2.0, 1.95]), 0), Some(30), "2.5 % are no decline");
        assert_eq!(next_users(&rates(&[1.0, 2.0, 3.0]), Search::MAX_ADDED), None);
        assert_eq!(next_users(&[vec![(1, 5.0)]], 0), Some(2));
    }

    #[test]
    fn stress_point_is_the_number_of_users_before_the_rate_falls() {
        assert_eq!(stress_point(&[(5, 100.0), (10, 150.0), (20, 120.0)]), Some(10));
        assert_eq!(stress_point(&[(5, 100.0), (10, 96.0)]), None, "4 % are no decline");
        assert_eq!(stress_point(&[(10, 150.0), (5, 100.0)]), None, "fewer users have a lower rate");
        assert_eq!(stress_point(&[(10, 0.0)]), None);
    }

    #[test]
    fn a_knee_is_bracketed_and_halved_to_two_percent_of_the_ceiling() {
        for knee in [3, 120, 555, 788, 940, 999] {
            let mut tried = Vec::new();
            while let Some(rate) = next_rate(1000.0, &tried) {
                tried.push((rate, rate <= knee));
            }
            assert_eq!(
                tried.iter().map(|(rate, _)| *rate).take(6).collect::<Vec<_>>(),
                [100, 500, 700, 800, 900, 1000]
            );
            let kept = tried.iter().filter(|(_, kept)| *kept).map(|(rate, _)| *rate).max().unwrap_or(0);
            assert!(kept <= knee && knee - kept <= 20, "{knee}: {kept} after {} steps", tried.len());
            assert!(tried.len() <= 12);
        }
    }
}
