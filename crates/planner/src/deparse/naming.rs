//! The names that the entries of a query's range table, their columns and its named joins have in the query's text.
//!
//! A table is called by the name that it has now, and so are its columns, unless the query gives them names of its own. Everything else
//! keeps the names that it had when the query was bound. A name that is used already gets a number: `t_1`.
//!
//! A name in an alias follows no renames. So a text that is stored gives aliases and lists of columns only where it must.

use std::collections::{HashMap, HashSet};

use base::limits::NAME_MAX_BYTES;
use plan::bound::RelationKind;
use plan::{CatalogView, SetCall, Variable, bound};
use schema::catalog::ViewScope;
use syntax::tree::{self, Alias, Name};

use super::expr::Qualify;
use crate::binder;

/// The catalogs that names are looked up in.
#[derive(Clone, Copy)]
pub struct Catalogs<'c> {
    /// The catalog in which the query was bound.
    pub before: &'c CatalogView,
    /// The catalog with the names that things have now.
    pub now: &'c CatalogView,
    /// The use of the text: stored or shown.
    pub qualify: Qualify,
    /// The columns that a stored query knows of its tables; all if there is none.
    pub known: Option<&'c ViewScope>,
}

/// The names of a query.
#[derive(Default)]
pub(super) struct ScopeNames {
    entries: Vec<EntryNames>,
    /// Joins with aliases, each before the join around it.
    joins: Vec<JoinNames>,
    /// The columns that NATURAL joins compare.
    natural: Vec<(*const tree::Join, Vec<Name>)>,
    /// The aliases of USING, which stay what they are.
    using_aliases: Vec<Name>,
}

/// The names of an entry of the range table.
pub(super) struct EntryNames {
    pub alias: String,
    /// Of its columns, those among them that were dropped.
    columns: Vec<ColumnNames>,
    /// How many of them the text lists behind the alias.
    listed_count: usize,
}

struct ColumnNames {
    name: String,
    /// The column's name where no list gives it another.
    own: String,
    is_dropped: bool,
}

/// The names of a join that has an alias.
struct JoinNames {
    /// Where the join lies that was written.
    written: *const tree::Join,
    alias: String,
    /// Its columns: the one of the range table that each is, and its name.
    columns: Vec<(Option<Place>, String)>,
    /// How many of them the text lists.
    listed_count: usize,
    /// The entries below it, which only the join itself can name.
    entries: Vec<usize>,
}

/// A column of an entry: their numbers.
type Place = (usize, usize);

/// A column that an item of FROM shows.
struct Shown {
    /// Its name when the query was bound.
    name: Name,
    /// The columns that are called so: USING makes one of two. None of them under a join with an alias, whose names stay.
    places: Vec<Place>,
    /// The column that it is, if it is not computed.
    is: Option<Place>,
    /// The join with an alias that shows it, and its place there.
    of_join: Option<Place>,
}

impl ScopeNames {
    /// The names of a query, none of which `is_taken` by the queries around it.
    pub fn new(
        catalogs: Catalogs<'_>,
        written: &tree::Query,
        query: &bound::Query,
        is_taken: &dyn Fn(&str) -> bool,
    ) -> ScopeNames {
        let tree::QueryBody::Select(select) = &written.body else {
            // The operands of a set operation are not named.
            return ScopeNames::default();
        };
        let mut walk = Walk {
            catalogs,
            query,
            is_taken,
            names: ScopeNames::default(),
            joins: Vec::new(),
            merged_of_joins: Vec::new(),
        };
        walk.names.entries = query.relations.iter().map(|relation| walk.unnamed(relation)).collect();
        let mut merged = vec![Merged::default(); query.relations.len()];
        for (written, bound) in select.from.iter().zip(&query.from) {
            walk.item(written, bound, &mut merged);
        }
        walk.finish(&merged)
    }

    /// The entry of this number.
    pub fn entry(&self, number: usize) -> Option<&EntryNames> {
        self.entries.get(number)
    }

    /// The alias of a join, with the columns that the text lists.
    pub fn join(&self, written: &tree::Join) -> Option<String> {
        let join = self.joins.iter().find(|join| std::ptr::eq(join.written, written))?;
        let listed = join.columns.iter().take(join.listed_count).map(|(_, name)| name.as_str());
        Some(with_columns(&join.alias, listed))
    }

