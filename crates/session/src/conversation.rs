//! What a session does with its client's messages, one after the other.
//!
//! Runs inside a coroutine: any statement may wait. Everything a batch of messages produces is sent at its
//! end in one write.

use base::{Error, sqlstate};
use sql::client::{Client, Format, Formats};
use sql::session::SqlSession;
use sync::{Arc, Interrupt};

use crate::client::PortClient;
use crate::decode::{self, Message};
use crate::port::SharedPort;

/// A session with what it remembers between messages.
pub struct Conversation {
    /// The session.
    pub sql: SqlSession,
    /// An extended-protocol message failed: what follows is skipped until Sync.
    is_skipping: bool,
    /// The message being worked on; kept for its capacity.
    message: Vec<u8>,
    interrupt: Arc<Interrupt>,
}

/// What is to become of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It waits for the client.
    Idle,
    /// It ends when what is to be sent has been sent.
    Close,
}

/// A message buffer larger than this is given back.
const KEPT_CAPACITY_BYTES: usize = 1024;

impl Conversation {
    /// A conversation that has just begun.
    pub fn new(sql: SqlSession) -> Conversation {
        let interrupt = sql.interrupt();
        Conversation { sql, is_skipping: false, message: Vec::new(), interrupt }
    }

    /// The session's interrupts.
    pub fn interrupt(&self) -> &Arc<Interrupt> {
        &self.interrupt
    }

    /// Works on all whole messages that have arrived.
    pub fn run(&mut self, port: &SharedPort) -> Next {
        let interrupt = Arc::clone(&self.interrupt);
        let next = sync::with_interrupt(&interrupt, || self.work_through(port));
        port.borrow_mut().outgoing.flush();
        next
    }

    fn work_through(&mut self, port: &SharedPort) -> Next {
        loop {
            if self.sql.nests_deep() && !sync::is_on_further_stack() {
                let worked = sync::on_further_stack(|| self.work_through(port));
                return worked.unwrap_or_else(|_| self.end(port, &no_stack()));
            }
            match self.take_message(port) {
                Ok(true) => {}
                Ok(false) => return Next::Idle,
                Err(error) => return self.end(port, &error),
            }
            let message = std::mem::take(&mut self.message);
            let next = self.handle(&message, port);
            self.message = message;
            if self.message.capacity() > KEPT_CAPACITY_BYTES {
                self.message = Vec::new();
            }
            if next == Next::Close {
                return Next::Close;
            }
            // The client may have sent thousands of messages at once.
            sync::let_others_run();
        }
    }

    /// Tells an idle client what it listens for, unless it is in a transaction: then it hears at the end of that.
    pub fn deliver_notifications(&mut self, port: &SharedPort) {
        if self.sql.transaction_status() == b'I' {
            self.sql.deliver_notifications(&mut PortClient { port, interrupt: &self.interrupt });
            port.borrow_mut().outgoing.flush();
        }
    }

    /// Tells the client `error` and ends.
    pub fn end(&mut self, port: &SharedPort, error: &Error) -> Next {
        PortClient { port, interrupt: &self.interrupt }.error(&error.clone().fatal());
        Next::Close
    }

    fn take_message(&mut self, port: &SharedPort) -> base::Result<bool> {
        let mut port = port.borrow_mut();
        let Some(extent) = decode::next_message(port.incoming.pending())? else { return Ok(false) };
        self.message.clear();
        self.message.extend_from_slice(&port.incoming.pending()[..extent.length]);
        port.incoming.consume(extent.length);
        Ok(true)
    }

    fn handle(&mut self, bytes: &[u8], port: &SharedPort) -> Next {
        let interrupt = Arc::clone(&self.interrupt);
        let mut client = PortClient { port, interrupt: &interrupt };
        if self.is_skipping && !matches!(bytes[0], b'S' | b'X') {
            return Next::Idle;
        }
        let result = match Message::decode(bytes) {
            Ok(Message::Query(text)) => {
                let result = self.sql.simple_query(text, &mut client);
                return self.finish_query(result, port);
            }
            Ok(Message::Parse { name, query, types }) => {
                self.sql.parse(name, query, &types, &mut client).map(|()| client.parse_complete())
            }
            Ok(Message::Bind(bind)) => formats(bind.parameter_formats.iter()).and_then(|parameter_formats| {
                let result_formats = formats(bind.result_formats.iter())?;
                let parameters = bind.parameters().collect::<smallvec::SmallVec<[_; 16]>>();
                self.sql.bind(bind.portal, bind.statement, &parameter_formats, &parameters, result_formats)?;
                client.bind_complete();
                Ok(())
            }),
            Ok(Message::Describe { is_portal: false, name }) => self.sql.describe_statement(name, &mut client),
            Ok(Message::Describe { is_portal: true, name }) => self.sql.describe_portal(name, &mut client),
            Ok(Message::Execute { portal, max_rows }) => self.sql.execute(portal, max_rows, &mut client),
            Ok(Message::Close { is_portal, name }) => {
                if is_portal {
                    self.sql.close_portal(name)
                } else {
                    self.sql.close_statement(name)
                }
                client.close_complete();
                Ok(())
            }
            Ok(Message::Flush) => {
                port.borrow_mut().outgoing.flush();
                Ok(())
            }
            Ok(Message::Sync) => {
                self.is_skipping = false;
                let result = self.sql.sync(&mut client);
                return self.finish_query(result, port);
            }
            Ok(Message::Terminate) => return Next::Close,
            Ok(Message::FunctionCall) => {
                let error = Error::unsupported("fastpath function calls are not supported");
                return self.finish_query(Err(error), port);
            }
            // Left over from a COPY that failed.
            Ok(Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_)) => Ok(()),
            Ok(Message::Password) => {
                return self.end(port, &Error::new(sqlstate::PROTOCOL_VIOLATION, "unexpected password message"));
            }
            Err(error) if bytes[0] == b'Q' => return self.finish_query(Err(error), port),
            Err(error) => Err(error),
        };
        match result {
            Ok(()) => Next::Idle,
            Err(error) => {
                self.is_skipping = true;
                self.report(&error, &mut client)
            }
        }
    }

    /// The end of a simple query or a Sync: the error, if there was one, and ReadyForQuery.
    fn finish_query(&mut self, result: base::Result<()>, port: &SharedPort) -> Next {
        let interrupt = Arc::clone(&self.interrupt);
        let mut client = PortClient { port, interrupt: &interrupt };
        if let Err(error) = result
            && self.report(&error, &mut client) == Next::Close
        {
            return Next::Close;
        }
        self.sql.before_ready(&mut client);
        port.borrow_mut().outgoing.ready_for_query(self.sql.transaction_status());
        Next::Idle
    }

    fn report(&mut self, error: &Error, client: &mut PortClient<'_>) -> Next {
        self.sql.fail(error, client);
        client.error(error);
        if error.fields().fatal { Next::Close } else { Next::Idle }
    }
}

/// The error that ends a session for which the system has no room for a stack.
pub fn no_stack() -> Error {
    Error::new(sqlstate::OUT_OF_MEMORY, "out of memory").detail("There is no room for a stack to run on.").fatal()
}

fn formats(codes: impl Iterator<Item = i16>) -> base::Result<Formats> {
    codes
        .map(|code| match code {
            0 => Ok(Format::Text),
            1 => Ok(Format::Binary),
            other => Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("unsupported format code: {other}"))),
        })
        .collect::<base::Result<_>>()
        .map(Formats)
}
