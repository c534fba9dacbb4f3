//! Variables of a row type. PostgreSQL's parser has no catalog: it takes `r some_table%ROWTYPE` for a scalar, and then knows no
//! `r.column`. So it is given such declarations as `r record`.

use syntax::parser::{is_name, tokens};

/// The kind of a type that a declaration names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// A built-in type.
    BuiltIn,
    /// A composite type, a table's row type, or a domain over one.
    Row,
    /// Another domain, or another user-defined type that is not a row.
    Scalar,
    /// Another type, or no type at all.
    Other,
}

/// The body with declarations of row types turned into records. For other types that PostgreSQL's
/// parser, which has no catalog, would not take, or would take for rows, it says `text`: those of schemas, and what users made. Lines
/// keep their numbers. `%ROWTYPE` needs no asking.
pub fn with_records(body: &str, what_is: impl Fn(&str) -> Named) -> String {
    let tokens = tokens(body);
    let text = |index: usize| tokens.get(index).map_or("", |(start, end)| &body[*start..*end]);
    let is_word = |index: usize, word: &str| text(index).eq_ignore_ascii_case(word);
    let mut rewritten = String::with_capacity(body.len());
    let (mut copied, mut place, mut declares) = (0, 0, false);
    while place < tokens.len() {
        let is_start = declares && (is_word(place - 1, "declare") || text(place - 1) == ";");
        if is_word(place, "declare") {
            declares = true;
        } else if is_word(place, "begin") {
            declares = false;
        } else if is_start && is_name(text(place)) && is_name(text(place + 1)) {
            let first = if is_word(place + 1, "constant") { place + 2 } else { place + 1 };
            let mut last = first;
            while text(last + 1) == "." && is_name(text(last + 2)) {
                last += 2;
            }
            let has_suffix = |suffix: &str| text(last + 1) == "%" && is_word(last + 2, suffix);
            let end = if has_suffix("rowtype") || has_suffix("type") { last + 2 } else { last };
            let type_name: String = (first..=end).map(text).collect();
            // An array of rows may be one of anything here.
            let is_array = text(end + 1) == "[" || is_word(end + 1, "array");
            let named = if has_suffix("rowtype") { Named::Row } else { what_is(&type_name) };
            let is_record = named == Named::Row;
            let is_foreign =
                text(last + 1) != "%" && (last > first || named == Named::Scalar || is_array && named == Named::Other);
            if is_record || is_foreign {
                let (from, to) = (tokens[first].0, tokens[end].1);
                rewritten.push_str(&body[copied..from]);
                rewritten.push_str(if is_record && !is_array { "record" } else { "text" });
                rewritten.extend(body[from..to].chars().filter(|character| *character == '\n'));
                copied = to;
                place = end;
            }
        }
        place += 1;
    }
    rewritten.push_str(&body[copied..]);
    rewritten
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_of_row_types_become_records_and_nothing_else_does() {
        let body = "declare\n  n int; \"R\" s.log %\nROWTYPE;\n  p point2; d log%rowtype := null;\nbegin\n  n := 7%rowtype; end";
        let rewritten = with_records(body, |name| if name == "point2" { Named::Row } else { Named::Other });
        assert_eq!(
            rewritten,
            "declare\n  n int; \"R\" record\n;\n  p record; d record := null;\nbegin\n  n := 7%rowtype; end"
        );
        let what_is = |name: &str| match name {
            "int" => Named::BuiltIn,
            "k" => Named::Scalar,
            _ => Named::Other,
        };
        let body = "declare c constant s . m := 'a'; d s.\nm[]; e s.t.a%type; f m[]; g int[]; h m; i k; j k%type; begin s.f(); end";
        let rewritten = with_records(body, what_is);
        let expected = "declare c constant text := 'a'; d text\n[]; e s.t.a%type; f text[]; g int[]; h m; i text; j k%type; begin s.f(); end";
        assert_eq!(rewritten, expected);
        let statement = "begin x log%rowtype; end";
        assert_eq!(with_records(statement, |_| Named::Row), statement);
    }
}
