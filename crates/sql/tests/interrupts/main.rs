//! No interrupt of a statement is lost.
//!
//! A statement checks for interrupts many times. Each statement of a table is run again and again, and a cancel is raised at its first
//! check, at its second one, and so on, until the statement ends before the chosen check comes. Each run that met the cancel must
//! end with 57014, and no code may have dropped that error on the way. Only builds with debug assertions can choose a check.
#![cfg(debug_assertions)]

mod statements;
mod world;

use base::sqlstate;
use statements::{STATEMENTS, Statement};
use sync::InterruptKind;
use world::{Protocol, World};

/// Every check is chosen up to this one; further on, a share of them.
const EACH_UP_TO: u32 = 60;

fn next(number: u32) -> u32 {
    number + 1 + number / EACH_UP_TO
}

/// Interrupts a statement at its checks, one in each run; the faults found.
fn try_statement(world: &mut World, statement: &Statement, protocol: Protocol, kind: InterruptKind) -> Vec<String> {
    let expected = match kind {
        InterruptKind::Terminate => sqlstate::ADMIN_SHUTDOWN,
        _ => sqlstate::QUERY_CANCELED,
    };
    let mut faults = Vec::new();
    let (mut number, mut goes_on) = (1, true);
    while goes_on {
        goes_on = false;
        // The plan of a text that came before is at hand; one that is new is planned.
        for text in [statement.text.to_owned(), format!("{} -- {kind:?} {number}", statement.text)] {
            let (result, met) = world.run(statement, &text, protocol, kind, number);
            let state = result.as_ref().err().map(|error| error.sqlstate());
            goes_on |= met.was_raised;
            if !met.was_raised {
                if state.as_ref().map(|state| state.as_str()) != statement.error {
                    faults.push(format!("{protocol:?}, not interrupted: {text}: {result:?}"));
                }
            } else if state != Some(expected) {
                faults.push(format!("{protocol:?}, {kind:?} at check {number}: {text}: {result:?}"));
            } else if met.dropped > 0 {
                faults.push(format!(
                    "{protocol:?}, {kind:?} at check {number}: the error of the check was dropped: {text}"
                ));
            }
        }
        number = next(number);
    }
    faults
}

#[test]
fn an_interrupt_at_any_check_ends_its_statement() {
    let mut world = World::new();
    let mut faults = Vec::new();
    for statement in STATEMENTS {
        for protocol in [Protocol::Simple, Protocol::Extended] {
            if statement.is_string && protocol == Protocol::Extended {
                continue;
            }
            for kind in [InterruptKind::Cancel, InterruptKind::Terminate] {
                faults.append(&mut try_statement(&mut world, statement, protocol, kind));
            }
        }
    }
    assert!(faults.is_empty(), "{} runs:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn a_block_that_catches_a_time_limit_goes_on_without_one() {
    let mut world = World::new();
    world.say_well("set statement_timeout = '500ms'");
    world.say_well(
        "do $$ begin
            begin
                perform pg_sleep(100);
            exception when query_canceled then
                insert into noted values (1, 'caught');
            end;
            perform pg_sleep(0.6);
            perform count(sqrt(i)) from generate_series(1, 100000) i;
        end $$",
    );
    world.say_well("set statement_timeout = 0");
    world.say_well("do $$ begin perform 1 / count(*) from noted; delete from noted; end $$");
}

#[test]
fn a_handler_of_a_cancel_leaves_the_next_one_to_the_statement() {
    let mut world = World::new();
    let text = "do $$ begin
            begin
                perform pg_cancel_backend(pg_backend_pid());
            exception when query_canceled then null;
            end;
            perform pg_cancel_backend(pg_backend_pid());
            raise 'not cancelled';
        exception when others then raise 'caught by others';
        end $$";
    assert_eq!(world.say(text).unwrap_err().sqlstate(), sqlstate::QUERY_CANCELED);
}

#[test]
fn others_catches_what_postgresql_has_it_catch() {
    let mut world = World::new();
    for (state, is_caught) in
        [("40001", true), ("40P01", true), ("57014", false), ("P0004", false), ("23505", true), ("57000", true)]
    {
        let text = format!(
            "do $$ begin raise exception 'raised' using errcode = '{state}'; exception when others then null; end $$"
        );
        let result = world.say(&text);
        assert_eq!(result.is_ok(), is_caught, "{state}: {result:?}");
    }
}

#[test]
fn no_handler_catches_the_end_of_the_session() {
    let mut world = World::new();
    let text = "do $$ begin
            perform pg_terminate_backend(pg_backend_pid());
        exception when others or query_canceled or admin_shutdown or operator_intervention then
            insert into noted values (1, 'caught');
        end $$";
    assert_eq!(world.say(text).unwrap_err().sqlstate(), sqlstate::ADMIN_SHUTDOWN);
    assert!(world.interrupt().pending(), "the session has yet to end");
}

#[test]
fn a_cancel_is_over_when_its_statement_is() {
    let mut world = World::new();
    let cancel = "select pg_cancel_backend(pg_backend_pid())";
    for _ in 0..2 {
        assert_eq!(world.say(cancel).unwrap_err().sqlstate(), sqlstate::QUERY_CANCELED);
        assert!(!world.interrupt().pending());
        world.say_well("select count(*) from numbers");
    }
}
