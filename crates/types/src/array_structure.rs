//! Faults in the braces, quotes and commas of an array's text, in PostgreSQL's words.
//!
//! PostgreSQL checks the structure of the whole text before it reads the first element. So of two faults it reports the
//! one in the structure. Our reader takes the elements first, and calls this module only after it has failed.

use base::{Error, Result};
use smallvec::SmallVec;

use super::array_text::{MAX_DIMENSIONS, malformed, too_many_dimensions};

/// The token that came last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Nothing,
    /// An opening brace
    Opened,
    /// A part of an element without quotes
    Element,
    /// An opening quote
    Quote,
    /// A closing quote
    Quoted,
    /// A comma behind an element
    ElementComma,
    /// A closing brace
    Closed,
    /// A comma behind a closing brace
    ClosedComma,
}

/// The lengths of the dimensions of the array that starts with a brace at `start` and ends the text: none if it is empty.
///
/// # Errors
/// 22P02, 54000.
pub(super) fn dimensions(text: &str, start: usize) -> Result<SmallVec<[u32; 2]>> {
    // Messages show the text without the dimensions before it.
    let text = &text[start..];
    let unexpected = |character: char| Err(malformed(text, format!("Unexpected \"{character}\" character.")));
    let element = || Err(malformed(text, "Unexpected array element."));
    let mut seen = Seen::Nothing;
    let mut is_empty = true;
    let (mut depth, mut deepest) = (0, 0);
    // How many there are so far in each dimension, and how many there were in the one before.
    let mut counts = [1_u32; MAX_DIMENSIONS];
    let mut before = [0_u32; MAX_DIMENSIONS];
    let mut characters = text.char_indices();
    let end = loop {
        let Some((offset, character)) = characters.next() else { return Err(end_of_input(text)) };
        match character {
            '\\' => {
                if !matches!(seen, Seen::Opened | Seen::Element | Seen::Quote | Seen::ElementComma) {
                    return unexpected(character);
                }
                if seen != Seen::Quote {
                    seen = Seen::Element;
                }
                if characters.next().is_none() {
                    return Err(end_of_input(text));
                }
            }
            '"' => {
                seen = match seen {
                    Seen::Quote => Seen::Quoted,
                    Seen::Opened | Seen::ElementComma => Seen::Quote,
                    _ => return element(),
                };
            }
            _ if seen == Seen::Quote => {}
            '{' => {
                if !matches!(seen, Seen::Nothing | Seen::Opened | Seen::ClosedComma) {
                    return unexpected(character);
                }
                if depth == MAX_DIMENSIONS {
                    return Err(too_many_dimensions(depth + 1));
                }
                seen = Seen::Opened;
                depth += 1;
                deepest = deepest.max(depth);
            }
            '}' => {
                // Only the array as a whole may be empty.
                let is_whole = depth == 1 && seen == Seen::Opened;
                if !is_whole && !matches!(seen, Seen::Element | Seen::Quoted | Seen::Closed) {
                    return unexpected(character);
                }
                seen = Seen::Closed;
                depth -= 1;
                if before[depth] != 0 && counts[depth] != before[depth] {
                    let detail = "Multidimensional arrays must have sub-arrays with matching dimensions.";
                    return Err(malformed(text, detail));
                }
                before[depth] = std::mem::replace(&mut counts[depth], 1);
                if depth == 0 {
                    break offset + 1;
                }
            }
            ',' => {
                seen = match seen {
                    Seen::Element | Seen::Quoted => Seen::ElementComma,
                    Seen::Closed => Seen::ClosedComma,
                    _ => return unexpected(character),
                };
                counts[depth - 1] += 1;
            }
            space if is_space(space) => {}
            _ => match seen {
                Seen::Opened | Seen::Element | Seen::ElementComma => seen = Seen::Element,
                _ => return element(),
            },
        }
        is_empty &= !matches!(seen, Seen::Element | Seen::Quote);
    };
    if !text[end..].chars().all(is_space) {
        return Err(malformed(text, "Junk after closing right brace."));
    }
    Ok(if is_empty { SmallVec::new() } else { SmallVec::from_slice(&before[..deepest]) })
}

fn end_of_input(text: &str) -> Error {
    malformed(text, "Unexpected end of input.")
}

fn is_space(character: char) -> bool {
    character.is_ascii_whitespace() || character == '\u{b}'
}
