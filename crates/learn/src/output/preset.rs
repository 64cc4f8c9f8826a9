//! A learned workload as a preset: a plan without targets, with its goodness of fit as comments.

use std::fmt::Write as _;
use std::time::Duration;

use sharebench_model::units::{counted, percent, show_nanos};
use sharebench_plan::{FileClass, Load, Owner, Plan, TransactionOrder, TypedTransaction, TypedWorkload};

use crate::analysis::{Class, Learned};

/// Phases of a step of the preset.
const WARM_UP: Duration = Duration::from_secs(10);
const MEASURE: Duration = Duration::from_secs(60);
/// Most users of a step.
const MAX_USERS: f64 = 100_000.0;

/// The plan of a learned workload under that name, without targets; none where no transaction was learned.
pub fn preset_plan(learned: &Learned, name: &str) -> Option<Plan> {
    if learned.transactions.is_empty() {
        return None;
    }
    let users = learned.users.mean_active.round().clamp(1.0, MAX_USERS) as u32;
    let load = Load {
        workload: Some(name.to_owned()),
        users: Some(vec![users]),
        think: Some(learned.think.law.clone()),
        warm_up: Some(WARM_UP),
        measure: Some(MEASURE),
        ..Load::default()
    };
    let used = |class: usize| learned.transactions.iter().any(|transaction| transaction.class == Some(class));
    let files = learned.classes.iter().enumerate().filter(|(index, _)| used(*index));
    let transactions = learned.transactions.iter().map(|transaction| TypedTransaction {
        name: Some(transaction.name.clone()),
        weight: Some(transaction.weight),
        files: transaction.class.and_then(|class| learned.classes.get(class)).map(|class| class.name.clone()),
        deadline: None,
        operations: Some(transaction.operations.clone()),
    });
    let workload = TypedWorkload {
        name: Some(name.to_owned()),
        source: Some(source(learned)),
        order: Some(TransactionOrder::Weighted),
        files: files.map(|(_, class)| file_class(class)).collect(),
        transactions: transactions.collect(),
        ..TypedWorkload::default()
    };
    Some(Plan { load: Some(load), workload: Some(workload), ..Plan::default() })
}

/// The text of the preset; none where no transaction was learned.
pub fn preset(learned: &Learned, name: &str) -> Option<String> {
    let plan = preset_plan(learned, name)?;
    let mut text = comments(learned);
    text.push_str(plan.to_toml().trim_start());
    Some(text)
}

fn file_class(class: &Class) -> FileClass {
    FileClass {
        name: Some(class.name.clone()),
        count: Some(class.count),
        size: Some(class.size.law.clone()),
        data: class.data.parse().ok(),
        owner: Some(if class.is_own { Owner::User } else { Owner::Shared }),
        fan_out: Some(class.fan_out),
        depth: Some(class.depth),
    }
}

fn source(learned: &Learned) -> String {
    format!(
        "Learned by sharebench from {} of {} over {:.0} s. The preset has {} of the operations; the largest difference of an \
         operation's share is {} points.",
        counted(learned.coverage.operations, "operation"),
        counted(learned.users.users, "user"),
        learned.duration as f64 / 1e9,
        percent(learned.coverage.share(), 1),
        tenths(learned.mix_error())
    )
}

/// A share as points with one decimal.
fn tenths(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn comments(learned: &Learned) -> String {
    let mut text = String::from(
        "# A workload learned by `sharebench learn`. It contains no names and no data of its users.\n#\n",
    );
    // Writing to a String cannot fail.
    let mut line = |line: String| {
        let _ = writeln!(text, "# {line}");
    };
    let users = &learned.users;
    line(format!(
        "Users: {} with {}; {:.1} streams active on average, {} in the busiest {:.0} s.",
        users.users,
        counted(users.streams, "stream"),
        users.mean_active,
        users.peak,
        users.slot_ns as f64 / 1e9
    ));
    let active: Vec<String> = users.active.iter().map(u32::to_string).collect();
    line(format!("Active streams over time: {}", active.join(" ")));
    line(format!(
        "Think time: mean {}, {} pauses, Kolmogorov-Smirnov distance {:.3}; {:.1} transactions in a row without a pause of {}.",
        show_nanos(learned.mean_think),
        learned.think.n,
        learned.think.ks,
        learned.burst,
        show_nanos(learned.gap as f64)
    ));
    line(String::new());
    line("Operation: share in the input, share in the preset".to_owned());
    for row in &learned.mix {
        line(format!(
            "  {:10} {:>7} {:>7}",
            row.operation,
            percent(row.captured_share, 1),
            percent(row.preset_share, 1)
        ));
    }
    line(String::new());
    line("Files: seen, Kolmogorov-Smirnov distance of the sizes".to_owned());
    for class in &learned.classes {
        let note = if class.is_assumed { ", no size is known: assumed" } else { "" };
        line(format!("  {}: {}, {:.3}{note}", class.name, class.seen, class.size.ks));
    }
    line(String::new());
    line("Transactions: share of the operations, distance of the sizes of reads and of writes".to_owned());
    for transaction in &learned.transactions {
        let share = transaction.covered as f64 / learned.coverage.operations.max(1) as f64;
        let distance = |fit: &Option<crate::fit::Fit<sharebench_plan::Sizes>>| {
            fit.as_ref().map_or_else(|| "-".to_owned(), |fit| format!("{:.3}", fit.ks))
        };
        line(format!(
            "  {}: {}, {}, {}",
            transaction.name,
            percent(share, 1),
            distance(&transaction.read_sizes),
            distance(&transaction.write_sizes)
        ));
    }
    line(String::new());
    line(format!("In the preset: {} of the operations. Not in it:", percent(learned.coverage.share(), 1)));
    for left_out in &learned.coverage.not_expressed {
        line(format!("  {}: {}", left_out.what, left_out.operations));
    }
    line("Stated differently from the input:".to_owned());
    for simplified in &learned.coverage.simplified {
        line(format!("  {simplified}"));
    }
    text.push('\n');
    text
}
