//! The handling of a client's messages by its session, one after the other.
//!
//! Runs inside a coroutine: any statement may wait. Replies are sent when the client asks for them or much has gathered; while
//! it leaves too much unread, its next message waits.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::{Error, sqlstate};
use executor::client::{Client, Format, Formats};
use sql::{BindInput, SqlSession};
use sync::{Arc, Interrupt, InterruptKind};

use crate::client::PortClient;
use crate::decode::{self, Message, Unframed};
use crate::port::{self, Port, SharedPort};

/// A session with what it remembers between messages.
pub struct Conversation {
    /// The session.
    pub sql: SqlSession,
    /// An extended-protocol message failed: what follows is skipped until Sync.
    is_skipping: bool,
    /// Messages of the extended protocol have come since the last ReadyForQuery.
    is_in_pipeline: bool,
    /// How many messages it has worked on since the server began to stop.
    last_messages: usize,
    /// The message being worked on; kept for its capacity.
    message: Vec<u8>,
    interrupt: Arc<Interrupt>,
}

/// The fate of the connection after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It waits for the client.
    Idle,
    /// It ends when what is to be sent has been sent.
    Close,
}

/// The result of a look for the next message.
enum Arrival {
    /// A message.
    Message,
    /// None has arrived.
    Nothing,
    /// The bytes that have arrived are not a message.
    Unframed(Unframed),
}

/// A message buffer larger than this is given back.
const KEPT_CAPACITY_BYTES: usize = 1024;

/// While the server stops, the end of a pipeline must come within so many messages.
const LAST_MESSAGES_MAX: usize = 100;
/// So often the socket is read for the next of them.
const LAST_READS_MAX: usize = 16;

impl Conversation {
    /// A conversation that has just begun.
    pub fn new(sql: SqlSession) -> Conversation {
        let interrupt = sql.interrupt();
        Conversation {
            sql,
            is_skipping: false,
            is_in_pipeline: false,
            last_messages: 0,
            message: Vec::new(),
            interrupt,
        }
    }

    /// The session's interrupts.
    pub fn interrupt(&self) -> &Arc<Interrupt> {
        &self.interrupt
    }

