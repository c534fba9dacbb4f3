//! SQLite in WAL mode, a connection a client.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use rusqlite::{Connection, ErrorCode, params};

use crate::peer::{Client, Database, Facts, Opening, Outcome, TEXT, Totals, Transaction, Workload};

/// How long a connection tries to get its turn before it is told that the database is busy.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

pub fn facts() -> Facts {
    Facts {
        version: rusqlite::version().to_owned(),
        licence: "public domain (rusqlite: MIT)".into(),
        settings: format!(
            "journal_mode = WAL, synchronous = FULL, busy_timeout = {} s, BEGIN IMMEDIATE, prepared statements",
            BUSY_TIMEOUT.as_secs()
        ),
        isolation: "serializable (one writer at a time)".into(),
        durability: "fsync of the WAL by each commit".into(),
    }
}

pub struct Sqlite {
    file: PathBuf,
    workload: Workload,
}

impl Sqlite {
    pub fn open(opening: Opening<'_>, rows: Option<u64>) -> Result<Sqlite> {
        let sqlite = Sqlite { file: opening.directory.join("compared.db"), workload: opening.workload };
        let connection = sqlite.connect()?;
        if let Some(rows) = rows {
            let second = if opening.workload == Workload::Insert { "info TEXT" } else { "value INTEGER" };
            connection.execute_batch(&format!(
                "CREATE TABLE compared (id INTEGER PRIMARY KEY, {second} NOT NULL); BEGIN IMMEDIATE"
            ))?;
            if opening.workload == Workload::Add {
                let mut insert = connection.prepare("INSERT INTO compared VALUES (?1, 0)")?;
                for key in 0..rows {
                    insert.execute([key as i64])?;
                }
            }
            connection.execute_batch("COMMIT")?;
        }
        Ok(sqlite)
    }

    fn connect(&self) -> Result<Connection> {
        let connection = Connection::open(&self.file)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
        ensure!(mode == "wal", "journal_mode is {mode}, not wal");
        connection.execute_batch("PRAGMA synchronous = FULL")?;
        Ok(connection)
    }
}

impl Database for Sqlite {
    fn client(&self) -> Result<Box<dyn Client>> {
        Ok(Box::new(SqliteClient { connection: self.connect()? }))
    }

    fn totals(&self) -> Result<Totals> {
        let connection = self.connect()?;
        let totals = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let (rows, sum): (i64, i64) = match self.workload {
            Workload::Add => connection.query_row("SELECT count(*), sum(value) FROM compared", [], totals)?,
            Workload::Insert => {
                let sql = "SELECT count(*), coalesce(sum(info <> ?1), 0) FROM compared";
                let (rows, wrong): (i64, i64) = connection.query_row(sql, [TEXT], totals)?;
                ensure!(wrong == 0, "{wrong} rows have another text than was inserted");
                (rows, 0)
            }
        };
        Ok(Totals { rows: rows as u64, sum })
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct SqliteClient {
    connection: Connection,
}

impl SqliteClient {
    fn try_attempt(&mut self, transaction: Transaction) -> rusqlite::Result<()> {
        let connection = &self.connection;
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        match transaction {
            Transaction::Insert { key } => {
                connection
                    .prepare_cached("INSERT INTO compared VALUES (?1, ?2)")?
                    .execute(params![key as i64, TEXT])?;
            }
            Transaction::Add { key } => {
                let value: i64 = connection
                    .prepare_cached("SELECT value FROM compared WHERE id = ?1")?
                    .query_row([key as i64], |row| row.get(0))?;
                connection
                    .prepare_cached("UPDATE compared SET value = ?2 WHERE id = ?1")?
                    .execute([key as i64, value + 1])?;
            }
        }
        connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }
}

impl Client for SqliteClient {
    fn attempt(&mut self, transaction: Transaction) -> Result<Outcome> {
        match self.try_attempt(transaction) {
            Ok(()) => Ok(Outcome::Committed),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                if !self.connection.is_autocommit() {
                    self.connection.execute_batch("ROLLBACK")?;
                }
                Ok(Outcome::Conflict)
            }
            Err(error) => Err(error.into()),
        }
    }
}
