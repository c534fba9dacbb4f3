//! The columns of random tables: their types, values that they take and values that they refuse.

use rand::rngs::StdRng;

use super::{any, in_hundred};

/// A type of a column, and how to find values in it that should not be there.
#[derive(Debug)]
pub struct Kind {
    /// The type's name in SQL.
    pub sql_type: &'static str,
    /// Values as SQL that keep all constraints of the type.
    good: &'static [&'static str],
    /// Values as SQL that keep not all of them, or may not. None is a constant that a planner could find wrong by itself.
    bad: &'static [&'static str],
    /// The same as texts for COPY: of either sort.
    texts: &'static [&'static str],
    /// The same as JSON.
    json: &'static [&'static str],
    /// The type's constraints: a name, and a condition that holds for values that violate it, where `{}` stands for the column.
    pub violations: &'static [(&'static str, &'static str)],
    /// Whether values can be compared with numbers.
    pub is_number: bool,
}

/// The objects that each script makes first.
pub const TYPES: &[&str] = &[
    "create domain d_pos as int check (value > 0)",
    "create domain d_small as d_pos constraint small check (value < 20)",
    "create domain d_req as int not null",
    "create domain d_few as int[] check (cardinality(value) < 4)",
    "create domain d_all as d_pos[] check (value[1] is distinct from 9)",
    "create type pair as (x int, y d_pos)",
    "create domain d_pair as pair check ((value).x is distinct from 7)",
    "create domain d_word as text check (value <> 'bad')",
];

/// Every script's tables have two columns of this kind, which keys are made of.
pub const INTEGER: Kind = Kind {
    sql_type: "int",
    good: &["0", "1", "2", "3", "4", "5", "null", "'2'", "1 + 1"],
    bad: &["-1", "9", "'x'", "(select 99999999999)", "null::int"],
    texts: &["0", "1", "2", "3", "4", "\\N", "9", "x"],
    json: &["0", "1", "2", "3", "null", "\"4\"", "\"x\""],
    violations: &[],
    is_number: true,
};

