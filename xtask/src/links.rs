//! Relative links in the documentation lead somewhere, every crate has a README, and every page of `docs/` can be found.
//!
//! A link from a name in code to a source file, as in ``[`flush_once`](../crates/wal/src/flush.rs)``, promises that the name is in that
//! file; it is kept to that, so that pages about the code don't outlive it.

use std::path::{Path, PathBuf};

type Failure = Box<dyn std::error::Error>;

/// Returns the problems found; none if all links are right.
pub fn check(root: &Path) -> Result<Vec<String>, Failure> {
    let mut problems = Vec::new();
    for entry in std::fs::read_dir(root.join("crates"))? {
        let folder = entry?.path();
        if folder.is_dir() && !folder.join("README.md").exists() {
            problems.push(format!("{} has no README.md", folder.display()));
        }
    }
    let mut pages = Vec::new();
    gather(root, &mut pages)?;
    for page in pages {
        let text = std::fs::read_to_string(&page)?;
        for (name, file) in named_code(&text) {
            // That the file is missing is said below.
            let source = std::fs::read_to_string(page.parent().unwrap_or(root).join(file)).unwrap_or_default();
            if !source.is_empty() && !has_word(&source, last_name(name)) && !file.ends_with(name) {
                problems.push(format!("{}: there is no {name} in {file}", page.display()));
            }
        }
        for target in targets(&text) {
            let path = target.split('#').next().unwrap_or_default();
            if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
                continue;
            }
            let full = page.parent().unwrap_or(root).join(path);
            if !full.exists() {
                problems.push(format!("{}: link to {target} leads nowhere", page.display()));
            }
        }
    }
    problems.extend(unlisted(&root.join("docs"))?);
    Ok(problems)
}

/// The pages below `docs` that its README.md does not link to.
fn unlisted(docs: &Path) -> Result<Vec<String>, Failure> {
    let index = std::fs::read_to_string(docs.join("README.md"))?;
    let listed: Vec<PathBuf> = targets(&index).into_iter().map(|target| docs.join(target)).collect();
    let mut pages = Vec::new();
    gather(docs, &mut pages)?;
    let missing = pages.into_iter().filter(|page| *page != docs.join("README.md") && !listed.contains(page));
    Ok(missing.map(|page| format!("docs/README.md does not list {}", page.display())).collect())
}

/// Names in code that are links to Rust files, with the files.
fn named_code(text: &str) -> Vec<(&str, &str)> {
    let links = text.split("[`").skip(1).filter_map(|link| {
        let (name, rest) = link.split_once("`](")?;
        Some((name, rest.split_once(')')?.0))
    });
    links.filter(|(name, file)| file.ends_with(".rs") && !name.contains(['\n', '`'])).collect()
}

/// `flush_once` of `Shared::flush_once()`.
fn last_name(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name).trim_end_matches("()")
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

/// The Markdown files below `folder`, build output aside.
fn gather(folder: &Path, pages: &mut Vec<PathBuf>) -> Result<(), Failure> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !matches!(name.as_str(), "target" | "report" | "data") {
                gather(&path, pages)?;
            }
        } else if name.ends_with(".md") {
            pages.push(path);
        }
    }
    Ok(())
}

/// The targets of `[text](target)`, code blocks and spans aside.
fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            continue;
        }
        for (number, part) in line.split('`').enumerate() {
            if number % 2 == 1 {
                continue;
            }
            for piece in part.split("](").skip(1) {
                if let Some(end) = piece.find(')') {
                    found.push(piece[..end].to_owned());
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_links_are_looked_for_as_words() {
        let text = "[`Shared::flush_once()`](a/flush.rs), [`muster.rs`](muster.rs), [text](b.rs), [`x`](y.md)";
        assert_eq!(named_code(text), [("Shared::flush_once()", "a/flush.rs"), ("muster.rs", "muster.rs")]);
        assert_eq!(last_name("Shared::flush_once()"), "flush_once");
        assert!(has_word("pub fn flush_once(&self)", "flush_once"));
        assert!(!has_word("pub fn flush_once_more(&self)", "flush_once") && !has_word("a_flush_once", "flush_once"));
    }

    #[test]
    fn a_page_that_the_index_does_not_list_is_named() {
        let docs = std::env::temp_dir().join(format!("xtask-links-{}", std::process::id()));
        std::fs::create_dir_all(docs.join("more")).expect("there is room");
        for (page, text) in [("README.md", "[a](more/a.md)"), ("more/a.md", ""), ("more/b.md", "")] {
            std::fs::write(docs.join(page), text).expect("there is room");
        }
        let problems = unlisted(&docs).expect("all can be read");
        std::fs::remove_dir_all(&docs).expect("it is ours");
        assert!(matches!(&problems[..], [problem] if problem.ends_with("b.md")), "{problems:?}");
    }

    #[test]
    fn links_are_found_outside_of_code() {
        let text = "See [a](b.md#c) and `[x](y)`.\n```\n[n](m)\n```\n[d](e)";
        assert_eq!(targets(text), ["b.md#c", "e"]);
    }
}
