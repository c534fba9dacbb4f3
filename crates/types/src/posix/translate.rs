//! PostgreSQL's notation of regular expressions in that of the `regex` crate.

use base::Result;

use super::{Options, invalid_regex};

/// Groups that may be open around another one.
const OPEN_GROUPS_MAX: usize = 1000;

/// Rewrites PostgreSQL's notation into the library's.
pub(super) struct Translator {
    characters: Vec<char>,
    position: usize,
    out: String,
    options: Options,
    /// The parentheses that are open: whether each is look-around.
    open: Vec<bool>,
    /// Groups so far that have a number.
    groups: u32,
    needs_backtracking: bool,
}

/// A pattern in the library's notation.
pub(super) struct Translated {
    pub text: String,
    /// It has back-references or look-around.
    pub needs_backtracking: bool,
}

impl Translator {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.position + ahead).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(index, character)| self.peek(index) == Some(character))
    }

    pub(super) fn new(pattern: &str, options: Options) -> Translator {
        let characters = pattern.chars().collect();
        let (open, out) = (Vec::new(), String::new());
        Translator { characters, position: 0, out, options, open, groups: 0, needs_backtracking: false }
    }

    pub(super) fn run(mut self) -> Result<Translated> {
        while let Some(character) = self.peek(0) {
            match character {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '(' => self.group()?,
                ')' => {
                    if self.open.pop().is_none() {
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
        if !self.open.is_empty() {
            return Err(invalid_regex("parentheses () not balanced"));
        }
        Ok(Translated { text: self.out, needs_backtracking: self.needs_backtracking })
    }

    /// Copies one character.
    fn take(&mut self) {
        self.out.push(self.characters[self.position]);
        self.position += 1;
    }

    fn group(&mut self) -> Result<()> {
        if self.open.len() >= OPEN_GROUPS_MAX {
            return Err(invalid_regex("regular expression is too complex"));
        }
        for look in ["(?=", "(?!", "(?<=", "(?<!"] {
            if self.starts_with(look) {
                self.out.push_str(look);
                self.position += look.len();
                self.open.push(true);
                self.needs_backtracking = true;
                return Ok(());
            }
        }
        if self.starts_with("(?#") {
            while self.peek(0).is_some_and(|character| character != ')') {
                self.position += 1;
            }
            self.out.push_str("(?:");
            self.open.push(false);
            return Ok(());
        }
        if self.starts_with("(?:") {
            self.out.push_str("(?:");
            self.position += 3;
            self.open.push(false);
            return Ok(());
        }
        if self.starts_with("(?") {
            return Err(invalid_regex("quantifier operand invalid"));
        }
        // Within look-around nothing has a number.
        if self.open.contains(&true) {
            self.out.push_str("(?:");
            self.position += 1;
        } else {
            self.take();
            self.groups += 1;
        }
        self.open.push(false);
        Ok(())
    }

    /// A quantifier: it needs something before it, and two in a row are an error but for the lazy `?`.
    fn quantifier(&mut self) -> Result<()> {
        let at_start = matches!(self.out.chars().last(), None | Some('(' | '|'))
            && !self.out.ends_with("\\(")
            && !self.out.ends_with("\\|");
        let after_anchor = self.out.ends_with('^') && !self.out.ends_with("\\^");
        let after_look = ["(?:", "(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| self.out.ends_with(look));
        if at_start || after_anchor || after_look {
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
        let expanded = self.options.expanded;
        let text: String = rest[..end].iter().filter(|part| !(expanded && part.is_whitespace())).collect();
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
                let number = u32::from(letter) - u32::from('0');
                if number > self.groups || self.open.contains(&true) {
                    return Err(invalid_regex("invalid backreference number"));
                }
                self.needs_backtracking = true;
                self.out.push_str(&format!("(?:\\{letter})"));
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
