//! Templates: fields by their names, and what stands between them.

/// A name that means a field.
pub struct Keyword<Id> {
    /// In capitals, unless `exact`.
    pub text: &'static str,
    /// Only in this very spelling; otherwise in small letters as well.
    pub exact: bool,
    /// The field.
    pub id: Id,
}

/// A field of a template.
#[derive(Clone, Copy)]
pub struct Field<'t, Id> {
    /// Which.
    pub id: Id,
    /// As it stands in the template.
    pub text: &'t str,
    /// `FM` stands before it: no padding.
    pub fill: bool,
    /// `TM` stands before it: the name in the locale's language, without padding.
    pub translated: bool,
    /// `TH` (true) or `th` (false) stands behind it.
    pub ordinal: Option<bool>,
}

/// A piece of a template.
#[derive(Clone, Copy)]
pub enum Part<'t, Id> {
    /// A field.
    Field(Field<'t, Id>),
    /// A character that separates, as `-` or `:`.
    Separator(char),
    /// A space.
    Space(char),
    /// Any other character, or a quoted one.
    Text(char),
}

/// Cuts a template. Fields are looked for in order: longer names must come before their beginnings.
pub fn parse<'t, Id: Copy>(template: &'t str, keywords: &[Keyword<Id>], is_date: bool) -> Vec<Part<'t, Id>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while !rest.is_empty() {
        let (mut fill, mut translated) = (false, false);
        if is_date {
            if let Some(behind) = rest.strip_prefix("FM").or_else(|| rest.strip_prefix("fm")) {
                (fill, rest) = (true, behind);
            } else if let Some(behind) = rest.strip_prefix("TM").or_else(|| rest.strip_prefix("tm")) {
                (translated, rest) = (true, behind);
            }
        }
        if let Some((id, length)) = keyword(rest, keywords) {
            let (text, behind) = rest.split_at(length);
            rest = behind;
            let mut ordinal = None;
            if is_date {
                for (suffix, meaning) in [("TH", Some(true)), ("th", Some(false)), ("SP", None)] {
                    if let Some(behind) = rest.strip_prefix(suffix) {
                        (ordinal, rest) = (meaning, behind);
                        break;
                    }
                }
            }
            parts.push(Part::Field(Field { id, text, fill, translated, ordinal }));
            continue;
        }
        let mut characters = rest.chars();
        match characters.next() {
            Some('"') => {
                while let Some(character) = characters.next() {
                    match character {
                        '"' => break,
                        '\\' => parts.push(Part::Text(characters.next().unwrap_or('\\'))),
                        _ => parts.push(Part::Text(character)),
                    }
                }
            }
            Some('\\') if characters.as_str().starts_with('"') => {
                characters.next();
                parts.push(Part::Text('"'));
            }
            Some(character) if is_date && is_separator(character) => parts.push(Part::Separator(character)),
            Some(character) if character.is_ascii_whitespace() => parts.push(Part::Space(character)),
            Some(character) => parts.push(Part::Text(character)),
            None => {}
        }
        rest = characters.as_str();
    }
    parts
}

fn keyword<Id: Copy>(text: &str, keywords: &[Keyword<Id>]) -> Option<(Id, usize)> {
    let found = keywords.iter().find(|keyword| {
        text.starts_with(keyword.text)
            || !keyword.exact
                && text.get(..keyword.text.len()).is_some_and(|begin| begin == keyword.text.to_ascii_lowercase())
    })?;
    Some((found.id, found.text.len()))
}

/// Any ASCII character that is neither a letter, a digit nor a space.
pub fn is_separator(character: char) -> bool {
    character.is_ascii_graphic() && !character.is_ascii_alphanumeric()
}
