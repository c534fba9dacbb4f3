//! Errors for names that stand for nothing, with the hints that PostgreSQL gives.

use base::{Error, missing, sqlstate};
use plan::bound::{Relation, RelationKind};
use syntax::tree::{Location, Name};

use super::Binder;
use super::scope::{SYSTEM_COLUMNS, Scope, has_system_columns};

impl Binder<'_, '_> {
    /// 42P01 for a table's name that stands for nothing here, with the hints PostgreSQL gives.
    pub(super) fn no_such_item(&mut self, parts: &[Name], location: Location) -> Error {
        let name = parts.last().expect("a name has a part");
        let invalid = |binder: &Self| {
            let message = format!("invalid reference to FROM-clause entry for table \"{name}\"");
            binder.error(sqlstate::UNDEFINED_TABLE, message, location)
        };
        for scope in self.scopes.iter().rev() {
            for relation in &scope.relations {
                if relation.alias == *name {
                    return invalid(self).hint(no_entry(name));
                }
                let table = match &relation.kind {
                    RelationKind::Table(def) => def.name.as_str(),
                    RelationKind::Virtual(table) => table.name.as_str(),
                    _ => continue,
                };
                if table == name.as_str() {
                    let alias = &relation.alias;
                    let is_seen = scope.readable().any(|item| item.alias_visible && item.alias == *alias);
                    return invalid(self).hint(match is_seen {
                        true => format!("Perhaps you meant to reference the table alias \"{alias}\"."),
                        false => no_entry(alias),
                    });
                }
            }
        }
        self.missing_item(parts, location)
    }

    /// 42703 or 42P01 for a column's name that stands for nothing.
    pub(super) fn no_such_column(&mut self, parts: &[Name], location: Location) -> Error {
        let (name, tables) = parts.split_last().expect("a name has a part");
        if let Some(table) = tables.last() {
            let schema = tables.len().checked_sub(2).map(|index| &tables[index]);
            match self.item(schema, table, location) {
                Ok(Some(_)) => {
                    let error = self.at(missing::column_of_item(table, name), location);
                    return self.with_spelling_hint(error, Some(table), name);
                }
                Ok(None) => return self.no_such_item(tables, location),
                Err(error) => return error,
            }
        }
        let error = self.at(missing::column(name), location);
        // It may exist where it can't be seen from here.
        let is_system = SYSTEM_COLUMNS.iter().any(|(system, ..)| *system == name.as_str());
        let has_name = |scope: &Scope, number: u32, relation: &Relation| {
            relation.columns.iter().any(|column| !column.dropped && column.name == *name)
                || (is_system && has_system_columns(relation) && scope.is_joined(number))
        };
        let mut exact = self.scopes.iter().rev().flat_map(|scope| {
            let numbered = scope.relations.iter().zip(0..);
            numbered.filter(|(relation, number)| has_name(scope, *number, relation)).map(|(relation, _)| relation)
        });
        if let Some(relation) = exact.next() {
            return error.hint(format!(
                "There is a column named \"{name}\" in table \"{}\", but it cannot be referenced from this part of the query.",
                relation.alias
            ));
        }
        self.with_spelling_hint(error, None, name)
    }

    /// With the hint that names the columns spelled most alike, as PostgreSQL chooses them.
    fn with_spelling_hint(&self, error: Error, table: Option<&Name>, name: &Name) -> Error {
        // At most half of the letters may differ, and at most three edits are looked at.
        let limit = (name.chars().count() / 2).min(3);
        let mut best: Vec<(&Name, &Name)> = Vec::new();
        let mut best_distance = limit + 1;
        for scope in self.scopes.iter().rev() {
            for relation in &scope.relations {
                // Naming another table than the one written counts as well.
                let table_distance = table.map_or(0, |table| distance(table, &relation.alias));
                for column in relation.columns.iter().filter(|column| !column.dropped) {
                    let total = distance(name, &column.name) + table_distance;
                    if total < best_distance {
                        best_distance = total;
                        best.clear();
                    }
                    if total == best_distance && total <= limit {
                        best.push((&relation.alias, &column.name));
                    }
                }
            }
        }
        match best.as_slice() {
            [(alias, column)] => error.hint(format!("Perhaps you meant to reference the column \"{alias}.{column}\".")),
            [(alias, column), (other_alias, other)] => error.hint(format!(
                "Perhaps you meant to reference the column \"{alias}.{column}\" or the column \"{other_alias}.{other}\"."
            )),
            _ => error,
        }
    }
}

/// The hint for an entry that can't be seen.
fn no_entry(name: &Name) -> String {
    format!("There is an entry for table \"{name}\", but it cannot be referenced from this part of the query.")
}

/// Levenshtein's distance of two names.
fn distance(left: &str, right: &str) -> usize {
    let right = right.chars().collect::<Vec<_>>();
    let mut row = (0..=right.len()).collect::<Vec<_>>();
    for (index, character) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, other) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(character != *other);
            diagonal = row[column + 1];
            row[column + 1] = substituted.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("abalance", "abalanc"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
