//! Load sections: users or schedules in steps.

use std::sync::Arc;
use std::time::Duration;

use sharebench_model::units::ByteSize;
use sharebench_model::{Coordinates, Value, axis};

use super::{KIB, Resolver};
use crate::plan::{Load, Plan};
use crate::preset::PRESETS;
use crate::resolved::{Cell, TransactionWork, Work};
use crate::values::{Arrivals, MAX_FILE, MAX_RECORD, Pace, Scale, Search, Think, nearest};
use crate::workload::{Loadfile, LockRange, Operation, Transaction, TypedWorkload, Workload};

/// Most starts per second of an open load: beyond it the schedule itself would be what is measured.
const MAX_RATE: u64 = 1_000_000;
/// Name of a workload of the plan that states none.
const UNNAMED: &str = "workload";
const HOUR: Duration = Duration::from_secs(3600);

impl Resolver<'_> {
    /// Cells of users, or of users x rates where transactions arrive by a schedule; and the search that adds further steps.
    pub(super) fn load_cells(&mut self, load: Load) -> (Vec<Cell>, Option<Search>) {
        let (typed, usual) = self.typed_workload(load.workload.as_deref()).unzip();
        let usual = usual.unwrap_or_default();
        let arrivals = load.arrivals.unwrap_or_default();
        let users = load.users.clone().unwrap_or_else(|| match (arrivals, load.find_knee == Some(true)) {
            (Arrivals::Closed, true) => vec![1, 2, 4, 8, 16, 32],
            (Arrivals::Closed, false) => vec![1, 2, 5, 10],
            (Arrivals::Constant | Arrivals::Poisson | Arrivals::Visits, _) => vec![32],
        });
        let warm_up = load.warm_up.unwrap_or(Duration::from_secs(2));
        let measure = load.measure.unwrap_or(Duration::from_secs(10));
        let max_extensions = load.max_extensions.unwrap_or(0);
        let scale = load.scale.map(|scale| scale.applied_to(usual.scale)).or(usual.scale);
        let block = load.block.or(usual.block).unwrap_or(ByteSize(100_000));
        self.check_counts("load.users", &users, 100_000);
        if let Some(Scale::Bytes(scale)) = scale {
            self.check_list("load.scale", &[scale], 8 * KIB, MAX_FILE);
        }
        self.check_list("load.block", &[block], 512, MAX_RECORD);
        self.duration_within("load.warm_up", warm_up, Duration::ZERO, 24 * HOUR);
        self.duration_within("load.measure", measure, Duration::from_millis(100), 24 * HOUR);
        self.check_max_extensions(max_extensions, measure);
        let ramp = self.ramp(&load, arrivals, warm_up);
        let workload = typed.as_ref().and_then(|typed| self.workload(typed, scale, block));
        let loadfile = workload.as_ref().and_then(|workload| workload.loadfile.clone());
        let paces = self.paces(&load, arrivals, loadfile.as_deref());
        let most_users = users.iter().max().copied().unwrap_or(1);
        let workload = workload.and_then(|workload| self.with_ranges(workload, most_users));
        let users_per_session = self.sharing(&load, arrivals, workload.as_ref());
        let search = self.search(&load, arrivals, &users);
        self.check_kept_users(&load, arrivals);
        self.typed.load = Some(Load {
            workload: typed.map(|typed| typed.name.unwrap_or_else(|| UNNAMED.into())),
            users: Some(users.clone()),
            arrivals: Some(arrivals),
            rates: load.rates,
            think: paces.iter().find_map(|pace| match pace {
                Pace::Closed(think) | Pace::Visits { think, .. } => Some(think.clone()),
                Pace::Open { .. } => None,
            }),
            visit: paces.iter().find_map(|pace| match pace {
                Pace::Visits { transactions, .. } => Some(*transactions),
                Pace::Closed(_) | Pace::Open { .. } => None,
            }),
            warm_up: Some(warm_up),
            measure: Some(measure),
            max_extensions: Some(max_extensions),
            scale,
            block: Some(block),
            ..load
        });
        let Some(workload) = workload.map(Arc::new) else { return (Vec::new(), None) };
        let cells = users.iter().flat_map(|&users| paces.iter().map(move |pace| (users, pace.clone())));
        let cell = |(users, pace)| {
            let workload = Arc::clone(&workload);
            TransactionWork {
                workload,
                users,
                users_per_session,
                pace,
                ramp,
                warm_up,
                measure,
                max_extensions,
            }
            .into_cell()
        };
        (cells.map(cell).collect(), search)
    }

    /// The workload of that name with its usual scale and block: that of the plan, which has no usual ones, or of a preset.
    fn typed_workload(&mut self, name: Option<&str>) -> Option<(TypedWorkload, Load)> {
        let own = self.plan.workload.as_ref();
        let own_name = own.map(|own| own.name.as_deref().unwrap_or(UNNAMED));
        let name = name.or(own_name).unwrap_or(PRESETS[0].name);
        if let Some(own) = own.filter(|_| own_name == Some(name)) {
            return Some((own.clone(), Load::default()));
        }
        match Plan::from_preset(name) {
            Ok(plan) => {
                let usual = plan.load.filter(|_| own.is_none()).unwrap_or_default();
                plan.workload.map(|workload| (workload, usual))
            }
            Err(problem) => {
                let near = own_name.and_then(|own| nearest(name, &[own]));
                let hint = near.map_or_else(String::new, |near| format!("did you mean '{near}'?"));
                self.blame("load.workload", &problem, &hint);
                None
            }
        }
    }

    /// How many users share a session.
    fn sharing(&mut self, load: &Load, arrivals: Arrivals, workload: Option<&Workload>) -> u32 {
        let shared = load.users_per_session.unwrap_or(1);
        self.within("load.users_per_session", u64::from(shared), 1, 1024);
        let logs_on = workload.is_some_and(|workload| {
            let mut operations = workload.transactions.iter().flat_map(|t| &t.operations);
            operations.any(|operation| *operation == Operation::Connect)
        });
        let alone = workload.and_then(|workload| {
            workload.transactions.iter().flat_map(|t| &t.operations).find(|op| op.needs_own_session())
        });
        if let Some(operation) = alone
            && shared > 1
        {
            let hint = format!("leave it out, or choose a workload without '{operation}'");
            let problem = "users who share a session share its locks, its leases and what it watches";
            self.blame("load.users_per_session", problem, &hint);
        }
        if shared > 1 && (logs_on || arrivals == Arrivals::Visits) {
            let hint = "leave it out, or choose a workload without 'connect' and arrivals other than visits";
            self.blame("load.users_per_session", "users who log off and on share no session", hint);
        }
        let watches = workload.is_some_and(|workload| workload.transactions.iter().any(Transaction::watches));
        if watches && (logs_on || arrivals == Arrivals::Visits) {
            let hint = "leave out 'connect' and arrivals of visits";
            let problem = "'watch' primes the directory after each login, which would count as time of users";
            self.blame("load.workload", problem, hint);
        }
        shared.max(1)
    }

    /// The search that adds steps to those that the plan names.
    fn search(&mut self, load: &Load, arrivals: Arrivals, users: &[u32]) -> Option<Search> {
        let stress = load.until_stress == Some(true);
        let open = arrivals != Arrivals::Closed;
        if stress && (open || load.find_knee == Some(true)) {
            self.blame(
                "load.until_stress",
                "it raises the users of a closed load",
                "leave it out, or arrivals and find",
            );
        }
        if stress && users.windows(2).any(|pair| pair[1] <= pair[0]) {
            self.blame("load.users", "users must increase towards a stress point", "such as [5, 10, 20]");
        }
        match (load.find_knee == Some(true), &load.slo) {
            (true, Some(slo)) => {
                if open {
                    let hint = "leave arrivals and rates out: the search sets them";
                    self.blame("load.find_knee", "the search for a knee starts from a closed load", hint);
                }
                if self.plan.targets.len() > 1 {
                    let hint = "run it once per target, and compare the runs";
                    self.blame("load.find_knee", "each target has a knee of its own", hint);
                }
                if self.plan.repetitions.is_some_and(|repetitions| repetitions > 1) {
                    let hint = "leave repetitions out to search, then repeat the rates around the knee with arrivals and rates";
                    let problem = "with repetitions, each of them would search at other rates";
                    self.blame("load.find_knee", problem, hint);
                }
                Some(Search::Knee(slo.clone()))
            }
            (true, None) => {
                self.blame("load.slo", "a knee needs an objective", "such as slo = \"p95<20ms,errors<0.1%\"");
                None
            }
            (false, _) => stress.then_some(Search::Stress),
        }
    }

    /// An extension is for a verdict, so that the longest window must be long enough for one.
    fn check_max_extensions(&mut self, max_extensions: u32, measure: Duration) {
        let most = TransactionWork::MAX_EXTENDED;
        self.within("load.max_extensions", u64::from(max_extensions), 0, u64::from(most));
        let longest = measure * (1 << max_extensions.min(most));
        let needed = TransactionWork::SHORTEST_JUDGED;
        if max_extensions > 0 && longest < needed {
            let problem = format!(
                "the longest window is {longest:?}, and {needed:?} are needed to judge whether it is steady"
            );
            self.blame("load.max_extensions", &problem, "raise measure, such as to 30s");
        }
    }

    /// Users who stay logged on are those of one target and of a closed load, in the steps that the plan names.
    fn check_kept_users(&mut self, load: &Load, arrivals: Arrivals) {
        if load.keep_users != Some(true) {
            return;
        }
        let field = "load.keep_users";
        if self.plan.targets.len() > 1 {
            let hint = "run it once per target, and compare the runs";
            self.blame(field, "the users of one target would work while another one is measured", hint);
        }
        if arrivals != Arrivals::Closed {
            let problem =
                format!("with {} arrivals users are a pool, which has no steps of its own", arrivals.name());
            self.blame(field, &problem, "leave it out, or arrivals and rates");
        }
        if load.until_stress == Some(true) || load.find_knee == Some(true) {
            let hint = "leave it out, or name the steps in users";
            self.blame(field, "a search decides on its next step when the last one has ended", hint);
        }
        if load.max_extensions.is_some_and(|extensions| extensions > 0) {
            let hint = "leave it out, or max_extensions; raise warm_up and measure";
            self.blame(field, "a step of the series has one window, which is not extended", hint);
        }
        if self.plan.pre_step_cmd.is_some() {
            let hint = "leave it out, or the command";
            self.blame(field, "pre_step_cmd runs while nobody is logged on", hint);
        }
    }

    /// Users of a closed load may begin one after another; all of them are there when the window begins.
    fn ramp(&mut self, load: &Load, arrivals: Arrivals, warm_up: Duration) -> Option<Duration> {
        let ramp = load.ramp?;
        if arrivals != Arrivals::Closed {
            self.blame("load.ramp", "a schedule decides when users come", "leave it out, or arrivals");
        }
        if ramp > warm_up {
            let problem = format!("it takes {ramp:?}, and the warm-up ends after {warm_up:?}");
            self.blame("load.ramp", &problem, "raise warm_up: the window measures all users");
        }
        Some(ramp)
    }

    /// Pauses and length of visits.
    fn visits(&mut self, load: &Load, rates: &[u32]) -> Vec<Pace> {
        let think = load.think.clone().unwrap_or(Think::Constant(Duration::from_secs(1)));
        self.duration_within("load.think", think.mean(), Duration::ZERO, HOUR);
        if let Think::Every(_) = think {
            let hint = "use a pause, such as '1s' or 'exp 1s'";
            self.blame("load.think", "users who come and go keep no common pace", hint);
        }
        let transactions = load.visit.unwrap_or(10);
        self.within("load.visit", u64::from(transactions), 1, 1_000_000);
        let pace = |rate: &u32| Pace::Visits { rate: *rate, think: think.clone(), transactions };
        rates.iter().map(pace).collect()
    }

    /// The think times that a loadfile requires.
    fn check_stamps(&mut self, load: &Load, arrivals: Arrivals, loadfile: Option<&Loadfile>) {
        if load.think == Some(Think::Stamps) && !loadfile.is_some_and(Loadfile::is_stamped) {
            let hint = "use a pause, such as '1s', or a loadfile whose lines begin with seconds";
            self.blame("load.think", "there is no loadfile with time stamps", hint);
        }
        if loadfile.is_some() && arrivals == Arrivals::Visits {
            let hint = "leave arrivals out: each user replays the file over one session";
            self.blame("load.arrivals", "what a loadfile opens does not outlast a visit", hint);
        }
    }

    /// One closed pace, or one open pace per rate.
    fn paces(&mut self, load: &Load, arrivals: Arrivals, loadfile: Option<&Loadfile>) -> Vec<Pace> {
        if load.visit.is_some() && arrivals != Arrivals::Visits {
            self.blame("load.visit", "it needs arriving users", "add arrivals = \"visits\", or leave it out");
        }
        self.check_stamps(load, arrivals, loadfile);
        if arrivals == Arrivals::Closed {
            let usual = match loadfile {
                Some(file) if load.find_knee != Some(true) && file.is_stamped() => Think::Stamps,
                None if load.find_knee != Some(true) => Think::Constant(Duration::from_secs(1)),
                _ => Think::Constant(Duration::ZERO),
            };
            let think = load.think.clone().unwrap_or(usual);
            self.duration_within("load.think", think.mean(), Duration::ZERO, HOUR);
            if load.rates.is_some() {
                self.blame(
                    "load.rates",
                    "the load is closed: each user decides when its next transaction starts",
                    "add arrivals = \"poisson\" (or \"constant\"), or use users and think",
                );
            }
            return vec![Pace::Closed(think)];
        }
        if load.think.is_some() && arrivals != Arrivals::Visits {
            self.blame(
                "load.think",
                &format!(
                    "with {} arrivals the schedule decides when transactions start; there is no think time",
                    arrivals.name()
                ),
                "remove it, or remove arrivals",
            );
        }
        let Some(rates) = &load.rates else {
            self.blame(
                "load.rates",
                &format!("{} arrivals need a rate", arrivals.name()),
                "such as rates = [100, 200]: intended starts per second of all users together",
            );
            return Vec::new();
        };
        self.check_counts("load.rates", rates, MAX_RATE);
        if arrivals == Arrivals::Visits {
            return self.visits(load, rates);
        }
        rates.iter().map(|&rate| Pace::Open { poisson: arrivals == Arrivals::Poisson, rate }).collect()
    }

    fn workload(&mut self, typed: &TypedWorkload, scale: Option<Scale>, block: ByteSize) -> Option<Workload> {
        let block = block.0.min(MAX_RECORD) as u32;
        match Workload::resolved(typed, scale, block, self.typed.seed.unwrap_or(0)) {
            Ok(workload) => self.fitting(workload),
            Err(wrong) => {
                for (field, problem, hint) in wrong {
                    self.blame(&field, &problem, &hint);
                }
                None
            }
        }
    }

    /// A request at any place of a file that stays open must fit into the file.
    fn fitting(&mut self, workload: Workload) -> Option<Workload> {
        let block = ByteSize(u64::from(workload.block));
        for transaction in workload.transactions.iter().filter(|t| t.keeps_open()) {
            let files = transaction.class.map_or(0..0, |class| workload.set.classes[class].1.clone());
            let smallest =
                ByteSize(workload.set.files[files].iter().map(|file| file.bytes).min().unwrap_or(0));
            let unsized_request = transaction.operations.iter().any(
                |operation| matches!(operation, Operation::Read(r) | Operation::Write(r) if r.size.is_none()),
            );
            if unsized_request && block > smallest {
                let problem = format!("{block} is larger than the file ({smallest})");
                self.blame("load.block", &problem, "a record must fit into its file; raise scale");
                return None;
            }
        }
        Some(workload)
    }
    /// What users read and write while a range is locked must lie within its file.
    fn with_ranges(&mut self, workload: Workload, users: u32) -> Option<Workload> {
        for (index, transaction) in workload.transactions.iter().enumerate() {
            let mut locked = None;
            let mut needed = 0;
            for operation in &transaction.operations {
                match operation {
                    Operation::Lock(range) => locked = Some(range),
                    Operation::Unlock => locked = None,
                    Operation::Read(_) | Operation::Write(_) => {
                        let end =
                            |range: &LockRange| range.offset(users.saturating_sub(1)) + LockRange::BYTES;
                        needed = needed.max(locked.map_or(0, end));
                    }
                    _ => {}
                }
            }
            let files = transaction.class.map_or(0..0, |class| workload.set.classes[class].1.clone());
            let smallest = workload.set.files[files].iter().map(|file| file.bytes).min().unwrap_or(0);
            if needed > smallest {
                let problem = format!(
                    "the locked ranges of {users} users need {}, and its smallest file has {}",
                    ByteSize(needed),
                    ByteSize(smallest)
                );
                let field = format!("workload.transactions.{index}.operations");
                self.blame(
                    &field,
                    &problem,
                    "use larger files, fewer users, or 'lock' instead of 'lock own'",
                );
                return None;
            }
        }
        Some(workload)
    }
}

impl TransactionWork {
    /// The same as a cell, with its coordinates.
    pub fn into_cell(self) -> Cell {
        let coordinates = Coordinates::new()
            .with(axis::WORKLOAD, Value::text(self.workload.name.clone()))
            .with(axis::USERS, Value::Count(u64::from(self.users)));
        let coordinates = match self.pace {
            Pace::Closed(_) => coordinates,
            Pace::Open { rate, .. } | Pace::Visits { rate, .. } => {
                let arrivals = match self.pace {
                    Pace::Visits { .. } => Arrivals::Visits,
                    Pace::Open { poisson: true, .. } => Arrivals::Poisson,
                    _ => Arrivals::Constant,
                };
                coordinates
                    .with(axis::ARRIVALS, Value::text(arrivals.name()))
                    .with(axis::RATE, Value::Count(u64::from(rate)))
            }
        };
        (coordinates, Work::Transactions(self))
    }
}
