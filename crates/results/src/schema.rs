//! The tables, and how older files become current ones.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::Problem;

/// `SHBR`: tells our files from other programs' SQLite files.
const APPLICATION_ID: i64 = 0x5348_4252;

/// One entry per schema version; the file's `user_version` counts those applied.
const MIGRATIONS: &[&str] = &[
    include_str!("schema_1.sql"),
    include_str!("schema_passes.sql"),
    include_str!("schema_precision.sql"),
    include_str!("schema_evidence.sql"),
    include_str!("schema_load.sql"),
    include_str!("schema_server.sql"),
    include_str!("schema_ranks.sql"),
    include_str!("schema_steps_done.sql"),
];

/// Newest schema this program knows.
pub(crate) const KNOWN: i64 = MIGRATIONS.len().cast_signed() as i64;

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

/// Refuses files that are not ours or too new; gives the file's version, 0 for an empty file.
pub(crate) fn check(connection: &Connection) -> Result<i64, Problem> {
    // All that is asked is asked of one moment: another process may be creating the tables right now.
    standing(&connection.unchecked_transaction()?)
}

/// What [`check`] says, within the caller's transaction.
fn standing(transaction: &Transaction<'_>) -> Result<i64, Problem> {
    let (found, application) = (pragma(transaction, "user_version")?, pragma(transaction, "application_id")?);
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, found) {
        (0, 0) if tables == 0 => Ok(0),
        (APPLICATION_ID, _) if found > KNOWN => Err(Problem::Newer { found, known: KNOWN }),
        (APPLICATION_ID, 1..) => Ok(found),
        _ => Err(Problem::Foreign),
    }
}

/// The column of the table `run` that came with version 3; files opened without writing stay as they are.
pub(crate) fn repeat_column(connection: &Connection) -> rusqlite::Result<&'static str> {
    Ok(if pragma(connection, "user_version")? >= 3 { "repeat" } else { "NULL" })
}

/// How many steps the run `?1` has. Runs that ended with version 8 or newer have it written down: counting millions of
/// steps in a file that is not in memory takes seconds.
pub(crate) fn steps_done(connection: &Connection) -> rusqlite::Result<&'static str> {
    Ok(if pragma(connection, "user_version")? >= 8 {
        "coalesce(steps_done, (SELECT count(*) FROM step WHERE run = ?1))"
    } else {
        "(SELECT count(*) FROM step WHERE run = ?1)"
    })
}

/// Brings the file to the newest schema; two processes may try at once.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), Problem> {
    if check(connection)? == KNOWN {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = standing(&transaction)?;
    for migration in MIGRATIONS.iter().skip(found as usize) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", KNOWN)?;
    Ok(transaction.commit()?)
}
