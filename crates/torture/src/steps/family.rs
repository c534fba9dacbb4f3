//! Foreign keys: what refers to a row goes with it, follows it, or forbids that it goes.

use rand::Rng;

use crate::session::Session;
use crate::wire::Trouble;

/// Keys of `parents` are below this.
const KEYS: i64 = 40;

/// The tables.
pub const SCHEMA: &str = "
    create table parents (id int primary key, name text unique);
    create table children (id bigserial primary key,
        parent int references parents on delete cascade on update cascade, note text);
    create index children_parent on children (parent);
    create table grandchildren (id bigserial primary key, child bigint references children on delete cascade);
    create index grandchildren_child on grandchildren (child);
    create table pets (id bigserial primary key, parent int references parents on delete set null on update cascade);
    create table guests (id bigserial primary key, parent int not null references parents deferrable initially deferred)";

/// Queries that find nothing.
pub const CHECKS: &[(&str, &str)] = &[
    (
        "children without parents",
        "select * from children c where parent is not null
        and not exists (select from parents p where p.id = c.parent)",
    ),
    (
        "grandchildren without children",
        "select * from grandchildren g where child is not null
        and not exists (select from children c where c.id = g.child)",
    ),
    (
        "pets without parents",
        "select * from pets x where parent is not null
        and not exists (select from parents p where p.id = x.parent)",
    ),
    ("guests without parents", "select * from guests g where not exists (select from parents p where p.id = g.parent)"),
    ("parents of one key", "select id from parents group by id having count(*) > 1"),
    ("parents of one name", "select name from parents group by name having count(*) > 1"),
];

/// Changes the tables in one of many ways.
///
/// # Errors
/// Errors of the statement.
pub async fn change(session: &mut Session) -> Result<(), Trouble> {
    let (one, other) = (session.random.random_range(1..KEYS), session.random.random_range(1..KEYS));
    let text = match session.random.random_range(0..12) {
        0..3 => format!("insert into parents values ({one}, 'name {other}') on conflict do nothing"),
        3 => format!("delete from parents where id = {one}"),
        4 => format!("update parents set id = {other} where id = {one}"),
        5 | 6 => format!("insert into children (parent, note) values ({one}, repeat('c', {other}))"),
        7 => format!("insert into grandchildren (child) select id from children where parent = {one} limit 3"),
        8 => format!("insert into pets (parent) values ({one})"),
        9 => format!("insert into guests (parent) values ({one})"),
        10 => format!("update children set parent = {other} where parent = {one}"),
        _ => format!("delete from guests where parent = {one}; delete from pets where parent is null"),
    };
    session.say(&text).await.map(|_| ())
}
