//! Random conditions over the columns of one table.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// A condition, some of whose constants may be parameters.
pub struct Condition {
    /// Its text, with `$1` and so on.
    pub text: String,
    /// The types of the parameters, and their values as literals.
    pub parameters: Vec<(&'static str, String)>,
}

impl Condition {
    /// The text with the parameters' values in their places.
    pub fn with_constants(&self) -> String {
        let mut text = self.text.clone();
        for (number, (sql_type, value)) in self.parameters.iter().enumerate() {
            text = text.replace(&format!("${}", number + 1), &format!("cast({value} as {sql_type})"));
        }
        text
    }
}

const COMPARISONS: &[&str] = &["=", "=", "=", "<>", "<", "<=", ">", ">="];

/// A column and how its constants may be written: the type of a parameter, and spellings.
struct Column {
    name: &'static str,
    /// Types that a parameter compared with it may have.
    parameters: &'static [&'static str],
    /// The casts that may follow a constant.
    casts: &'static [&'static str],
    values: &'static [&'static str],
    arrays: &'static [&'static str],
}

const INTEGERS: &[&str] = &["0", "1", "2", "3"];
const INTEGER_CASTS: &[&str] = &["", "", "", "::int", "::smallint", "::bigint", "::numeric"];
const STRINGS: &[&str] = &["'x'", "'x'", "'y'", "'z'", "''"];
const STRING_CASTS: &[&str] =
    &["", "", "::text", "::varchar", "::varchar(5)", "::name", "::bpchar", "::char(3)", "::text::varchar"];
const STRING_TYPES: &[&str] = &["text", "varchar", "varchar", "name", "bpchar"];

const COLUMNS: &[Column] = &[
    Column {
        name: "i",
        parameters: &["int", "bigint", "smallint"],
        casts: INTEGER_CASTS,
        values: INTEGERS,
        arrays: &["int[]", "bigint[]"],
    },
    Column { name: "i", parameters: &["int"], casts: &["", "::int"], values: INTEGERS, arrays: &["int[]"] },
    Column { name: "j", parameters: &["int"], casts: INTEGER_CASTS, values: INTEGERS, arrays: &["int[]"] },
    Column {
        name: "s",
        parameters: &["int", "smallint"],
        casts: INTEGER_CASTS,
        values: INTEGERS,
        arrays: &["smallint[]", "int[]"],
    },
    Column {
        name: "l",
        parameters: &["int", "bigint"],
        casts: INTEGER_CASTS,
        values: INTEGERS,
        arrays: &["bigint[]", "int[]"],
    },
    Column {
        name: "v",
        parameters: STRING_TYPES,
        casts: STRING_CASTS,
        values: STRINGS,
        arrays: &["text[]", "varchar[]"],
    },
    Column { name: "v", parameters: STRING_TYPES, casts: STRING_CASTS, values: STRINGS, arrays: &["varchar[]"] },
    Column {
        name: "t",
        parameters: STRING_TYPES,
        casts: STRING_CASTS,
        values: STRINGS,
        arrays: &["text[]", "varchar[]"],
    },
    Column { name: "n", parameters: STRING_TYPES, casts: STRING_CASTS, values: STRINGS, arrays: &["name[]", "text[]"] },
    Column { name: "ch", parameters: STRING_TYPES, casts: STRING_CASTS, values: STRINGS, arrays: &["bpchar[]"] },
    Column {
        name: "d",
        parameters: &["date", "timestamp"],
        casts: &["", "::date", "::timestamp"],
        values: &["'2020-01-01'", "'2020-01-02'"],
        arrays: &["date[]"],
    },
    Column {
        name: "ts",
        parameters: &["date", "timestamp"],
        casts: &["", "::date", "::timestamp"],
        values: &["'2020-01-01'", "'2020-01-02'"],
        arrays: &["timestamp[]"],
    },
    Column {
        name: "m",
        parameters: &["numeric", "int"],
        casts: &["", "::numeric", "::int"],
        values: &["1", "1.5", "2"],
        arrays: &["numeric[]"],
    },
];

/// Makes conditions.
pub struct Generator {
    random: StdRng,
    parameters: Vec<(&'static str, String)>,
    takes_parameters: bool,
    /// Conditions that were made before, of which others are made.
    before: Vec<String>,
}

impl Generator {
    /// With the choices of a seed.
    pub fn new(seed: u64) -> Generator {
        Generator {
            random: StdRng::seed_from_u64(seed),
            parameters: Vec::new(),
            takes_parameters: false,
            before: Vec::new(),
        }
    }

