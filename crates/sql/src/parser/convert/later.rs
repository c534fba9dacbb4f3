//! Syntax that the grammar reads and PostgreSQL 15 does not have: 42601.
//!
//! The grammar is that of a later version. Syntax with new keywords does not get here, see `later_words`. What the grammar reads with old
//! keywords alone is refused here.

use base::{Error, Result, sqlstate};
use pg_query::NodeEnum;
use pg_query::protobuf as pb;

use super::{Converter, nodes};
use crate::parser::{character_position, tokens};
use crate::tree::Location;

impl Converter<'_> {
    /// The error of a grammar that does not know `word`: the one that stands nearest to `location`, if that is known.
    pub(super) fn later_syntax(&self, word: &str, location: Location) -> Error {
        let is_word = |place: &(usize, usize)| self.text[place.0..place.1].eq_ignore_ascii_case(word);
        let distance = |place: &(usize, usize)| location.abs_diff(place.0 as i32);
        let place = tokens(self.text).into_iter().filter(is_word).min_by_key(distance);
        let error = |at: &str| Error::new(sqlstate::SYNTAX_ERROR, format!("syntax error at {at}"));
        let Some((start, end)) = place else { return error("end of input") };
        let error = error(&format!("or near \"{}\"", &self.text[start..end]));
        match character_position(self.text, start as i32) {
            Some(position) => error.at(position),
            None => error,
        }
    }

    /// `WITH INHERIT ...`, `WITH SET ...`, `WITH ADMIN TRUE`, several options: only `WITH ADMIN OPTION` and `ADMIN OPTION FOR` are old.
    pub(super) fn refuse_later_grant(&self, grant: &pb::GrantRoleStmt) -> Result<()> {
        for (number, option) in nodes(&grant.opt).enumerate() {
            let NodeEnum::DefElem(option) = option else { continue };
            let rest =
                usize::try_from(option.location).ok().and_then(|start| self.text.get(start..)).unwrap_or_default();
            let mut words = tokens(rest).into_iter().map(|(start, end)| &rest[start..end]).skip(1);
            let value = words.next().unwrap_or_default();
            let unknown = match option.defname.as_str() {
                _ if number > 0 => ",",
                "admin" if value.eq_ignore_ascii_case("option") => continue,
                "admin" => value,
                _ if !grant.is_grant => "option",
                other => other,
            };
            return Err(self.later_syntax(unknown, option.location));
        }
        Ok(())
    }

    /// NOT NULL as a constraint of a table or domain, periods of keys, virtual columns.
    pub(super) fn refuse_later_constraint(&self, constraint: &pb::Constraint) -> Result<()> {
        use pb::ConstrType as Type;
        let word = match constraint.contype() {
            Type::ConstrNotnull if constraint.is_no_inherit => "no",
            Type::ConstrNotnull if constraint.skip_validation => "valid",
            Type::ConstrGenerated if constraint.generated_kind == "v" => "generated",
            Type::ConstrAttrEnforced | Type::ConstrAttrNotEnforced => "enforced",
            _ if constraint.without_overlaps => "without",
            _ if constraint.fk_with_period || constraint.pk_with_period => "period",
            _ => return Ok(()),
        };
        Err(self.later_syntax(word, constraint.location))
    }

    /// A constraint that does not stand behind a column: it can't be NOT NULL.
    pub(super) fn refuse_later_named_constraint(&self, constraint: &pb::Constraint) -> Result<()> {
        match constraint.contype() {
            pb::ConstrType::ConstrNotnull => Err(self.later_syntax("not", constraint.location)),
            _ => Ok(()),
        }
    }
}
