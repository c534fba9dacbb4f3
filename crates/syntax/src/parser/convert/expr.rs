//! Expressions.

use std::sync::Arc;

use base::{Error, Result, sqlstate};
use pg_query::NodeEnum;
use pg_query::protobuf::{self as pb, Node};

use super::{
    Converter, kind_of, names, node, nodes, optional, qualified, qualified_list, required, string_of, unexpected,
};
use crate::tree::{
    Expr, ExprKind, FunctionCall, Indirection, Literal, Name, OperatorName, SessionFunction, Subquery, SubqueryKind,
    TypeName,
};

impl Converter<'_> {
    pub(super) fn expr(&mut self, node: &NodeEnum) -> Result<Expr> {
        self.nested(|converter| converter.expr_inner(node))
    }

    pub(super) fn optional_expr(&mut self, boxed: &Option<Box<Node>>) -> Result<Option<Expr>> {
        node(boxed).map(|node| self.expr(node)).transpose()
    }

    pub(super) fn required_expr(&mut self, boxed: &Option<Box<Node>>) -> Result<Expr> {
        self.expr(required(boxed)?)
    }

    fn boxed(&mut self, boxed: &Option<Box<Node>>) -> Result<Box<Expr>> {
        self.required_expr(boxed).map(Box::new)
    }

    pub(super) fn exprs(&mut self, list: &[Node]) -> Result<Vec<Expr>> {
        nodes(list).map(|node| self.expr(node)).collect()
    }

    fn expr_inner(&mut self, node: &NodeEnum) -> Result<Expr> {
        let (kind, location) = match node {
            NodeEnum::AConst(constant) => (ExprKind::Literal(literal(constant)), constant.location),
            NodeEnum::ParamRef(parameter) => (ExprKind::Parameter(parameter.number.max(0) as u32), parameter.location),
            NodeEnum::ColumnRef(column) => (column_reference(column), column.location),
            NodeEnum::AExpr(expr) => return self.operator_expr(expr),
            NodeEnum::BoolExpr(expr) => (self.connective(expr)?, expr.location),
            NodeEnum::TypeCast(cast) => (self.cast(cast)?, cast.location),
            NodeEnum::CollateClause(collate) => {
                let collation = qualified(names(&collate.collname), collate.location)?;
                (ExprKind::Collate { input: self.boxed(&collate.arg)?, collation }, collate.location)
            }
            NodeEnum::FuncCall(call) => (ExprKind::Function(Box::new(self.function_call(call)?)), call.location),
            NodeEnum::NullTest(test) => {
                let negated = test.nulltesttype() == pb::NullTestType::IsNotNull;
                (ExprKind::NullTest { input: self.boxed(&test.arg)?, negated }, test.location)
            }
            NodeEnum::BooleanTest(test) => (self.boolean_test(test)?, test.location),
            NodeEnum::CaseExpr(case) => (self.case(case)?, case.location),
            NodeEnum::CoalesceExpr(coalesce) => (ExprKind::Coalesce(self.exprs(&coalesce.args)?), coalesce.location),
            NodeEnum::MinMaxExpr(minmax) => {
                let arguments = self.exprs(&minmax.args)?;
                let kind = match minmax.op() {
                    pb::MinMaxOp::IsLeast => ExprKind::Least(arguments),
                    _ => ExprKind::Greatest(arguments),
                };
                (kind, minmax.location)
            }
            NodeEnum::SqlvalueFunction(function) => (session_function(function)?, function.location),
            NodeEnum::SubLink(link) => return self.sublink(link),
            NodeEnum::AArrayExpr(array) => (ExprKind::Array(self.exprs(&array.elements)?), array.location),
            NodeEnum::RowExpr(row) => {
                let explicit = row.row_format() == pb::CoercionForm::CoerceExplicitCall;
                (ExprKind::Row { fields: self.exprs(&row.args)?, explicit }, row.location)
            }
            // The left side of `(a, b) IN (...)` may come as a bare list.
            NodeEnum::List(list) => (ExprKind::Row { fields: self.exprs(&list.items)?, explicit: false }, -1),
            NodeEnum::AIndirection(indirection) => {
                let input = self.boxed(&indirection.arg)?;
                let location = input.location;
                (ExprKind::Indirection { input, steps: self.indirection(&indirection.indirection)? }, location)
            }
            NodeEnum::SetToDefault(default) => (ExprKind::Default, default.location),
            NodeEnum::CurrentOfExpr(current) => (ExprKind::CurrentOf(Name::new(&current.cursor_name)), -1),
            NodeEnum::NamedArgExpr(argument) => {
                let value = self.boxed(&argument.arg)?;
                (ExprKind::NamedArgument { name: Name::new(&argument.name), value }, argument.location)
            }
            NodeEnum::MultiAssignRef(assignment) => {
                let source = Arc::new(self.required_expr(&assignment.source)?);
                let location = source.location;
                let (column, columns) = (assignment.colno.max(0) as u32, assignment.ncolumns.max(0) as u32);
                (ExprKind::MultiAssignment { source, column, columns }, location)
            }
            NodeEnum::GroupingFunc(grouping) => (ExprKind::Unsupported("GROUPING is not supported"), grouping.location),
            NodeEnum::XmlExpr(xml) => (ExprKind::Unsupported("XML is not supported"), xml.location),
            NodeEnum::XmlSerialize(xml) => (ExprKind::Unsupported("XML is not supported"), xml.location),
            // Settings' values and the like are bare values.
            NodeEnum::Integer(value) => (ExprKind::Literal(Literal::Integer(value.ival)), -1),
            NodeEnum::Float(value) => (ExprKind::Literal(Literal::Number(value.fval.clone())), -1),
            NodeEnum::Boolean(value) => (ExprKind::Literal(Literal::Boolean(value.boolval)), -1),
            NodeEnum::String(value) => (ExprKind::Literal(Literal::String(value.sval.clone())), -1),
            other => {
                let kind = kind_of(other);
                let is_later = kind.starts_with("Json") || kind == "MergeSupportFunc";
                return Err(if is_later { self.later_syntax("json", -1) } else { unexpected(&kind) });
            }
        };
        Ok(Expr { kind, location })
    }

    /// AND, OR and NOT.
    fn connective(&mut self, expr: &pb::BoolExpr) -> Result<ExprKind> {
        let arguments = self.exprs(&expr.args)?;
        Ok(match expr.boolop() {
            pb::BoolExprType::OrExpr => ExprKind::Or(arguments),
            pb::BoolExprType::NotExpr => {
                ExprKind::Not(Box::new(arguments.into_iter().next().ok_or_else(|| unexpected("NOT of nothing"))?))
            }
            _ => ExprKind::And(arguments),
        })
    }

    fn cast(&mut self, cast: &pb::TypeCast) -> Result<ExprKind> {
        let input = self.boxed(&cast.arg)?;
        let type_name = self.type_name(cast.type_name.as_ref().ok_or_else(|| unexpected("cast without type"))?)?;
        let type_name = Box::new(type_name);
        Ok(match input.kind {
            ExprKind::Default if self.has_default_arguments => ExprKind::DefaultArgument(type_name),
            // `type $1`, which the library takes as well as `type 'text'`.
            ExprKind::Parameter(number) if cast.location < 0 => {
                return Err(self.later_syntax(&format!("${number}"), input.location));
            }
            _ => ExprKind::Cast { input, type_name },
        })
    }

    fn boolean_test(&mut self, test: &pb::BooleanTest) -> Result<ExprKind> {
        let (value, negated) = match test.booltesttype() {
            pb::BoolTestType::IsNotTrue => (Some(true), true),
            pb::BoolTestType::IsFalse => (Some(false), false),
            pb::BoolTestType::IsNotFalse => (Some(false), true),
            pb::BoolTestType::IsUnknown => (None, false),
            pb::BoolTestType::IsNotUnknown => (None, true),
            _ => (Some(true), false),
        };
        Ok(ExprKind::BooleanTest { input: self.boxed(&test.arg)?, value, negated })
    }

    fn case(&mut self, case: &pb::CaseExpr) -> Result<ExprKind> {
        let operand = self.optional_expr(&case.arg)?.map(Box::new);
        let mut whens = Vec::with_capacity(case.args.len());
        for arm in nodes(&case.args) {
            let NodeEnum::CaseWhen(arm) = arm else { return Err(unexpected(&kind_of(arm))) };
            whens.push((self.required_expr(&arm.expr)?, self.required_expr(&arm.result)?));
        }
        let otherwise = self.optional_expr(&case.defresult)?.map(Box::new);
        Ok(ExprKind::Case { operand, whens, otherwise })
    }

    fn operator_expr(&mut self, expr: &pb::AExpr) -> Result<Expr> {
        let location = expr.location;
        let kind = match expr.kind() {
            pb::AExprKind::AexprOpAny | pb::AExprKind::AexprOpAll => ExprKind::Quantified {
                operator: operator_name(&expr.name)?,
                all: expr.kind() == pb::AExprKind::AexprOpAll,
                left: self.boxed(&expr.lexpr)?,
                array: self.boxed(&expr.rexpr)?,
            },
            pb::AExprKind::AexprDistinct | pb::AExprKind::AexprNotDistinct => ExprKind::Distinct {
                left: self.boxed(&expr.lexpr)?,
                right: self.boxed(&expr.rexpr)?,
                negated: expr.kind() == pb::AExprKind::AexprNotDistinct,
            },
            pb::AExprKind::AexprNullif => ExprKind::NullIf(self.boxed(&expr.lexpr)?, self.boxed(&expr.rexpr)?),
            pb::AExprKind::AexprIn => {
                let negated = nodes(&expr.name).next().and_then(string_of) == Some("<>");
                let left = self.boxed(&expr.lexpr)?;
                let list = match required(&expr.rexpr)? {
                    NodeEnum::List(list) => self.exprs(&list.items)?,
                    other => vec![self.expr(other)?],
                };
                ExprKind::In { left, list, negated }
            }
            pb::AExprKind::AexprBetween
            | pb::AExprKind::AexprNotBetween
            | pb::AExprKind::AexprBetweenSym
            | pb::AExprKind::AexprNotBetweenSym => {
                let input = self.boxed(&expr.lexpr)?;
                let NodeEnum::List(bounds) = required(&expr.rexpr)? else { return Err(unexpected("BETWEEN")) };
                let mut bounds = self.exprs(&bounds.items)?.into_iter();
                let (Some(low), Some(high)) = (bounds.next(), bounds.next()) else { return Err(unexpected("BETWEEN")) };
                ExprKind::Between {
                    input,
                    low: Box::new(low),
                    high: Box::new(high),
                    symmetric: matches!(
                        expr.kind(),
                        pb::AExprKind::AexprBetweenSym | pb::AExprKind::AexprNotBetweenSym
                    ),
                    negated: matches!(expr.kind(), pb::AExprKind::AexprNotBetween | pb::AExprKind::AexprNotBetweenSym),
                }
            }
            _ => ExprKind::Operator {
                operator: operator_name(&expr.name)?,
                left: self.optional_expr(&expr.lexpr)?.map(Box::new),
                right: self.boxed(&expr.rexpr)?,
            },
        };
        Ok(Expr { kind, location })
    }

    fn sublink(&mut self, link: &pb::SubLink) -> Result<Expr> {
        let query = match required(&link.subselect)? {
            NodeEnum::SelectStmt(select) => Box::new(self.query(select)?),
            other => return Err(unexpected(&kind_of(other))),
        };
        let kind = match link.sub_link_type() {
            pb::SubLinkType::ExistsSublink => SubqueryKind::Exists,
            pb::SubLinkType::ArraySublink => SubqueryKind::Array,
            pb::SubLinkType::AllSublink | pb::SubLinkType::AnySublink => SubqueryKind::Quantified {
                left: self.boxed(&link.testexpr)?,
                operator: if link.oper_name.is_empty() { None } else { Some(operator_name(&link.oper_name)?) },
                all: link.sub_link_type() == pb::SubLinkType::AllSublink,
            },
            _ => SubqueryKind::Scalar,
        };
        Ok(Expr { kind: ExprKind::Subquery(Box::new(Subquery { kind, query })), location: link.location })
    }

    pub(super) fn function_call(&mut self, call: &pb::FuncCall) -> Result<FunctionCall> {
        let over = match &call.over {
            Some(window) => Some(self.window(window)?),
            None => None,
        };
        let sql_syntax = call.funcformat() == pb::CoercionForm::CoerceSqlSyntax;
        let name = qualified(names(&call.funcname), call.location)?;
        if sql_syntax && name.name.as_str() == "system_user" {
            return Err(self.later_syntax("system_user", call.location));
        }
        // AT LOCAL.
        if sql_syntax && name.name.as_str() == "timezone" && call.args.len() == 1 {
            return Err(self.later_syntax("local", call.location));
        }
        Ok(FunctionCall {
            name,
            arguments: self.exprs(&call.args)?,
            order: self.sort_by(&call.agg_order)?,
            filter: self.optional_expr(&call.agg_filter)?,
            over,
            within_group: call.agg_within_group,
            star: call.agg_star,
            distinct: call.agg_distinct,
            variadic: call.func_variadic,
            sql_syntax,
            location: call.location,
        })
    }

    pub(super) fn indirection(&mut self, list: &[Node]) -> Result<Vec<Indirection>> {
        nodes(list)
            .map(|step| {
                Ok(match step {
                    NodeEnum::String(name) => Indirection::Field(Name::new(&name.sval)),
                    NodeEnum::AStar(_) => Indirection::Star,
                    NodeEnum::AIndices(indices) if indices.is_slice => {
                        Indirection::Slice(self.optional_expr(&indices.lidx)?, self.optional_expr(&indices.uidx)?)
                    }
                    NodeEnum::AIndices(indices) => Indirection::Index(self.required_expr(&indices.uidx)?),
                    other => return Err(unexpected(&kind_of(other))),
                })
            })
            .collect()
    }

    pub(super) fn type_name(&mut self, name: &pb::TypeName) -> Result<TypeName> {
        let mut parts = names(&name.names);
        let (schema, last) = if name.pct_type {
            (None, Name::new(parts.iter().map(Name::as_str).collect::<Vec<_>>().join(".")))
        } else {
            let last = parts.pop().ok_or_else(|| unexpected("type without name"))?;
            let schema = parts.pop();
            // A database may stand before the schema; there is only one.
            if parts.len() > 1 {
                return Err(Error::new(
                    sqlstate::SYNTAX_ERROR,
                    format!("improper qualified name (too many dotted names): {last}"),
                ));
            }
            (schema, last)
        };
        Ok(TypeName {
            schema,
            name: last,
            modifiers: self.exprs(&name.typmods)?,
            array_dimensions: name.array_bounds.len() as u32,
            setof: name.setof,
            percent_type: name.pct_type,
            location: name.location,
        })
    }
}