    fn any<T: Copy>(&mut self, of: &[T]) -> T {
        *of.choose(&mut self.random).expect("there are some")
    }

    fn in_hundred(&mut self, times: u32) -> bool {
        self.random.random_ratio(times, 100)
    }

    /// A condition; with parameters maybe.
    pub fn condition(&mut self, may_have_parameters: bool) -> Condition {
        self.takes_parameters = may_have_parameters && self.in_hundred(40);
        self.parameters.clear();
        let text = match (self.before.is_empty(), self.random.random_range(0..10)) {
            (false, 0..3) => {
                let (before, more) = (self.before.choose(&mut self.random).expect("some").clone(), self.nested(1));
                match self.random.random_range(0..4) {
                    0 => before,
                    1 => format!("({before}) or ({more})"),
                    _ => format!("({before}) and ({more})"),
                }
            }
            _ => self.nested(2),
        };
        if self.parameters.is_empty() {
            self.before.push(text.clone());
        }
        Condition { text, parameters: std::mem::take(&mut self.parameters) }
    }

    fn nested(&mut self, depth: u32) -> String {
        match self.random.random_range(0..20) {
            0..3 if depth > 0 => format!("({}) and ({})", self.nested(depth - 1), self.nested(depth - 1)),
            3..5 if depth > 0 => format!("({}) or ({})", self.nested(depth - 1), self.nested(depth - 1)),
            5..7 if depth > 0 => format!("not ({})", self.nested(depth - 1)),
            7 if depth > 0 => {
                let compared = self.any(&[
                    "= true",
                    "= false",
                    "<> true",
                    "<> false",
                    "is true",
                    "is not false",
                    "is not true",
                    "is not null",
                ]);
                format!("({}) {compared}", self.nested(depth - 1))
            }
            _ => self.atom(),
        }
    }

    fn column(&mut self) -> &'static Column {
        COLUMNS.choose(&mut self.random).expect("there are some")
    }

    /// A constant to compare a column with.
    fn value(&mut self, column: &Column) -> String {
        let value = self.any(column.values);
        if self.takes_parameters && self.in_hundred(60) {
            let sql_type = self.any(column.parameters);
            self.parameters.push((sql_type, value.to_owned()));
            return format!("${}", self.parameters.len());
        }
        format!("{value}{}", self.any(column.casts))
    }

    /// The same in a list. One `name` in it gives PostgreSQL's comparison the collation of names, from which no comparison of texts follows;
    /// Cohort's expressions have no collation of their own.
    fn listed(&mut self, column: &Column) -> String {
        let value = self.value(column);
        if column.name == "n" {
            return value;
        }
        self.parameters.iter_mut().filter(|(sql_type, _)| *sql_type == "name").for_each(|given| given.0 = "text");
        value.replace("::name", "")
    }

    fn array(&mut self, column: &Column) -> String {
        let count = self.random.random_range(0..4);
        let mut elements: Vec<String> = (0..count).map(|_| self.any(column.values).replace('\'', "\"")).collect();
        if self.in_hundred(10) {
            elements.push("null".to_owned());
        }
        let (list, sql_type) = (format!("'{{{}}}'", elements.join(",")), self.any(column.arrays));
        if self.takes_parameters && self.in_hundred(40) {
            self.parameters.push((sql_type, list));
            return format!("${}", self.parameters.len());
        }
        match self.in_hundred(50) {
            true => format!("{list}::{sql_type}"),
            false => list,
        }
    }