    /// Works on all whole messages that have arrived. Replies wait for the client to ask for them, by Sync or Flush. If the session
    /// ends there, it is closed as well.
    pub fn run(&mut self, port: &SharedPort) -> Next {
        let interrupt = Arc::clone(&self.interrupt);
        // A cancel that is pending here came while no statement ran: the session waited for its client, perhaps within a pipeline.
        interrupt.clear(InterruptKind::Cancel);
        // Closing a session may wait. It must not do that while a panic unwinds this coroutine: the thread's other sessions would
        // look as if they panicked, too.
        let work = || sync::with_interrupt(&interrupt, || self.work_through(port));
        let next = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
            // The panic's own message is in the log. Nobody has said which commits the rows depend on that came before it.
            port.borrow_mut().outgoing.forget_unflushed();
            self.tell(port, &Error::internal("the session failed on an internal error"))
        });
        if next == Next::Close {
            port.borrow_mut().outgoing.flush();
            self.sql.close();
        }
        next
    }

    /// Ends an idle session: tells the client why, if it is to be told, and closes the session.
    pub fn end(&mut self, port: &SharedPort, reason: Option<&Error>) -> Next {
        if let Some(error) = reason {
            self.tell(port, error);
        }
        port.borrow_mut().outgoing.flush();
        self.sql.close();
        Next::Close
    }

    fn work_through(&mut self, port: &SharedPort) -> Next {
        loop {
            if self.sql.nests_deep() && !sync::is_on_further_stack() {
                let worked = sync::on_further_stack(|| self.work_through(port));
                return worked.unwrap_or_else(|_| self.tell(port, &no_stack()));
            }
            if self.await_room(port) == Next::Close {
                return Next::Close;
            }
            match self.take_message(port) {
                Arrival::Message => {}
                Arrival::Nothing => return Next::Idle,
                Arrival::Unframed(Unframed::Kind(kind)) => {
                    let message = format!("invalid frontend message type {kind}");
                    return self.tell(port, &Error::new(sqlstate::PROTOCOL_VIOLATION, message));
                }
                // A client that sends such a length doesn't follow the protocol and would not understand an answer.
                Arrival::Unframed(Unframed::Length) => return leave(port),
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

    /// Waits as long as the client leaves too much unread. A cancel or a timeout meanwhile ends the pipeline; the server's stop
    /// ends the session.
    fn await_room(&mut self, port: &SharedPort) -> Next {
        while let Err(error) = port::relieve(port, &self.interrupt, |port| !self.is_over(port)) {
            if error.fields().fatal {
                return self.tell(port, &error);
            }
            if self.is_in_pipeline && !self.is_skipping {
                self.is_skipping = true;
                self.report(&error, &mut PortClient { port, interrupt: &Arc::clone(&self.interrupt) });
            } else {
                // No statement runs that it could be for, and the wait goes on.
                self.interrupt.clear_statement();
            }
        }
        if port.borrow().is_stopping() {
            if self.is_over(&mut port.borrow_mut()) {
                return self.tell(port, &InterruptKind::Terminate.error());
            }
            self.last_messages += 1;
        }
        Next::Idle
    }

    /// Whether the session ends here because the server stops: the statement that ran has ended, and its client has been
    /// answered. In the extended protocol a statement's Sync belongs to it, since Sync ends its transaction. Messages
    /// between the statement and its Sync belong to it as well, if they run nothing.
    fn is_over(&self, port: &mut Port) -> bool {
        if !port.is_stopping() {
            return false;
        }
        if !self.is_in_pipeline || self.last_messages > LAST_MESSAGES_MAX {
            return true;
        }
        for _ in 0..LAST_READS_MAX {
            let pending = port.incoming.pending();
            if !self.is_skipping
                && let Some(kind) = pending.first()
                && !matches!(kind, b'C' | b'D' | b'H' | b'S' | b'X')
            {
                return true;
            }
            // The client will be told of what is no message.
            if !matches!(decode::next_message(pending), Ok(None)) {
                return false;
            }
            // Nobody has read the socket while the statement ran.
            if !port.is_readable() {
                return true;
            }
            port.read_once(&mut [0; 4096]);
        }
        true
    }

    /// Whether there is more that it listens for, and its client has read enough of the rest.
    pub fn may_tell_more(&self, port: &SharedPort) -> bool {
        self.sql.has_more_notifications() && self.sql.transaction_status() == b'I' && !port.borrow().wants_relief()
    }

    /// Tells an idle client what it listens for, unless it is in a transaction: then it hears at the end of that.
    pub fn deliver_notifications(&mut self, port: &SharedPort) {
        if self.sql.transaction_status() == b'I' {
            self.sql.deliver_notifications(&mut PortClient { port, interrupt: &self.interrupt });
            port.borrow_mut().outgoing.flush();
        }
    }

    /// Tells the client the error that its session ends with.
    fn tell(&mut self, port: &SharedPort, error: &Error) -> Next {
        self.sql.log_end(&error.clone().fatal());
        PortClient { port, interrupt: &self.interrupt }.error(&error.clone().fatal());
        Next::Close
    }

    fn take_message(&mut self, port: &SharedPort) -> Arrival {
        let mut port = port.borrow_mut();
        let extent = match decode::next_message(port.incoming.pending()) {
            Ok(Some(extent)) => extent,
            Ok(None) => return Arrival::Nothing,
            Err(unframed) => return Arrival::Unframed(unframed),
        };
        self.message.clear();
        self.message.extend_from_slice(&port.incoming.pending()[..extent.length]);
        port.incoming.consume(extent.length);
        Arrival::Message
    }

    fn handle(&mut self, bytes: &[u8], port: &SharedPort) -> Next {
        if self.is_skipping && !matches!(bytes[0], b'S' | b'X') {
            return Next::Idle;
        }
        match bytes[0] {
            b'S' | b'Q' | b'F' => {
                // Its time may have run out while the client sent nothing. That is told with its next message.
                let is_under_way = self.is_in_pipeline && !self.is_skipping;
                (self.is_skipping, self.is_in_pipeline) = (false, false);
                let result = match is_under_way && self.interrupt.clear(InterruptKind::StatementTimeout) {
                    true => Err(InterruptKind::StatementTimeout.error()),
                    false => self.handle_cycle(bytes, port),
                };
                self.finish_query(result, port)
            }
            b'X' => leave(port),
            // Left over from a COPY that failed.
            b'd' | b'c' | b'f' => Next::Idle,
            _ => {
                self.is_in_pipeline = true;
                match self.handle_extended(bytes, port) {
                    Ok(()) => Next::Idle,
                    Err(error) => {
                        self.is_skipping = true;
                        let interrupt = Arc::clone(&self.interrupt);
                        self.report(&error, &mut PortClient { port, interrupt: &interrupt })
                    }
                }
            }
        }
    }

    /// Messages after which the client is told that the session is ready.
    fn handle_cycle(&mut self, bytes: &[u8], port: &SharedPort) -> base::Result<()> {
        let interrupt = Arc::clone(&self.interrupt);
        let mut client = PortClient { port, interrupt: &interrupt };
        match Message::decode(bytes)? {
            Message::Query(text) => self.sql.simple_query(text, &mut client),
            Message::FunctionCall => Err(Error::unsupported("fastpath function calls are not supported")),
            _ => self.sql.sync(&mut client),
        }
    }

    fn handle_extended(&mut self, bytes: &[u8], port: &SharedPort) -> base::Result<()> {
        let interrupt = Arc::clone(&self.interrupt);
        interrupt.check()?;
        let mut client = PortClient { port, interrupt: &interrupt };
        match Message::decode(bytes)? {
            Message::Parse { name, query, types } => {
                self.sql.parse(name, query, &types, &mut client)?;
                client.parse_complete();
                Ok(())
            }
            Message::Bind(bind) => {
                // A statement that isn't there is told before what is wrong with the rest.
                let prepared = self.sql.prepared(bind.statement)?;
                let rest = bind.rest()?;
                let input = BindInput {
                    parameter_formats: rest.parameter_formats.iter().collect(),
                    parameter_count: rest.parameter_count,
                    parameters: &rest.parameters,
                    result_formats: rest.result_formats.and_then(|codes| formats(codes.iter())),
                };
                self.sql.bind(bind.portal, prepared, input, &mut client)?;
                client.bind_complete();
                Ok(())
            }
            Message::Describe { is_portal: false, name } => self.sql.describe_statement(name, &mut client),
            Message::Describe { is_portal: true, name } => self.sql.describe_portal(name, &mut client),
            Message::Execute { portal, max_rows } => {
                self.sql.execute(portal, u32::try_from(max_rows).unwrap_or(0), &mut client)
            }
            Message::Close { is_portal, name } => {
                if is_portal {
                    self.sql.close_portal(name)
                } else {
                    self.sql.close_statement(name)
                }
                client.close_complete();
                Ok(())
            }
            _ => {
                port.borrow_mut().outgoing.flush();
                Ok(())
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
        if client.port.borrow().has_lost_place() {
            let message = "terminating connection because protocol synchronization was lost";
            let error = Error::new(sqlstate::PROTOCOL_VIOLATION, message).fatal();
            self.sql.log_end(&error);
            client.error(&error);
            return Next::Close;
        }
        if error.fields().fatal { Next::Close } else { Next::Idle }
    }
}

/// The error that ends a session for which the system has no room for a stack.
pub fn no_stack() -> Error {
    Error::new(sqlstate::OUT_OF_MEMORY, "out of memory").detail("There is no room for a stack to run on.").fatal()
}

/// The connection ends without another word.
fn leave(port: &SharedPort) -> Next {
    port.borrow_mut().outgoing.forget_unflushed();
    Next::Close
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
