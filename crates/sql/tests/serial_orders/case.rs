//! A few small serializable transactions, and how their statements are interleaved.

use std::fmt;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::statements::Theme;

#[derive(Clone, Debug)]
pub struct Transaction {
    /// The query strings of its client, BEGIN and COMMIT among them.
    pub steps: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Case {
    /// Statements that each session runs before.
    pub settings: Vec<String>,
    /// Statements that fill the tables.
    pub rows: Vec<String>,
    pub transactions: Vec<Transaction>,
    /// The transactions' numbers in the order of their turns. A transaction that waits loses its turn; steps that are left follow at the end.
    pub schedule: Vec<usize>,
}

impl Case {
    /// The case of a seed, of at most `transactions_max` transactions.
    pub fn of_seed(seed: u64, transactions_max: usize) -> Case {
        let random = &mut StdRng::seed_from_u64(seed);
        let theme = Theme::choose(random);
        // A sequential scan locks the whole table, which hides reads of rows that are not noted.
        let sequential = if random.random_bool(0.1) { "on" } else { "off" };
        let settings = vec![format!("set enable_seqscan = {sequential}")];
        let rows = theme.rows(random);
        let count = if random.random_bool(0.7) { 2 } else { transactions_max };
        let transactions: Vec<Transaction> = (0..count).map(|number| transaction(number, &theme, random)).collect();
        let mut left: Vec<usize> = transactions.iter().map(|transaction| transaction.steps.len()).collect();
        let mut schedule = Vec::new();
        while left.iter().any(|left| *left > 0) {
            let number = random.random_range(0..count);
            if left[number] > 0 {
                left[number] -= 1;
                schedule.push(number);
            }
        }
        Case { settings, rows, transactions, schedule }
    }

    /// This case with one thing less, in every way.
    fn smaller(&self) -> Vec<Case> {
        let mut all = Vec::new();
        for row in 0..self.rows.len() {
            let mut case = self.clone();
            case.rows.remove(row);
            all.push(case);
        }
        for (number, transaction) in self.transactions.iter().enumerate() {
            let mut without = self.clone();
            without.transactions.remove(number);
            without.schedule.retain(|turn| *turn != number);
            without.schedule.iter_mut().filter(|turn| **turn > number).for_each(|turn| *turn -= 1);
            all.push(without);
            for step in 1..transaction.steps.len().saturating_sub(1) {
                let mut case = self.clone();
                case.transactions[number].steps.remove(step);
                let mut turns = case.schedule.iter().enumerate().filter(|(_, turn)| **turn == number);
                if let Some((place, _)) = turns.nth(step) {
                    case.schedule.remove(place);
                }
                all.push(case);
            }
        }
        all
    }

    /// The smallest case found of which `holds` still holds.
    pub fn shrink(mut self, holds: &mut dyn FnMut(&Case) -> bool) -> Case {
        while let Some(case) = self.smaller().into_iter().find(|case| holds(case)) {
            self = case;
        }
        self
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for text in self.settings.iter().chain(&self.rows) {
            writeln!(f, "    {text};")?;
        }
        let mut said = vec![0; self.transactions.len()];
        for number in &self.schedule {
            writeln!(f, "    {number}: {};", self.transactions[*number].steps[said[*number]])?;
            said[*number] += 1;
        }
        Ok(())
    }
}

/// One to four statements between BEGIN and COMMIT.
fn transaction(number: usize, theme: &Theme, random: &mut StdRng) -> Transaction {
    let is_read_only = random.random_bool(0.1);
    let mode = if is_read_only { ", read only" } else { "" };
    let mut steps = vec![format!("begin isolation level serializable{mode}")];
    for _ in 0..random.random_range(if is_read_only { 2..=3 } else { 1..=3 }) {
        if is_read_only {
            steps.push(theme.question(random));
            continue;
        }
        let statement = if random.random_bool(0.35) { theme.question(random) } else { theme.change(random) };
        match random.random_range(0..20) {
            0 | 1 => steps.extend(["savepoint a".to_owned(), statement, "rollback to a".to_owned()]),
            2 => steps.extend(["savepoint a".to_owned(), statement, "release a".to_owned()]),
            3..=8 => steps.push(format!("select tried($${statement}$$)")),
            9 | 10 => steps.push(format!("select undone($${statement}$$)")),
            _ => steps.push(statement),
        }
    }
    if random.random_bool(0.1) {
        steps.extend([format!("prepare transaction 'case {number}'"), format!("commit prepared 'case {number}'")]);
    } else {
        steps.push("commit".to_owned());
    }
    Transaction { steps }
}
