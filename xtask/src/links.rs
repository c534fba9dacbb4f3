//! Relative links in the documentation lead somewhere, and every crate has a README.

use std::path::{Path, PathBuf};

type Failure = Box<dyn std::error::Error>;

/// What is wrong; nothing, if all is well.
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
    Ok(problems)
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
    fn links_are_found_outside_of_code() {
        let text = "See [a](b.md#c) and `[x](y)`.\n```\n[n](m)\n```\n[d](e)";
        assert_eq!(targets(text), ["b.md#c", "e"]);
    }
}
