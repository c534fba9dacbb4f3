//! LIKE matching, and regular expressions in PostgreSQL's notation.
//!
//! Regular expressions run on the `regex` crate: linear time whatever the pattern. Its notation differs in
//! details, which [`translate`] evens out. What it lacks is refused aloud: back-references and look-around.
//! Of several ways to match at one place it takes the first alternative, where PostgreSQL takes the longest.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use base::{Error, Result, sqlstate};
use rustc_hash::FxHashMap;

fn invalid_escape(message: &str) -> Error {
    Error::new(sqlstate::INVALID_ESCAPE_SEQUENCE, message)
}

/// Whether `text` matches the LIKE pattern. `characters`: `_` is a character of UTF-8, not a byte. 22025.
pub fn like(text: &[u8], pattern: &[u8], characters: bool) -> Result<bool> {
    let width = |at: usize| -> usize {
        if !characters {
            return 1;
        }
        1 + text[at + 1..].iter().take_while(|byte| **byte & 0xC0 == 0x80).count()
    };
    let (mut t, mut p) = (0, 0);
    // where to go on if the match fails: after the last %, one character further in the text
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let matched = match pattern.get(p) {
            None => t == text.len(),
            Some(b'%') => {
                while pattern.get(p) == Some(&b'%') {
                    p += 1;
                }
                if p == pattern.len() {
                    return Ok(true);
                }
                retry = Some((p, t));
                continue;
            }
            Some(_) if t == text.len() => false,
            Some(b'_') => {
                p += 1;
                t += width(t);
                continue;
            }
            Some(b'\\') => match pattern.get(p + 1) {
                None => return Err(invalid_escape("LIKE pattern must not end with escape character")),
                Some(byte) if *byte == text[t] => {
                    p += 2;
                    t += 1;
                    continue;
                }
                Some(_) => false,
            },
            Some(byte) if *byte == text[t] => {
                p += 1;
                t += 1;
                continue;
            }
            Some(_) => false,
        };
        if matched {
            return Ok(true);
        }
        match retry {
            Some((after, from)) if from < text.len() => {
                let next = from + width(from);
                retry = Some((after, next));
                (p, t) = (after, next);
            }
            _ => return Ok(false),
        }
    }
}

/// ILIKE.
pub fn like_any_case(text: &str, pattern: &str) -> Result<bool> {
    like(text.to_lowercase().as_bytes(), pattern.to_lowercase().as_bytes(), true)
}

/// A pattern with another escape character, rewritten with the backslash. 22025.
pub fn like_escape(pattern: &str, escape: &str) -> Result<String> {
    let escape = escape_character(escape)?;
    let mut out = String::with_capacity(pattern.len() + 8);
    if escape == Some('\\') {
        return Ok(pattern.to_owned());
    }
    let mut after_escape = false;
    for character in pattern.chars() {
        if Some(character) == escape && !after_escape {
            out.push('\\');
            after_escape = true;
        } else if character == '\\' {
            out.push('\\');
            if !after_escape {
                out.push('\\');
            }
            after_escape = false;
        } else {
            out.push(character);
            after_escape = false;
        }
    }
    Ok(out)
}

fn escape_character(escape: &str) -> Result<Option<char>> {
    let mut characters = escape.chars();
    match (characters.next(), characters.next()) {
        (first, None) => Ok(first),
        _ => Err(invalid_escape("invalid escape string").hint("Escape string must be empty or one character.")),
    }
}

/// A SIMILAR TO pattern as a regular expression. 22025.
pub fn similar_to_regex(pattern: &str, escape: &str) -> Result<String> {
    let escape = escape_character(escape)?;
    let mut out = String::from("^(?:");
    let mut separators = 0;
    let mut in_class = false;
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        if Some(character) == escape {
            match characters.next() {
                Some('"') if !in_class => {
                    // parts of substring(... similar ... escape): before, wanted, after
                    match separators {
                        0 => out.push_str("){1,1}?("),
                        1 => out.push_str("){1,1}(?:"),
                        _ => {
                            return Err(Error::new(
                                base::SqlState::new("2200C"),
                                "SQL regular expression may not contain more than two escape-double-quote separators",
                            ));
                        }
                    }
                    separators += 1;
                }
                Some(escaped) => {
                    out.push('\\');
                    out.push(escaped);
                }
                None => {}
            }
            continue;
        }
        if in_class {
            if character == '\\' {
                out.push('\\');
            }
            out.push(character);
            in_class = character != ']';
            continue;
        }
        match character {
            '[' => {
                out.push('[');
                in_class = true;
                if let Some(caret) = characters.next_if_eq(&'^') {
                    out.push(caret);
                }
                if let Some(bracket) = characters.next_if_eq(&']') {
                    out.push(bracket);
                }
            }
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            '\\' | '.' | '^' | '$' => {
                out.push('\\');
                out.push(character);
            }
            other => out.push(other),
        }
    }
    out.push_str(")$");
    Ok(out)
}

