//! From a workload as typed to one that can be performed: defaults, and everything that is wrong with it.

use sharebench_model::units::ByteSize;

use super::{
    DataSet, FileClass, Operation, Owner, Requests, Sizes, Transaction, TransactionOrder, TypedTransaction,
    TypedWorkload, Workload,
};
use crate::values::{MAX_FILE, MAX_RECORD, Scale, nearest};

/// Most files of a set: their names and sizes are kept in memory.
const MAX_FILES: u32 = 1_000_000;
/// Most transactions of a round.
const MAX_ROUND: u64 = 100_000;

/// One thing wrong: field, problem, hint.
pub(crate) type Wrong = (String, String, String);

impl Workload {
    /// Fills defaults and checks everything; all mistakes at once.
    pub(crate) fn resolved(
        typed: &TypedWorkload,
        scale: Option<Scale>,
        block: u32,
        seed: u64,
    ) -> Result<Self, Vec<Wrong>> {
        let mut checker = Checker { typed, wrong: Vec::new() };
        if typed.loadfile.is_some() || typed.script.is_some() {
            return checker.replay(scale, block).ok_or(checker.wrong);
        }
        checker.files();
        let transactions = checker.transactions();
        let unit = checker.unit();
        if checker.wrong.is_empty() {
            let files = DataSet::number_of_files(&typed.files, scale);
            if files > u64::from(MAX_FILES) {
                let problem = format!("{files} files are more than {MAX_FILES}");
                return Err(vec![("load.scale".into(), problem, "use a smaller scale".into())]);
            }
            let set = DataSet::lay_out(&typed.files, scale, seed);
            if let Some(file) = set.files.iter().find(|file| file.bytes > MAX_FILE) {
                let problem = format!("{} would have more than {}", file.path, ByteSize(MAX_FILE));
                return Err(vec![("load.scale".into(), problem, "use a smaller scale".into())]);
            }
            let name = typed.name.clone().unwrap_or_else(|| "workload".into());
            let order = typed.order.unwrap_or_default();
            let workload = Self { name, unit, order, set, transactions, block, loadfile: None };
            checker.fits(&workload);
            if checker.wrong.is_empty() {
                return Ok(workload);
            }
        }
        Err(checker.wrong)
    }
}

pub(super) struct Checker<'a> {
    pub(super) typed: &'a TypedWorkload,
    pub(super) wrong: Vec<Wrong>,
}

/// What is open at a point of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Nothing,
    Reading,
    Writing,
    /// Open for writing, with a range locked.
    Locked,
    /// Open for writing, and denied to all others.
    Denying,
    /// A file made by this transaction, open.
    Made,
    /// The same, closed.
    Left,
}

