//! From the parser's JSON to a [`Function`].

use std::sync::Arc;

use base::{Error, Result, sqlstate};
use engine::catalog::{ArgumentMode, FunctionDef};
use serde_json::Value as Json;

use super::records::RowVariable;
use super::tree::{
    Block, Expression, Function, Handler, Raise, RowSource, Statement, StatementKind, Variable, VariableKind,
};
use crate::session::{CatalogView, quote_identifier};
use crate::types::{self, CatalogLookup, RecordShape, SqlType, oids};

/// Compiles a stored function.
///
/// # Errors
/// 42601 and its kin for a body that can't be parsed.
pub fn compile(function: &FunctionDef, catalog: &CatalogView) -> Result<Function> {
    let type_name = |oid| types::format_type_name(catalog, oid);
    let mut parameters = Vec::new();
    let mut columns = Vec::new();
    for argument in &function.arguments {
        let name = argument.name.as_deref().map(quote_identifier).unwrap_or_default();
        let mode = match argument.mode {
            ArgumentMode::In => "",
            ArgumentMode::Out => "OUT ",
            ArgumentMode::InOut => "INOUT ",
            ArgumentMode::Variadic => "VARIADIC ",
            ArgumentMode::Table => {
                columns.push(format!("{name} {}", type_name(argument.type_oid)));
                continue;
            }
        };
        parameters.push(format!("{mode}{name} {}", type_name(argument.type_oid)));
    }
    let has_outputs =
        function.arguments.iter().any(|argument| !argument.mode.is_input() || argument.mode == ArgumentMode::InOut);
    let returns = if !columns.is_empty() {
        format!("RETURNS TABLE({})", columns.join(", "))
    } else if function.is_procedure() || has_outputs && !function.returns_set {
        String::new()
    } else {
        let set = if function.returns_set { "SETOF " } else { "" };
        format!("RETURNS {set}{}", type_name(function.returns))
    };
    let kind = if function.is_procedure() { "PROCEDURE" } else { "FUNCTION" };
    let (body, rows) = readable_body(&function.body, catalog);
    let text = format!(
        "CREATE {kind} {}({}) {returns} AS {} LANGUAGE plpgsql",
        quote_identifier(&function.name),
        parameters.join(", "),
        quote_body(&body)
    );
    let inputs: Vec<String> = function
        .arguments
        .iter()
        .filter(|argument| argument.mode.is_input())
        .map(|argument| type_name(argument.type_oid))
        .collect();
    let signature = format!("{}({})", function.name, inputs.join(","));
    let mut compiled = from_text(&text, signature, &rows, catalog)?;
    // The parser has seen names of types; their numbers are known better here.
    for (variable, argument) in compiled.variables.iter_mut().zip(&function.arguments) {
        variable.kind = kind_of(SqlType::new(argument.type_oid), catalog);
    }
    compiled.outputs = function
        .arguments
        .iter()
        .enumerate()
        .filter(|(_, argument)| argument.mode.is_output())
        .map(|(number, _)| number)
        .collect();
    compiled.pure_outputs =
        compiled.outputs.iter().copied().filter(|number| !function.arguments[*number].mode.is_input()).collect();
    compiled.result = SqlType::new(function.returns);
    compiled.returns_set = function.returns_set;
    compiled.is_volatile = function.volatility == engine::catalog::Volatility::Volatile;
    compiled.shape = result_shape(function, &compiled, catalog);
    Ok(compiled)
}

/// Compiles the body of DO.
///
/// # Errors
/// As [`compile`].
pub fn compile_block(body: &str, catalog: &CatalogView) -> Result<Function> {
    let (body, rows) = readable_body(body, catalog);
    let text = format!("CREATE FUNCTION inline_code_block() RETURNS void AS {} LANGUAGE plpgsql", quote_body(&body));
    from_text(&text, "inline_code_block".to_owned(), &rows, catalog)
}

/// The body as the parser understands it best, and the variables whose types it must be told later.
fn readable_body(body: &str, catalog: &CatalogView) -> (String, Vec<RowVariable>) {
    let is_row_type = |name: &str| {
        types::parse_type_name(catalog, name).is_ok_and(|found| composite_shape(found.oid, catalog).is_some())
    };
    super::records::with_records(&super::returns::with_expressions(body), is_row_type)
}