    /// The columns that a NATURAL join compares.
    pub fn natural(&self, written: &tree::Join) -> Option<&[Name]> {
        let found = self.natural.iter().find(|(join, _)| std::ptr::eq(*join, written));
        found.map(|(_, names)| names.as_slice())
    }

    /// Whether a name stands for something in FROM.
    pub fn has(&self, alias: &str) -> bool {
        self.entries.iter().any(|entry| entry.alias == alias)
            || self.joins.iter().any(|join| join.alias == alias)
            || self.using_aliases.iter().any(|other| other.as_str() == alias)
    }

    /// The two names of a column: the one in FROM and its own. `None` if it can't be named where the joins that are `open`, and no
    /// others, are being written.
    pub fn column(&self, variable: &Variable, open: &[*const tree::Join]) -> Option<[&str; 2]> {
        let place = (variable.relation as usize, variable.attribute as usize);
        if let Some(join) = self.join_around(place.0, open) {
            let (_, name) = join.columns.iter().find(|(is, _)| *is == Some(place))?;
            return Some([&join.alias, name]);
        }
        let entry = self.entries.get(place.0)?;
        Some([&entry.alias, &entry.columns.get(place.1)?.name])
    }

    /// The name in FROM under which a row as a whole is known. `None` unless the variables are all columns of one item of FROM.
    pub fn row(&self, variables: &[Variable], open: &[*const tree::Join]) -> Option<&str> {
        let places = || variables.iter().map(|variable| (variable.relation as usize, variable.attribute as usize));
        let number = places().next()?.0;
        match self.join_around(number, open) {
            Some(join) => {
                let is_whole = join.columns.iter().map(|(is, _)| *is).eq(places().map(Some));
                is_whole.then_some(join.alias.as_str())
            }
            None => {
                let entry = self.entries.get(number)?;
                let columns = entry.columns.iter().enumerate().filter(|(_, column)| !column.is_dropped);
                let is_there = |(_, place): &Place| !entry.columns.get(*place).is_some_and(|column| column.is_dropped);
                let is_whole = columns.map(|(place, _)| (number, place)).eq(places().filter(is_there));
                is_whole.then_some(entry.alias.as_str())
            }
        }
    }

    /// The alias under which alone an entry can be named.
    pub fn alias_around(&self, entry: usize, open: &[*const tree::Join]) -> Option<&str> {
        self.join_around(entry, open).map(|join| join.alias.as_str())
    }

    fn join_around(&self, entry: usize, open: &[*const tree::Join]) -> Option<&JoinNames> {
        let is_around = |join: &&JoinNames| join.entries.contains(&entry) && !open.contains(&join.written);
        self.joins.iter().rev().find(is_around)
    }
}

impl EntryNames {
    /// ` alias(column, ...)`, unless the entry is known under its name `own` without.
    pub fn alias_text(&self, own: Option<&str>) -> String {
        if own == Some(self.alias.as_str()) && self.listed_count == 0 {
            return String::new();
        }
        let live = self.columns.iter().filter(|column| !column.is_dropped);
        let listed = live.take(self.listed_count).map(|column| column.name.as_str());
        with_columns(&self.alias, listed)
    }
}

fn with_columns<'n>(alias: &str, names: impl Iterator<Item = &'n str>) -> String {
    super::query::alias_text(&Alias { name: Name::new(alias), columns: names.map(Name::new).collect() })
}

/// A name that is not taken: the plain one, or with the first number that makes it free. It is no longer than a name may be.
fn free(plain: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (1..).map(|number| {
        let suffix = format!("_{number}");
        let kept = plain.floor_char_boundary(NAME_MAX_BYTES - suffix.len());
        format!("{}{suffix}", &plain[..kept])
    });
    let mut names = std::iter::once(plain.to_owned()).chain(numbered);
    names.find(|name| !is_taken(name)).expect("there are more numbers than names")
}

/// A walk over FROM as it was written and as it was bound.
struct Walk<'w> {
    catalogs: Catalogs<'w>,
    query: &'w bound::Query,
    is_taken: &'w dyn Fn(&str) -> bool,
    names: ScopeNames,
    joins: Vec<AliasedJoin<'w>>,
    /// Columns of such joins that USING names: the joins' numbers, and the places there.
    merged_of_joins: Vec<Place>,
}

