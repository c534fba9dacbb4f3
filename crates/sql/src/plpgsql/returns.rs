//! RETURN of a plain variable. The parser's answer leaves out which variable `RETURN x;` and `RETURN NEXT x;` name, but
//! keeps expressions: so such a name is put in parentheses before the parser reads the body.

/// The body with every plain name after RETURN or RETURN NEXT in parentheses; lines keep their numbers.
pub fn with_expressions(body: &str) -> String {
    let tokens = tokens(body);
    let mut rewritten = String::with_capacity(body.len() + 16);
    let mut copied = 0;
    let mut place = 0;
    while place < tokens.len() {
        let (start, end) = tokens[place];
        place += 1;
        if !body[start..end].eq_ignore_ascii_case("return") || is_part_of_a_name(body, &tokens, place - 1) {
            continue;
        }
        let text = |index: usize| tokens.get(index).map_or("", |(start, end)| &body[*start..*end]);
        // `RETURN NEXT;` gives the OUT parameters, and a variable may not be called `next` here.
        let first = if text(place).eq_ignore_ascii_case("next") { place + 1 } else { place };
        let mut last = first;
        while is_name(text(last)) && text(last + 1) == "." && is_name(text(last + 2)) {
            last += 2;
        }
        if is_name(text(first)) && !is_reserved(text(first)) && text(last + 1) == ";" {
            let (from, to) = (tokens[first].0, tokens[last].1);
            rewritten.push_str(&body[copied..from]);
            rewritten.push('(');
            rewritten.push_str(&body[from..to]);
            rewritten.push(')');
            copied = to;
            place = last + 1;
        }
    }
    rewritten.push_str(&body[copied..]);
    rewritten
}

fn is_part_of_a_name(body: &str, tokens: &[(usize, usize)], place: usize) -> bool {
    place > 0 && &body[tokens[place - 1].0..tokens[place - 1].1] == "."
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic() || first == '_' || first == '"')
}

/// Words that are no variable after RETURN.
fn is_reserved(text: &str) -> bool {
    ["null", "true", "false", "query"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Where words, quoted names, strings and other characters lie; comments and spaces are left out.
fn tokens(body: &str) -> Vec<(usize, usize)> {
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
            place += rest.find('\n').unwrap_or(rest.len());
            continue;
        } else if rest.starts_with("/*") {
            place += comment_length(rest);
            continue;
        } else if first == b'\'' || first == b'"' {
            let is_escaped = first == b'\'' && place > 0 && matches!(bytes[place - 1], b'e' | b'E');
            place + quoted_length(rest.as_bytes(), first, is_escaped)
        } else if first.is_ascii_alphabetic() || first == b'_' || first >= 0x80 {
            let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || *byte >= 0x80;
            place + rest.as_bytes().iter().take_while(|byte| is_inside(byte)).count()
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

/// A doubled quote ends one piece and begins the next, which is as good here.
fn quoted_length(bytes: &[u8], quote: u8, is_escaped: bool) -> usize {
    let mut place = 1;
    while place < bytes.len() {
        if is_escaped && bytes[place] == b'\\' {
            place += 2;
            continue;
        }
        place += 1;
        if bytes[place - 1] == quote {
            return place;
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

#[cfg(test)]
mod tests {
    use super::with_expressions;

    #[test]
    fn plain_names_are_put_in_parentheses_and_nothing_else_is() {
        for (body, expected) in [
            ("begin return x; end", "begin return (x); end"),
            ("begin\n  RETURN NEXT r.a;\nend", "begin\n  RETURN NEXT (r.a);\nend"),
            ("return \"X y\" ;", "return (\"X y\") ;"),
            (
                "return; return next; return null; return 1; return x + 1;",
                "return; return next; return null; return 1; return x + 1;",
            ),
            ("return /* why */ x -- so\n;", "return /* why */ (x) -- so\n;"),
            (
                "'return x;' $a$return x;$a$ E'\\'return x;' -- return x;\n",
                "'return x;' $a$return x;$a$ E'\\'return x;' -- return x;\n",
            ),
            ("return query select 1; return f(x); t.return x;", "return query select 1; return f(x); t.return x;"),
            ("return größe;", "return (größe);"),
        ] {
            assert_eq!(with_expressions(body), expected);
        }
    }
}
