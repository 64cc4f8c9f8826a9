//! A simulator of users on a server: it performs the workload of a plan and notes every operation, as a capture would show it.

use std::collections::BTreeMap;

use sharebench_learn::{Access, Action, File, Observed, Operation, Outcome, Person, Protocol};
use sharebench_model::Random;
use sharebench_plan::{
    Operation as Op, Owner, Pace, Plan, PlannedTarget, RequestPattern, Requests, Think, Times,
    TransactionWork, Work,
};

/// Between two operations of a transaction, ns.
const TURNAROUND: u64 = 40_000;

/// What a simulated client sends.
pub struct Simulation {
    pub protocol: Protocol,
    pub users: u32,
    pub seconds: u64,
    pub seed: u64,
}

/// The load of a plan text without targets.
pub fn load(text: &str) -> TransactionWork {
    let plan = Plan::parse(text).unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"));
    resolved(plan)
}

pub fn resolved(plan: Plan) -> TransactionWork {
    let targets = vec![PlannedTarget { name: "a".into(), url: "/a".into() }];
    let text = plan.to_toml();
    let plan = Plan { targets, seed: Some(5), ..plan };
    let resolved = plan.resolve().unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"));
    let Some((_, Work::Transactions(work))) = resolved.loads.first() else { panic!("no load") };
    work.clone()
}

struct Simulator<'a> {
    simulation: &'a Simulation,
    work: &'a TransactionWork,
    random: Random,
    observed: Observed,
    /// Numbers of files by user (none for shared ones) and index in the data set.
    numbers: BTreeMap<(Option<u32>, usize), u32>,
    directories: BTreeMap<(Option<u32>, String), u32>,
    sizes: BTreeMap<u32, u64>,
    /// Where sequential requests of a file that stays open continue.
    kept: BTreeMap<(u32, u32), u64>,
}

/// Performs the load, and notes what a capture would show; also the operations of plans that were performed, by name.
pub fn simulate(work: &TransactionWork, simulation: &Simulation) -> (Observed, BTreeMap<&'static str, u64>) {
    let person = |user| Person { client: user, protocol: simulation.protocol };
    let mut world = Simulator {
        simulation,
        work,
        random: Random::new(simulation.seed, 1),
        observed: Observed {
            users: (0..simulation.users).map(person).collect(),
            duration: simulation.seconds * 1_000_000_000,
            started: 1_700_000_000,
            ..Observed::default()
        },
        numbers: BTreeMap::new(),
        directories: BTreeMap::new(),
        sizes: BTreeMap::new(),
        kept: BTreeMap::new(),
    };
    let Pace::Closed(think) = &work.pace else { panic!("an open load") };
    let mut performed = BTreeMap::new();
    for user in 0..simulation.users {
        let mut now = world.random.below(think.mean().as_nanos() as u64 + 1);
        let mut round = Vec::new();
        while now < world.observed.duration {
            let mut random = world.random.clone();
            let Some(next) = work.workload.next(&mut round, &mut random) else { break };
            world.random = random;
            now = world.transaction(user, next, now, &mut performed);
            now += match think {
                Think::Every(period) => period.as_nanos() as u64,
                think => think.draw(&mut world.random),
            };
        }
    }
    world.observed.operations.sort_by_key(|operation| (operation.start, operation.user));
    let end = world.observed.duration;
    world.observed.operations.retain(|operation| operation.start < end);
    (world.observed, performed)
}

