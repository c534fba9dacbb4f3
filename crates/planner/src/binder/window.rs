//! Window functions and their windows.

use base::{Result, sqlstate};
use plan::bound::WindowSpec;
use plan::{Expr, ExprKind, FrameExclusion, WindowCall, WindowFrame, WindowFrameBound, WindowFrameMode, WindowTarget};
use syntax::tree::{self, Location, WindowDefinition};
use types::{AggregateDef, FunctionDef, Resolved, SqlType, oids};

use super::Binder;
use super::scope::Place;

/// PostgreSQL's FRAMEOPTION bits.
mod frame_option {
    pub(super) const NONDEFAULT: i32 = 0x0_0001;
    pub(super) const RANGE: i32 = 0x0_0002;
    pub(super) const ROWS: i32 = 0x0_0004;
    pub(super) const GROUPS: i32 = 0x0_0008;
    pub(super) const START_UNBOUNDED_PRECEDING: i32 = 0x0_0020;
    pub(super) const END_UNBOUNDED_FOLLOWING: i32 = 0x0_0100;
    pub(super) const START_CURRENT_ROW: i32 = 0x0_0200;
    pub(super) const END_CURRENT_ROW: i32 = 0x0_0400;
    pub(super) const START_OFFSET_PRECEDING: i32 = 0x0_0800;
    pub(super) const END_OFFSET_PRECEDING: i32 = 0x0_1000;
    pub(super) const START_OFFSET_FOLLOWING: i32 = 0x0_2000;
    pub(super) const END_OFFSET_FOLLOWING: i32 = 0x0_4000;
    pub(super) const EXCLUDE_CURRENT_ROW: i32 = 0x0_8000;
    pub(super) const EXCLUDE_GROUP: i32 = 0x1_0000;
    pub(super) const EXCLUDE_TIES: i32 = 0x2_0000;
}

impl Binder<'_, '_> {
    pub(super) fn window_function(
        &mut self,
        call: &tree::FunctionCall,
        function: &'static FunctionDef,
        arguments: Vec<Expr>,
        resolved: &Resolved,
    ) -> Result<Expr> {
        if call.filter.is_some() {
            let message = "FILTER is not implemented for non-aggregate window functions";
            return Err(self.unsupported(message, call.location));
        }
        if call.distinct {
            return Err(self.unsupported("DISTINCT is not implemented for window functions", call.location));
        }
        let arguments = self.window_arguments(call, arguments, resolved)?;
        self.window_call(call, WindowTarget::Window(function), arguments, resolved)
    }

    pub(super) fn window_aggregate(
        &mut self,
        call: &tree::FunctionCall,
        aggregate: &'static AggregateDef,
        arguments: Vec<Expr>,
        resolved: &Resolved,
    ) -> Result<Expr> {
        if call.distinct {
            return Err(self.unsupported("DISTINCT is not implemented for window functions", call.location));
        }
        if aggregate.direct_arguments.is_some() {
            let message = format!("OVER is not supported for ordered-set aggregate {}", aggregate.name);
            return Err(self.unsupported(message, call.location));
        }
        if !call.order.is_empty() {
            let message = "aggregate ORDER BY is not implemented for window functions";
            return Err(self.unsupported(message, call.location));
        }
        let arguments = self.window_arguments(call, arguments, resolved)?;
        self.window_call(call, WindowTarget::Aggregate(aggregate), arguments, resolved)
    }

