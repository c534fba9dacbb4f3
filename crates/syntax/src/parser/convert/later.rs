//! Syntax that the grammar reads and PostgreSQL 15 does not have: 42601.
//!
//! The grammar is that of a later version. Syntax that begins with a new keyword is refused by `later_words`, or here, if the tree shows it.
//! Syntax of old keywords alone is refused here.

use base::{Error, Result, sqlstate};
use pg_query::NodeEnum;
use pg_query::protobuf as pb;

use super::{Converter, nodes};
use crate::parser::{character_position, tokens};
use crate::tree::Location;

impl Converter<'_> {
    /// The error of a grammar that does not know `word`. It points at the occurrence nearest to `location`; if that is not known, at the last one
    /// in the statement.
    pub(super) fn later_syntax(&self, word: &str, location: Location) -> Error {
        let (start, end) = self.statement;
        let is_word = |place: &(usize, usize)| self.text[place.0..place.1].eq_ignore_ascii_case(word);
        let places = tokens(&self.text[start..end]).into_iter().map(|(from, to)| (start + from, start + to));
        let place = places.filter(is_word).min_by_key(|place| match location {
            0.. => location.abs_diff(place.0 as i32) as usize,
            _ => end - place.0,
        });
        let error = |at: &str| Error::new(sqlstate::SYNTAX_ERROR, format!("syntax error at {at}"));
        let Some((start, end)) = place else { return error("end of input") };
        let error = error(&format!("or near \"{}\"", &self.text[start..end]));
        match character_position(self.text, start as i32) {
            Some(position) => error.at(position),
            None => error,
        }
    }

    /// WHEN NOT MATCHED BY SOURCE or BY TARGET, and RETURNING.
    pub(super) fn refuse_later_merge(&self, merge: &pb::MergeStmt) -> Result<()> {
        let (start, end) = self.statement;
        let places = tokens(&self.text[start..end]);
        let is_word =
            |(from, to): (usize, usize), word: &str| self.text[start + from..start + to].eq_ignore_ascii_case(word);
        let by = places.windows(2).find(|pair| is_word(pair[0], "matched") && is_word(pair[1], "by"));
        if let Some(pair) = by {
            return Err(self.later_syntax("by", (start + pair[1].0) as Location));
        }
        match merge.returning_clause {
            Some(_) => Err(self.later_syntax("returning", -1)),
            None => Ok(()),
        }
    }

    /// `WITH INHERIT ...`, `WITH SET ...`, `WITH ADMIN TRUE`, several options: only `WITH ADMIN OPTION` and `ADMIN OPTION FOR` are old.
    pub(super) fn refuse_later_grant(&self, grant: &pb::GrantRoleStmt) -> Result<()> {
        for (number, option) in nodes(&grant.opt).enumerate() {
            let NodeEnum::DefElem(option) = option else { continue };
            let rest = usize::try_from(option.location)
                .ok()
                .and_then(|start| self.text.get(start..self.statement.1))
                .unwrap_or_default();
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

    /// NOT NULL that descendants do not inherit or that is not valid, virtual columns, keys over periods.
    pub(super) fn refuse_later_constraint(&self, constraint: &pb::Constraint) -> Result<()> {
        use pb::ConstrType as Type;
        let word = match constraint.contype() {
            Type::ConstrNotnull if constraint.is_no_inherit => "no",
            Type::ConstrNotnull if constraint.skip_validation => "valid",
            // It is virtual without the word, too.
            Type::ConstrGenerated if constraint.generated_kind == "v" => {
                let error = self.later_syntax("virtual", constraint.location);
                let has_word = error.fields().position.is_some();
                return Err(if has_word { error } else { self.later_syntax("generated", constraint.location) });
            }
            Type::ConstrAttrEnforced | Type::ConstrAttrNotEnforced => "enforced",
            _ if constraint.without_overlaps => "without",
            _ if constraint.fk_with_period || constraint.pk_with_period => "period",
            _ => return Ok(()),
        };
        Err(self.later_syntax(word, constraint.location))
    }
}
