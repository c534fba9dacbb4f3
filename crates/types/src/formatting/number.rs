//! Numbers, written and read by a template.
//!
//! The template is first taken as a whole ([`Shape`]: so many digits before and behind the point, which sign, where), then
//! gone through field by field. The rules, odd ones among them, are PostgreSQL's: a sign without a place of its own takes
//! the place before the first digit, `FM` drops what only fills, a number that does not fit becomes `#`.

use base::{Error, Result, sqlstate};

use super::ordinal_suffix;
use super::template::{Keyword, Part, parse};
use crate::numeric::Numeric;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NumberField {
    Comma,
    Point,
    Zero,
    Blank,
    Currency,
    DecimalPoint,
    Exponent,
    Fill,
    Group,
    Minus,
    Nine,
    Plus,
    Brackets,
    Roman { upper: bool },
    Either,
    Skipped,
    Sign,
    Ordinal { upper: bool },
    Multiplied,
}

const fn either(text: &'static str, id: NumberField) -> Keyword<NumberField> {
    Keyword { text, exact: false, id }
}

const fn exact(text: &'static str, id: NumberField) -> Keyword<NumberField> {
    Keyword { text, exact: true, id }
}

static KEYWORDS: &[Keyword<NumberField>] = &[
    either(",", NumberField::Comma),
    either(".", NumberField::Point),
    either("0", NumberField::Zero),
    either("9", NumberField::Nine),
    either("B", NumberField::Blank),
    either("C", NumberField::Skipped),
    either("D", NumberField::DecimalPoint),
    either("EEEE", NumberField::Exponent),
    either("FM", NumberField::Fill),
    either("G", NumberField::Group),
    either("L", NumberField::Currency),
    either("MI", NumberField::Minus),
    either("PL", NumberField::Plus),
    either("PR", NumberField::Brackets),
    exact("RN", NumberField::Roman { upper: true }),
    exact("rn", NumberField::Roman { upper: false }),
    either("SG", NumberField::Either),
    either("SP", NumberField::Skipped),
    either("S", NumberField::Sign),
    exact("TH", NumberField::Ordinal { upper: true }),
    exact("th", NumberField::Ordinal { upper: false }),
    either("V", NumberField::Multiplied),
];

/// Where `S` stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum SignPlace {
    #[default]
    Nowhere,
    Before,
    Behind,
}

/// The properties of a whole template.
#[derive(Clone, Default, Debug)]
struct Shape {
    before: usize,
    behind: usize,
    sign: SignPlace,
    /// Digits before `S`.
    before_sign: usize,
    /// Digits behind `V`.
    multiplied: usize,
    zero_start: usize,
    zero_end: usize,
    has_zero: bool,
    has_point: bool,
    has_sign: bool,
    fill: bool,
    minus: bool,
    plus: bool,
    brackets: bool,
    roman: bool,
    is_multiplied: bool,
    exponent: bool,
}

fn refused(message: &str) -> Error {
    Error::new(sqlstate::SYNTAX_ERROR, message)
}

