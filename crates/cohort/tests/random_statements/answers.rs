//! Answers of servers, made comparable.

/// One answer to one statement.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Everything but rows: columns with their types, parameters, tags, errors.
    pub said: Vec<String>,
    /// The rows, sorted unless their order counts.
    pub rows: Vec<String>,
    /// The words of an error, to be shown.
    message: String,
}

impl PartialEq for Answer {
    fn eq(&self, other: &Answer) -> bool {
        self.said == other.said && self.rows == other.rows
    }
}

impl Answer {
    /// The answer in `seen`. Of an error only its code counts.
    pub fn of(seen: &str, is_ordered: bool) -> Answer {
        let (mut said, mut rows, mut message) = (Vec::new(), Vec::new(), String::new());
        // A value may have line breaks, so what follows a row belongs to it unless it begins another part.
        for line in seen.lines() {
            if let Some(code) = line.strip_prefix("ERROR ") {
                message = line.to_owned();
                said.push(format!("ERROR {}", code.get(..5).unwrap_or_default()));
            } else if line.starts_with("row ") {
                rows.push(line.to_owned());
            } else if ["columns ", "tag ", "parameters ", "no columns", "ready"]
                .iter()
                .any(|word| line.starts_with(word))
            {
                said.push(without_own_oids(line));
            }
        }
        if !message.is_empty() {
            // How far it came before is a matter of the plan.
            rows.clear();
            said.retain(|line| line.starts_with("ERROR"));
        }
        if !is_ordered {
            rows.sort();
        }
        Answer { said, rows, message }
    }

    /// Whether it differs from PostgreSQL's answer in that columns have no type modifier, and in nothing else.
    pub fn lacks_only_modifiers(&self, expected: &Answer) -> bool {
        let is_alike = |own: &str, other: &str| {
            let (own, other): (Vec<&str>, Vec<&str>) = (own.split(' ').collect(), other.split(' ').collect());
            own.len() == other.len() && own.iter().zip(&other).all(|(own, other)| own == other || *own == "-1")
        };
        let is_column_alike =
            |(own, other): (&String, &String)| own == other || own.starts_with("columns ") && is_alike(own, other);
        self != expected
            && self.rows == expected.rows
            && self.said.len() == expected.said.len()
            && self.said.iter().zip(&expected.said).all(is_column_alike)
    }

    /// The SQLSTATE it failed with.
    pub fn code(&self) -> Option<&str> {
        self.said.iter().find_map(|line| line.strip_prefix("ERROR "))
    }

    /// Whether a time limit ended the statement.
    pub fn is_late(&self) -> bool {
        self.code() == Some("57014")
    }

    /// The answer as text, not too long.
    pub fn shown(&self) -> String {
        let all = [&self.said[..], &self.rows[..]].concat();
        let mut text = if self.message.is_empty() { String::new() } else { format!("  {}\n", self.message) };
        text.extend(all.iter().take(40).map(|line| format!("  {line}\n")));
        if all.len() > 40 {
            text.push_str(&format!("  ... and {} more\n", all.len() - 40));
        }
        text
    }
}

/// A line that tells parameters' types, without the numbers of types that users made.
fn without_own_oids(line: &str) -> String {
    let Some(list) = line.strip_prefix("parameters [") else { return line.to_owned() };
    let types = list.trim_end_matches(']').split(", ").map(|oid| match oid.parse::<u32>() {
        Ok(oid) if oid >= 16384 => "user type".to_owned(),
        _ => oid.to_owned(),
    });
    format!("parameters {}", types.collect::<Vec<_>>().join(", "))
}