fn result_shape(function: &FunctionDef, compiled: &Function, catalog: &CatalogView) -> Option<Arc<RecordShape>> {
    if compiled.outputs.len() > 1 {
        let fields = compiled
            .outputs
            .iter()
            .map(|number| {
                let argument = &function.arguments[*number];
                (argument.name.clone().unwrap_or_default(), SqlType::new(argument.type_oid))
            })
            .collect();
        return Some(Arc::new(RecordShape { type_oid: oids::RECORD, fields }));
    }
    composite_shape(function.returns, catalog)
}

/// The columns of a composite type.
pub fn composite_shape(oid: base::Oid, catalog: &CatalogView) -> Option<Arc<RecordShape>> {
    match &catalog.user_type(oid)?.kind {
        types::context::UserTypeKind::Composite(shape) => Some(Arc::clone(shape)),
        _ => None,
    }
}

fn quote_body(body: &str) -> String {
    let mut tag = String::from("$cohort$");
    while body.contains(&tag) {
        tag.insert(1, 'x');
    }
    format!("{tag}{body}{tag}")
}

fn kind_of(sql_type: SqlType, catalog: &CatalogView) -> VariableKind {
    if sql_type.oid == oids::RECORD {
        return VariableKind::Record(None);
    }
    match composite_shape(sql_type.oid, catalog) {
        Some(shape) => VariableKind::Record(Some(shape)),
        None => VariableKind::Scalar(sql_type),
    }
}

fn from_text(text: &str, signature: String, rows: &[RowVariable], catalog: &CatalogView) -> Result<Function> {
    let json = crate::parser::parse_plpgsql(text)?;
    // What a trigger function knows of its trigger comes as empty objects with a bracket too many.
    let mended = || {
        let (variables, action) = json.split_at(json.find("\"action\"").unwrap_or(json.len()));
        serde_json::from_str(&format!("{}{action}", variables.replace("{}},", "{},")))
    };
    let json: Json = serde_json::from_str(&json)
        .or_else(|_| mended())
        .map_err(|error| Error::internal(format!("the PL/pgSQL parser's answer can't be read: {error}")))?;
    let root = &json[0]["PLpgSQL_function"];
    let mut reader = Reader { catalog, rows, variables: Vec::new() };
    for datum in list(&root["datums"]) {
        let variable = reader.variable(datum)?;
        reader.variables.push(variable);
    }
    let found = reader.variables.iter().position(|variable| variable.name == "found");
    let found = found.ok_or_else(|| Error::internal("a PL/pgSQL function without FOUND"))?;
    let mut body = reader.block(&root["action"]["PLpgSQL_stmt_block"])?;
    // The parser does not say which block declares what; defaults are given once, at the start.
    body.variables = (found + 1..reader.variables.len()).collect();
    Ok(Function {
        signature,
        found,
        body,
        variables: reader.variables,
        outputs: Vec::new(),
        pure_outputs: Vec::new(),
        result: SqlType::new(oids::VOID),
        returns_set: false,
        shape: None,
        is_volatile: true,
    })
}

fn list(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn text(json: &Json) -> Option<String> {
    json.as_str().map(str::to_owned)
}

fn flag(json: &Json) -> bool {
    json.as_bool().unwrap_or(false)
}

/// A number the parser leaves out when it is 0.
fn number(json: &Json) -> usize {
    json.as_u64().unwrap_or(0) as usize
}

/// The one entry of an object that stands for a variant.
fn variant(json: &Json) -> Result<(&str, &Json)> {
    let entry = json.as_object().and_then(|object| object.iter().next());
    entry.map(|(name, value)| (name.as_str(), value)).ok_or_else(|| Error::internal("an empty PL/pgSQL node"))
}

/// An expression, if there is one.
fn expression(json: &Json) -> Option<Expression> {
    let expression = &json["PLpgSQL_expr"];
    let query = expression["query"].as_str()?;
    // Modes: 0 a statement, 2 an expression, 3 to 5 an assignment's whole text.
    match expression["parseMode"].as_u64().unwrap_or(0) {
        0 => Some(Expression::new(query, true)),
        2 => Some(Expression::new(query, false)),
        _ => Some(Expression::new(assigned_part(query), false)),
    }
}

/// What stands behind `:=` or `=` of an assignment.
fn assigned_part(text: &str) -> &str {
    let mut in_quotes = false;
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        match character {
            '"' => in_quotes = !in_quotes,
            '[' | '(' if !in_quotes => depth += 1,
            ']' | ')' if !in_quotes => depth -= 1,
            '=' if !in_quotes && depth == 0 => return text[at + 1..].trim_start(),
            _ => {}
        }
    }
    text
}