/// A join with an alias.
struct AliasedJoin<'w> {
    written: &'w tree::Join,
    alias: &'w Alias,
    shown: Vec<Shown>,
    /// The entries below it.
    entries: Vec<usize>,
}

/// The effect of USING on the names of an entry's columns.
#[derive(Clone, Default)]
struct Merged {
    /// The names that it gives, by column.
    names: HashMap<usize, Name>,
    /// The names that no other column may have.
    taken: HashSet<Name>,
}

impl<'w> Walk<'w> {
    /// The columns of an entry with the names that they have by themselves.
    fn unnamed(&self, relation: &bound::Relation) -> EntryNames {
        let now = match &relation.kind {
            RelationKind::Table(table) => self.catalogs.now.catalog().table(table.oid),
            _ => None,
        };
        let of_calls = match &relation.kind {
            RelationKind::Function { calls, .. } => self.columns_of_calls(calls),
            _ => Vec::new(),
        };
        let mut columns: Vec<ColumnNames> = Vec::with_capacity(relation.columns.len());
        for (place, column) in relation.columns.iter().enumerate() {
            let current = now.and_then(|table| table.columns.get(place));
            let own = match (current, &relation.kind) {
                (Some(current), _) => current.name.clone(),
                (None, RelationKind::Virtual(table)) => {
                    table.columns.get(place).map_or_else(String::new, |column| column.name.to_string())
                }
                (None, RelationKind::Subquery(query)) if column_count(query) == relation.columns.len() => {
                    query.output().nth(place).map_or_else(String::new, |target| target.column.name.to_string())
                }
                (None, _) => match of_calls.get(place) {
                    Some(Field::Named(name)) => name.clone(),
                    _ => column.name.to_string(),
                },
            };
            let is_dropped = column.dropped
                || current.is_some_and(|current| current.dropped)
                || matches!(of_calls.get(place), Some(Field::Dropped));
            columns.push(ColumnNames { name: own.clone(), own, is_dropped });
        }
        EntryNames { alias: relation.alias.to_string(), columns, listed_count: 0 }
    }

    /// The columns of functions side by side, as the types of their rows have them now.
    fn columns_of_calls(&self, calls: &[SetCall]) -> Vec<Field> {
        let mut fields = Vec::new();
        for call in calls {
            let oid = call.types.result.oid;
            let shape = |view| if call.composite { types::composite_shape(view, oid) } else { None };
            let (Some(before), Some(now)) = (shape(self.catalogs.before), shape(self.catalogs.now)) else {
                fields.extend(call.columns.iter().map(|_| Field::Unknown));
                continue;
            };
            let is_shorter = now.fields.len() < before.fields.len();
            for (place, (name, _)) in before.fields.iter().enumerate() {
                let field =
                    if is_shorter { now.fields.iter().find(|(other, _)| other == name) } else { now.fields.get(place) };
                fields.push(field.map_or(Field::Dropped, |(name, _)| Field::Named(name.clone())));
            }
        }
        for place in self.later_columns(calls) {
            fields[place] = Field::Dropped;
        }
        fields
    }

    /// The columns of functions side by side that the query cannot name, because they came after it.
    fn later_columns(&self, calls: &[SetCall]) -> Vec<usize> {
        let view = self.catalogs.before;
        let later = |scope| binder::later_columns(view.catalog(), view, scope, calls);
        self.catalogs.known.map_or_else(Vec::new, later)
    }

    /// Gives the entries of an item their aliases' names; what the item shows.
    fn item(&mut self, written: &'w tree::FromItem, bound: &bound::FromItem, merged: &mut [Merged]) -> Vec<Shown> {
        match (written, bound) {
            (tree::FromItem::Join(join), bound::FromItem::Join(inner)) => self.join(join, inner, merged),
            (_, bound::FromItem::Relation(number)) => self.entry(written, *number as usize),
            _ => Vec::new(),
        }
    }

