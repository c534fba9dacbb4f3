//! Where a long text may be cut: behind semicolons that stand between statements.
//!
//! The scanner agrees with the grammar's own about comments, quoted strings and quoted names. It leaves out semicolons within
//! parentheses and those in a body of `BEGIN ATOMIC`. Where such a body ends is a guess: only the grammar can tell its `END` from
//! that of a `CASE`, or from a column named `end`. A piece that ends too early is incomplete, which the grammar reports.

/// So much is read between two looks at the clock.
const STRIDE_BYTES: usize = 64 << 10;

/// Reads a text from one semicolon to the next.
pub(super) struct Scanner<'t> {
    bytes: &'t [u8],
    at: usize,
    strings_have_escapes: bool,
    /// Open parentheses.
    depth: usize,
    /// In the body of `BEGIN ATOMIC`.
    is_in_body: bool,
    /// The kind of the token before.
    previous: Word,
    next_pause: usize,
}

/// The words that matter here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Begin,
    End,
    Other,
}

impl<'t> Scanner<'t> {
    /// A scanner of `text`. `standard_conforming_strings`: whether a backslash in a plain string stands for itself.
    pub(super) fn new(text: &'t str, standard_conforming_strings: bool) -> Scanner<'t> {
        Scanner {
            bytes: text.as_bytes(),
            at: 0,
            strings_have_escapes: !standard_conforming_strings,
            depth: 0,
            is_in_body: false,
            previous: Word::Other,
            next_pause: STRIDE_BYTES,
        }
    }

    /// The place behind the next semicolon that seems to stand between statements, or the text's end.
    ///
    /// # Errors
    /// 57014 and its kin when the session is interrupted meanwhile.
    pub(super) fn next_end(&mut self) -> base::Result<usize> {
        while let Some(first) = self.byte(0) {
            self.pause()?;
            let mut word = Word::Other;
            match first {
                // Two words with only spaces and comments between them are neighbours.
                b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => {
                    self.at += 1;
                    word = self.previous;
                }
                b'-' if self.byte(1) == Some(b'-') => {
                    self.skip_line_comment()?;
                    word = self.previous;
                }
                b'/' if self.byte(1) == Some(b'*') => {
                    self.skip_comment()?;
                    word = self.previous;
                }
                b'\'' => self.skip_string(self.strings_have_escapes)?,
                b'"' => self.skip_until_quote(b'"', false)?,
                b'$' => self.skip_dollar()?,
                b'0'..=b'9' => self.skip_word()?,
                b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => word = self.read_word()?,
                b';' => {
                    self.at += 1;
                    if self.ends_statement() {
                        return Ok(self.at);
                    }
                }
                other => {
                    match other {
                        b'(' => self.depth += 1,
                        b')' => self.depth = self.depth.saturating_sub(1),
                        _ => {}
                    }
                    self.at += 1;
                }
            }
            self.previous = word;
        }
        Ok(self.bytes.len())
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    /// Lets other sessions run now and then.
    fn pause(&mut self) -> base::Result<()> {
        if self.at >= self.next_pause {
            self.next_pause = self.at + STRIDE_BYTES;
            sync::yield_point()?;
        }
        Ok(())
    }

    /// Whether the semicolon before this place stands between statements.
    fn ends_statement(&mut self) -> bool {
        if self.depth > 0 || self.is_in_body && self.previous != Word::End {
            return false;
        }
        self.is_in_body = false;
        self.previous = Word::Other;
        true
    }

    fn skip_line_comment(&mut self) -> base::Result<()> {
        while self.byte(0).is_some_and(|byte| !matches!(byte, b'\n' | b'\r')) {
            self.at += 1;
            self.pause()?;
        }
        Ok(())
    }

    /// Comments nest.
    fn skip_comment(&mut self) -> base::Result<()> {
        let mut depth = 0usize;
        loop {
            self.pause()?;
            match (self.byte(0), self.byte(1)) {
                (Some(b'/'), Some(b'*')) => {
                    depth += 1;
                    self.at += 2;
                }
                (Some(b'*'), Some(b'/')) => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                (Some(_), _) => self.at += 1,
                (None, _) => return Ok(()),
            }
        }
    }

    /// A string, and what continues it on further lines.
    fn skip_string(&mut self, has_escapes: bool) -> base::Result<()> {
        loop {
            self.skip_until_quote(b'\'', has_escapes)?;
            match self.continuation()? {
                Some(quote) => self.at = quote,
                None => return Ok(()),
            }
        }
    }

    /// Skips a quoted string or name that begins here, up to the quote that ends it. A doubled quote doesn't end it.
    fn skip_until_quote(&mut self, quote: u8, has_escapes: bool) -> base::Result<()> {
        self.at += 1;
        while let Some(byte) = self.byte(0) {
            self.pause()?;
            match byte {
                b'\\' if has_escapes => self.at += 2,
                _ if byte != quote => self.at += 1,
                _ if self.byte(1) == Some(quote) => self.at += 2,
                _ => {
                    self.at += 1;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The quote that continues the string which has just ended: there is a line's end before it, and nothing but spaces and
    /// comments to the ends of lines.
    fn continuation(&mut self) -> base::Result<Option<usize>> {
        let (begin, mut has_newline) = (self.at, false);
        let mut found = None;
        while let Some(byte) = self.byte(0) {
            self.pause()?;
            match byte {
                b'\n' | b'\r' => has_newline = true,
                b' ' | b'\t' | 0x0B | 0x0C => {}
                b'-' if self.byte(1) == Some(b'-') => {
                    self.skip_line_comment()?;
                    continue;
                }
                b'\'' if has_newline => {
                    found = Some(self.at);
                    break;
                }
                _ => break,
            }
            self.at += 1;
        }
        self.at = begin;
        Ok(found)
    }

    /// `$1`, or a string in dollar quotes.
    fn skip_dollar(&mut self) -> base::Result<()> {
        let rest = &self.bytes[self.at + 1..];
        let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
        let length = rest.iter().take_while(|byte| is_inside(byte)).count();
        let is_tag = !rest.first().is_some_and(u8::is_ascii_digit) && rest.get(length) == Some(&b'$');
        if !is_tag {
            self.at += 1;
            return Ok(());
        }
        let tag = &self.bytes[self.at..self.at + length + 2];
        self.at += tag.len();
        while self.at < self.bytes.len() {
            self.pause()?;
            match self.bytes[self.at..].iter().take(STRIDE_BYTES).position(|byte| *byte == b'$') {
                None => self.at = (self.at + STRIDE_BYTES).min(self.bytes.len()),
                Some(ahead) => {
                    self.at += ahead;
                    if self.bytes[self.at..].starts_with(tag) {
                        self.at += tag.len();
                        return Ok(());
                    }
                    self.at += 1;
                }
            }
        }
        Ok(())
    }

    fn skip_word(&mut self) -> base::Result<()> {
        let is_inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80;
        while self.byte(0).is_some_and(is_inside) {
            self.at += 1;
            self.pause()?;
        }
        Ok(())
    }

    /// A word, or the letter before a string and that string.
    fn read_word(&mut self) -> base::Result<Word> {
        let start = self.at;
        self.skip_word()?;
        let word = &self.bytes[start..self.at];
        if self.byte(0) == Some(b'\'')
            && let [letter @ (b'e' | b'E' | b'b' | b'B' | b'x' | b'X')] = word
        {
            // Only strings of the first kind have escapes, whatever plain strings have.
            self.skip_string(letter.eq_ignore_ascii_case(&b'e'))?;
            return Ok(Word::Other);
        }
        if self.previous == Word::Begin && word.eq_ignore_ascii_case(b"atomic") {
            self.is_in_body = true;
        }
        Ok(match word {
            _ if word.eq_ignore_ascii_case(b"begin") => Word::Begin,
            _ if word.eq_ignore_ascii_case(b"end") => Word::End,
            _ => Word::Other,
        })
    }
}