impl Checker<'_> {
    pub(super) fn blame(&mut self, field: &str, problem: impl Into<String>, hint: impl Into<String>) {
        let wrong = (format!("workload.{field}"), problem.into(), hint.into());
        if !self.wrong.contains(&wrong) {
            self.wrong.push(wrong);
        }
    }

    fn files(&mut self) {
        let mut names = std::collections::BTreeSet::new();
        let mut all = 0u64;
        for (index, class) in self.typed.files.iter().enumerate() {
            let at = |field: &str| format!("files.{index}.{field}");
            let name = class.name.as_deref().unwrap_or_default();
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if name.is_empty() || name.len() > 64 || name.starts_with('.') || !name.chars().all(plain) {
                let problem = format!("'{name}' is no name for files");
                self.blame(&at("name"), problem, "letters, digits, '-', '_' and '.', not a dot first");
            } else if !names.insert(name.to_ascii_lowercase()) {
                self.blame(
                    &at("name"),
                    format!("'{name}' is listed twice"),
                    "give each kind of files a name of its own",
                );
            }
            self.class(index, class);
            all += u64::from(class.count.unwrap_or(1));
        }
        if all > u64::from(MAX_FILES) {
            self.blame("files", format!("{all} files are more than {MAX_FILES}"), "use smaller counts");
        }
    }

    fn class(&mut self, index: usize, class: &FileClass) {
        let at = |field: &str| format!("files.{index}.{field}");
        for (field, number, least, most) in [
            ("count", class.count.unwrap_or(1), 1, MAX_FILES),
            ("fan_out", class.fan_out.unwrap_or(10), 1, 10_000),
            ("depth", class.depth.unwrap_or(0), 0, 16),
        ] {
            if !(least..=most).contains(&number) {
                self.blame(&at(field), format!("{number} is outside {least}..{most}"), "");
            }
        }
        match &class.size {
            None => {
                self.blame(&at("size"), "no size", "such as size = \"64KiB\" or \"lognormal(16KiB,256KiB)\"");
            }
            Some(size) if (size.least() == 0 && !size.is_empty()) || size.most() > MAX_FILE => {
                let problem = format!("{size} goes outside 1B..{}", ByteSize(MAX_FILE));
                self.blame(
                    &at("size"),
                    problem,
                    "files have at least one byte, or all of them none: size = 0",
                );
            }
            Some(_) => {}
        }
    }

    fn transactions(&mut self) -> Vec<Transaction> {
        let typed = self.typed;
        if typed.transactions.is_empty() {
            self.blame("transactions", "there is none", "add a [[workload.transactions]] with operations");
        }
        let mut names = std::collections::BTreeSet::new();
        let mut found = Vec::new();
        for (index, transaction) in typed.transactions.iter().enumerate() {
            let at = |field: &str| format!("transactions.{index}.{field}");
            let name = transaction.name.clone().unwrap_or_else(|| format!("transaction-{}", index + 1));
            if !names.insert(name.clone()) {
                self.blame(
                    &at("name"),
                    format!("'{name}' is listed twice"),
                    "give each transaction a name of its own",
                );
            }
            let weight = transaction.weight.unwrap_or(1);
            if weight == 0 {
                self.blame(
                    &at("weight"),
                    "0 is outside 1..",
                    "leave a transaction out that is never performed",
                );
            }
            let class = self.class_of(&at("files"), transaction);
            let operations = transaction.operations.clone().unwrap_or_default();
            if operations.is_empty() {
                self.blame(
                    &at("operations"),
                    "there is none",
                    "such as operations = [\"open\", \"read all\", \"close\"]",
                );
            }
            let owner = class.map(|class| typed.files[class].owner.unwrap_or_default());
            self.sequence(&at("operations"), &operations, owner);
            if class.is_some_and(|class| typed.files[class].size.as_ref().is_some_and(Sizes::is_empty)) {
                self.on_empty_files(&at("operations"), &operations);
            }
            let deadline = transaction.deadline;
            found.push(Transaction { name, weight, class, deadline, operations });
        }
        let round: u64 = found.iter().map(|t| u64::from(t.weight)).sum();
        if typed.order != Some(TransactionOrder::Weighted) && round > MAX_ROUND {
            let problem =
                format!("the weights sum up to a round of {round} transactions, more than {MAX_ROUND}");
            self.blame("order", problem, "use order = \"weighted\", or smaller weights");
        }
        found
    }

    /// The files that a transaction names; the only ones where it names none.
    fn class_of(&mut self, field: &str, transaction: &TypedTransaction) -> Option<usize> {
        let known: Vec<&str> = self.typed.files.iter().filter_map(|class| class.name.as_deref()).collect();
        let needed = transaction.operations.iter().flatten().any(|operation| !operation.is_fileless());
        match &transaction.files {
            Some(name) => {
                let found = self.typed.files.iter().position(|class| class.name.as_ref() == Some(name));
                if found.is_none() {
                    let hint = nearest(name, &known).map_or_else(
                        || format!("known are {}", known.join(", ")),
                        |near| format!("did you mean '{near}'?"),
                    );
                    self.blame(field, format!("there are no files '{name}'"), hint);
                }
                found
            }
            None if !needed => None,
            None if known.len() == 1 => Some(0),
            None if known.is_empty() => {
                self.blame("files", "there are none", "add a [[workload.files]] with name and size");
                None
            }
            None => {
                self.blame(field, "it names no files", format!("one of {}", known.join(", ")));
                None
            }
        }
    }

    /// Walks through the operations as a user would.
    fn sequence(&mut self, field: &str, operations: &[Operation], owner: Option<Owner>) {
        let opens = operations.iter().any(Operation::opens);
        let locks = operations.iter().any(|op| matches!(op, Operation::Lock(_)));
        let writes = operations.iter().any(|op| matches!(op, Operation::Write(_)));
        let mut standing = Standing::Nothing;
        let mut requested = Requested::default();
        let mut before = None;
        for operation in operations {
            if let Err((problem, hint)) = requested.step(standing, operation, before.replace(operation)) {
                return self.blame(field, format!("'{operation}': {problem}"), hint);
            }
            // The flush of a file that stays open, after a write to it.
            if *operation == Operation::Flush && !opens && writes {
                continue;
            }
            match step(standing, operation, Around { opens, locks, writes, owner }) {
                Ok(next) => standing = next,
                Err((problem, hint)) => return self.blame(field, format!("'{operation}': {problem}"), hint),
            }
        }
        match standing {
            Standing::Nothing => {}
            Standing::Left => {
                self.blame(field, "a file made by 'create' is left over", "end with 'delete' or 'rename'");
            }
            Standing::Locked => {
                self.blame(field, "a range is locked at the end", "end with 'unlock' and 'close'");
            }
            _ => self.blame(field, "a file is open at the end", "end with 'close'"),
        }
        if requested.report {
            let hint = "end with 'create', 'rename' or 'delete', and 'notify'";
            self.blame(field, "a report is requested at the end", hint);
        }
        if requested.unit {
            self.blame(field, "the unit of the semaphore is taken at the end", "end with 'signal'");
        }
    }

    /// Empty files have no data to request, determine no size of a new file, and stay empty.
    fn on_empty_files(&mut self, field: &str, operations: &[Operation]) {
        let mut created = false;
        for operation in operations {
            let does_not_fit = match operation {
                // A new name would leave a file with content in the place of an empty one.
                Operation::Rename
                | Operation::Read(_)
                | Operation::CopyToServer
                | Operation::CopyFromServer => true,
                Operation::Write(requests) => !created || !requests.fit_an_empty_file(),
                _ => false,
            };
            if does_not_fit {
                let hint =
                    "look them up, open and close them, or write a new file ('create') sequentially, N times";
                return self.blame(field, format!("'{operation}': its files are empty"), hint);
            }
            created |= *operation == Operation::Create;
        }
    }

    /// Requests against files, once both are known.
    fn fits(&mut self, workload: &Workload) {
        for (index, transaction) in workload.transactions.iter().enumerate() {
            let field = format!("transactions.{index}.operations");
            for operation in &transaction.operations {
                let (Operation::Read(Requests { size: Some(size), .. })
                | Operation::Write(Requests { size: Some(size), .. })) = operation
                else {
                    continue;
                };
                if size.least() == 0 || size.most() > MAX_RECORD {
                    let problem = format!("'{operation}': {size} goes outside 1B..{}", ByteSize(MAX_RECORD));
                    self.blame(&field, problem, cut(size));
                }
            }
        }
    }
}

