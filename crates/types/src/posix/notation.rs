//! Basic and extended regular expressions in the notation of advanced ones.

use base::Result;

use super::invalid_regex;

/// The notation of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Notation {
    /// PostgreSQL's own.
    #[default]
    Advanced,
    /// POSIX's extended one: it has no escapes, no lazy quantifiers and no `(?`.
    Extended,
    /// POSIX's basic one: groups and bounds have backslashes, and `+`, `?` and `|` are characters.
    Basic,
}

/// A pattern as an advanced one. An expanded one loses its white space and comments; the result is to be read as one that is not expanded.
///
/// # Errors
/// 2201B
pub(super) fn advanced(pattern: &str, notation: Notation, expanded: bool) -> Result<String> {
    let characters = pattern.chars().collect();
    let out = String::with_capacity(pattern.len());
    let mut rewriter = Rewriter { characters, position: 0, out, is_start: true, expanded };
    match notation {
        Notation::Advanced => return Ok(pattern.to_owned()),
        Notation::Extended => rewriter.extended()?,
        Notation::Basic => rewriter.basic()?,
    }
    Ok(rewriter.out)
}

struct Rewriter {
    characters: Vec<char>,
    position: usize,
    out: String,
    /// Whether the place is the beginning of a pattern or of a group, where a star is a character.
    is_start: bool,
    /// Whether white space and comments outside of sets mean nothing.
    expanded: bool,
}

impl Rewriter {
    fn next(&mut self) -> Option<char> {
        let next = self.characters.get(self.position).copied();
        self.position += 1;
        next
    }

    fn peek(&self) -> Option<char> {
        self.characters.get(self.position).copied()
    }

    /// Passes over white space and comments.
    fn skip(&mut self) {
        while let Some(character) = self.peek().filter(|_| self.expanded) {
            if character == '#' {
                while self.peek().is_some_and(|character| character != '\n') {
                    self.position += 1;
                }
            } else if character.is_whitespace() {
                self.position += 1;
            } else {
                return;
            }
        }
    }

    /// The next character that means something.
    fn next_token(&mut self) -> Option<char> {
        self.skip();
        self.next()
    }

    /// A character that stands for itself.
    fn literal(&mut self, character: char) {
        if character.is_ascii_punctuation() {
            self.out.push('\\');
        }
        self.out.push(character);
    }

    fn escaped(&mut self) -> Result<char> {
        self.next().ok_or_else(|| invalid_regex("invalid escape \\ sequence"))
    }

    fn extended(&mut self) -> Result<()> {
        while let Some(character) = self.next_token() {
            if matches!(character, '(' | '*' | '+' | '?' | '{' | '}') {
                self.skip();
            }
            match character {
                '\\' => {
                    let escaped = self.escaped()?;
                    self.literal(escaped);
                }
                '[' => self.set(),
                '(' | '*' | '+' | '?' if self.peek() == Some('?') => {
                    return Err(invalid_regex("quantifier operand invalid"));
                }
                // A `{` starts a bound only before a digit.
                '{' if !self.peek().is_some_and(|next| next.is_ascii_digit()) => self.literal('{'),
                '{' => {
                    let rest = &self.characters[self.position..];
                    let mut behind = rest.iter().skip_while(|character| **character != '}').skip(1);
                    if behind.find(|next| !(self.expanded && next.is_whitespace())) == Some(&'?') {
                        return Err(invalid_regex("quantifier operand invalid"));
                    }
                    self.out.push('{');
                }
                _ => self.out.push(character),
            }
        }
        Ok(())
    }

    fn basic(&mut self) -> Result<()> {
        while let Some(character) = self.next_token() {
            let was_start = std::mem::replace(&mut self.is_start, false);
            match character {
                '\\' => self.basic_escape()?,
                '[' => self.set(),
                '*' if was_start => self.literal('*'),
                '*' => self.out.push('*'),
                '^' if was_start => {
                    self.out.push('^');
                    self.is_start = true;
                }
                '$' if self.is_end() => self.out.push('$'),
                '.' => self.out.push('.'),
                _ => self.literal(character),
            }
        }
        Ok(())
    }

    /// Whether the pattern or the group ends here.
    fn is_end(&mut self) -> bool {
        self.skip();
        match self.peek() {
            None => true,
            Some(next) => next == '\\' && self.characters.get(self.position + 1) == Some(&')'),
        }
    }

    fn basic_escape(&mut self) -> Result<()> {
        match self.escaped()? {
            '(' => {
                self.out.push('(');
                self.is_start = true;
            }
            '{' => {
                self.out.push('{');
                self.skip();
                while let Some(part) = self.peek().filter(|part| part.is_ascii_digit() || *part == ',') {
                    self.out.push(part);
                    self.position += 1;
                    self.skip();
                }
            }
            character @ (')' | '}') => self.out.push(character),
            '<' => self.out.push_str("[[:<:]]"),
            '>' => self.out.push_str("[[:>:]]"),
            digit @ '1'..='9' => {
                self.out.push('\\');
                self.out.push(digit);
                // A following digit does not belong to the back-reference.
                if self.peek().is_some_and(|next| next.is_ascii_digit()) {
                    self.out.push_str("(?:)");
                }
            }
            character => self.literal(character),
        }
        Ok(())
    }

    /// The rest of `[...]`, in which a backslash is a character.
    fn set(&mut self) {
        self.out.push('[');
        let mut is_first = true;
        while let Some(character) = self.next() {
            match character {
                '^' if is_first && self.out.ends_with('[') => {
                    self.out.push('^');
                    continue;
                }
                ']' if !is_first => {
                    self.out.push(']');
                    return;
                }
                '\\' => self.out.push_str("\\\\"),
                '[' if matches!(self.peek(), Some(':' | '.' | '=')) => {
                    let kind = self.next();
                    self.out.push('[');
                    self.out.extend(kind);
                    while let Some(inner) = self.next() {
                        self.out.push(inner);
                        if Some(inner) == kind && self.peek() == Some(']') {
                            self.position += 1;
                            self.out.push(']');
                            break;
                        }
                    }
                }
                _ => self.out.push(character),
            }
            is_first = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_patterns_have_groups_and_bounds_with_backslashes() {
        let basic = |pattern: &str| advanced(pattern, Notation::Basic, false).unwrap();
        assert_eq!(basic(r"a\{1,2\}"), "a{1,2}");
        assert_eq!(basic("*a*"), r"\*a*");
        assert_eq!(basic(r"\(^*a\)\1"), r"(^\*a)\1");
        assert_eq!(basic("a+b|c?"), r"a\+b\|c\?");
        assert_eq!(basic("x^y$z$"), r"x\^y\$z$");
        assert_eq!(basic(r"[^]\x[:alpha:]]*"), r"[^]\\x[:alpha:]]*");
        assert!(advanced("a\\", Notation::Basic, false).is_err());
    }

    #[test]
    fn extended_patterns_have_no_escapes() {
        let extended = |pattern: &str| advanced(pattern, Notation::Extended, false);
        assert_eq!(extended(r"\d(a|b)+").unwrap(), "d(a|b)+");
        assert_eq!(extended("a{x").unwrap(), r"a\{x");
        assert!(extended("a*?").is_err());
        assert!(extended("(?:a)").is_err());
        assert!(extended("a{1}?").is_err());
    }
}