/// The other kinds of columns.
pub const KINDS: &[Kind] = &[
    Kind {
        sql_type: "d_pos",
        good: &["1", "2", "3", "null", "'4'", "5::d_pos", "1::d_small"],
        bad: &["0", "-1", "'0'", "0::d_pos", "null::d_pos", "0::numeric"],
        texts: &["1", "2", "\\N", "0", "x"],
        json: &["1", "2", "null", "0", "\"0\""],
        violations: &[("positive", "({})::int <= 0")],
        is_number: true,
    },
    Kind {
        sql_type: "d_small",
        good: &["1", "2", "3", "null", "'4'", "5::d_pos", "1::d_small"],
        bad: &["0", "20", "'0'", "20::d_pos", "21::d_small", "0::numeric"],
        texts: &["1", "2", "\\N", "0", "20"],
        json: &["1", "2", "null", "0", "20"],
        violations: &[("positive", "({})::int <= 0"), ("small", "({})::int >= 20")],
        is_number: true,
    },
    Kind {
        sql_type: "d_req",
        good: &["1", "2", "3", "4::d_req", "'5'"],
        bad: &["null", "null::int", "default", "null::d_req", "(select null::int)", "(select 1 where false)"],
        texts: &["1", "2", "\\N"],
        json: &["1", "2", "null"],
        violations: &[("required", "num_nulls({}) = 1")],
        is_number: true,
    },
    Kind {
        sql_type: "d_few",
        good: &["'{1,2}'", "array[1,2,3]", "array[1]::d_few", "null", "'{}'", "array[null,1]::int[]"],
        bad: &[
            "'{1,2,3,4}'",
            "array[1,2,3,4]",
            "array[1,2,3,4]::d_few",
            "array[1] || array[2,3,4]",
            "array[null,1,2,'3']::d_few",
        ],
        texts: &["{1,2}", "\\N", "{1,2,3,4}", "{x}"],
        json: &["[1, 2]", "null", "[1, 2, 3, 4]", "\"{1}\""],
        violations: &[("few", "cardinality(({})::int[]) >= 4")],
        is_number: false,
    },
    Kind {
        sql_type: "d_all",
        good: &["'{1,2}'", "array[1,2,3]", "array[1]::d_all", "null", "'{}'", "array[null,1]::d_pos[]"],
        bad: &[
            "'{1,0}'",
            "array[0,1]",
            "array[0]::d_all",
            "array[9,1]",
            "'{9}'",
            "array[1::d_pos,0]",
            "array[9::d_pos]::d_all",
        ],
        texts: &["{1,2}", "\\N", "{1,0}", "{9}"],
        json: &["[1, 2]", "null", "[1, 0]", "[9]"],
        violations: &[
            ("positive", "exists (select from unnest({}) e where e::int <= 0)"),
            ("first", "({})[1]::int = 9"),
        ],
        is_number: false,
    },
    Kind {
        sql_type: "d_pos[]",
        good: &["'{1,2}'", "array[1,2,3]", "array[1]::d_pos[]", "null", "'{}'", "array[null,1]::d_pos[]"],
        bad: &["'{1,0}'", "array[0,1]", "array[0]::d_pos[]", "array[-1]::int[]", "array[1::d_pos, -2]"],
        texts: &["{1,2}", "\\N", "{1,0}"],
        json: &["[1, 2]", "null", "[1, 0]"],
        violations: &[("positive", "exists (select from unnest({}) e where e::int <= 0)")],
        is_number: false,
    },
    Kind {
        sql_type: "d_req[]",
        good: &["'{1,2}'", "array[1,2,3]", "array[1]::d_req[]", "null", "'{}'"],
        bad: &["'{1,null}'", "array[null,1]", "array[null]::d_req[]", "array[null]::int[]::d_req[]"],
        texts: &["{1,2}", "\\N", "{1,NULL}"],
        json: &["[1, 2]", "null", "[1, null]"],
        violations: &[("required", "array_position(({})::int[], null) is not null")],
        is_number: false,
    },
    Kind {
        sql_type: "pair",
        good: &["'(1,2)'", "row(1,2)", "row(1,2)::pair", "null", "row(null,null)", "'(,)'"],
        bad: &["'(1,0)'", "row(1,0)", "row(1,-1)::pair", "(1,2,3)", "row(1,'x')"],
        texts: &["(1,2)", "\\N", "(1,0)", "(1)"],
        json: &["{\"x\": 1, \"y\": 2}", "null", "{\"x\": 1, \"y\": 0}", "{\"y\": 3}"],
        violations: &[("positive", "(({}).y)::int <= 0")],
        is_number: false,
    },
    Kind {
        sql_type: "d_pair",
        good: &["'(1,2)'", "row(1,2)", "row(1,2)::pair", "null", "row(1,2)::d_pair", "'(,)'"],
        bad: &["'(1,0)'", "row(7,1)", "row(7,1)::pair", "row(7,2)::d_pair", "'(7,)'"],
        texts: &["(1,2)", "\\N", "(1,0)", "(7,1)"],
        json: &["{\"x\": 1, \"y\": 2}", "null", "{\"x\": 7, \"y\": 1}", "{\"y\": 0}"],
        violations: &[("positive", "(({}).y)::int <= 0"), ("not_seven", "({}).x = 7")],
        is_number: false,
    },
    Kind {
        sql_type: "d_pair[]",
        good: &["array[row(1,2)::d_pair]", "'{\"(1,2)\"}'", "null", "'{}'", "array[row(1,2)]::pair[]"],
        bad: &[
            "array[row(7,2)::pair]",
            "'{\"(7,2)\"}'",
            "array[row(1,0)]::d_pair[]",
            "array[row(7,1)]::pair[]::d_pair[]",
        ],
        texts: &["{\"(1,2)\"}", "\\N", "{\"(7,2)\"}"],
        json: &["[{\"x\": 1}]", "null", "[{\"x\": 7}]"],
        violations: &[("not_seven", "exists (select from (select unnest({}) e) s where (e).x = 7)")],
        is_number: false,
    },
    Kind {
        sql_type: "d_word",
        good: &["'a'", "'b'", "null", "'word'::varchar", "''"],
        bad: &["'bad'", "'bad'::varchar", "'b' || 'ad'", "'bad '::char(4)"],
        texts: &["a", "\\N", "bad"],
        json: &["\"a\"", "null", "\"bad\""],
        violations: &[("not_bad", "({})::text = 'bad'")],
        is_number: false,
    },
    Kind {
        sql_type: "varchar(3)",
        good: &["'a'", "'abc'", "null", "'abc  '"],
        bad: &["(select 'abcd'::text)", "(select 'abcd'::varchar)", "(select repeat('x', 4))"],
        texts: &["a", "\\N", "abcd"],
        json: &["\"a\"", "null", "\"abcd\""],
        violations: &[("length", "length(({})::text) > 3")],
        is_number: false,
    },
    Kind {
        sql_type: "numeric(3,1)",
        good: &["1", "2.00", "3.04", "null"],
        bad: &["(select 100)", "(select 99.95)", "(select 1000::bigint)"],
        texts: &["1", "\\N", "2.0", "100"],
        json: &["1", "null", "1.0", "100"],
        violations: &[("places", "abs({}) >= 100 or scale({}) <> 1")],
        is_number: true,
    },
];

impl Kind {
    /// A value as SQL; one in so many of a hundred is no good one.
    pub fn value(&self, bad_share: u32, random: &mut StdRng) -> &'static str {
        if in_hundred(random, bad_share) { any(random, self.bad) } else { any(random, self.good) }
    }

    /// A value as COPY reads it.
    pub fn text(&self, random: &mut StdRng) -> &'static str {
        any(random, self.texts)
    }

    /// A value as JSON.
    pub fn json(&self, random: &mut StdRng) -> &'static str {
        any(random, self.json)
    }
}
