//! Splitting dates, times and intervals into fields by the look of their characters, and the words among them.

use super::parse::ParseError;

/// The kinds of fields, by their first characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldKind {
    /// Digits, possibly with a fraction
    Number,
    /// Digits or letters with `-`, `/` or `.` between
    Date,
    /// Digits with a colon
    Time,
    /// A sign and digits
    Zone,
    /// Letters
    Word,
    /// A sign and letters
    SignedWord,
}

/// One field of the text, in lower case.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its kind, told by its characters.
    pub kind: FieldKind,
    /// Its characters.
    pub text: String,
}

const MAX_FIELDS: usize = 25;

/// Splits text into fields.
pub fn split_fields(text: &str) -> Result<Vec<Field>, ParseError> {
    let bytes = text.as_bytes();
    let mut fields = Vec::new();
    let mut position = 0;
    let at = |index: usize| bytes.get(index).copied().unwrap_or(0);
    while position < bytes.len() {
        let byte = bytes[position];
        let start = position;
        let take_while = |from: usize, wanted: &dyn Fn(u8) -> bool| {
            from + bytes[from..].iter().take_while(|byte| wanted(**byte)).count()
        };
        let is_digit = |byte: u8| byte.is_ascii_digit();
        let is_letter = |byte: u8| byte.is_ascii_alphabetic();
        let kind;
        let mut skip_spaces_after_sign = None;
        if byte.is_ascii_whitespace() || byte == 0x0b {
            position += 1;
            continue;
        } else if is_digit(byte) {
            position = take_while(position, &is_digit);
            match at(position) {
                b':' => {
                    kind = FieldKind::Time;
                    position = take_while(position, &|b| is_digit(b) || b == b':' || b == b'.');
                }
                delimiter @ (b'-' | b'/' | b'.') => {
                    position += 1;
                    if is_digit(at(position)) {
                        position = take_while(position, &is_digit);
                        if at(position) == delimiter {
                            kind = FieldKind::Date;
                            position = take_while(position, &|b| is_digit(b) || b == delimiter);
                        } else {
                            kind = if delimiter == b'.' { FieldKind::Number } else { FieldKind::Date };
                        }
                    } else {
                        kind = FieldKind::Date;
                        position = take_while(position, &|b| b.is_ascii_alphanumeric() || b == delimiter);
                    }
                }
                _ => kind = FieldKind::Number,
            }
        } else if byte == b'.' {
            kind = FieldKind::Number;
            position = take_while(position + 1, &is_digit);
        } else if is_letter(byte) {
            position = take_while(position, &is_letter);
            let next = at(position);
            let is_compound = matches!(next, b'-' | b'/' | b'.')
                || ((next == b'+' || is_digit(next)) && keyword(&text[start..position].to_ascii_lowercase()).is_none());
            if is_compound {
                kind = FieldKind::Date;
                position = take_while(position, &|b| {
                    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'/' | b'_' | b'.' | b':')
                });
            } else {
                kind = FieldKind::Word;
            }
        } else if matches!(byte, b'+' | b'-') {
            let body = take_while(position + 1, &|b| b.is_ascii_whitespace());
            skip_spaces_after_sign = Some(body);
            if is_digit(at(body)) {
                kind = FieldKind::Zone;
                position = take_while(body, &|b| is_digit(b) || matches!(b, b':' | b'.' | b'-'));
            } else if is_letter(at(body)) {
                kind = FieldKind::SignedWord;
                position = take_while(body, &is_letter);
            } else {
                return Err(ParseError::BadFormat);
            }
        } else if byte.is_ascii_punctuation() {
            position += 1;
            continue;
        } else {
            return Err(ParseError::BadFormat);
        }
        if fields.len() == MAX_FIELDS {
            return Err(ParseError::BadFormat);
        }
        let text = match skip_spaces_after_sign {
            Some(body) => format!("{}{}", byte as char, &text[body..position]),
            None => text[start..position].to_owned(),
        };
        fields.push(Field { kind, text: text.to_ascii_lowercase() });
    }
    Ok(fields)
}

/// The meaning of a word in a date or time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keyword {
    Ignore,
    Infinity,
    MinusInfinity,
    Epoch,
    Now,
    Today,
    Tomorrow,
    Yesterday,
    Zulu,
    Month(i64),
    Weekday(i64),
    Meridian(bool),
    Era(bool),
    DaylightModifier,
    Julian,
    IsoTime,
    /// Units that mean nothing in a date
    Unit,
}

pub(super) fn keyword(word: &str) -> Option<Keyword> {
    // words are told apart by their first ten letters
    let word = word.get(..10).unwrap_or(word);
    Some(match word {
        "at" | "on" => Keyword::Ignore,
        "infinity" => Keyword::Infinity,
        "-infinity" => Keyword::MinusInfinity,
        "epoch" => Keyword::Epoch,
        "now" => Keyword::Now,
        "today" => Keyword::Today,
        "tomorrow" => Keyword::Tomorrow,
        "yesterday" => Keyword::Yesterday,
        "allballs" => Keyword::Zulu,
        "jan" | "january" => Keyword::Month(1),
        "feb" | "february" => Keyword::Month(2),
        "mar" | "march" => Keyword::Month(3),
        "apr" | "april" => Keyword::Month(4),
        "may" => Keyword::Month(5),
        "jun" | "june" => Keyword::Month(6),
        "jul" | "july" => Keyword::Month(7),
        "aug" | "august" => Keyword::Month(8),
        "sep" | "sept" | "september" => Keyword::Month(9),
        "oct" | "october" => Keyword::Month(10),
        "nov" | "november" => Keyword::Month(11),
        "dec" | "december" => Keyword::Month(12),
        "sun" | "sunday" => Keyword::Weekday(0),
        "mon" | "monday" => Keyword::Weekday(1),
        "tue" | "tues" | "tuesday" => Keyword::Weekday(2),
        "wed" | "weds" | "wednesday" => Keyword::Weekday(3),
        "thu" | "thur" | "thurs" | "thursday" => Keyword::Weekday(4),
        "fri" | "friday" => Keyword::Weekday(5),
        "sat" | "saturday" => Keyword::Weekday(6),
        "am" => Keyword::Meridian(false),
        "pm" => Keyword::Meridian(true),
        "ad" => Keyword::Era(false),
        "bc" => Keyword::Era(true),
        "dst" => Keyword::DaylightModifier,
        "j" | "jd" | "julian" => Keyword::Julian,
        "t" => Keyword::IsoTime,
        "d" | "dow" | "doy" | "h" | "isodow" | "isoyear" | "m" | "mm" | "s" | "y" => Keyword::Unit,
        _ => return None,
    })
}
