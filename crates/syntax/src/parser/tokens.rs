//! The words of a text, for what must be changed or found in it without the grammar. Strings are read as under
//! `standard_conforming_strings = on`.

/// Where words, quoted names, strings and other characters lie; comments and spaces are left out.
pub fn tokens(body: &str) -> Vec<(usize, usize)> {
    let bytes = body.as_bytes();
    let mut found = Vec::new();
    let mut place = 0;
    while place < bytes.len() {
        let rest = &body[place..];
        let first = bytes[place];
        let end = if first.is_ascii_whitespace() {
            place += 1;
            continue;
        } else if rest.starts_with("--") {
            place += rest.find(['\n', '\r']).unwrap_or(rest.len());
            continue;
        } else if rest.starts_with("/*") {
            place += comment_length(rest);
            continue;
        } else if first == b'\'' || first == b'"' {
            // `e'...'`, but not the end of another word.
            let is_prefixed = place > 0 && matches!(bytes[place - 1], b'e' | b'E');
            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80;
            let is_escaped = first == b'\'' && is_prefixed && !(place > 1 && is_word(bytes[place - 2]));
            place + string_length(rest, first, is_escaped)
        } else if first.is_ascii_alphabetic() || first == b'_' || first >= 0x80 {
            let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || *byte >= 0x80;
            place + rest.as_bytes().iter().take_while(|byte| is_inside(byte)).count()
        } else if first == b'$' && bytes.get(place + 1).is_some_and(u8::is_ascii_digit) {
            place + 1 + rest[1..].bytes().take_while(u8::is_ascii_digit).count()
        } else if let Some(length) = dollar_quoted_length(rest) {
            place + length
        } else {
            place + 1
        };
        found.push((place, end));
        place = end;
    }
    found
}

/// Whether a token is a name, or a parameter's number.
pub fn is_name(text: &str) -> bool {
    let is_number = |rest: &str| rest.starts_with(|digit: char| digit.is_ascii_digit());
    text.strip_prefix('$').is_some_and(is_number)
        || text.starts_with(|first: char| first.is_alphabetic() || first == '_' || first == '"')
}

/// Comments nest.
fn comment_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut place) = (0, 0);
    while place < bytes.len() {
        match &bytes[place..(place + 2).min(bytes.len())] {
            b"/*" => {
                depth += 1;
                place += 2;
            }
            b"*/" => {
                depth -= 1;
                place += 2;
                if depth == 0 {
                    return place;
                }
            }
            _ => place += 1,
        }
    }
    bytes.len()
}

/// The length of a string or quoted name. An escaped string may go on in another line, where its escapes mean the same.
fn string_length(text: &str, quote: u8, is_escaped: bool) -> usize {
    let mut length = quoted_length(text.as_bytes(), quote, is_escaped);
    if !is_escaped {
        return length;
    }
    loop {
        let rest = &text[length..];
        let spaces = rest.len() - rest.trim_start().len();
        if !rest[..spaces].contains('\n') || !rest[spaces..].starts_with(char::from(quote)) {
            return length;
        }
        length += spaces + quoted_length(&rest.as_bytes()[spaces..], quote, true);
    }
}

/// A doubled quote stands for itself.
fn quoted_length(bytes: &[u8], quote: u8, is_escaped: bool) -> usize {
    let mut place = 1;
    while place < bytes.len() {
        if is_escaped && bytes[place] == b'\\' {
            place += 2;
            continue;
        }
        place += 1;
        if bytes[place - 1] == quote {
            if bytes.get(place) != Some(&quote) {
                return place;
            }
            place += 1;
        }
    }
    bytes.len()
}

fn dollar_quoted_length(text: &str) -> Option<usize> {
    let tag_end = text.strip_prefix('$')?.find('$')? + 2;
    let tag = &text[..tag_end];
    if !tag[1..tag_end - 1].chars().all(|character| character.is_alphanumeric() || character == '_') {
        return None;
    }
    Some(text[tag_end..].find(tag).map_or(text.len(), |length| tag_end + length + tag_end))
}
