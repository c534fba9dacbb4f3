//! LIKE matching, and SIMILAR TO's patterns.

use base::{Error, Result, sqlstate};
use sync::Work;

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
    // after a %, nothing matters before the byte that must come next
    let next_start = |p: usize, t: usize| match pattern[p] {
        b'_' | b'\\' => Some(t),
        byte => memchr::memchr(byte, &text[t..]).map(|skipped| t + skipped),
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
                let Some(next) = next_start(p, t) else { return Ok(false) };
                t = next;
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
                sync::yield_point()?;
                let Some(next) = next_start(after, from + width(from)) else { return Ok(false) };
                retry = Some((after, next));
                (p, t) = (after, next);
            }
            _ => return Ok(false),
        }
    }
}

/// Longer texts are folded by another thread.
const LONG_BYTES: usize = 256 << 10;

fn lower(text: &str) -> Result<String> {
    if text.len() <= LONG_BYTES {
        return Ok(text.to_lowercase());
    }
    let text = text.to_owned();
    sync::on_other_thread(Work::Long, move || text.to_lowercase())
}

/// ILIKE.
pub fn like_any_case(text: &str, pattern: &str) -> Result<bool> {
    like(lower(text)?.as_bytes(), lower(pattern)?.as_bytes(), true)
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
}
