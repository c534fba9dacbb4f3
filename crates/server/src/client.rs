//! The session's view of its client: messages framed into the port's buffer.

use base::limits::MESSAGE_BODY_MAX_BYTES;
use base::{Error, Lsn, Oid, Result, sqlstate};
use executor::client::{Client, Format, Formats, OutgoingRow, ResultColumn, RowDescription, Severity};
use sync::Interrupt;
use wal::DelayPolicy;

use crate::decode::{self, Message};
use crate::outgoing::push_cstr;
use crate::port::{self, SharedPort};

/// How large a row is need not be known more exactly.
const LARGE_ROW_BYTES: usize = 4 << 20;

/// The client at the other end of a port.
pub struct PortClient<'a> {
    /// Its port.
    pub port: &'a SharedPort,
    /// The session's interrupts, which end its waits.
    pub interrupt: &'a Interrupt,
}

impl PortClient<'_> {
    fn empty_message(&mut self, kind: u8) {
        self.port.borrow_mut().outgoing.message(kind, |_| {});
    }
}

impl Client for PortClient<'_> {
    fn require(&mut self, lsn: Lsn) {
        self.port.borrow_mut().outgoing.require(lsn);
    }

    fn committed(&mut self, gate: Lsn, delay: DelayPolicy) {
        let wal = self.port.borrow().wal_if_each_waits();
        if let Some(wal) = wal
            && gate > wal.durable()
        {
            // A flush asked for on the session's behalf would be the leader's that this is the opposite of.
            self.port.borrow_mut().set_session_waits(true);
            wal.wait_durable(gate, delay);
            self.port.borrow_mut().set_session_waits(false);
        }
        self.require(gate);
    }

    fn row_description(&mut self, description: &RowDescription, formats: &Formats) {
        let mut port = self.port.borrow_mut();
        match formats.uniform() {
            Some(format) => {
                let encode = |columns: &[ResultColumn]| encode_columns(columns, &|_| format);
                let body = description.encoded(format, encode);
                port.outgoing.message(b'T', |out| out.extend_from_slice(body));
            }
            None => {
                let body = encode_columns(&description.columns, &|index| formats.of(index));
                port.outgoing.message(b'T', |out| out.extend_from_slice(&body));
            }
        }
    }

    fn no_data(&mut self) {
        self.empty_message(b'n');
    }

    fn parameter_description(&mut self, types: &[Oid]) {
        self.port.borrow_mut().outgoing.message(b't', |out| {
            out.extend_from_slice(&(types.len() as u16).to_be_bytes());
            for oid in types {
                out.extend_from_slice(&oid.0.to_be_bytes());
            }
        });
    }

    fn row(&mut self, row: &OutgoingRow<'_>) -> Result<()> {
        if row.output_lets_others_run() {
            // Writing such a row may let others run. The port must not be borrowed then.
            let mut message = self.port.borrow_mut().outgoing.begin_separate(b'D', row.bytes_up_to(LARGE_ROW_BYTES));
            write_row(row, message.body())?;
            self.port.borrow_mut().outgoing.append_separate(message);
            return Ok(());
        }
        self.port.borrow_mut().outgoing.try_message(b'D', |out| write_row(row, out))
    }

    fn command_complete(&mut self, tag: &str) {
        self.port.borrow_mut().outgoing.message(b'C', |out| push_cstr(out, tag));
    }

    fn empty_query(&mut self) {
        self.empty_message(b'I');
    }

    fn portal_suspended(&mut self) {
        self.empty_message(b's');
    }

    fn parse_complete(&mut self) {
        self.empty_message(b'1');
    }

    fn bind_complete(&mut self) {
        self.empty_message(b'2');
    }

    fn close_complete(&mut self) {
        self.empty_message(b'3');
    }

    fn notice(&mut self, severity: Severity, notice: &Error) {
        self.port.borrow_mut().outgoing.error_or_notice(b'N', severity.name(), notice);
    }

    fn error(&mut self, error: &Error) {
        let severity = if error.fields().fatal { "FATAL" } else { "ERROR" };
        self.port.borrow_mut().outgoing.error_or_notice(b'E', severity, error);
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        self.port.borrow_mut().outgoing.message(b'S', |out| {
            push_cstr(out, name);
            push_cstr(out, value);
        });
    }

    fn notification(&mut self, pid: i32, channel: &str, payload: &str) {
        self.port.borrow_mut().outgoing.message(b'A', |out| {
            out.extend_from_slice(&pid.to_be_bytes());
            push_cstr(out, channel);
            push_cstr(out, payload);
        });
    }

    fn copy_in_response(&mut self, format: Format, column_count: usize) -> Result<()> {
        copy_response(self.port, b'G', format, column_count);
        Ok(())
    }

    fn copy_out_response(&mut self, format: Format, column_count: usize) -> Result<()> {
        copy_response(self.port, b'H', format, column_count);
        Ok(())
    }

    fn copy_data(&mut self, data: &[u8]) {
        self.port.borrow_mut().outgoing.message(b'd', |out| out.extend_from_slice(data));
    }

    fn copy_done(&mut self) -> Result<()> {
        self.empty_message(b'c');
        Ok(())
    }

    fn read_copy_data(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            // A client may send messages without data for as long as it likes.
            sync::yield_point()?;
            {
                let mut port = self.port.borrow_mut();
                // Others are not even read.
                if let Some(kind) = port.incoming.pending().first().copied()
                    && !matches!(kind, b'd' | b'c' | b'f' | b'H' | b'S')
                {
                    port.lose_place();
                    let message = format!("unexpected message type 0x{kind:02X} during COPY from stdin");
                    return Err(Error::new(sqlstate::PROTOCOL_VIOLATION, message));
                }
                let Ok(extent) = decode::next_message(port.incoming.pending()) else {
                    port.lose_place();
                    let message = "unexpected EOF on client connection with an open transaction";
                    return Err(Error::new(sqlstate::CONNECTION_FAILURE, message));
                };
                if let Some(extent) = extent {
                    let pending = port.incoming.pending();
                    let answer = match Message::decode(&pending[..extent.length]) {
                        Ok(Message::CopyData(data)) => Some(Ok(Some(data.to_vec()))),
                        Ok(Message::CopyDone) => Some(Ok(None)),
                        Ok(Message::CopyFail(reason)) => Some(decode::copy_failure(reason).and_then(|reason| {
                            let message = format!("COPY from stdin failed: {reason}");
                            Err(Error::new(sqlstate::QUERY_CANCELED, message))
                        })),
                        // Flush and Sync: clients send these in good faith before they know that COPY began.
                        _ => None,
                    };
                    port.incoming.consume(extent.length);
                    match answer {
                        Some(answer) => return answer,
                        None => continue,
                    }
                }
            }
            port::await_input(self.port, self.interrupt)?;
        }
    }

    fn wants_relief(&self) -> bool {
        self.port.borrow().wants_relief()
    }

    fn relieve(&mut self) -> Result<()> {
        port::relieve(self.port, self.interrupt, |_| true)
    }
}