fn cut(size: &Sizes) -> &'static str {
    if matches!(size, Sizes::Lognormal(..)) {
        "lognormal sizes go up to four times their 95th percentile"
    } else {
        ""
    }
}

/// The transaction around an operation.
#[derive(Clone, Copy)]
struct Around {
    /// It opens a file.
    opens: bool,
    /// It locks a range.
    locks: bool,
    /// It writes.
    writes: bool,
    /// Whose its files are.
    owner: Option<Owner>,
}

/// What a user has requested of the server and has to end within the transaction, apart from files.
#[derive(Default)]
struct Requested {
    /// A report of changes.
    report: bool,
    /// The unit of the semaphore.
    unit: bool,
}

impl Requested {
    /// Takes an operation into account; `before` is the operation before it.
    ///
    /// Whoever waits for the unit has nothing open, so that no user waits for the unit while it has what another user waits for who
    /// has the unit.
    fn step(
        &mut self,
        standing: Standing,
        operation: &Operation,
        before: Option<&Operation>,
    ) -> Result<(), (&'static str, &'static str)> {
        use Operation as Op;
        match operation {
            Op::Watch if self.report => return Err(("a report is requested already", "'notify' first")),
            Op::Watch => self.report = true,
            Op::Notify if !self.report => return Err(("no directory is watched", "'watch' it first")),
            Op::Notify if !before.is_some_and(Operation::changes_names) => {
                let hint = "write it directly after 'create', 'rename' or 'delete'";
                return Err(("the operation before it changes no name", hint));
            }
            Op::Notify => self.report = false,
            Op::Wait if self.unit => return Err(("the unit is taken already", "'signal' first")),
            Op::Wait if standing != Standing::Nothing => {
                return Err(("a file is open or left over", "'wait' before the file is opened"));
            }
            Op::Wait => self.unit = true,
            Op::Signal if !self.unit => return Err(("the unit is not taken", "'wait' for it first")),
            Op::Signal => self.unit = false,
            Op::Connect if self.report || self.unit => {
                return Err(("the session has a request or the unit", "'notify' or 'signal' first"));
            }
            _ => {}
        }
        Ok(())
    }
}