    fn window_call(
        &mut self,
        call: &tree::FunctionCall,
        function: WindowTarget,
        arguments: Vec<Expr>,
        resolved: &Resolved,
    ) -> Result<Expr> {
        let location = call.location;
        let place = self.scope().place;
        if !place.allows_windows() {
            let place = match place {
                Place::WindowPartition | Place::WindowOrder | Place::WindowFrame => "window definitions",
                place => place.name(),
            };
            let message = format!("window functions are not allowed in {place}");
            return Err(self.error(sqlstate::WINDOWING_ERROR, message, location));
        }
        if arguments.iter().any(|argument| argument.any(&|expr| matches!(expr.kind, ExprKind::Window(_)))) {
            return Err(self.error(sqlstate::WINDOWING_ERROR, "window function calls cannot be nested", location));
        }
        let set_within = arguments.iter().find_map(first_set);
        if let Some(place) = set_within {
            return Err(self
                .unsupported("window function calls cannot contain set-returning function calls", place)
                .hint("You might be able to move the set-returning function into a LATERAL FROM item."));
        }
        if self.scope().in_aggregate {
            let message = "aggregate function calls cannot contain window function calls";
            return Err(self.error(sqlstate::GROUPING_ERROR, message, location));
        }
        let definition = call.over.as_ref().expect("the caller saw OVER");
        let (window, frame) = self.window(definition)?;
        let filter = match &call.filter {
            Some(filter) => {
                let before = std::mem::replace(&mut self.scope().place, Place::Filter);
                let bound = self.condition(filter, "FILTER");
                self.scope().place = before;
                Some(bound?)
            }
            None => None,
        };
        self.scope().has_windows = true;
        let sql_type = resolved.types.result;
        let call = WindowCall { function, arguments, types: resolved.types.clone(), frame, filter, window, location };
        Ok(Expr::new(ExprKind::Window(Box::new(call)), sql_type))
    }

    /// The windows of the WINDOW clause.
    pub(super) fn define_windows(&mut self, definitions: &[WindowDefinition]) -> Result<()> {
        for definition in definitions {
            // Its name is compared with those of all windows before it.
            sync::yield_point()?;
            let name = definition.name.as_ref().expect("the grammar gives it a name");
            if self.scope().windows.iter().any(|window| window.name.as_ref() == Some(name)) {
                let message = format!("window \"{name}\" is already defined");
                return Err(self.error(sqlstate::WINDOWING_ERROR, message, definition.location));
            }
            let spec = self.window_spec(definition)?;
            let frame = self.frame(definition, &spec)?;
            let has_own_frame = definition.frame_options & frame_option::NONDEFAULT != 0;
            let named = WindowSpec { name: Some(name.clone()), frame: Some(frame), has_own_frame, ..spec };
            self.scope().windows.push(named);
        }
        Ok(())
    }

    /// The window that OVER means: its number, and the frame.
    fn window(&mut self, definition: &WindowDefinition) -> Result<(u32, WindowFrame)> {
        // It is compared with all windows before it.
        sync::yield_point()?;
        // `OVER name` is that window itself.
        if let Some(name) = &definition.name {
            let found = self.scope().windows.iter().position(|window| window.name.as_ref() == Some(name));
            let Some(index) = found else { return Err(self.no_such_window(name, definition.location)) };
            let frame = self.scope().windows[index].frame.clone();
            let frame = frame.expect("a window of the WINDOW clause has a frame");
            return Ok((index as u32, frame));
        }
        let spec = self.window_spec(definition)?;
        let frame = self.frame(definition, &spec)?;
        let same = |window: &WindowSpec| {
            window.partition.len() == spec.partition.len()
                && window.order.len() == spec.order.len()
                && window.partition.iter().zip(&spec.partition).all(|(a, b)| super::aggregate::same(a, b))
                && window.order.iter().zip(&spec.order).all(|(a, b)| {
                    super::aggregate::same(&a.expr, &b.expr)
                        && a.descending == b.descending
                        && a.nulls_first == b.nulls_first
                })
        };
        let windows = &mut self.scope().windows;
        let index = windows.iter().position(same).unwrap_or_else(|| {
            windows.push(spec);
            windows.len() - 1
        });
        Ok((index as u32, frame))
    }

    fn no_such_window(&self, name: &str, location: Location) -> base::Error {
        self.error(sqlstate::UNDEFINED_OBJECT, format!("window \"{name}\" does not exist"), location)
    }