    fn entry(&mut self, written: &tree::FromItem, number: usize) -> Vec<Shown> {
        let Some(relation) = self.query.relations.get(number) else { return Vec::new() };
        let (alias, is_function) = match written {
            tree::FromItem::Table(reference) => (reference.alias.as_ref(), false),
            tree::FromItem::Subquery { alias, .. } => (alias.as_ref(), false),
            tree::FromItem::Function { alias, columns, .. } => (alias.as_ref(), columns.is_empty()),
            _ => (None, false),
        };
        let entry = &mut self.names.entries[number];
        if let (None, RelationKind::Table(table)) = (alias, &relation.kind)
            && let Some(now) = self.catalogs.now.catalog().table(table.oid)
        {
            entry.alias.clone_from(&now.name);
        }
        let named = alias.map_or(0, |alias| alias.columns.len());
        let live = relation.columns.iter().zip(&mut entry.columns).filter(|(column, _)| !column.dropped);
        // The columns of a function keep the names that they have in the query, whatever the row's type calls them now.
        for (column, names) in live.take(if is_function { usize::MAX } else { named }) {
            names.name = column.name.to_string();
        }
        let is_table = matches!(relation.kind, RelationKind::Table(_) | RelationKind::Virtual(_));
        // Functions side by side give their names to columns.
        let gives_names = matches!(&relation.kind, RelationKind::Function { calls, .. } if calls.len() > 1);
        entry.listed_count = match self.catalogs.qualify {
            Qualify::Always if gives_names && is_function => entry.columns.len(),
            Qualify::Always => named,
            Qualify::WhereNeeded if is_function || named > 0 && !is_table => entry.columns.len(),
            Qualify::WhereNeeded => 0,
        };
        let count = relation.columns.len();
        let later = match &relation.kind {
            RelationKind::Table(table) => {
                let known = self.catalogs.known.and_then(|scope| scope.columns_of(table.oid));
                (known.unwrap_or(count)..count).collect()
            }
            RelationKind::Function { calls, .. } => self.later_columns(calls),
            _ => Vec::new(),
        };
        let columns = relation.columns.iter().enumerate();
        let columns = columns.filter(|(place, column)| !column.dropped && !later.contains(place));
        let shown = |(place, column): (usize, &bound::Column)| Shown {
            name: column.name.clone(),
            places: vec![(number, place)],
            is: Some((number, place)),
            of_join: None,
        };
        columns.map(shown).collect()
    }

    fn join(&mut self, written: &'w tree::Join, bound: &bound::Join, merged: &mut [Merged]) -> Vec<Shown> {
        let mut left = self.item(&written.left, &bound.left, merged);
        let mut right = self.item(&written.right, &bound.right, merged);
        let using: Vec<Name> = if written.natural {
            let is_right = |name: &Name| right.iter().any(|shown| shown.name == *name);
            let common: Vec<Name> = left.iter().map(|shown| shown.name.clone()).filter(is_right).collect();
            self.names.natural.push((written, common.clone()));
            common
        } else {
            written.using.clone()
        };
        self.names.using_aliases.extend(written.using_alias.clone());
        let mut entries = Vec::new();
        entries_of(&bound.left, &mut entries);
        entries_of(&bound.right, &mut entries);
        let hidden: HashSet<usize> = self.joins.iter().flat_map(|join| join.entries.iter().copied()).collect();
        let in_reach: Vec<usize> = entries.iter().copied().filter(|entry| !hidden.contains(entry)).collect();
        let mut columns = Vec::new();
        for name in using {
            let take = |side: &mut Vec<Shown>| {
                let place = side.iter().position(|shown| shown.name == name)?;
                Some(side.remove(place))
            };
            let (Some(left), Some(right)) = (take(&mut left), take(&mut right)) else { continue };
            let is = match written.kind {
                tree::JoinType::Full => None,
                tree::JoinType::Right => right.is,
                _ => left.is,
            };
            let places: Vec<Place> = left.places.iter().chain(&right.places).copied().collect();
            for (entry, column) in &places {
                merged[*entry].names.entry(*column).or_insert_with(|| name.clone());
            }
            for entry in &in_reach {
                merged[*entry].taken.insert(name.clone());
            }
            self.merged_of_joins.extend(left.of_join.into_iter().chain(right.of_join));
            columns.push(Shown { name, places, is, of_join: None });
        }
        columns.append(&mut left);
        columns.append(&mut right);
        let Some(alias) = &written.alias else { return columns };
        for (shown, name) in columns.iter_mut().zip(&alias.columns) {
            shown.name = name.clone();
        }
        let number = self.joins.len();
        let outside = columns.iter().enumerate().map(|(place, shown)| Shown {
            name: shown.name.clone(),
            places: Vec::new(),
            is: shown.is,
            of_join: Some((number, place)),
        });
        let outside = outside.collect();
        self.joins.push(AliasedJoin { written, alias, shown: columns, entries });
        outside
    }

