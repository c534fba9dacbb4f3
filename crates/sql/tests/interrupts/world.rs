//! A session of which a test says at which check it is interrupted.

use std::sync::Arc;

use base::settings::{ServerSettings, Source};
use base::{Error, Lsn, Result};
use cohort_sql::{BindInput, ConnectRequest, Instance, SqlSession};
use engine::{Database, OpenOptions};
use executor::client::{Client, Formats, OutgoingRow, Severity};
use sync::{Interrupt, InterruptKind, Met};
use vfs::SimulatedVfs;

use crate::statements::{self, Statement};

/// A client that sends the rows of a COPY and reads nothing.
#[derive(Default)]
struct Sender {
    sent: u32,
}

/// So many lines each COPY gets.
const LINES_SENT: u32 = 20;

impl Client for Sender {
    fn require(&mut self, _lsn: Lsn) {}

    fn row(&mut self, row: &OutgoingRow<'_>) -> Result<()> {
        let mut value = Vec::new();
        (0..row.values.len()).try_for_each(|index| row.write_value(index, &mut value).map(|_| ()))
    }

    fn notice(&mut self, _severity: Severity, _notice: &Error) {}

    fn error(&mut self, _error: &Error) {}

    fn parameter_status(&mut self, _name: &str, _value: &str) {}

    fn notification(&mut self, _pid: i32, _channel: &str, _payload: &str) {}

    fn read_copy_data(&mut self) -> Result<Option<Vec<u8>>> {
        self.sent += 1;
        Ok((self.sent <= LINES_SENT).then(|| format!("{}\ttext\n", 1000 + self.sent).into_bytes()))
    }

    fn relieve(&mut self) -> Result<()> {
        Ok(())
    }
}

/// How a statement is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Simple,
    Extended,
}

pub struct World {
    session: SqlSession,
}

impl World {
    /// A new database with the tables of the statements.
    pub fn new() -> World {
        let settings = ServerSettings::new();
        for (name, value) in [("shared_buffers", "512"), ("work_mem", "64kB")] {
            settings.set_at_start(name, value, Source::CommandLine).unwrap();
        }
        let database = Database::open(OpenOptions {
            vfs: Arc::new(SimulatedVfs::new(1)),
            settings: Arc::new(settings),
            background: false,
            ..OpenOptions::new("/data")
        })
        .unwrap();
        let (user, name) = ("postgres".to_owned(), "postgres".to_owned());
        let request = ConnectRequest { user, database: name, ..ConnectRequest::default() };
        let mut world = World { session: Instance::new(database).connect(request).unwrap() };
        statements::SCHEMA.iter().for_each(|text| world.say_well(text));
        world
    }

    pub fn interrupt(&self) -> Arc<Interrupt> {
        self.session.interrupt()
    }

    /// One query string.
    pub fn say(&mut self, text: &str) -> Result<()> {
        let mut client = Sender::default();
        let result = self.session.simple_query(text, &mut client);
        if let Err(error) = &result {
            self.session.fail(error, &mut client);
        }
        self.session.before_ready(&mut client);
        result
    }

    /// One query string that must not fail.
    pub fn say_well(&mut self, text: &str) {
        let result = self.say(text);
        assert!(result.is_ok(), "{text}: {result:?}");
    }

    /// Runs `text`, a form of the statement, and takes back what it did. The `number`th check raises an interrupt of this kind.
    pub fn run(
        &mut self,
        statement: &Statement,
        text: &str,
        protocol: Protocol,
        kind: InterruptKind,
        number: u32,
    ) -> (Result<()>, Met) {
        if statement.is_in_block {
            self.say_well("begin");
        }
        let interrupt = self.interrupt();
        let mut client = Sender::default();
        interrupt.raise_at_check(kind, number);
        let result = match protocol {
            Protocol::Simple => self.session.simple_query(text, &mut client),
            Protocol::Extended => self.run_extended(text, &mut client),
        };
        let met = interrupt.met();
        interrupt.raise_at_check(kind, 0);
        // A server would end the session.
        interrupt.take_end();
        if let Err(error) = &result {
            self.session.fail(error, &mut client);
        }
        if protocol == Protocol::Extended {
            self.session.sync(&mut client).unwrap();
        }
        self.session.before_ready(&mut client);
        if statement.is_in_block {
            self.say_well("rollback");
        }
        statement.after.iter().for_each(|text| self.say_well(text));
        (result, met)
    }

    fn run_extended(&mut self, text: &str, client: &mut Sender) -> Result<()> {
        self.session.parse("", text, &[], client)?;
        self.session.describe_statement("", client)?;
        let input = BindInput {
            parameter_formats: Default::default(),
            parameter_count: 0,
            parameters: &[],
            result_formats: Ok(Formats::default()),
        };
        let prepared = self.session.prepared("")?;
        self.session.bind("", prepared, input, client)?;
        self.session.execute("", 0, client)
    }
}