pub(super) fn operator_name(list: &[Node]) -> Result<OperatorName> {
    let mut parts = names(list);
    let name = parts.pop().ok_or_else(|| unexpected("operator without name"))?;
    Ok(OperatorName { schema: parts.pop(), name })
}

fn column_reference(column: &pb::ColumnRef) -> ExprKind {
    let star = matches!(nodes(&column.fields).last(), Some(NodeEnum::AStar(_)));
    let parts = names(&column.fields);
    if star { ExprKind::Star(parts) } else { ExprKind::Column(parts) }
}

pub(super) fn literal(constant: &pb::AConst) -> Literal {
    use pb::a_const::Val;
    match &constant.val {
        _ if constant.isnull => Literal::Null,
        Some(Val::Ival(value)) => Literal::Integer(value.ival),
        Some(Val::Fval(value)) => Literal::Number(value.fval.clone()),
        Some(Val::Boolval(value)) => Literal::Boolean(value.boolval),
        Some(Val::Sval(value)) => Literal::String(value.sval.clone()),
        Some(Val::Bsval(value)) => Literal::BitString(value.bsval.clone()),
        // The library leaves out values that are all zero.
        None => Literal::Null,
    }
}

fn session_function(function: &pb::SqlValueFunction) -> Result<ExprKind> {
    use pb::SqlValueFunctionOp as Op;
    let precision = Some(function.typmod);
    Ok(ExprKind::Session(match function.op() {
        Op::SvfopCurrentDate => SessionFunction::CurrentDate,
        Op::SvfopCurrentTime => SessionFunction::CurrentTime(None),
        Op::SvfopCurrentTimeN => SessionFunction::CurrentTime(precision),
        Op::SvfopCurrentTimestamp => SessionFunction::CurrentTimestamp(None),
        Op::SvfopCurrentTimestampN => SessionFunction::CurrentTimestamp(precision),
        Op::SvfopLocaltime => SessionFunction::LocalTime(None),
        Op::SvfopLocaltimeN => SessionFunction::LocalTime(precision),
        Op::SvfopLocaltimestamp => SessionFunction::LocalTimestamp(None),
        Op::SvfopLocaltimestampN => SessionFunction::LocalTimestamp(precision),
        Op::SvfopCurrentRole => SessionFunction::CurrentRole,
        Op::SvfopCurrentUser => SessionFunction::CurrentUser,
        Op::SvfopUser => SessionFunction::User,
        Op::SvfopSessionUser => SessionFunction::SessionUser,
        Op::SvfopCurrentCatalog => SessionFunction::CurrentCatalog,
        Op::SvfopCurrentSchema => SessionFunction::CurrentSchema,
        Op::SqlvalueFunctionOpUndefined => return Err(unexpected("SQLValueFunction")),
    }))
}

/// A collation or operator class, if written.
pub(super) fn optional_qualified(list: &[Node]) -> Result<Option<crate::tree::QualifiedName>> {
    if list.is_empty() { Ok(None) } else { qualified_list(list).map(Some) }
}

/// An alias that may be absent, of a join's USING list.
pub(super) fn alias_name(alias: &Option<pb::Alias>) -> Option<Name> {
    alias.as_ref().and_then(|alias| optional(&alias.aliasname))
}
