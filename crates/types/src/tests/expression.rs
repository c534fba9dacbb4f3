//! A reader for the expressions in `answers/`: literals, casts, calls, operators and arrays, evaluated at once. It
//! stands in for parser and binder so that types can be tested alone.

use std::sync::Arc;

use base::{Error, Result};
use smallvec::{SmallVec, smallvec};

use crate::*;

/// An expression.
#[derive(Debug)]
pub enum Expression {
    /// A string literal
    String(String),
    /// A number
    Number(String),
    /// `true`, `false`, `null`
    Word(String),
    /// `expression::type` and `type 'text'`
    Cast(Box<Expression>, String),
    /// A prefix or infix operator
    Operator(String, Option<Box<Expression>>, Box<Expression>),
    /// `name(arguments)`
    Call(String, Vec<Expression>),
    /// `array[elements]`
    Array(Vec<Expression>),
}

/// Reads an expression.
pub fn parse(text: &str) -> Expression {
    let mut reader = Reader { characters: text.chars().collect(), position: 0 };
    let expression = reader.expression(0);
    reader.skip_spaces();
    assert_eq!(reader.position, reader.characters.len(), "something is left over in {text}");
    expression
}

struct Reader {
    characters: Vec<char>,
    position: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.position).copied()
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.position += 1;
        }
    }

    fn accept(&mut self, character: char) -> bool {
        self.skip_spaces();
        let found = self.peek() == Some(character);
        self.position += usize::from(found);
        found
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let start = self.position;
        while self.peek().is_some_and(&wanted) {
            self.position += 1;
        }
        self.characters[start..self.position].iter().collect()
    }

    fn word(&mut self) -> Option<String> {
        self.skip_spaces();
        self.peek().filter(|c| c.is_alphabetic() || *c == '_')?;
        Some(self.take_while(|c| c.is_alphanumeric() || c == '_'))
    }

    fn string(&mut self) -> Option<String> {
        if !self.accept('\'') {
            return None;
        }
        let mut text = String::new();
        loop {
            let character = self.peek().expect("the string ends");
            self.position += 1;
            if character == '\'' {
                if self.peek() != Some('\'') {
                    return Some(text);
                }
                self.position += 1;
            }
            text.push(character);
        }
    }

    fn type_name(&mut self) -> String {
        const MORE: [&str; 13] = [
            "varying",
            "precision",
            "with",
            "without",
            "time",
            "zone",
            "to",
            "second",
            "minute",
            "hour",
            "day",
            "month",
            "year",
        ];
        self.skip_spaces();
        let mut name = if self.accept('"') {
            let quoted = self.take_while(|c| c != '"');
            self.position += 1;
            format!("\"{quoted}\"")
        } else {
            let mut name = self.word().expect("a type's name");
            loop {
                let before = self.position;
                match self.word().filter(|word| MORE.contains(&word.as_str())) {
                    Some(word) => name = format!("{name} {word}"),
                    None => {
                        self.position = before;
                        break;
                    }
                }
            }
            name
        };
        if self.peek() == Some('(') {
            name.push_str(&self.take_while(|c| c != ')'));
            name.push(')');
            self.position += 1;
        }
        while self.peek() == Some('[') {
            name.push_str("[]");
            self.position += 2;
        }
        name
    }

    fn operator(&mut self) -> Option<String> {
        const CHARACTERS: &str = "+-*/<>=~!@#%^&|?";
        self.skip_spaces();
        let start = self.position;
        let mut name = self.take_while(|c| CHARACTERS.contains(c));
        // a sign at the end belongs to what follows, unless a special character is there
        while name.len() > 1
            && name.ends_with(['+', '-'])
            && !name.contains(['~', '!', '@', '#', '%', '^', '&', '|', '?'])
        {
            name.pop();
        }
        self.position = start + name.len();
        (!name.is_empty()).then_some(name)
    }

    fn expression(&mut self, least: u8) -> Expression {
        let precedence = |name: &str| match name {
            "^" => 7,
            "*" | "/" | "%" => 6,
            "+" | "-" => 5,
            "<" | ">" | "=" | "<=" | ">=" | "<>" | "!=" => 2,
            _ => 4,
        };
        let mut left = self.prefix();
        loop {
            let before = self.position;
            match self.operator() {
                Some(name) if precedence(&name) >= least => {
                    let right = self.expression(precedence(&name) + 1);
                    left = Expression::Operator(name, Some(Box::new(left)), Box::new(right));
                }
                _ => {
                    self.position = before;
                    return left;
                }
            }
        }
    }

    fn prefix(&mut self) -> Expression {
        let Some(name) = self.operator() else { return self.primary() };
        let operand = self.expression(if name == "-" || name == "+" { 8 } else { 5 });
        match operand {
            // a negative number is one constant
            Expression::Number(number) if name == "-" => Expression::Number(format!("-{number}")),
            operand => Expression::Operator(name, None, Box::new(operand)),
        }
    }

    fn list(&mut self, end: char) -> Vec<Expression> {
        let mut items = Vec::new();
        if self.accept(end) {
            return items;
        }
        loop {
            items.push(self.expression(0));
            if self.accept(end) {
                return items;
            }
            assert!(self.accept(','), "a comma in a list");
        }
    }

    /// Whether a parenthesis here holds a type's modifier rather than arguments: a string follows it.
    fn is_modifier(&self) -> bool {
        let rest = &self.characters[self.position..];
        let Some(end) = rest.iter().position(|c| *c == ')') else { return false };
        rest[1..end].iter().all(|c| c.is_ascii_digit() || *c == ',')
            && rest[end + 1..].iter().find(|c| !c.is_whitespace()) == Some(&'\'')
    }

    fn primary(&mut self) -> Expression {
        self.skip_spaces();
        let mut expression = if let Some(text) = self.string() {
            Expression::String(text)
        } else if self.accept('(') {
            let inner = self.expression(0);
            assert!(self.accept(')'), "a closing parenthesis");
            inner
        } else if self.peek().is_some_and(|c| c.is_ascii_digit() || c == '.') {
            let mut number = self.take_while(|c| c.is_ascii_digit() || c == '.');
            if self.peek() == Some('e') {
                number.push('e');
                self.position += 1;
                if self.peek().is_some_and(|c| matches!(c, '+' | '-')) {
                    number.push(self.characters[self.position]);
                    self.position += 1;
                }
                number.push_str(&self.take_while(|c| c.is_ascii_digit()));
            }
            Expression::Number(number)
        } else {
            self.word_expression()
        };
        while self.peek() == Some(':') {
            self.position += 2;
            expression = Expression::Cast(Box::new(expression), self.type_name());
        }
        expression
    }

    fn word_expression(&mut self) -> Expression {
        let start = self.position;
        let word = self.word().expect("a word");
        match word.as_str() {
            "true" | "false" | "null" => return Expression::Word(word),
            "array" => {
                assert!(self.accept('['));
                return Expression::Array(self.list(']'));
            }
            _ => {}
        }
        if self.peek() == Some('(') && !self.is_modifier() {
            self.position += 1;
            return Expression::Call(word, self.list(')'));
        }
        self.position = start;
        let name = self.type_name();
        Expression::Cast(Box::new(Expression::String(self.string().expect("a literal"))), name)
    }
}

