//! A program as a tree, of which parts can be left out.

/// A statement of a body, or of the program.
#[derive(Clone)]
pub enum Piece {
    /// One that has no parts.
    Line(String),
    /// Heads with what stands behind each of them, and an end: `IF ... THEN`, `ELSE`, `END IF;`
    Parts(Vec<(String, Vec<Piece>)>, String),
}

impl Piece {
    fn write(&self, text: &mut String) {
        match self {
            Piece::Line(line) => {
                text.push_str(line);
                text.push('\n');
            }
            Piece::Parts(parts, end) => {
                for (head, body) in parts {
                    text.push_str(head);
                    text.push('\n');
                    body.iter().for_each(|piece| piece.write(text));
                }
                text.push_str(end);
                text.push('\n');
            }
        }
    }

    /// The piece without its part of this number, which is counted down to it.
    fn without(&mut self, place: &mut usize) -> bool {
        match self {
            Piece::Line(_) => false,
            Piece::Parts(parts, _) => parts.iter_mut().any(|(_, body)| without(body, place)),
        }
    }
}

fn without(pieces: &mut Vec<Piece>, place: &mut usize) -> bool {
    for index in 0..pieces.len() {
        if *place == 0 {
            pieces.remove(index);
            return true;
        }
        *place -= 1;
        if pieces[index].without(place) {
            return true;
        }
    }
    false
}

/// Statements, some of which have bodies.
#[derive(Clone)]
pub struct Program(pub Vec<Piece>);

impl Program {
    /// The texts of its statements.
    pub fn statements(&self) -> Vec<String> {
        let text = |piece: &Piece| {
            let mut text = String::new();
            piece.write(&mut text);
            text.trim_end().to_owned()
        };
        self.0.iter().map(text).collect()
    }

    /// The program without its part of this number, if it has so many.
    pub fn without(&self, place: usize) -> Option<Program> {
        let (mut shorter, mut place) = (self.clone(), place);
        without(&mut shorter.0, &mut place).then_some(shorter)
    }
}