fn needed(json: &Json) -> Result<Expression> {
    expression(json).ok_or_else(|| Error::internal("a PL/pgSQL node without its expression"))
}

struct Reader<'a> {
    catalog: &'a CatalogView,
    /// Records that are more than that.
    rows: &'a [RowVariable],
    variables: Vec<Variable>,
}

impl Reader<'_> {
    fn variable(&self, datum: &Json) -> Result<Variable> {
        if datum.as_object().is_some_and(serde_json::Map::is_empty) {
            let kind = VariableKind::Scalar(SqlType::TEXT);
            return Ok(Variable { name: String::new(), kind, line: 0, default: None, not_null: false });
        }
        let (variant, json) = variant(datum)?;
        let kind = match variant {
            "PLpgSQL_var" => {
                let name = json["datatype"]["PLpgSQL_type"]["typname"].as_str().unwrap_or("text");
                self.declared_type(name)?
            }
            "PLpgSQL_rec" => {
                let (name, line) = (json["refname"].as_str().unwrap_or_default(), number(&json["lineno"]) as u32);
                match self.rows.iter().find(|row| row.name == name && row.line == line) {
                    Some(row) => self.declared_type(&row.type_name)?,
                    None => VariableKind::Record(None),
                }
            }
            "PLpgSQL_row" => {
                VariableKind::Row(list(&json["fields"]).iter().map(|field| number(&field["varno"])).collect())
            }
            "PLpgSQL_recfield" => VariableKind::Field {
                record: number(&json["recparentno"]),
                field: text(&json["fieldname"]).unwrap_or_default(),
            },
            other => return Err(Error::unsupported(format!("PL/pgSQL variable of kind {other} is not supported"))),
        };
        Ok(Variable {
            name: text(&json["refname"]).unwrap_or_default(),
            kind,
            line: number(&json["lineno"]) as u32,
            default: expression(&json["default_val"]),
            not_null: flag(&json["notnull"]),
        })
    }

    /// The type a declaration names: `%TYPE` and `%ROWTYPE` too.
    fn declared_type(&self, name: &str) -> Result<VariableKind> {
        let lower = name.trim().to_ascii_lowercase();
        if let Some(table) = lower.strip_suffix("%rowtype") {
            return self.row_type(table);
        }
        if let Some(column) = lower.strip_suffix("%type") {
            return self.column_type(column);
        }
        if lower == "record" {
            return Ok(VariableKind::Record(None));
        }
        let sql_type = types::parse_type_name(self.catalog, name)?;
        Ok(kind_of(sql_type, self.catalog))
    }

    fn row_type(&self, name: &str) -> Result<VariableKind> {
        let table = self.table(name)?;
        let fields = table
            .columns
            .iter()
            .filter(|column| !column.dropped)
            .map(|column| (column.name.clone(), SqlType::with_typmod(column.type_oid, column.typmod)))
            .collect();
        Ok(VariableKind::Record(Some(Arc::new(RecordShape { type_oid: oids::RECORD, fields }))))
    }

    fn column_type(&self, name: &str) -> Result<VariableKind> {
        let (table, column) = match name.rsplit_once('.') {
            Some(parts) => parts,
            // A variable's own type.
            None => {
                let known = self.variables.iter().rev().find(|variable| variable.name == name);
                return match known.map(|variable| &variable.kind) {
                    Some(VariableKind::Scalar(sql_type)) => Ok(VariableKind::Scalar(*sql_type)),
                    _ => Err(Error::new(sqlstate::UNDEFINED_OBJECT, format!("type \"{name}%type\" does not exist"))),
                };
            }
        };
        let table = self.table(table)?;
        let found = table.columns.iter().find(|def| def.name == column && !def.dropped).ok_or_else(|| {
            Error::new(
                sqlstate::UNDEFINED_COLUMN,
                format!("column \"{column}\" of relation \"{}\" does not exist", table.name),
            )
        })?;
        Ok(kind_of(SqlType::with_typmod(found.type_oid, found.typmod), self.catalog))
    }

    fn table(&self, name: &str) -> Result<Arc<engine::catalog::TableDef>> {
        let (schema, bare) = match name.split_once('.') {
            Some((schema, name)) => (Some(schema), name),
            None => (None, name),
        };
        match self.catalog.relation(schema, bare.trim_matches('"')) {
            Some(engine::catalog::Relation::Table(table)) => Ok(Arc::clone(table)),
            _ => Err(Error::new(sqlstate::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))),
        }
    }

    fn block(&self, json: &Json) -> Result<Block> {
        let handlers = list(&json["exceptions"]["PLpgSQL_exception_block"]["exc_list"]);
        Ok(Block {
            label: text(&json["label"]),
            variables: Vec::new(),
            body: self.statements(&json["body"])?,
            handlers: handlers
                .iter()
                .map(|handler| {
                    let handler = &handler["PLpgSQL_exception"];
                    let conditions = list(&handler["conditions"]).iter();
                    Ok(Handler {
                        conditions: conditions
                            .filter_map(|condition| text(&condition["PLpgSQL_condition"]["condname"]))
                            .map(|name| name.to_ascii_lowercase())
                            .collect(),
                        body: self.statements(&handler["action"])?,
                    })
                })
                .collect::<Result<_>>()?,
        })
    }

    fn statements(&self, json: &Json) -> Result<Vec<Statement>> {
        list(json).iter().map(|statement| self.statement(statement)).collect()
    }

    /// The variable a loop names inline.
    fn loop_variable(&self, json: &Json) -> Result<usize> {
        let (variant, variable) = variant(json)?;
        if let Some(place) = variable["dno"].as_u64() {
            return Ok(place as usize);
        }
        if variant == "PLpgSQL_row" {
            let line = number(&variable["lineno"]) as u32;
            let fields: Vec<usize> = list(&variable["fields"]).iter().map(|field| number(&field["varno"])).collect();
            let place = self.variables.iter().position(|known| {
                known.line == line && matches!(&known.kind, VariableKind::Row(own) if *own == fields)
            });
            return place.ok_or_else(|| Error::internal("a loop over an unknown row"));
        }
        let name = variable["refname"].as_str().unwrap_or_default();
        let line = number(&variable["lineno"]) as u32;
        let place = self.variables.iter().position(|known| known.name == name && known.line == line);
        place.ok_or_else(|| Error::internal(format!("a loop over the unknown variable {name}")))
    }

    fn into_target(&self, json: &Json) -> Result<Option<usize>> {
        if !flag(&json["into"]) {
            return Ok(None);
        }
        self.loop_variable(&json["target"]).map(Some)
    }

    fn statement(&self, json: &Json) -> Result<Statement> {
        let (variant, json) = variant(json)?;
        let label = text(&json["label"]);
        let kind = match variant {
            "PLpgSQL_stmt_block" => StatementKind::Block(self.block(json)?),
            "PLpgSQL_stmt_assign" => {
                StatementKind::Assign { target: number(&json["varno"]), value: needed(&json["expr"])? }
            }
            "PLpgSQL_stmt_if" => {
                let mut branches = vec![(needed(&json["cond"])?, self.statements(&json["then_body"])?)];
                for branch in list(&json["elsif_list"]) {
                    let branch = &branch["PLpgSQL_if_elsif"];
                    branches.push((needed(&branch["cond"])?, self.statements(&branch["stmts"])?));
                }
                StatementKind::If { branches, otherwise: self.statements(&json["else_body"])? }
            }
            "PLpgSQL_stmt_case" => {
                let mut branches = Vec::new();
                for branch in list(&json["case_when_list"]) {
                    let branch = &branch["PLpgSQL_case_when"];
                    branches.push((needed(&branch["expr"])?, self.statements(&branch["stmts"])?));
                }
                let otherwise =
                    if flag(&json["have_else"]) { Some(self.statements(&json["else_stmts"])?) } else { None };
                let operand = expression(&json["t_expr"]).map(|operand| (operand, number(&json["t_varno"])));
                StatementKind::Case { operand, branches, otherwise }
            }
            "PLpgSQL_stmt_loop" => StatementKind::Loop { label, body: self.statements(&json["body"])? },
            "PLpgSQL_stmt_while" => {
                StatementKind::While { label, condition: needed(&json["cond"])?, body: self.statements(&json["body"])? }
            }
            "PLpgSQL_stmt_fori" => StatementKind::ForInteger {
                label,
                variable: self.loop_variable(&json["var"])?,
                lower: needed(&json["lower"])?,
                upper: needed(&json["upper"])?,
                step: expression(&json["step"]),
                reverse: flag(&json["reverse"]),
                body: self.statements(&json["body"])?,
            },
            "PLpgSQL_stmt_fors" => StatementKind::ForQuery {
                label,
                target: self.loop_variable(&json["var"])?,
                source: RowSource::Query(needed(&json["query"])?),
                body: self.statements(&json["body"])?,
            },
            "PLpgSQL_stmt_dynfors" => StatementKind::ForQuery {
                label,
                target: self.loop_variable(&json["var"])?,
                source: self.dynamic(json)?,
                body: self.statements(&json["body"])?,
            },
            "PLpgSQL_stmt_foreach_a" => StatementKind::ForEach {
                label,
                variable: number(&json["varno"]),
                slice: number(&json["slice"]) as u32,
                array: needed(&json["expr"])?,
                body: self.statements(&json["body"])?,
            },
            "PLpgSQL_stmt_exit" => {
                StatementKind::Exit { is_exit: flag(&json["is_exit"]), label, condition: expression(&json["cond"]) }
            }
            "PLpgSQL_stmt_return" => StatementKind::Return {
                value: expression(&json["expr"]),
                variable: json["retvarno"].as_u64().map(|place| place as usize),
            },
            "PLpgSQL_stmt_return_next" => StatementKind::ReturnNext {
                value: expression(&json["expr"]),
                variable: json["retvarno"].as_u64().map(|place| place as usize),
            },
            "PLpgSQL_stmt_return_query" => StatementKind::ReturnQuery(match expression(&json["query"]) {
                Some(query) => RowSource::Query(query),
                None => RowSource::Dynamic {
                    text: needed(&json["dynquery"])?,
                    parameters: list(&json["params"]).iter().filter_map(expression).collect(),
                },
            }),
            "PLpgSQL_stmt_raise" => StatementKind::Raise(Raise {
                level: json["elog_level"].as_i64().unwrap_or(21),
                condition: text(&json["condname"]),
                message: text(&json["message"]),
                parameters: list(&json["params"]).iter().filter_map(expression).collect(),
                options: list(&json["options"])
                    .iter()
                    .map(|option| {
                        let option = &option["PLpgSQL_raise_option"];
                        Ok((option["opt_type"].as_i64().unwrap_or(0), needed(&option["expr"])?))
                    })
                    .collect::<Result<_>>()?,
            }),
            "PLpgSQL_stmt_assert" => {
                StatementKind::Assert { condition: needed(&json["cond"])?, message: expression(&json["message"]) }
            }
            "PLpgSQL_stmt_execsql" => StatementKind::Sql {
                statement: needed(&json["sqlstmt"])?,
                into: self.into_target(json)?,
                strict: flag(&json["strict"]),
            },
            "PLpgSQL_stmt_dynexecute" => StatementKind::Execute {
                source: self.dynamic(json)?,
                into: self.into_target(json)?,
                strict: flag(&json["strict"]),
            },
            "PLpgSQL_stmt_perform" => StatementKind::Perform(needed(&json["expr"])?),
            "PLpgSQL_stmt_getdiag" => StatementKind::Diagnostics {
                stacked: flag(&json["is_stacked"]),
                items: list(&json["diag_items"])
                    .iter()
                    .map(|item| {
                        let item = &item["PLpgSQL_diag_item"];
                        (text(&item["kind"]).unwrap_or_default(), number(&item["target"]))
                    })
                    .collect(),
            },
            other => {
                let name = other.trim_start_matches("PLpgSQL_stmt_").to_ascii_uppercase();
                StatementKind::Unsupported(name)
            }
        };
        Ok(Statement { line: number(&json["lineno"]) as u32, kind })
    }

    fn dynamic(&self, json: &Json) -> Result<RowSource> {
        Ok(RowSource::Dynamic {
            text: needed(&json["query"])?,
            parameters: list(&json["params"]).iter().filter_map(expression).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_assigned_stands_behind_the_first_plain_equals_sign() {
        assert_eq!(assigned_part("n := n + 1"), "n + 1");
        assert_eq!(assigned_part("a[x=1] = 2 = 3"), "2 = 3");
        assert_eq!(assigned_part("\"a=b\" := c"), "c");
    }
}