impl Simulator<'_> {
    fn transaction(
        &mut self,
        user: u32,
        index: usize,
        mut now: u64,
        performed: &mut BTreeMap<&'static str, u64>,
    ) -> u64 {
        let transaction = &self.work.workload.transactions[index];
        let picked = transaction.class.map(|class| {
            let files = self.work.workload.set.classes[class].1.clone();
            let place = if transaction.keeps_open() {
                u64::from(user)
            } else {
                self.random.below(files.len() as u64)
            };
            files.start + (place % files.len() as u64) as usize
        });
        let mut number = picked.map(|picked| self.number(user, picked));
        let mut made: Option<u32> = None;
        let mut at = 0;
        for operation in &transaction.operations {
            let before = self.observed.operations.len();
            let file = made.or(number).unwrap_or(0);
            match operation {
                Op::Open { write } => self.open(user, file, *write, false, &mut now),
                Op::Create => {
                    let parent = number.and_then(|number| self.observed.files[number as usize].parent);
                    made = Some(self.add(File { parent, created: true, ..File::default() }));
                    self.open(user, made.unwrap(), true, true, &mut now);
                }
                Op::Close => self.close(user, file, &mut now),
                Op::Stat => self.by_name(user, file, Action::Stat { file: Some(file) }, &mut now),
                Op::List => {
                    let directory = self.observed.files[number.unwrap() as usize].parent.unwrap();
                    self.by_name(
                        user,
                        directory,
                        Action::List { directory, entries: 10, first: true },
                        &mut now,
                    );
                }
                Op::Rename => {
                    let replaced = made.and(number);
                    self.by_name(user, file, Action::Rename { file: Some(file), replaced }, &mut now);
                    if let (Some(made), Some(picked)) = (made.take(), picked) {
                        let owner = self.owner(user, picked);
                        self.numbers.insert((owner, picked), made);
                        number = Some(made);
                    }
                }
                Op::Delete => {
                    let file = made.take().unwrap();
                    self.by_name(user, file, Action::Remove { file: Some(file) }, &mut now);
                }
                Op::SetSize => {
                    let size = self.sizes.get(&file).copied().unwrap_or(0);
                    self.note(user, Action::SetSize { file, size }, &mut now);
                }
                Op::Flush => self.note(user, Action::Flush { file }, &mut now),
                Op::Space => self.note(user, Action::Space, &mut now),
                Op::Connect => self.note(user, Action::Connect, &mut now),
                Op::Read(requests) | Op::Write(requests) => {
                    let write = matches!(operation, Op::Write(_));
                    if transaction.keeps_open() {
                        at = self.kept.get(&(user, file)).copied().unwrap_or(0);
                    }
                    let size = self.work.workload.set.files[picked.unwrap()].bytes;
                    self.requests(user, (file, size), requests, write, &mut at, &mut now);
                    self.kept.insert((user, file), at);
                    *performed.entry(operation.name()).or_default() +=
                        (self.observed.operations.len() - before) as u64 - 1;
                }
                Op::CopyToServer
                | Op::CopyFromServer
                | Op::OpenDenying
                | Op::OpenLeased
                | Op::OpenDelegated
                | Op::Lock(_)
                | Op::Unlock
                | Op::Watch
                | Op::Notify
                | Op::Wait
                | Op::Signal
                | Op::Think(_) => panic!("not simulated"),
            }
            *performed.entry(operation.name()).or_default() += 1;
        }
        now
    }

    fn requests(
        &mut self,
        user: u32,
        (file, size): (u32, u64),
        requests: &Requests,
        write: bool,
        at: &mut u64,
        now: &mut u64,
    ) {
        let mut left = if let Times::Count(n) = requests.times { n } else { u32::MAX };
        let mut moved = 0;
        while left > 0 && (requests.times != Times::All || moved < size) {
            let drawn = requests.size.as_ref().map_or(65_536, |sizes| sizes.draw(&mut self.random));
            let len = if requests.times == Times::All { drawn.min(size - moved) } else { drawn };
            let grow = write && self.observed.files[file as usize].created;
            let offset = match requests.pattern {
                RequestPattern::Random => self.random.below((size.saturating_sub(len)) / 512 + 1) * 512,
                RequestPattern::Sequential if *at + len > size && !grow => 0,
                RequestPattern::Sequential => *at,
            };
            let len = len as u32;
            let action = if write {
                Action::Write { file, offset, bytes: len, stable: false }
            } else {
                let there = size.saturating_sub(offset).min(u64::from(len)) as u32;
                Action::Read { file, offset, asked: len, bytes: there }
            };
            self.note(user, action, now);
            *at = offset + u64::from(len);
            let known = self.sizes.entry(file).or_default();
            *known = (*known).max(*at);
            moved += u64::from(len);
            left -= 1;
        }
    }

    fn open(&mut self, user: u32, file: u32, write: bool, created: bool, now: &mut u64) {
        let action = if self.simulation.protocol == Protocol::Nfs3 && !created {
            Action::Lookup { file: Some(file) }
        } else {
            Action::Open { file: Some(file), access: Access::from_write(write), created }
        };
        self.note(user, action, now);
    }

    fn close(&mut self, user: u32, file: u32, now: &mut u64) {
        if self.simulation.protocol != Protocol::Nfs3 {
            self.note(user, Action::Close { file }, now);
        }
    }

    /// SMB opens a file for a request by name. The reply to an open has the attributes, so that some clients request no others.
    fn by_name(&mut self, user: u32, file: u32, action: Action, now: &mut u64) {
        let opens = self.simulation.protocol == Protocol::Smb2;
        let asks = matches!(action, Action::Stat { .. });
        if opens {
            let access = if asks { Access::Attributes } else { Access::Read };
            self.note(user, Action::Open { file: Some(file), access, created: false }, now);
        }
        if !(opens && asks && user.is_multiple_of(2)) {
            self.note(user, action, now);
        }
        if opens {
            self.note(user, Action::Close { file }, now);
        }
    }

    fn note(&mut self, user: u32, action: Action, now: &mut u64) {
        let service = 100_000 + (self.random.exponential() * 200_000.0) as u64;
        let start = *now;
        let end = start + service;
        self.observed.operations.push(Operation {
            user,
            start,
            end: Some(end),
            action,
            outcome: Outcome::Done,
        });
        *now = end + TURNAROUND / 2 + self.random.below(TURNAROUND);
    }

    fn owner(&self, user: u32, picked: usize) -> Option<u32> {
        (self.work.workload.set.files[picked].owner == Owner::User).then_some(user)
    }

    fn number(&mut self, user: u32, picked: usize) -> u32 {
        let owner = self.owner(user, picked);
        if let Some(known) = self.numbers.get(&(owner, picked)) {
            return *known;
        }
        let file = &self.work.workload.set.files[picked];
        let path = file.path.rsplit_once('/').map_or("", |(directory, _)| directory).to_owned();
        let parent = self.directory(owner, &path);
        let extension = Some(file.data.name());
        let size = Some(file.bytes);
        let number = self.add(File { parent: Some(parent), extension, size, ..File::default() });
        self.sizes.insert(number, file.bytes);
        self.numbers.insert((owner, picked), number);
        number
    }

    fn directory(&mut self, owner: Option<u32>, path: &str) -> u32 {
        let key = (owner, path.to_owned());
        if let Some(known) = self.directories.get(&key) {
            return *known;
        }
        let parent = path.rsplit_once('/').map(|(above, _)| above).or((!path.is_empty()).then_some(""));
        let parent = parent.map(|above| self.directory(owner, above));
        let number = self.add(File { directory: true, parent, ..File::default() });
        self.directories.insert(key, number);
        number
    }

    fn add(&mut self, file: File) -> u32 {
        self.observed.files.push(file);
        self.observed.files.len() as u32 - 1
    }
}