    fn atom(&mut self) -> String {
        let column = self.column();
        let name = column.name;
        match self.random.random_range(0..24) {
            0..8 => {
                let (operator, value) = (self.any(COMPARISONS), self.value(column));
                if self.in_hundred(20) {
                    format!("{value} {operator} {name}")
                } else {
                    format!("{name} {operator} {value}")
                }
            }
            8 => {
                let list: Vec<String> = (0..self.random.random_range(1..4)).map(|_| self.listed(column)).collect();
                let not = self.any(&["", "", "not "]);
                format!("{name} {not}in ({})", list.join(", "))
            }
            9..11 => {
                let (operator, quantifier) = (self.any(COMPARISONS), self.any(&["any", "any", "all"]));
                format!("{name} {operator} {quantifier} ({})", self.array(column))
            }
            11..14 => {
                let not = self.any(&["not ", "not ", ""]);
                format!("{name} is {not}null")
            }
            14 => {
                let not = self.any(&["", "not "]);
                format!("{name} {not}between {} and {}", self.value(column), self.value(column))
            }
            15..18 => self.boolean(),
            18 => self.computed(),
            19 => {
                let distinct = self.any(&["is distinct from", "is not distinct from"]);
                format!("{name} {distinct} {}", self.value(column))
            }
            20 => {
                self.any(&["true", "false", "null::bool", "i = null", "i < any (null::int[])", "b = null"]).to_owned()
            }
            21 => {
                // PostgreSQL does not look into other comparisons of rows, from which something would follow.
                let operator = self.any(&["=", "<>"]);
                format!("(i, j) {operator} ({}, {})", self.any(INTEGERS), self.any(INTEGERS))
            }
            22 => self
                .any(&["(i, j) is not null", "(i, j) is null", "row(i) is not null", "(i + j) is not null"])
                .to_owned(),
            _ => {
                let cast = self.any(&["::text", "::varchar", "::varchar(10)", "::bpchar"]);
                format!("v{cast} = {}", self.any(STRINGS))
            }
        }
    }

    /// A condition about a boolean column.
    fn boolean(&mut self) -> String {
        let name = self.any(&["b", "b", "c"]);
        let form = self.any(&[
            "#",
            "#",
            "not #",
            "not #",
            "# = true",
            "# = false",
            "# <> true",
            "# <> false",
            "true = #",
            "false <> #",
            "# is true",
            "# is not true",
            "# is false",
            "# is not false",
            "# is unknown",
            "# is not unknown",
            "# is not null",
            "# is null",
            "# = 't'::bool",
            "# = (1 = 1)",
            "# = not true",
            "(# = true) = true",
            "(# = false) = false",
            "not (# = true)",
            "b = c",
            "b <> c",
            "b is distinct from true",
            "b is not distinct from true",
            "b in (true)",
            "b in (true, false)",
            "b = any ('{t}')",
            "b > false",
            "b >= true",
            "b < true",
            "coalesce(b, false)",
            "coalesce(b, true)",
            "case when b then true else false end",
            "nullif(b, false)",
            "@",
            "@ = true",
            "not @",
            "b = @",
            "@ = false",
        ]);
        if !form.contains('@') {
            return form.replace('#', name);
        }
        let value = self.any(&["true", "false"]);
        if !self.takes_parameters {
            return form.replace('@', value);
        }
        self.parameters.push(("bool", value.to_owned()));
        form.replace('@', &format!("${}", self.parameters.len()))
    }

    /// A condition about what is computed of a column.
    fn computed(&mut self) -> String {
        let value = self.any(INTEGERS);
        let form = self.any(&[
            "abs(i) = #",
            "i + j > #",
            "i + 1 = #",
            "coalesce(i, 1) = #",
            "nullif(i, 1) = #",
            "i::text = '#'",
            "i::numeric = #",
            "greatest(i, j) = #",
            "i = j",
            "i < j",
            "i = any (array[j])",
            "# = any (array[i, j])",
            "i = any (array[i])",
            "i = any (array[j, #])",
            "i <> all (array[j, #])",
            "i > all (array[j, null])",
            "j >= any (array[i, j])",
            "# <> all (array[i, j])",
            "i <= j",
            "j >= i",
            "j > i",
            "i <> j",
            "length(v) = #",
            "upper(v) = 'X'",
            "v || t = 'x'",
            "v like 'x%'",
            "v ~ 'x'",
            "i = # + 1",
            "i = abs(-#)",
            "i > # - 1",
            "case when i > # then true end",
            "case i when # then true end",
            "v = upper('x')",
            "v = lower('X')",
            "v = 'x' || ''",
            "i + # is not null",
            "abs(i) is not null",
            "i::text is not null",
            "v = t",
            "n = v",
            "t = n",
            "i = l",
            "i = s",
            "m = i",
            "d = ts",
            "v::text = t",
            "num_nulls(i) = 0",
            "concat(v) = 'x'",
        ]);
        form.replace('#', value)
    }
}