/// The value of an expression, with its type.
pub fn evaluate(context: &mut PlainContext, expression: &Expression) -> Result<(SqlType, Value)> {
    match expression {
        Expression::String(text) => Ok((SqlType::UNKNOWN, Value::text(text))),
        Expression::Number(text) => Ok(match (text.parse::<i32>(), text.parse::<i64>()) {
            (Ok(number), _) => (SqlType::INT4, Value::Int4(number)),
            (_, Ok(number)) => (SqlType::INT8, Value::Int8(number)),
            _ => (SqlType::NUMERIC, Value::Numeric(Numeric::parse(text)?)),
        }),
        Expression::Word(word) => Ok(match word.as_str() {
            "null" => (SqlType::UNKNOWN, Value::Null),
            word => (SqlType::BOOL, Value::Bool(word == "true")),
        }),
        Expression::Cast(inner, name) => {
            let target = parse_type_name(context.catalog(), name)?;
            let (source, value) = evaluate(context, inner)?;
            let cast = Cast::explicit(context.catalog(), source, target)?;
            Ok((cast.target, cast.apply(context, value)?))
        }
        Expression::Operator(name, left, right) => {
            let left = left.as_ref().map(|left| evaluate(context, left)).transpose()?;
            let right = evaluate(context, right)?;
            let resolved = resolve_operator(context.catalog(), None, name, left.as_ref().map(|left| left.0), right.0)?;
            let operands = left.into_iter().chain([right]).map(|(_, value)| value);
            let values = resolved
                .casts
                .iter()
                .zip(operands)
                .map(|(cast, value)| cast.apply(context, value))
                .collect::<Result<Vec<_>>>()?;
            let value = resolved.function.call(context, &resolved.types, &values)?;
            Ok((resolved.types.result, value))
        }
        Expression::Array(items) => array(context, items),
        Expression::Call(name, arguments) => call(context, name, arguments),
    }
}