/// Flags of a regular expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Options {
    any_case: bool,
    expanded: bool,
    literal: bool,
    /// `.` and negated sets don't match a line break
    line_bound_dot: bool,
    /// `^` and `$` match at line breaks too
    line_anchors: bool,
}

impl Options {
    /// As for the operators `~*` and `!~*`.
    pub const ANY_CASE: Options =
        Options { any_case: true, expanded: false, literal: false, line_bound_dot: false, line_anchors: false };

    /// Reads flags like `gi`; also tells whether `g` was among them. 22023.
    pub fn parse(flags: &str) -> Result<(Options, bool)> {
        let mut options = Options::default();
        let mut global = false;
        for flag in flags.chars() {
            match flag {
                'g' => global = true,
                'i' => options.any_case = true,
                'c' => options.any_case = false,
                'x' => options.expanded = true,
                't' => options.expanded = false,
                'q' => options.literal = true,
                'b' | 'e' => {}
                's' => (options.line_bound_dot, options.line_anchors) = (false, false),
                'n' | 'm' => (options.line_bound_dot, options.line_anchors) = (true, true),
                'p' => (options.line_bound_dot, options.line_anchors) = (true, false),
                'w' => (options.line_bound_dot, options.line_anchors) = (false, true),
                other => {
                    return Err(Error::new(
                        sqlstate::INVALID_PARAMETER_VALUE,
                        format!("invalid regular expression option: \"{other}\""),
                    ));
                }
            }
        }
        Ok((options, global))
    }

    /// As [`Options::parse`], for functions that don't take `g`. 22023.
    pub fn parse_plain(flags: &str, function: &str) -> Result<Options> {
        let (options, global) = Options::parse(flags)?;
        if global {
            return Err(Error::new(
                sqlstate::INVALID_PARAMETER_VALUE,
                format!("{function} does not support the \"global\" option"),
            ));
        }
        Ok(options)
    }

    /// As [`Options::parse_plain`], for `regexp_match`. 22023.
    pub fn parse_match(flags: &str) -> Result<Options> {
        Options::parse_plain(flags, "regexp_match()").map_err(|error| {
            let is_global = error.message().ends_with("\"global\" option");
            if is_global { error.hint("Use the regexp_matches function instead.") } else { error }
        })
    }
}

/// A compiled regular expression.
#[derive(Debug)]
pub struct Regex(regex::Regex);

impl Regex {
    /// Whether it matches anywhere.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// The groups of the first match.
    pub fn captures<'t>(&self, text: &'t str) -> Option<regex::Captures<'t>> {
        self.0.captures(text)
    }

    /// The groups of all matches.
    pub fn captures_iter<'t>(&'t self, text: &'t str) -> impl Iterator<Item = regex::Captures<'t>> {
        self.0.captures_iter(text)
    }

    /// The groups of all matches from an offset on.
    pub fn captures_iter_at<'t>(&'t self, text: &'t str, offset: usize) -> impl Iterator<Item = regex::Captures<'t>> {
        self.0.captures_iter(text).filter(move |captures| captures.get(0).is_some_and(|whole| whole.start() >= offset))
    }

    /// The places of all matches from an offset on.
    pub fn find_iter_at<'t>(&'t self, text: &'t str, offset: usize) -> impl Iterator<Item = Range<usize>> {
        self.0.find_iter(text).map(|part| part.range()).filter(move |part| part.start >= offset)
    }

    /// The place of a group (0: all) in match number `number` (from 1) after an offset.
    pub fn nth_group(&self, text: &str, offset: usize, number: usize, group: usize) -> Option<Range<usize>> {
        let captures = self.captures_iter_at(text, offset).nth(number - 1)?;
        captures.get(group).map(|part| part.range())
    }
}

thread_local! {
    /// Patterns compiled lately: a statement applies the same few to many rows.
    static COMPILED: RefCell<FxHashMap<(String, Options), Rc<Regex>>> = RefCell::new(FxHashMap::default());
}

const COMPILED_MAX: usize = 64;

