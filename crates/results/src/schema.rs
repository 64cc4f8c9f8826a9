//! The tables, and the check that a file has them.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::Problem;

/// `SHBR`: distinguishes our files from SQLite files of other programs.
const APPLICATION_ID: i64 = 0x5348_4252;

const TABLES: &str = include_str!("schema.sql");

/// The schema that this program reads and writes, kept in the file's `user_version`.
///
/// Versions 1 to 11 were those of development builds and are not read.
pub(crate) const VERSION: i64 = 12;

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

/// Whether a file has the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tables {
    /// The file is new: it holds nothing at all.
    Missing,
    /// The file has the tables of [`VERSION`].
    Current,
}

/// Rejects files of other programs and of other versions of the schema.
pub(crate) fn check(connection: &Connection) -> Result<Tables, Problem> {
    // All questions see one moment: another process may be creating the tables right now.
    check_within(&connection.unchecked_transaction()?)
}

/// Does what [`check`] does, within the caller's transaction.
fn check_within(transaction: &Transaction<'_>) -> Result<Tables, Problem> {
    let found = pragma(transaction, "user_version")?;
    let application = pragma(transaction, "application_id")?;
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, found) {
        (0, 0) if tables == 0 => Ok(Tables::Missing),
        (APPLICATION_ID, VERSION) => Ok(Tables::Current),
        (APPLICATION_ID, 1..VERSION) => Err(Problem::Older { found, known: VERSION }),
        (APPLICATION_ID, _) if found > VERSION => Err(Problem::Newer { found, known: VERSION }),
        _ => Err(Problem::Foreign),
    }
}

/// Creates the tables of a new file; two processes may try at once.
pub(crate) fn create(connection: &mut Connection) -> Result<(), Problem> {
    if check(connection)? == Tables::Current {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Checked again under the write lock: the other process may have been first.
    if check_within(&transaction)? == Tables::Missing {
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    Ok(transaction.commit()?)
}
