//! One connection's transactions, as pgbench would send them: prepared statements, one at a time.

use base::Result;
use base::sqlstate::{DEADLOCK_DETECTED, SERIALIZATION_FAILURE};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::connection::{Answer, Connection};
use super::target::GID_PREFIX;
use crate::driver::{BRANCHES, Switches, TELLERS, Workload};
use crate::load::Attempt;

/// The statements of a workload.
fn texts(workload: Workload) -> &'static [&'static str] {
    const ADD: &str = "update cohort_lab_accounts set abalance = abalance + $1 where aid = $2";
    match workload {
        Workload::Insert => &["insert into cohort_lab_test values (1, 'test')"],
        Workload::Update => &[ADD],
        Workload::Transfer => &["begin", ADD, "commit"],
        Workload::ReadUpdate => &["select * from cohort_lab_f_sli_test($1, $2)"],
        Workload::CountUpdate => &[
            "select count(*) from cohort_lab_counted",
            "update cohort_lab_counted set value = value + $1 where id = $2",
        ],
        Workload::ReadWrite => &[
            "begin",
            ADD,
            "select abalance from cohort_lab_accounts where aid = $1",
            "update cohort_lab_tellers set tbalance = tbalance + $1 where tid = $2",
            "update cohort_lab_branches set bbalance = bbalance + $1 where bid = $2",
            "insert into cohort_lab_history (tid, bid, aid, delta, mtime) values ($1, $2, $3, $4, current_timestamp)",
            "end",
        ],
    }
}

/// Names of prepared statements, in the order of a workload's texts.
const NAMES: [&str; 7] = ["0", "1", "2", "3", "4", "5", "6"];

/// The random choices of a transaction, kept in case it is tried again.
#[derive(Clone, Copy)]
struct Chosen {
    row: i64,
    other_row: i64,
    delta: i64,
    /// The index of the workload's statement, where there is a choice.
    which: usize,
}

/// A connection with its workload's statements prepared.
pub struct WireClient {
    connection: Connection,
    workload: Workload,
    /// Rows of the table that it chooses from.
    rows: i64,
    random: StdRng,
    /// Which client it is, if it commits in two phases.
    two_phase: Option<usize>,
    /// Transactions it has prepared.
    prepared: u64,
    chosen: Chosen,
}

impl WireClient {
    /// The client with this number on a connection of its own.
    ///
    /// # Errors
    /// Errors of the server about the statements.
    pub async fn new(
        mut connection: Connection,
        workload: Workload,
        rows: i32,
        switches: Switches,
        number: usize,
        seed: u64,
    ) -> Result<WireClient> {
        for (name, text) in NAMES.iter().zip(texts(workload)) {
            connection.prepare(name, text).await?;
        }
        Ok(WireClient {
            connection,
            workload,
            rows: i64::from(rows),
            random: StdRng::seed_from_u64(seed + number as u64),
            two_phase: switches.two_phase.map(|_| number),
            prepared: 0,
            chosen: Chosen { row: 1, other_row: 1, delta: 0, which: 0 },
        })
    }

    /// Ends its session.
    pub async fn close(self) {
        self.connection.close().await;
    }

    /// Attempts a transaction; `is_retry`: the same once more.
    ///
    /// # Errors
    /// Errors of the server except 40001 and 40P01; 08006 when the connection breaks.
    pub async fn attempt(&mut self, is_retry: bool) -> Result<Attempt> {
        if !is_retry {
            let random = &mut self.random;
            let row = random.random_range(1..=self.rows);
            let other_row = random.random_range(1..=self.rows);
            let delta = random.random_range(-5000..=5000);
            let which = usize::from(self.workload == Workload::CountUpdate && random.random());
            self.chosen = Chosen { row, other_row, delta, which };
        }
        let Chosen { row, other_row, delta, which } = self.chosen;
        let answer = match self.workload {
            Workload::Insert => self.connection.execute(NAMES[0], &[]).await?,
            Workload::ReadUpdate => self.connection.execute(NAMES[0], &[row, other_row]).await?,
            Workload::CountUpdate if which == 0 => self.connection.execute(NAMES[0], &[]).await?,
            Workload::Update | Workload::CountUpdate => self.connection.execute(NAMES[which], &[delta, row]).await?,
            Workload::ReadWrite => self.read_and_write(row, delta).await?,
            Workload::Transfer => self.transfer(row, other_row, delta).await?,
        };
        match answer {
            Answer::Done => Ok(Attempt::Committed),
            Answer::Failed { sqlstate, .. }
                if [SERIALIZATION_FAILURE, DEADLOCK_DETECTED].iter().any(|code| code.to_string() == sqlstate) =>
            {
                if matches!(self.workload, Workload::ReadWrite | Workload::Transfer) {
                    self.connection.simple("rollback").await?.expect_done()?;
                }
                Ok(Attempt::Aborted)
            }
            Answer::Failed { .. } => answer.expect_done().map(|()| Attempt::Committed),
        }
    }

    /// Runs the workload's statements in turn with these values, up to the first that fails.
    async fn execute_all(&mut self, statements: &[(usize, &[i64])]) -> Result<Answer> {
        for (statement, values) in statements {
            if let failed @ Answer::Failed { .. } = self.connection.execute(NAMES[*statement], values).await? {
                return Ok(failed);
            }
        }
        Ok(Answer::Done)
    }

    /// Sends the statements of pgbench's default script, one after the other.
    async fn read_and_write(&mut self, account: i64, delta: i64) -> Result<Answer> {
        let teller = i64::from(self.random.random_range(1..=TELLERS));
        let branch = i64::from(self.random.random_range(1..=BRANCHES));
        self.execute_all(&[
            (0, &[]),
            (1, &[delta, account]),
            (2, &[account]),
            (3, &[delta, teller]),
            (4, &[delta, branch]),
            (5, &[teller, branch, account, delta]),
            (6, &[]),
        ])
        .await
    }

    /// Two accounts, and a commit in one phase or two.
    async fn transfer(&mut self, from: i64, to: i64, amount: i64) -> Result<Answer> {
        let updates: [(usize, &[i64]); 3] = [(0, &[]), (1, &[-amount, from]), (1, &[amount, to])];
        if let failed @ Answer::Failed { .. } = self.execute_all(&updates).await? {
            return Ok(failed);
        }
        let Some(client) = self.two_phase else { return self.connection.execute(NAMES[2], &[]).await };
        self.prepared += 1;
        let gid = format!("{GID_PREFIX}{client} {}", self.prepared);
        if let failed @ Answer::Failed { .. } = self.connection.simple(&format!("prepare transaction '{gid}'")).await? {
            return Ok(failed);
        }
        self.connection.simple(&format!("commit prepared '{gid}'")).await
    }
}