    fn window_spec(&mut self, definition: &WindowDefinition) -> Result<WindowSpec> {
        let base = match &definition.base {
            Some(name) => {
                let found = self.scope().windows.iter().find(|window| window.name.as_ref() == Some(name)).cloned();
                let Some(base) = found else { return Err(self.no_such_window(name, definition.location)) };
                if !definition.partition.is_empty() {
                    let message = format!("cannot override PARTITION BY clause of window \"{name}\"");
                    return Err(self.error(sqlstate::WINDOWING_ERROR, message, definition.location));
                }
                if !definition.order.is_empty() && !base.order.is_empty() {
                    let message = format!("cannot override ORDER BY clause of window \"{name}\"");
                    return Err(self.error(sqlstate::WINDOWING_ERROR, message, definition.location));
                }
                if base.has_own_frame {
                    let message = format!("cannot copy window \"{name}\" because it has a frame clause");
                    return Err(self.error(sqlstate::WINDOWING_ERROR, message, definition.location));
                }
                Some(base)
            }
            None => None,
        };
        let before = std::mem::replace(&mut self.scope().place, Place::WindowPartition);
        let bound = self.window_clauses(definition);
        self.scope().place = before;
        let (mut partition, mut order) = bound?;
        if let Some(base) = base {
            partition = base.partition;
            if order.is_empty() {
                order = base.order;
            }
        }
        Ok(WindowSpec { name: None, partition, order, frame: None, has_own_frame: false })
    }

    fn window_clauses(&mut self, definition: &WindowDefinition) -> Result<(Vec<Expr>, Vec<plan::SortKey>)> {
        let mut partition = Vec::with_capacity(definition.partition.len());
        for expr in &definition.partition {
            let bound = self.settled_expr(expr)?;
            self.require_equality(bound.sql_type, expr.start())?;
            partition.push(bound);
        }
        self.scope().place = Place::WindowOrder;
        let mut order = Vec::with_capacity(definition.order.len());
        for sort in &definition.order {
            let bound = self.settled_expr(&sort.expr)?;
            order.push(self.sort_key(bound, sort)?);
        }
        Ok((partition, order))
    }

    fn frame(&mut self, definition: &WindowDefinition, spec: &WindowSpec) -> Result<WindowFrame> {
        let options = definition.frame_options;
        let has = |bit: i32| options & bit != 0;
        let exclusion = if has(frame_option::EXCLUDE_CURRENT_ROW) {
            FrameExclusion::CurrentRow
        } else if has(frame_option::EXCLUDE_GROUP) {
            FrameExclusion::Group
        } else if has(frame_option::EXCLUDE_TIES) {
            FrameExclusion::Ties
        } else {
            FrameExclusion::NoOthers
        };
        let mode = if has(frame_option::ROWS) {
            WindowFrameMode::Rows
        } else if has(frame_option::GROUPS) {
            if spec.order.is_empty() {
                let message = "GROUPS mode requires an ORDER BY clause";
                return Err(self.error(sqlstate::WINDOWING_ERROR, message, definition.location));
            }
            WindowFrameMode::Groups
        } else {
            debug_assert!(has(frame_option::RANGE) || options == 0);
            WindowFrameMode::Range
        };
        let offset = |binder: &mut Self, expr: &Option<Box<tree::Expr>>| -> Result<Box<Expr>> {
            let expr = expr.as_ref().ok_or_else(|| base::Error::internal("a frame without its offset"))?;
            let wanted = if mode == WindowFrameMode::Range {
                binder.range_offset_type(spec, definition, expr)?
            } else {
                SqlType::INT8
            };
            let before = std::mem::replace(&mut binder.scope().place, Place::WindowFrame);
            let bound = binder.expr(expr);
            binder.scope().place = before;
            let construct = match mode {
                WindowFrameMode::Rows => "ROWS",
                WindowFrameMode::Groups => "GROUPS",
                WindowFrameMode::Range => "RANGE",
            };
            let bound = binder.coerce_to(bound?, wanted, construct, expr.start())?;
            if bound.any(&|expr| matches!(&expr.kind, ExprKind::Variable(variable) if variable.level == 0)) {
                let message = format!("argument of {construct} must not contain variables");
                return Err(binder.error(sqlstate::INVALID_COLUMN_REFERENCE, message, expr.location));
            }
            Ok(Box::new(bound))
        };
        let start = if has(frame_option::START_OFFSET_PRECEDING) {
            WindowFrameBound::Preceding(offset(self, &definition.start_offset)?)
        } else if has(frame_option::START_OFFSET_FOLLOWING) {
            WindowFrameBound::Following(offset(self, &definition.start_offset)?)
        } else if has(frame_option::START_CURRENT_ROW) {
            WindowFrameBound::CurrentRow
        } else {
            debug_assert!(has(frame_option::START_UNBOUNDED_PRECEDING) || options == 0);
            WindowFrameBound::UnboundedPreceding
        };
        let end = if has(frame_option::END_OFFSET_PRECEDING) {
            WindowFrameBound::Preceding(offset(self, &definition.end_offset)?)
        } else if has(frame_option::END_OFFSET_FOLLOWING) {
            WindowFrameBound::Following(offset(self, &definition.end_offset)?)
        } else if has(frame_option::END_UNBOUNDED_FOLLOWING) {
            WindowFrameBound::UnboundedFollowing
        } else {
            debug_assert!(has(frame_option::END_CURRENT_ROW) || options == 0);
            WindowFrameBound::CurrentRow
        };
        Ok(WindowFrame { mode, start, end, exclusion })
    }

