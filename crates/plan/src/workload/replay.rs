//! From a loadfile as typed to a workload whose transactions are its lines.

use std::sync::Arc;

use super::check::Checker;
use super::{DataSet, Loadfile, Transaction, Workload};
use crate::values::Scale;

/// Name of the transaction that puts things back between two passes.
pub(crate) const RESTORE: &str = "restore";

impl Checker<'_> {
    /// A workload that replays; none where something is wrong.
    pub(super) fn replay(&mut self, scale: Option<Scale>, block: u32) -> Option<Workload> {
        let typed = self.typed;
        if !typed.files.is_empty() {
            self.blame("files", "a loadfile defines its own files", "leave files out");
        }
        if !typed.transactions.is_empty() {
            self.blame("transactions", "a loadfile defines its own operations", "leave transactions out");
        }
        if typed.order.is_some() {
            self.blame("order", "a loadfile fixes the order of its lines", "leave order out");
        }
        if typed.unit.is_some() {
            self.blame("unit", "the lines of a loadfile have neither deadlines nor a pace", "leave unit out");
        }
        if scale.is_some() {
            self.wrong.push((
                "load.scale".into(),
                "a loadfile has sizes of its own".into(),
                "leave scale out".into(),
            ));
        }
        let Some(script) = &typed.script else {
            let problem = format!("'{}' was not read", typed.loadfile.as_deref().unwrap_or_default());
            self.blame("loadfile", problem, "its text can also be part of the plan, as script");
            return None;
        };
        let file = match Loadfile::parse(script) {
            Ok(file) => file,
            Err(mistakes) => {
                let field = if typed.loadfile.is_some() { "loadfile" } else { "script" };
                for mistake in mistakes {
                    let place = match (&typed.loadfile, mistake.line) {
                        (Some(name), Some(line)) => format!("{name}, line {line}: "),
                        (None, Some(line)) => format!("line {line} of it: "),
                        (_, None) => String::new(),
                    };
                    self.blame(field, place + &mistake.problem, mistake.hint);
                }
                return None;
            }
        };
        if !self.wrong.is_empty() {
            return None;
        }
        let kind = |(index, name): (usize, &&str)| Transaction {
            weight: file.lines.iter().filter(|l| l.left_out.is_none() && usize::from(l.kind) == index).count()
                as u32,
            ..Transaction::bare(name)
        };
        let mut transactions: Vec<Transaction> = file.kinds.iter().enumerate().map(kind).collect();
        if file.leaves {
            transactions.push(Transaction::bare(RESTORE));
        }
        let name = typed.name.clone().unwrap_or_else(|| "workload".into());
        let order = super::TransactionOrder::Sequence;
        let set = DataSet::default();
        Some(Workload { name, unit: None, order, set, transactions, block, loadfile: Some(Arc::new(file)) })
    }
}

impl Transaction {
    /// A transaction whose operations come from a loadfile.
    fn bare(name: &str) -> Self {
        let class = None;
        let deadline = None;
        let operations = Vec::new();
        Self { name: name.to_owned(), weight: 1, class, deadline, operations }
    }
}