/// The compiled form of a pattern. 2201B for a bad one, 0A000 for what is left out.
pub fn regex(pattern: &str, options: Options) -> Result<Rc<Regex>> {
    COMPILED.with_borrow_mut(|compiled| {
        let key = (pattern.to_owned(), options);
        if let Some(regex) = compiled.get(&key) {
            return Ok(regex.clone());
        }
        let regex = Rc::new(compile(pattern, options)?);
        if compiled.len() >= COMPILED_MAX {
            compiled.clear();
        }
        compiled.insert(key, regex.clone());
        Ok(regex)
    })
}

fn invalid_regex(message: &str) -> Error {
    Error::new(sqlstate::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {message}"))
}

fn compile(pattern: &str, mut options: Options) -> Result<Regex> {
    let mut rest = pattern;
    if let Some(literal) = rest.strip_prefix("***=") {
        options.literal = true;
        rest = literal;
    } else if let Some(advanced) = rest.strip_prefix("***:") {
        rest = advanced;
    }
    let translated = if options.literal {
        regex::escape(rest)
    } else {
        if let Some((flags, after)) = embedded_flags(rest) {
            let (embedded, _) = Options::parse(flags).map_err(|_| invalid_regex("invalid embedded option"))?;
            options = Options { literal: options.literal, ..merge(options, embedded) };
            rest = after;
        }
        Translator { characters: rest.chars().collect(), position: 0, out: String::new(), options }.run()?
    };
    regex::RegexBuilder::new(&translated)
        .case_insensitive(options.any_case)
        .dot_matches_new_line(!options.line_bound_dot)
        .multi_line(options.line_anchors)
        .size_limit(1 << 24)
        .build()
        .map(Regex)
        .map_err(|error| describe(&error))
}

fn merge(outer: Options, embedded: Options) -> Options {
    Options {
        any_case: outer.any_case || embedded.any_case,
        expanded: outer.expanded || embedded.expanded,
        literal: false,
        line_bound_dot: outer.line_bound_dot || embedded.line_bound_dot,
        line_anchors: outer.line_anchors || embedded.line_anchors,
    }
}

/// `(?flags)` at the start of a pattern.
fn embedded_flags(pattern: &str) -> Option<(&str, &str)> {
    let rest = pattern.strip_prefix("(?")?;
    let end = rest.find(')')?;
    let flags = &rest[..end];
    (!flags.is_empty() && flags.bytes().all(|byte| byte.is_ascii_alphabetic())).then(|| (flags, &rest[end + 1..]))
}

fn describe(error: &regex::Error) -> Error {
    let regex::Error::Syntax(text) = error else {
        return invalid_regex("regular expression is too complex");
    };
    let last = text.lines().last().unwrap_or("");
    let message = if last.contains("group") || last.contains("parenthes") {
        "parentheses () not balanced"
    } else if last.contains("class range") || last.contains("invalid range") || last.contains("character class range") {
        "invalid character range"
    } else if last.contains("unclosed character class") {
        "brackets [] not balanced"
    } else if last.contains("POSIX") || last.contains("character class") {
        "invalid character class"
    } else if last.contains("repetition operator missing") || last.contains("missing expression") {
        "quantifier operand invalid"
    } else if last.contains("repetition") {
        "invalid repetition count(s)"
    } else if last.contains("escape") {
        "invalid escape \\ sequence"
    } else {
        "invalid regexp (reg version 0.8)"
    };
    invalid_regex(message)
}

/// Rewrites PostgreSQL's notation into the library's.
struct Translator {
    characters: Vec<char>,
    position: usize,
    out: String,
    options: Options,
}

impl Translator {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.position + ahead).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(index, character)| self.peek(index) == Some(character))
    }

    fn run(mut self) -> Result<String> {
        let mut depth = 0;
        while let Some(character) = self.peek(0) {
            match character {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '(' => {
                    depth += 1;
                    self.group()?;
                }
                ')' => {
                    depth -= 1;
                    if depth < 0 {
                        return Err(invalid_regex("parentheses () not balanced"));
                    }
                    self.take();
                }
                '{' => self.bound()?,
                '*' | '+' | '?' => self.quantifier()?,
                '#' if self.options.expanded => {
                    while self.peek(0).is_some_and(|character| character != '\n') {
                        self.position += 1;
                    }
                }
                space if self.options.expanded && space.is_whitespace() => self.position += 1,
                '}' | ']' => {
                    self.out.push('\\');
                    self.take();
                }
                _ => self.take(),
            }
        }
        if depth > 0 {
            return Err(invalid_regex("parentheses () not balanced"));
        }
        Ok(self.out)
    }

    /// Copies one character.
    fn take(&mut self) {
        self.out.push(self.characters[self.position]);
        self.position += 1;
    }

    fn group(&mut self) -> Result<()> {
        for look in ["(?=", "(?!", "(?<=", "(?<!"] {
            if self.starts_with(look) {
                return Err(Error::unsupported("look-around in regular expressions is not supported"));
            }
        }
        if self.starts_with("(?#") {
            while self.peek(0).is_some_and(|character| character != ')') {
                self.position += 1;
            }
            self.out.push_str("(?:");
            return Ok(());
        }
        if self.starts_with("(?:") {
            self.out.push_str("(?:");
            self.position += 3;
            return Ok(());
        }
        if self.starts_with("(?") {
            return Err(invalid_regex("quantifier operand invalid"));
        }
        self.take();
        Ok(())
    }

    /// A quantifier: it needs something before it, and two in a row are an error but for the lazy `?`.
    fn quantifier(&mut self) -> Result<()> {
        let at_start = matches!(self.out.chars().last(), None | Some('(' | '|'))
            && !self.out.ends_with("\\(")
            && !self.out.ends_with("\\|");
        if at_start || self.out.ends_with("(?:") {
            return Err(invalid_regex("quantifier operand invalid"));
        }
        self.take();
        self.lazy_mark()
    }

    fn lazy_mark(&mut self) -> Result<()> {
        if self.peek(0) == Some('?') {
            self.take();
        }
        if matches!(self.peek(0), Some('*' | '+' | '?')) {
            return Err(invalid_regex("quantifier operand invalid"));
        }
        Ok(())
    }

    /// `{m,n}`; a brace before anything but a digit is itself.
    fn bound(&mut self) -> Result<()> {
        if !self.peek(1).is_some_and(|character| character.is_ascii_digit()) {
            self.out.push('\\');
            self.take();
            return Ok(());
        }
        let rest = &self.characters[self.position + 1..];
        let end = rest
            .iter()
            .position(|character| *character == '}')
            .ok_or_else(|| invalid_regex("braces {} not balanced"))?;
        let text: String = rest[..end].iter().collect();
        let (least, most) = match text.split_once(',') {
            None => (text.as_str(), Some(text.as_str())),
            Some((least, "")) => (least, None),
            Some((least, most)) => (least, Some(most)),
        };
        let number = |digits: &str| digits.parse::<u32>().ok().filter(|number| *number <= 255);
        let invalid = || invalid_regex("invalid repetition count(s)");
        let low = number(least).ok_or_else(invalid)?;
        let high = most.map(|most| number(most).ok_or_else(invalid)).transpose()?;
        if high.is_some_and(|high| high < low) {
            return Err(invalid());
        }
        self.out.push_str(&format!("{{{text}}}"));
        self.position += end + 2;
        self.lazy_mark()
    }

    fn escape(&mut self, in_class: bool) -> Result<()> {
        let invalid = || invalid_regex("invalid escape \\ sequence");
        let letter = self.peek(1).ok_or_else(invalid)?;
        self.position += 2;
        let hex = |translator: &mut Translator, count: usize| -> Result<()> {
            let digits: String = translator.characters[translator.position..]
                .iter()
                .take(count)
                .take_while(|c| c.is_ascii_hexdigit())
                .collect();
            let code = u32::from_str_radix(&digits, 16).map_err(|_| invalid())?;
            let character = char::from_u32(code).ok_or_else(invalid)?;
            translator.position += digits.len();
            translator.out.push_str(&regex::escape(&character.to_string()));
            Ok(())
        };
        match letter {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => {
                self.out.push('\\');
                self.out.push(letter);
            }
            'a' | 'f' | 'n' | 'r' | 't' | 'v' => {
                self.out.push('\\');
                self.out.push(letter);
            }
            'b' => self.out.push_str("\\x08"),
            'B' => self.out.push_str("\\\\"),
            'e' => self.out.push_str("\\x1b"),
            'u' => hex(self, 4)?,
            'U' => hex(self, 8)?,
            'x' => hex(self, 255)?,
            'm' if !in_class => self.out.push_str("\\b{start}"),
            'M' if !in_class => self.out.push_str("\\b{end}"),
            'y' if !in_class => self.out.push_str("\\b"),
            'Y' if !in_class => self.out.push_str("\\B"),
            'A' if !in_class => self.out.push_str("\\A"),
            'Z' if !in_class => self.out.push_str("\\z"),
            '0' => self.out.push_str("\\x00"),
            '1'..='9' if !in_class => {
                return Err(Error::unsupported("back-references in regular expressions are not supported"));
            }
            other if other.is_ascii_alphanumeric() => return Err(invalid()),
            other => self.out.push_str(&regex::escape(&other.to_string())),
        }
        Ok(())
    }

    /// A bracket expression: the library has operators in it that PostgreSQL doesn't.
    fn class(&mut self) -> Result<()> {
        let unbalanced = || invalid_regex("brackets [] not balanced");
        if self.starts_with("[[:<:]]") || self.starts_with("[[:>:]]") {
            self.out.push_str(if self.peek(3) == Some('<') { "\\b{start}" } else { "\\b{end}" });
            self.position += 7;
            return Ok(());
        }
        self.out.push('[');
        self.position += 1;
        let negated = self.peek(0) == Some('^');
        if negated {
            self.out.push('^');
            self.position += 1;
            if self.options.line_bound_dot {
                self.out.push_str("\\n");
            }
        }
        let mut first = true;
        loop {
            let character = self.peek(0).ok_or_else(unbalanced)?;
            match character {
                ']' if !first => {
                    self.take();
                    return Ok(());
                }
                '[' if matches!(self.peek(1), Some(':' | '.' | '=')) => self.named_class()?,
                '\\' => self.escape(true)?,
                '-' if self.peek(1) == Some(']') || first => {
                    self.out.push_str("\\-");
                    self.position += 1;
                }
                '-' => self.take(),
                '[' | ']' | '&' | '~' | '^' => {
                    self.out.push('\\');
                    self.take();
                }
                _ => self.take(),
            }
            first = false;
        }
    }

    fn named_class(&mut self) -> Result<()> {
        let kind = self.characters[self.position + 1];
        let rest = &self.characters[self.position + 2..];
        let end = rest
            .windows(2)
            .position(|pair| pair == [kind, ']'])
            .ok_or_else(|| invalid_regex("brackets [] not balanced"))?;
        let name: String = rest[..end].iter().collect();
        self.position += end + 4;
        if kind == ':' {
            const NAMES: [&str; 13] = [
                "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
                "upper", "xdigit",
            ];
            let unicode = match name.as_str() {
                "alpha" => "\\p{Alphabetic}",
                "alnum" => "\\p{Alphabetic}\\p{Nd}",
                "lower" => "\\p{Lowercase}",
                "upper" => "\\p{Uppercase}",
                "digit" => "\\d",
                "space" => "\\s",
                "word" => "\\w",
                other if NAMES.contains(&other) => {
                    self.out.push_str(&format!("[:{other}:]"));
                    return Ok(());
                }
                _ => return Err(invalid_regex("invalid character class")),
            };
            self.out.push_str(unicode);
        } else {
            if name.chars().count() != 1 {
                return Err(invalid_regex("invalid collating element"));
            }
            self.out.push_str(&regex::escape(&name));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(text: &str, pattern: &str) -> bool {
        like(text.as_bytes(), pattern.as_bytes(), true).unwrap()
    }

    #[test]
    fn like_takes_wildcards_and_escapes() {
        assert!(matches("abc", "a%"));
        assert!(matches("abc", "%c"));
        assert!(matches("abc", "a_c"));
        assert!(matches("añc", "a_c"));
        assert!(!matches("abc", "a_"));
        assert!(matches("a%c", "a\\%c"));
        assert!(!matches("abc", "a\\%c"));
        assert!(matches("mississippi", "%iss%ip%"));
        assert!(matches("", "%"));
        assert!(!matches("", "_"));
        assert!(like(b"ab", b"a\\", true).is_err());
        assert!(!matches("a", "a\\"));
    }

    #[test]
    fn regular_expressions_are_read_in_postgresql_s_notation() {
        let found = |text: &str, pattern: &str| regex(pattern, Options::default()).unwrap().is_match(text);
        assert!(found("foo bar", r"\mbar\M"));
        assert!(found("a\nb", "a.b"));
        assert!(found("x{", "x{"));
        assert!(found("a]b", "a]b"));
        assert!(found("[", "[[]"));
        assert!(found("pg_class", "^(pg_class)$"));
        assert!(!found("a&&b", "^[a-z&]$"));
        assert_eq!(
            regex("(", Options::default()).unwrap_err().message(),
            "invalid regular expression: parentheses () not balanced"
        );
        assert_eq!(
            regex("*a", Options::default()).unwrap_err().message(),
            "invalid regular expression: quantifier operand invalid"
        );
    }
}
