//! The types of `$1`, `$2`, ...: given, or taken from where they are used first.

use base::{Error, Oid, Result, sqlstate};
use syntax::tree::Location;
use types::{SqlType, oids};

/// The types of a statement's parameters.
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    types: Vec<SqlType>,
    /// For each parameter, how many of its uses have not been given a type, and where the first stands.
    untyped_uses: Vec<(u32, Location)>,
    fixed: bool,
}

/// The highest parameter number.
const PARAMETER_MAX: u32 = 1_000_000;

impl Parameters {
    /// Types as a client declares them: [`Oid::INVALID`] and `unknown` are to be inferred, and more may come.
    pub fn declared(types: &[Oid]) -> Parameters {
        let types = types.iter().map(|oid| if *oid == Oid::INVALID { SqlType::UNKNOWN } else { SqlType::new(*oid) });
        Parameters { types: types.collect(), untyped_uses: Vec::new(), fixed: false }
    }

    /// Exactly these, all known: the arguments of a function.
    pub fn fixed(types: Vec<SqlType>) -> Parameters {
        Parameters { types, untyped_uses: Vec::new(), fixed: true }
    }

    /// The types, those never used being `unknown`.
    pub fn types(&self) -> &[SqlType] {
        &self.types
    }

    /// The type of parameter `number` (from 1) so far: 42P02 if there is no such parameter.
    pub(super) fn reference(&mut self, number: u32, location: Location) -> Result<SqlType> {
        let no_such = || Error::new(sqlstate::UNDEFINED_PARAMETER, format!("there is no parameter ${number}"));
        if number == 0 || number > PARAMETER_MAX {
            return Err(no_such());
        }
        let index = number as usize - 1;
        if index >= self.types.len() {
            if self.fixed {
                return Err(no_such());
            }
            self.types.resize(index + 1, SqlType::UNKNOWN);
        }
        if self.types[index].oid == oids::UNKNOWN {
            if self.untyped_uses.len() <= index {
                self.untyped_uses.resize(index + 1, (0, location));
            }
            if self.untyped_uses[index].0 == 0 {
                self.untyped_uses[index].1 = location;
            }
            self.untyped_uses[index].0 += 1;
        }
        Ok(self.types[index])
    }

    /// Gives a use of parameter `index` (from 0) a type; the parameter too, if it has none. The parameter's type then.
    pub(super) fn decide(&mut self, index: u32, target: SqlType) -> SqlType {
        let index = index as usize;
        if let Some((uses, _)) = self.untyped_uses.get_mut(index) {
            *uses = uses.saturating_sub(1);
        }
        let slot = &mut self.types[index];
        if slot.oid == oids::UNKNOWN {
            *slot = SqlType::new(target.oid);
        }
        *slot
    }

    /// The uses of parameters without a type so far, for [`Parameters::set_uses`].
    pub(super) fn uses(&self) -> Vec<(u32, Location)> {
        self.untyped_uses.clone()
    }

    /// Forgets the uses since `uses` were all, by an expression that will be bound again.
    pub(super) fn set_uses(&mut self, uses: Vec<(u32, Location)>) {
        self.untyped_uses = uses;
    }

    /// Parameter `number` (from 1) stands where a value of type `target` is expected, and nothing else is done with it.
    ///
    /// # Errors
    /// 42P02 if there is no such parameter.
    pub fn expect(&mut self, number: u32, target: SqlType, location: Location) -> Result<()> {
        if self.reference(number, location)?.oid == oids::UNKNOWN {
            self.decide(number - 1, target);
        }
        Ok(())
    }

    /// 42P18 if a parameter has no type, 42P08 (with its place) if a use of one that has a type was not given it.
    pub fn check_all_known(&self) -> Result<(), (Error, Location)> {
        let message = |index: usize| format!("could not determine data type of parameter ${}", index + 1);
        if let Some(index) = self.types.iter().position(|sql_type| sql_type.oid == oids::UNKNOWN) {
            return Err((Error::new(sqlstate::INDETERMINATE_DATATYPE, message(index)), -1));
        }
        if let Some(index) = self.untyped_uses.iter().position(|(uses, _)| *uses > 0) {
            let location = self.untyped_uses[index].1;
            return Err((Error::new(sqlstate::AMBIGUOUS_PARAMETER, message(index)), location));
        }
        Ok(())
    }
}
