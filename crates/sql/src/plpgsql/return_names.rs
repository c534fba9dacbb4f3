//! RETURN of a plain variable. The parser's answer leaves out which variable `RETURN x;` and `RETURN NEXT x;` name, but
//! keeps expressions: so such a name is put in parentheses before the parser reads the body.

use syntax::parser::{is_name, tokens};

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

/// Words that are no variable after RETURN.
fn is_reserved(text: &str) -> bool {
    ["null", "true", "false", "query"].iter().any(|word| text.eq_ignore_ascii_case(word))
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