    /// Makes the names differ where they have to.
    fn finish(mut self, merged: &[Merged]) -> ScopeNames {
        let mut aliases: HashSet<String> = self.names.using_aliases.iter().map(Name::to_string).collect();
        for (entry, merged) in self.names.entries.iter_mut().zip(merged) {
            entry.alias = free(&entry.alias, |name| (self.is_taken)(name) || aliases.contains(name));
            aliases.insert(entry.alias.clone());
            for (place, name) in &merged.names {
                entry.columns[*place].name = name.to_string();
            }
            let mut taken: HashSet<String> = merged.taken.iter().map(Name::to_string).collect();
            for (place, column) in entry.columns.iter_mut().enumerate() {
                if !column.is_dropped && !merged.names.contains_key(&place) {
                    column.name = free(&column.name, |name| taken.contains(name));
                    taken.insert(column.name.clone());
                }
            }
            let live: Vec<&ColumnNames> = entry.columns.iter().filter(|column| !column.is_dropped).collect();
            if let Some(last) = live.iter().rposition(|column| column.name != column.own) {
                // A name in the list of a stored text follows no renames.
                let is_shown = self.catalogs.qualify == Qualify::WhereNeeded;
                entry.listed_count = entry.listed_count.max(if is_shown { live.len() } else { last + 1 });
            }
        }
        for (number, join) in std::mem::take(&mut self.joins).into_iter().enumerate() {
            let join = self.named_join(number, join);
            self.names.joins.push(join);
        }
        self.names
    }

    fn named_join(&self, number: usize, join: AliasedJoin<'_>) -> JoinNames {
        let AliasedJoin { written, alias, shown, entries } = join;
        let names = &self.names;
        let is_there = |place: &Place| !names.entries[place.0].columns[place.1].is_dropped;
        let mut columns: Vec<(Option<Place>, String)> = Vec::with_capacity(shown.len());
        let mut taken: HashSet<String> = HashSet::with_capacity(shown.len());
        let mut listed_count = alias.columns.len();
        for (place, shown) in shown.iter().enumerate() {
            if !shown.is.as_ref().is_none_or(is_there) {
                continue;
            }
            let below = shown.places.first().map(|place| names.entries[place.0].columns[place.1].name.as_str());
            // A stored text keeps the names of the fields that a row of the join has had.
            let is_kept = place < alias.columns.len()
                || self.merged_of_joins.contains(&(number, place))
                || self.catalogs.qualify == Qualify::Always;
            let plain = below.filter(|_| !is_kept).unwrap_or(&shown.name);
            let name = free(plain, |name| taken.contains(name));
            if below.map_or(name != shown.name.as_str(), |below| below != name) {
                listed_count = columns.len() + 1;
            }
            taken.insert(name.clone());
            columns.push((shown.is, name));
        }
        let alias = free(&alias.name, |name| (self.is_taken)(name) || names.has(name));
        if listed_count > 0 && self.catalogs.qualify == Qualify::WhereNeeded {
            listed_count = columns.len();
        }
        JoinNames { written, alias, columns, listed_count, entries }
    }
}

/// A column of a function's rows.
enum Field {
    Named(String),
    Dropped,
    /// The row's type has no names for its fields.
    Unknown,
}

fn column_count(query: &bound::Query) -> usize {
    query.output().count()
}

fn entries_of(item: &bound::FromItem, found: &mut Vec<usize>) {
    match item {
        bound::FromItem::Relation(number) => found.push(*number as usize),
        bound::FromItem::Join(join) => {
            entries_of(&join.left, found);
            entries_of(&join.right, found);
        }
    }
}