    /// The type that the offset of a RANGE frame must have, by the type of the only sort key.
    fn range_offset_type(
        &mut self,
        spec: &WindowSpec,
        definition: &WindowDefinition,
        expr: &tree::Expr,
    ) -> Result<SqlType> {
        let [key] = spec.order.as_slice() else {
            let message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column";
            return Err(self.error(sqlstate::WINDOWING_ERROR, message, definition.location));
        };
        let base = types::base_type(self.context.lookup, key.expr.sql_type);
        Ok(match base.oid {
            oids::INT2 | oids::INT4 | oids::INT8 => SqlType::INT8,
            oids::FLOAT4 | oids::FLOAT8 => SqlType::new(oids::FLOAT8),
            oids::NUMERIC => SqlType::new(oids::NUMERIC),
            oids::DATE | oids::TIMESTAMP | oids::TIMESTAMPTZ | oids::TIME | oids::INTERVAL => {
                SqlType::new(oids::INTERVAL)
            }
            _ => {
                let name = self.type_name(key.expr.sql_type.oid);
                let message = format!("RANGE with offset PRECEDING/FOLLOWING is not supported for column type {name}");
                return Err(self.error(sqlstate::FEATURE_NOT_SUPPORTED, message, expr.start()));
            }
        })
    }

    fn window_arguments(
        &mut self,
        call: &tree::FunctionCall,
        arguments: Vec<Expr>,
        resolved: &Resolved,
    ) -> Result<Vec<Expr>> {
        self.assemble(call, arguments, resolved, None)
    }

    /// Sets are made distinct and partitioned only by types that have an equality.
    pub(super) fn require_equality(&mut self, sql_type: SqlType, location: Location) -> Result<()> {
        let base = types::base_type(self.context.lookup, sql_type);
        if types::is_hashable(base.oid) || types::comparator(base.oid).is_some() || self.orders_by_parts(base.oid) {
            return Ok(());
        }
        let found = self.type_name(sql_type.oid);
        let message = format!("could not identify an equality operator for type {found}");
        Err(self.error(sqlstate::UNDEFINED_FUNCTION, message, location))
    }

    /// LIMIT, OFFSET: an int8 without columns.
    pub(super) fn row_count(&mut self, expr: &tree::Expr, construct: &'static str, place: Place) -> Result<Expr> {
        let before = std::mem::replace(&mut self.scope().place, place);
        let bound = self.expr(expr);
        self.scope().place = before;
        let bound = self.coerce_to(bound?, SqlType::INT8, construct, expr.start())?;
        if let Some(location) = super::aggregate::first_own_variable(&bound) {
            let message = format!("argument of {construct} must not contain variables");
            return Err(self.error(sqlstate::INVALID_COLUMN_REFERENCE, message, location));
        }
        Ok(bound)
    }
}

/// Where the first set-returning call within `expr` stands.
fn first_set(expr: &Expr) -> Option<Location> {
    if let ExprKind::Set(call) = &expr.kind {
        return Some(call.location);
    }
    let mut found = None;
    expr.for_each_child(&mut |child| found = found.or_else(|| first_set(child)));
    found
}