/// Writes a row's message.
///
/// # Errors
/// 54000 if it becomes too long.
fn write_row(row: &OutgoingRow<'_>, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&(row.values.len() as u16).to_be_bytes());
    for index in 0..row.values.len() {
        let length_at = out.len();
        out.extend_from_slice(&(-1i32).to_be_bytes());
        if row.write_value(index, out)? {
            let length = (out.len() - length_at - 4) as u32;
            out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
            if out.len() - start > MESSAGE_BODY_MAX_BYTES {
                return Err(Error::buffer_too_long(length_at + 4 - start, length as usize));
            }
        }
    }
    Ok(())
}

fn copy_response(port: &SharedPort, kind: u8, format: Format, column_count: usize) {
    port.borrow_mut().outgoing.message(kind, |out| {
        out.push(format as u8);
        out.extend_from_slice(&(column_count as u16).to_be_bytes());
        for _ in 0..column_count {
            out.extend_from_slice(&(format as u16).to_be_bytes());
        }
    });
}

fn encode_columns(columns: &[ResultColumn], format_of: &dyn Fn(usize) -> Format) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 + columns.len() * 32);
    out.extend_from_slice(&(columns.len() as u16).to_be_bytes());
    for (index, column) in columns.iter().enumerate() {
        push_cstr(&mut out, &column.name);
        out.extend_from_slice(&column.table.0.to_be_bytes());
        out.extend_from_slice(&column.attribute_number.to_be_bytes());
        out.extend_from_slice(&column.sql_type.oid.0.to_be_bytes());
        out.extend_from_slice(&column.size_bytes().to_be_bytes());
        out.extend_from_slice(&column.sql_type.typmod.to_be_bytes());
        out.extend_from_slice(&(format_of(index) as u16).to_be_bytes());
    }
    out
}