impl Shape {
    fn of(parts: &[Part<'_, NumberField>]) -> Result<Shape> {
        let mut shape = Shape::default();
        for part in parts {
            if let Part::Field(field) = part {
                shape.take(field.id)?;
            }
        }
        Ok(shape)
    }

    /// Refuses a field that cannot stand beside those before it.
    fn check(&self, field: NumberField) -> Result<()> {
        use NumberField::*;
        let has_other_sign = self.plus || self.minus || self.brackets;
        Err(refused(match field {
            Exponent if self.exponent => "cannot use \"EEEE\" twice",
            Exponent if self.fill || self.has_sign || has_other_sign || self.roman || self.is_multiplied => {
                return Err(refused("\"EEEE\" is incompatible with other formats")
                    .detail("\"EEEE\" may only be used together with digit and decimal point patterns."));
            }
            Exponent => return Ok(()),
            _ if self.exponent => "\"EEEE\" must be the last pattern used",
            Nine if self.brackets => "\"9\" must be ahead of \"PR\"",
            Zero if self.brackets => "\"0\" must be ahead of \"PR\"",
            Point | DecimalPoint if self.has_point => "multiple decimal points",
            Point | DecimalPoint if self.is_multiplied => "cannot use \"V\" and decimal point together",
            Multiplied if self.has_point => "cannot use \"V\" and decimal point together",
            Sign if self.has_sign => "cannot use \"S\" twice",
            Sign if has_other_sign => "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together",
            Minus if self.has_sign => "cannot use \"S\" and \"MI\" together",
            Plus if self.has_sign => "cannot use \"S\" and \"PL\" together",
            Either if self.has_sign => "cannot use \"S\" and \"SG\" together",
            Brackets if self.has_sign || self.plus || self.minus => {
                "cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"
            }
            _ => return Ok(()),
        }))
    }

    fn take(&mut self, field: NumberField) -> Result<()> {
        self.check(field)?;
        match field {
            NumberField::Nine if self.is_multiplied => self.multiplied += 1,
            NumberField::Nine if self.has_point => self.behind += 1,
            NumberField::Nine => self.before += 1,
            NumberField::Zero => {
                if !self.has_zero && !self.has_point {
                    self.has_zero = true;
                    self.zero_start = self.before + 1;
                }
                if self.has_point {
                    self.behind += 1;
                } else {
                    self.before += 1;
                }
                self.zero_end = self.before + self.behind;
            }
            NumberField::Point | NumberField::DecimalPoint => self.has_point = true,
            NumberField::Fill => self.fill = true,
            NumberField::Sign => {
                self.has_sign = true;
                if self.has_point {
                    self.sign = SignPlace::Behind;
                } else {
                    self.sign = SignPlace::Before;
                    self.before_sign = self.before;
                }
            }
            NumberField::Minus => self.minus = true,
            NumberField::Plus => self.plus = true,
            NumberField::Either => {
                self.minus = true;
                self.plus = true;
            }
            NumberField::Brackets => self.brackets = true,
            NumberField::Roman { .. } => self.roman = true,
            NumberField::Multiplied => self.is_multiplied = true,
            NumberField::Exponent => self.exponent = true,
            NumberField::Comma
            | NumberField::Blank
            | NumberField::Currency
            | NumberField::Group
            | NumberField::Skipped
            | NumberField::Ordinal { .. } => {}
        }
        Ok(())
    }
}

/// A number to be written.
pub enum Number<'a> {
    /// An integer.
    Integer(i64),
    /// A floating-point number, and how many digits its type keeps.
    Float(f64, usize),
    /// Any other.
    Numeric(&'a Numeric),
}

/// A number by a template; nothing for an empty template.
///
/// # Errors
/// 42601 for a template that contradicts itself, 22003 for what multiplication makes too large.
pub fn written(number: &Number<'_>, template: &str) -> Result<Option<String>> {
    if template.is_empty() {
        return Ok(None);
    }
    let parts = parse(template, KEYWORDS, false);
    let mut shape = Shape::of(&parts)?;
    if shape.roman {
        let bounds = i64::from(i32::MIN)..=i64::from(i32::MAX);
        let value = match number {
            Number::Integer(value) => Numeric::from(*value).to_integer("integer", bounds)?,
            // A half is rounded to the even number. Neither a number that is too large nor NaN has a Roman form.
            Number::Float(value, _) => value.round_ties_even() as i64,
            Number::Numeric(value) => value.to_integer("integer", bounds)?,
        };
        return Writer::new(shape, &roman(value), 0, false).text(&parts).map(Some);
    }
    if shape.exponent {
        let text = match number {
            Number::Integer(value) if i32::try_from(*value).is_ok() => scientific(*value as f64, shape.behind),
            Number::Integer(value) => Numeric::from(*value).to_scientific(shape.behind),
            Number::Float(value, _) if value.is_finite() => scientific(*value, shape.behind),
            Number::Numeric(value) if value.is_finite() => value.to_scientific(shape.behind),
            _ => overflow(shape.before, shape.behind + 4, shape.before),
        };
        return Ok(Some(if text.starts_with('-') { text } else { format!(" {text}") }));
    }
    if shape.is_multiplied {
        shape.before += shape.multiplied;
    }
    let digits = digits_of(number, &mut shape)?;
    let (is_negative, digits) = match digits.strip_prefix('-') {
        Some(digits) => (true, digits.to_owned()),
        None => (false, digits),
    };
    let before = digits.find('.').unwrap_or(digits.len());
    let (digits, spaces) = if before > shape.before {
        (overflow(shape.before, shape.behind, shape.before), 0)
    } else {
        (digits, shape.before - before)
    };
    Writer::new(shape, &digits, spaces, is_negative).text(&parts).map(Some)
}

/// The digits with the point where the template has it.
fn digits_of(number: &Number<'_>, shape: &mut Shape) -> Result<String> {
    let factor = || Numeric::parse(&format!("1{}", "0".repeat(shape.multiplied)));
    match number {
        Number::Integer(value) => {
            let mut value = Numeric::from(*value);
            if shape.is_multiplied {
                value = value.multiply(&factor()?)?;
            }
            let mut digits = value.to_string();
            if shape.behind > 0 {
                digits.push('.');
                digits.push_str(&"0".repeat(shape.behind));
            }
            Ok(digits)
        }
        Number::Numeric(value) if shape.is_multiplied => {
            Ok(value.multiply(&factor()?)?.round(shape.behind as i64)?.to_string())
        }
        Number::Numeric(value) => Ok(value.round(shape.behind as i64)?.to_string()),
        Number::Float(value, kept) => {
            let value = if shape.is_multiplied { value * 10f64.powi(shape.multiplied as i32) } else { *value };
            let words = match value {
                f64::INFINITY => Some("Infinity"),
                f64::NEG_INFINITY => Some("-Infinity"),
                value if value.is_nan() => Some("NaN"),
                _ => None,
            };
            let before =
                words.map_or_else(|| format!("{:.0}", value.abs()).len(), |words| words.trim_start_matches('-').len());
            if before >= *kept {
                shape.behind = 0;
            } else if before + shape.behind > *kept {
                shape.behind = kept - before;
            }
            Ok(words.map_or_else(|| format!("{value:.*}", shape.behind), str::to_owned))
        }
    }
}

/// `#` for every digit.
fn overflow(before: usize, behind: usize, point: usize) -> String {
    let mut text = "#".repeat(before + behind + 1);
    text.replace_range(point..=point, ".");
    text
}

/// As C's `%e`.
fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, exponent) = match exponent.strip_prefix('-') {
                Some(exponent) => ('-', exponent),
                None => ('+', exponent),
            };
            format!("{mantissa}e{sign}{exponent:0>2}")
        }
        None => text,
    }
}

