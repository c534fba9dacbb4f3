//! Views, functions, schemas, types and triggers of a session's own.

use rand::Rng;

use crate::session::Session;
use crate::wire::Trouble;

/// Makes, uses or drops one of them. Most are there half of the time, so many of these fail.
///
/// # Errors
/// Errors of the statement.
pub async fn change(session: &mut Session) -> Result<(), Trouble> {
    let me = session.number;
    let number = session.random.random_range(1..100);
    let text = match session.random.random_range(0..16) {
        0 => format!("create or replace view view_{me} as select id, balance + {number} as more from accounts"),
        1 => format!("select count(*) from view_{me}"),
        2 => format!("drop view if exists view_{me}"),
        3 => format!("create schema if not exists private_{me}"),
        4 => format!("create table private_{me}.things (id serial primary key, what text default 'x{number}')"),
        5 => format!("insert into private_{me}.things (what) select 'thing' from generate_series(1, {number})"),
        6 => format!("drop schema if exists private_{me} cascade"),
        7 => format!(
            "create or replace function function_{me}(n int) returns bigint language plpgsql as
             'begin update lockables set v = v + n where id = {}; return (select count(*) from accounts) + n; end'",
            number % 8 + 1
        ),
        8 | 9 => format!("select function_{me}({number})"),
        10 => format!("drop function if exists function_{me}(int)"),
        11 => format!("create type mood_{me} as enum ('sad', 'glad')"),
        12 => format!("drop type if exists mood_{me}"),
        13 => format!("create table private_{me}.log as select * from accounts with no data"),
        14 => format!("create sequence if not exists private_{me}.steps"),
        _ => format!("alter table private_{me}.things rename column what to what_{number}"),
    };
    session.say(&text).await.map(|_| ())
}
