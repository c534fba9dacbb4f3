//! Plain sentences in comments, READMEs and pages.
//!
//! A sentence names its subject: it does not begin with Who, Whoever, Whatever, or a What that asks nothing. A sentence of more than 45 words is
//! two sentences. This finds two faults that a program can find; it does not judge whether a reader understands the rest.

use std::path::{Path, PathBuf};

type Failure = Box<dyn std::error::Error>;

const WORDS_MAX: usize = 45;
const NO_SUBJECTS: &[&str] = &["Who", "Whoever", "Whatever", "What"];
/// Folders that programs write.
const NO_SOURCES: &[&str] = &["target", "report", "data"];
const MARKERS: &[&str] = &["///", "//!", "//"];

/// The sentences at fault in the Rust sources and Markdown pages below `folder`.
///
/// # Errors
/// Those of reading files.
pub fn check(folder: &Path) -> Result<Vec<String>, Failure> {
    let mut files = Vec::new();
    gather(folder, &mut files)?;
    files.sort();
    let mut problems = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file)?;
        let paragraphs = match file.extension().is_some_and(|extension| extension == "rs") {
            true => comments(&text),
            false => paragraphs_of(text.lines().enumerate()),
        };
        for paragraph in paragraphs {
            for (line, fault) in faults(&paragraph) {
                problems.push(format!("{}:{}: {fault}", file.display(), line + 1));
            }
        }
    }
    Ok(problems)
}

fn gather(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if path.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_text = path.extension().is_some_and(|extension| extension == "rs" || extension == "md");
        if path.is_dir() && !NO_SOURCES.contains(&&*name) && !name.starts_with('.') || path.is_file() && is_text {
            gather(&path, files)?;
        }
    }
    Ok(())
}

/// A paragraph's words, each with the number of its line.
type Paragraph<'t> = Vec<(usize, &'t str)>;

/// The paragraphs of the comments that have lines of their own.
fn comments(source: &str) -> Vec<Paragraph<'_>> {
    let mut paragraphs = Vec::new();
    let mut block: Vec<(usize, &str)> = Vec::new();
    let mut marker = "";
    for (number, line) in source.lines().enumerate() {
        let line = line.trim_start();
        let found = MARKERS.iter().find(|marker| line.starts_with(**marker)).copied().unwrap_or_default();
        if found != marker {
            paragraphs.extend(paragraphs_of(block.drain(..)));
            marker = found;
        }
        if !found.is_empty() {
            block.push((number, &line[found.len()..]));
        }
    }
    paragraphs.extend(paragraphs_of(block.drain(..)));
    paragraphs
}

/// Paragraphs of Markdown. Code, tables and quoted text have none; an item of a list, a heading and a line of a table's cell begin one.
fn paragraphs_of<'t>(lines: impl Iterator<Item = (usize, &'t str)>) -> Vec<Paragraph<'t>> {
    let mut paragraphs: Vec<Paragraph<'t>> = vec![Vec::new()];
    let mut is_code = false;
    for (number, line) in lines {
        let text = line.trim();
        if text.starts_with("```") {
            is_code = !is_code;
            continue;
        }
        let is_heading = text.starts_with('#');
        let begins =
            text.is_empty() || is_heading || ["- ", "* ", "| ", "> "].iter().any(|mark| text.starts_with(mark));
        if begins || is_code {
            paragraphs.push(Vec::new());
        }
        if is_code || line.starts_with("     ") || text.starts_with('|') || text.starts_with('>') {
            continue;
        }
        let words = text.trim_start_matches(['#', '-', '*']).split_whitespace().map(|word| (number, word));
        paragraphs.last_mut().expect("there is one").extend(words);
        if is_heading {
            paragraphs.push(Vec::new());
        }
    }
    paragraphs
}

fn faults(paragraph: &Paragraph<'_>) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    for sentence in paragraph.split_inclusive(|(_, word)| ends_sentence(word)) {
        let Some((line, first)) = sentence.first() else { continue };
        let is_question =
            sentence.last().is_some_and(|(_, word)| word.trim_end_matches(['*', '_', ')', '"']).ends_with('?'));
        let first = first.trim_start_matches(['*', '_', '(', '"']).trim_end_matches([',', '*', '_']);
        if NO_SUBJECTS.contains(&first) && !is_question {
            faults.push((*line, format!("a sentence begins with {first}")));
        }
        if sentence.len() > WORDS_MAX {
            faults.push((*line, format!("a sentence has {} words", sentence.len())));
        }
    }
    faults
}

fn ends_sentence(word: &str) -> bool {
    let word = word.trim_end_matches(['*', '_', ')', '"', '`']);
    word.ends_with(['.', '?', '!']) && !["e.g.", "i.e.", "etc."].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<String> {
        comments(source).iter().flat_map(faults).map(|(line, fault)| format!("{}: {fault}", line + 1)).collect()
    }

    #[test]
    fn sentences_without_a_subject_are_found_wherever_they_begin() {
        let source =
            "/// What it is.\nfn f() {}\n// Good. Whoever\n// reads it\n// is lost. What is asked?\n//! # Who comes\n";
        let wanted =
            ["1: a sentence begins with What", "3: a sentence begins with Whoever", "6: a sentence begins with Who"];
        assert_eq!(found(source), wanted);
    }

    #[test]
    fn long_sentences_are_found_and_code_is_not_read() {
        let long = format!("// {}.\n", "word ".repeat(WORDS_MAX + 1));
        assert_eq!(found(&long), ["1: a sentence has 47 words"]);
        assert_eq!(found("/// ```\n/// What a program\n/// ```\n/// | What | a table |\n"), [""; 0]);
        assert_eq!(found("let what = 1; // fine\n"), [""; 0]);
    }
}