fn roman(value: i64) -> String {
    const PLACES: [(i64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if !(1..=3999).contains(&value) {
        return "#".repeat(15);
    }
    let mut rest = value;
    let mut text = String::new();
    for (worth, letters) in PLACES {
        while rest >= worth {
            text.push_str(letters);
            rest -= worth;
        }
    }
    text
}

/// A number being written.
struct Writer<'a> {
    shape: Shape,
    digits: &'a [u8],
    /// The next digit.
    at: usize,
    /// Places before the first digit.
    spaces: usize,
    is_negative: bool,
    sign_written: bool,
    /// The last digit that `FM` keeps.
    last_relevant: Option<usize>,
    /// The number of places, less one.
    count: usize,
    /// The place that is written now.
    place: usize,
    /// A digit stands in the output.
    in_number: bool,
    out: String,
    /// How much of the output counts, where the template asks for more digits than there are.
    end: Option<usize>,
}

impl<'a> Writer<'a> {
    fn new(mut shape: Shape, digits: &'a str, spaces: usize, is_negative: bool) -> Writer<'a> {
        shape.zero_start = shape.zero_start.saturating_sub(1);
        if shape.roman {
            shape = Shape { fill: shape.fill, roman: true, ..Shape::default() };
        }
        let mut sign_written;
        if shape.plus || shape.minus {
            sign_written = !shape.plus || shape.minus;
        } else {
            if !is_negative && shape.brackets && shape.fill {
                shape.brackets = false;
            }
            sign_written = !is_negative && shape.fill && !shape.has_sign;
            if shape.sign == SignPlace::Before && shape.before == shape.before_sign {
                shape.sign = SignPlace::Behind;
            }
        }
        sign_written |= shape.roman;
        let digits = digits.as_bytes();
        let mut last_relevant = None;
        if shape.fill && shape.has_point {
            last_relevant = last_relevant_digit(digits);
            if let Some(last) = last_relevant
                && shape.zero_end > spaces
            {
                last_relevant = Some(last.max((digits.len() - 1).min(shape.zero_end - spaces)));
            }
        }
        let mut count = (shape.before + shape.behind).saturating_sub(1);
        if !sign_written && spaces == 0 {
            count += 1;
        }
        Writer {
            shape,
            digits,
            at: 0,
            spaces,
            is_negative,
            sign_written,
            last_relevant,
            count,
            place: 0,
            in_number: false,
            out: String::new(),
            end: None,
        }
    }

    fn text(mut self, parts: &[Part<'_, NumberField>]) -> Result<String> {
        for part in parts {
            let field = match part {
                Part::Field(field) => field.id,
                Part::Separator(character) | Part::Space(character) | Part::Text(character) => {
                    self.out.push(*character);
                    continue;
                }
            };
            let fill = self.shape.fill;
            let sign = if self.is_negative { '-' } else { '+' };
            match field {
                NumberField::Nine | NumberField::Zero | NumberField::Point | NumberField::DecimalPoint => {
                    self.digit(field);
                }
                NumberField::Comma | NumberField::Group => {
                    if self.in_number {
                        self.out.push(',');
                    } else if !fill {
                        self.out.push(' ');
                    }
                }
                NumberField::Currency => self.out.push(' '),
                NumberField::Roman { upper } => {
                    let digits = String::from_utf8_lossy(self.digits);
                    let text = if upper { digits.into_owned() } else { digits.to_ascii_lowercase() };
                    self.out.push_str(&if fill { text } else { format!("{text:>15}") });
                }
                NumberField::Ordinal { upper } => {
                    let is_number = self.digits.first() != Some(&b'#');
                    if is_number && !self.shape.roman && !self.is_negative && !self.shape.has_point {
                        let digits = String::from_utf8_lossy(self.digits);
                        if !digits.ends_with(|last: char| last.is_ascii_digit()) {
                            let message = format!("\"{digits}\" is not a number");
                            return Err(Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, message));
                        }
                        self.out.push_str(ordinal_suffix(&digits, upper));
                    }
                }
                NumberField::Minus if self.is_negative => self.out.push('-'),
                NumberField::Plus if !self.is_negative => self.out.push('+'),
                NumberField::Minus | NumberField::Plus if !fill => self.out.push(' '),
                NumberField::Either => self.out.push(sign),
                _ => {}
            }
        }
        if let Some(end) = self.end {
            self.out.truncate(end);
        }
        Ok(self.out)
    }

    /// Whether the zero before the point is left out, as `9.9` has it.
    fn leaves_zero_out(&self) -> bool {
        !self.shape.has_zero && self.at == 0 && self.digits.first() == Some(&b'0') && self.shape.behind != 0
    }

    /// Whether nothing behind the point is kept.
    fn ends_with_point(&self) -> bool {
        self.last_relevant.is_some_and(|last| self.digits[last] == b'.')
    }

    /// One place of the number.
    fn digit(&mut self, field: NumberField) {
        if self.shape.roman {
            return;
        }
        self.in_number = false;
        let starts_with_zero = self.shape.has_zero && self.shape.zero_start <= self.place;
        if !self.sign_written
            && (self.place >= self.spaces || self.shape.has_zero && self.shape.zero_start == self.place)
            && (!self.leaves_zero_out() || self.ends_with_point())
        {
            self.sign();
        }
        if self.place < self.spaces && !starts_with_zero {
            if !self.shape.fill {
                self.out.push(' ');
            }
        } else if self.place < self.spaces {
            self.out.push('0');
            self.in_number = true;
        } else {
            self.next_digit(field);
        }
        let mut end = self.count + usize::from(self.spaces > 0) + usize::from(self.shape.has_point);
        if self.last_relevant == Some(self.at) {
            end = self.place;
        }
        if self.place + 1 == end {
            if self.sign_written && self.shape.brackets {
                self.out.push(if self.is_negative { '>' } else { ' ' });
            } else if self.shape.has_sign && self.shape.sign == SignPlace::Behind {
                self.out.push(if self.is_negative { '-' } else { '+' });
            }
        }
        self.place += 1;
    }

    fn sign(&mut self) {
        if self.shape.has_sign {
            if self.shape.sign == SignPlace::Before {
                self.out.push(if self.is_negative { '-' } else { '+' });
                self.sign_written = true;
            }
            return;
        }
        if self.shape.brackets {
            self.out.push(if self.is_negative { '<' } else { ' ' });
        } else if self.is_negative {
            self.out.push('-');
        } else if !self.shape.fill {
            self.out.push(' ');
        }
        self.sign_written = true;
    }

    fn next_digit(&mut self, field: NumberField) {
        match self.digits.get(self.at) {
            Some(b'.') => {
                if !self.ends_with_point() || self.shape.fill {
                    self.out.push('.');
                }
            }
            digit => {
                let is_dropped = self.last_relevant.is_some_and(|last| self.at > last) && field != NumberField::Zero;
                if is_dropped {
                } else if self.leaves_zero_out() {
                    if !self.shape.fill {
                        self.out.push(' ');
                    } else if self.ends_with_point() {
                        self.out.push('0');
                    }
                } else if let Some(digit) = digit {
                    self.out.push(char::from(*digit));
                    self.in_number = true;
                } else {
                    self.end.get_or_insert(self.out.len());
                }
            }
        }
        if self.at < self.digits.len() {
            self.at += 1;
        }
    }
}

/// The last digit behind the point that is no zero; the point itself if there is none.
fn last_relevant_digit(digits: &[u8]) -> Option<usize> {
    let point = digits.iter().position(|digit| *digit == b'.')?;
    let last = digits.iter().rposition(|digit| *digit != b'0').unwrap_or(point);
    Some(last.max(point))
}

/// Reads a number; nothing for an empty template.
///
/// # Errors
/// 42601 for a template that contradicts itself, 22P02 for what is no number, 22003 for one with too many digits.
pub fn read(text: &str, template: &str) -> Result<Option<Numeric>> {
    if template.is_empty() {
        return Ok(None);
    }
    let parts = parse(template, KEYWORDS, false);
    let shape = Shape::of(&parts)?;
    if shape.exponent {
        return Err(Error::unsupported("\"EEEE\" not supported for input"));
    }
    if shape.roman {
        return Err(Error::unsupported("\"RN\" not supported for input"));
    }
    let mut reader =
        Reader { shape, input: text.chars().collect(), at: 0, sign: ' ', digits: String::new(), ..Reader::default() };
    reader.read(&parts);
    let Reader { shape, sign, mut digits, read_behind, .. } = reader;
    if digits.ends_with('.') {
        digits.pop();
    }
    let (precision, scale) = (shape.before + shape.multiplied + read_behind, read_behind);
    let number = Numeric::parse(&format!("{sign}{digits}"))?;
    let typmod = crate::numeric::encode_typmod(precision as i32, scale as i32);
    let number = number.apply_typmod(typmod)?;
    if shape.is_multiplied {
        let divisor = Numeric::parse(&format!("1{}", "0".repeat(shape.multiplied)))?;
        return number.divide(&divisor).map(Some);
    }
    Ok(Some(number))
}

/// A number being read.
#[derive(Default)]
struct Reader {
    shape: Shape,
    input: Vec<char>,
    at: usize,
    sign: char,
    digits: String,
    read_before: usize,
    read_behind: usize,
    has_point: bool,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.input.get(self.at).copied()
    }

    fn read(&mut self, parts: &[Part<'_, NumberField>]) {
        for part in parts {
            if self.at >= self.input.len() {
                return;
            }
            let field = match part {
                Part::Field(field) => field.id,
                Part::Separator(_) | Part::Space(_) | Part::Text(_) => {
                    self.at += 1;
                    continue;
                }
            };
            match field {
                NumberField::Nine | NumberField::Zero | NumberField::Point | NumberField::DecimalPoint => {
                    self.place(field);
                }
                NumberField::Comma | NumberField::Group => {
                    if self.peek() != Some(',') {
                        continue;
                    }
                }
                NumberField::Currency => {
                    self.skip_others(1);
                    continue;
                }
                NumberField::Ordinal { .. } => {
                    self.skip_others(2);
                    continue;
                }
                NumberField::Minus | NumberField::Plus | NumberField::Either => match self.peek() {
                    Some('-') if field != NumberField::Plus => self.sign = '-',
                    Some('+') if field != NumberField::Minus => self.sign = '+',
                    _ => {
                        self.skip_others(1);
                        continue;
                    }
                },
                _ => continue,
            }
            self.at += 1;
        }
    }

    /// Skips up to `count` characters that are no part of a number.
    fn skip_others(&mut self, count: usize) {
        for _ in 0..count {
            match self.peek() {
                Some(character) if !(character.is_ascii_digit() || "+-.,".contains(character)) => self.at += 1,
                _ => return,
            }
        }
    }

    fn place(&mut self, field: NumberField) {
        if self.peek() == Some(' ') {
            self.at += 1;
        }
        let is_digit_place = matches!(field, NumberField::Nine | NumberField::Zero);
        if self.sign == ' ' && is_digit_place && self.read_before + self.read_behind == 0 {
            let is_anywhere = !(self.shape.has_sign && self.shape.sign == SignPlace::Before);
            match self.peek() {
                Some('-') => (self.sign, self.at) = ('-', self.at + 1),
                Some('+') => (self.sign, self.at) = ('+', self.at + 1),
                Some('<') if is_anywhere && self.shape.brackets => (self.sign, self.at) = ('-', self.at + 1),
                _ => {}
            }
        }
        let Some(character) = self.peek() else { return };
        let mut was_read = false;
        if character.is_ascii_digit() {
            if self.has_point && self.read_behind == self.shape.behind {
                return;
            }
            self.digits.push(character);
            if self.has_point {
                self.read_behind += 1;
            } else {
                self.read_before += 1;
            }
            was_read = true;
        } else if self.shape.has_point && !self.has_point && character == '.' {
            self.digits.push('.');
            self.has_point = true;
            was_read = true;
        }
        if self.sign != ' ' || self.read_before + self.read_behind == 0 {
            return;
        }
        let next = self.input.get(self.at + 1).copied();
        if self.shape.has_sign && was_read {
            if let Some(sign @ ('-' | '+')) = next {
                self.at += 1;
                self.sign = sign;
            }
        } else if !was_read && !self.shape.has_sign && !self.shape.plus && !self.shape.minus {
            match character {
                '-' => self.sign = '-',
                '<' if self.shape.brackets => self.sign = '-',
                '+' => self.sign = '+',
                _ => {}
            }
        }
    }
}