/// What is open after `operation`, or what is wrong with it. A shared file is written while a range of it is locked, or the
/// file is denied to others: users rewrite what it holds then.
#[expect(clippy::match_same_arms, reason = "one line for each rule, by operation")]
fn step(
    standing: Standing,
    operation: &Operation,
    Around { opens, locks, writes, owner }: Around,
) -> Result<Standing, (&'static str, &'static str)> {
    use Operation as Op;
    use Standing::{Denying, Left, Locked, Made, Nothing, Reading, Writing};
    const SHARED: (&str, &str) = (
        "these files are shared, and users would change them under each other",
        "add owner = \"user\" to them, so that each user has files of their own",
    );
    let shared = owner == Some(Owner::Shared);
    match (operation, standing) {
        (Op::Open { write: true } | Op::OpenLeased, Nothing) if shared && writes && !locks => Err(SHARED),
        (Op::Write(_) | Op::Rename, Nothing) | (Op::Rename, Left) if shared => Err(SHARED),
        (Op::Write(_), Writing) if shared => {
            Err(("these files are shared, and no range is locked", "'lock' the range before it is written"))
        }
        (Op::SetSize, Writing | Locked | Denying) if shared => Err(SHARED),
        (Op::OpenDenying, Nothing) => Ok(Denying),
        (Op::Lock(_), Writing) => Ok(Locked),
        (Op::Lock(_), Reading) => Err(("the file is open for reading", "use 'open write'")),
        (Op::Lock(_), Locked) => Err(("a range is locked already", "'unlock' it first")),
        (Op::Lock(_), Denying | Made) => Err(("nobody else can lock it", "use 'open write'")),
        (Op::Lock(_), Nothing | Left) => Err(("no file is open", "use 'open write' first")),
        (Op::Unlock, Locked) => Ok(Writing),
        (Op::Unlock, _) => Err(("no range is locked", "'lock' one first")),
        (Op::Close, Locked) => Err(("a range is locked", "'unlock' it first")),
        (Op::Close, Denying) => Ok(Nothing),
        (Op::Read(_) | Op::Write(_) | Op::Flush | Op::SetSize, Locked | Denying) => Ok(standing),
        (Op::Open { write: true } | Op::OpenLeased, Nothing) => Ok(Writing),
        (Op::Open { write: false } | Op::OpenDelegated, Nothing) => Ok(Reading),
        (Op::Create, Nothing) => Ok(Made),
        (Op::Open { .. } | Op::OpenDenying | Op::OpenLeased | Op::OpenDelegated | Op::Create, Left) => {
            Err(("the file made before is still there", "'delete' or 'rename' it first"))
        }
        (Op::Open { .. } | Op::OpenDenying | Op::OpenLeased | Op::OpenDelegated | Op::Create, _) => {
            Err(("a file is open already", "'close' it first"))
        }
        (Op::Close, Reading | Writing) => Ok(Nothing),
        (Op::Close, Made) => Ok(Left),
        (Op::Read(_) | Op::Write(_), Nothing) if !opens => Ok(Nothing),
        (Op::Read(_), Reading | Writing) | (Op::Write(_), Writing | Made) => Ok(standing),
        (Op::Read(_), Made) => Err(("a new file is only written", "'open' the file to read it")),
        (Op::Write(_), Reading) => Err(("the file is open for reading", "use 'open write'")),
        (Op::Flush | Op::SetSize, Writing | Made) => Ok(standing),
        (Op::Flush | Op::SetSize, Reading) => Err(("the file is open for reading", "use 'open write'")),
        (Op::Close | Op::Flush | Op::SetSize | Op::Read(_) | Op::Write(_), _) => {
            Err(("no file is open", "'open' or 'create' one first"))
        }
        (Op::Delete, Left) => Ok(Nothing),
        (Op::Delete, Made) => Err(("the file is open", "'close' it first")),
        (Op::Delete, _) => Err(("only files made by 'create' are deleted", "the data set stays as it is")),
        (Op::Rename, Nothing | Left) => Ok(Nothing),
        (Op::Rename | Op::CopyToServer | Op::CopyFromServer, Reading | Writing | Locked | Denying | Made) => {
            Err(("a file is open", "'close' it first"))
        }
        (Op::CopyToServer | Op::CopyFromServer, Left) => {
            Err(("the file made before is still there", "'delete' or 'rename' it first"))
        }
        (Op::CopyToServer | Op::CopyFromServer, Nothing) => Ok(Nothing),
        (Op::Connect, Nothing) => Ok(Nothing),
        (Op::Connect, _) => Err(("a file is open or left over", "'close' and 'delete' it first")),
        (Op::Stat | Op::List | Op::Space | Op::Think(_), _) => Ok(standing),
        // [`Requested`] has the rules.
        (Op::Watch | Op::Notify | Op::Wait | Op::Signal, _) => Ok(standing),
    }
}