fn array(context: &mut PlainContext, items: &[Expression]) -> Result<(SqlType, Value)> {
    let items = items.iter().map(|item| evaluate(context, item)).collect::<Result<Vec<_>>>()?;
    let types: Vec<SqlType> = items.iter().map(|(ty, _)| *ty).collect();
    let common = common_type(context.catalog(), "ARRAY", &types)?;
    let mut values = Vec::new();
    for (ty, value) in items {
        let cast =
            Cast::find(context.catalog(), ty, common, CastContext::Implicit).expect("common types can be cast to");
        values.push(cast.apply(context, value)?);
    }
    let Some(element) = element_type(context.catalog(), common.oid) else {
        let ty = array_type(context.catalog(), common.oid).expect("an array type");
        return Ok((SqlType::new(ty), Value::array(common.oid, values)));
    };
    let mut dimensions: SmallVec<[Dimension; 1]> = smallvec![Dimension { length: values.len() as u32, lower_bound: 1 }];
    let mut flat = Vec::new();
    for value in &values {
        let Value::Array(inner) = value else { continue };
        if flat.is_empty() {
            dimensions.extend(inner.dimensions.iter().copied());
        }
        flat.extend(inner.values.iter().cloned());
    }
    Ok((common, Value::Array(Arc::new(ArrayValue { element, dimensions, values: flat }))))
}

fn call(context: &mut PlainContext, name: &str, arguments: &[Expression]) -> Result<(SqlType, Value)> {
    let given = arguments.iter().map(|argument| evaluate(context, argument)).collect::<Result<Vec<_>>>()?;
    let types: Vec<SqlType> = given.iter().map(|(ty, _)| *ty).collect();
    let resolved = resolve_function(context.catalog(), &Call::new(name, &types))?;
    let mut values = Vec::new();
    for source in &resolved.arguments {
        values.push(match (source, &resolved.callee) {
            (ArgumentSource::Argument(index, cast), _) => cast.apply(context, given[*index].1.clone())?,
            (ArgumentSource::Default(index), Callee::Function(def)) => {
                let default = def.defaults[index + def.defaults.len() - def.arguments.len()];
                input(context, default, SqlType::new(def.arguments[*index]))?
            }
            (ArgumentSource::VariadicArray(from, casts, element), _) => {
                let mut elements = Vec::new();
                for (offset, cast) in casts.iter().enumerate() {
                    elements.push(cast.apply(context, given[from + offset].1.clone())?);
                }
                Value::array(*element, elements)
            }
            _ => return Err(Error::unsupported("default of something that is no function")),
        });
    }
    let value = match &resolved.callee {
        Callee::Function(def) if def.returns_set => {
            let mut stream = def.call_set(context, &resolved.types, &values)?;
            let mut rows = Vec::new();
            while let Some(row) = stream.next(context)? {
                rows.push(shown(context, &row, resolved.types.result));
            }
            return Ok((SqlType::TEXT, Value::from(rows.join("\n"))));
        }
        Callee::Function(def) => def.call(context, &resolved.types, &values)?,
        Callee::Cast(_) => values.pop().expect("a cast has an argument"),
        _ => return Err(Error::unsupported("aggregates have tests of their own")),
    };
    Ok((resolved.types.result, value))
}

/// A value as text; NULL as nothing.
pub fn shown(context: &PlainContext, value: &Value, ty: SqlType) -> String {
    output_string(value, ty.oid, &context.settings, &BuiltinCatalog).unwrap()
}
