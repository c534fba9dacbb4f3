//! The verdict on an experiment's figures: comparisons, and sentences.

use super::{Comparison, CostWords, Effect, Experiment, Figure, Question, rounds_effect};
use crate::load::Load;
use crate::plot::number;

const NOTHING: &str = "Nothing was measured to the end.";

impl Experiment {
    /// Before and after of every pair, wherever both were measured.
    pub(super) fn comparisons(&self, figures: &[Figure]) -> Vec<Comparison> {
        let mut comparisons = Vec::new();
        for (place, pair) in self.pairs.iter().enumerate() {
            for after in figures.iter().filter(|figure| figure.configuration == pair.after) {
                let beside = |name: &str| {
                    figures.iter().find(|figure| {
                        figure.configuration == name
                            && (&figure.workload, &figure.disk, figure.clients)
                                == (&after.workload, &after.disk, after.clients)
                    })
                };
                let Some(before) = beside(pair.before) else { continue };
                // One round beside the other of its turn, so that a drift of the machine touches both.
                let by_round: Vec<f64> =
                    before.rounds.iter().zip(&after.rounds).map(|(before, after)| after.tps / before.tps).collect();
                let published = self.published_figures.iter().find(|published| {
                    published.ratio.is_some()
                        && published.beside.is_some_and(|beside| {
                            beside.pair == place
                                && beside.workload.name() == after.workload
                                && (beside.clients.0..=beside.clients.1).contains(&after.clients)
                        })
                });
                let is_cost = matches!(self.question, Question::Cost(_));
                comparisons.push(Comparison {
                    workload: after.workload.clone(),
                    disk: after.disk.clone(),
                    disk_is_emulated: after.disk_is_emulated,
                    clients: after.clients,
                    before: before.configuration.clone(),
                    after: after.configuration.clone(),
                    before_tps: before.tps,
                    after_tps: after.tps,
                    ratio: after.tps / before.tps,
                    ratio_lowest: by_round.iter().copied().fold(f64::INFINITY, f64::min),
                    ratio_highest: by_round.iter().copied().fold(0.0, f64::max),
                    before_share: before.ratio.filter(|_| is_cost),
                    after_share: after.ratio.filter(|_| is_cost),
                    effect: effect(before, after),
                    published_ratio: published.and_then(|published| published.ratio),
                    published_ratio_up_to: published.and_then(|published| published.ratio_up_to),
                    is_headline: false,
                });
            }
        }
        if let Some(headline) = self.headline(&comparisons) {
            comparisons[headline].is_headline = true;
        }
        comparisons
    }

    /// Which comparison is the nearest to what was published: the first pair under the first workload, on the disk the experiment
    /// names, at the highest client count. It is chosen before anything is measured, not by what comes out.
    fn headline(&self, comparisons: &[Comparison]) -> Option<usize> {
        let rank = |comparison: &Comparison| {
            let is_first_pair = self.pairs.first().is_some_and(|pair| {
                (pair.before, pair.after) == (comparison.before.as_str(), comparison.after.as_str())
            });
            let is_first_workload =
                self.workloads.first().is_some_and(|workload| workload.name() == comparison.workload);
            let is_disk = comparison.disk == self.headline_disk.name();
            (is_first_pair, is_first_workload, is_disk, comparison.clients)
        };
        let places = comparisons.iter().enumerate();
        places.max_by_key(|(_, comparison)| rank(comparison)).map(|(place, _)| place)
    }

    /// Whether the published effect shows, in sentences.
    pub(super) fn verdict(&self, load: Load, figures: &[Figure], comparisons: &[Comparison]) -> String {
        if let Load::Open { rate_tps } = load {
            return open_load(rate_tps, figures, comparisons);
        }
        match self.question {
            Question::Gain if comparisons.is_empty() && !figures.is_empty() => alone(figures),
            Question::Gain => self.gain(comparisons),
            Question::Cost(words) => self.cost(figures, words),
            Question::Latch => self.latch(figures),
        }
    }

    /// Whether it does, in a few words about the headline.
    pub(super) fn verdict_short(&self, load: Load, figures: &[Figure], comparisons: &[Comparison]) -> &'static str {
        let Some(headline) = comparisons.iter().find(|comparison| comparison.is_headline) else {
            return if figures.is_empty() { "not measured" } else { "nothing to compare" };
        };
        if load != Load::Closed {
            return match latency_effect(headline, figures) {
                Some(Effect::Lower) => "latency is lower",
                Some(Effect::Higher) => "latency is higher",
                _ => "latency is within the noise",
            };
        }
        if self.question == Question::Latch {
            let latch = |name: &str| {
                let mut of = figures.iter().filter(|figure| {
                    (figure.configuration.as_str(), &figure.workload, figure.clients)
                        == (name, &headline.workload, headline.clients)
                });
                of.find_map(|figure| figure.clog_latch)
            };
            if let (Some(before), Some(after)) = (latch(&headline.before), latch(&headline.after)) {
                let at_latch = is_fewer(before.exclusive, after.exclusive) || is_fewer(before.blocked, after.blocked);
                return match (at_latch, headline.effect) {
                    (true, Effect::Higher) => "shows, at the latch and in throughput",
                    (true, Effect::Same) => "shows at the latch, not in throughput",
                    (true, Effect::Lower) => "shows at the latch; throughput is lower",
                    (false, Effect::Higher) => "throughput is higher, the latch is as busy",
                    (false, Effect::Same) => "does not show",
                    (false, Effect::Lower) => "does not show: throughput is lower",
                };
            }
        }
        match headline.effect {
            Effect::Higher => "shows",
            Effect::Same => "within the noise",
            Effect::Lower => "does not show: it is slower",
        }
    }

    /// Describes the gain of each pair: the highest, the lowest, and how often it is beyond the noise.
    fn gain(&self, comparisons: &[Comparison]) -> String {
        let sentences = self.pairs.iter().filter_map(|pair| {
            let of_pair = || {
                comparisons.iter().filter(|comparison| {
                    (comparison.before.as_str(), comparison.after.as_str()) == (pair.before, pair.after)
                })
            };
            let most = of_pair().max_by(|one, two| one.ratio.total_cmp(&two.ratio))?;
            let least = of_pair().min_by(|one, two| one.ratio.total_cmp(&two.ratio))?;
            let place = |comparison: &Comparison| {
                let disk = if comparison.disk_is_emulated { "emulated " } else { "" };
                format!("{}, {} clients, {disk}{} disk", comparison.workload, comparison.clients, comparison.disk)
            };
            let count = |effect: Effect| of_pair().filter(|comparison| comparison.effect == effect).count();
            let [higher, lower, all] = [count(Effect::Higher), count(Effect::Lower), of_pair().count()];
            let reach = if all == 1 {
                format!("reaches {:.2} times \"{}\" ({})", most.ratio, pair.before, place(most))
            } else {
                format!(
                    "reaches {:.2} ({}) to {:.2} times \"{}\" ({})",
                    least.ratio,
                    place(least),
                    most.ratio,
                    pair.before,
                    place(most)
                )
            };
            let of_all = if all == 1 { String::new() } else { format!(" of {all} comparisons") };
            let shows = match (higher, lower) {
                (0, 0) => "the effect is within the noise here".to_owned(),
                (0, _) if all == 1 => "the effect does not show here: it is slower".to_owned(),
                (0, _) => format!("the effect does not show here: in {lower}{of_all} it is slower"),
                (_, 0) if higher == all => "the effect shows here".to_owned(),
                (_, 0) => format!("the effect shows here in {higher}{of_all}, in the others it is within the noise"),
                _ => format!("the effect shows here in {higher}{of_all}, in {lower} it is reversed"),
            };
            Some(format!("\"{}\" {reach}; {shows}.", pair.after))
        });
        let mut text = sentences.collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return NOTHING.to_owned();
        }
        let mut on_real_disk = comparisons.iter().filter(|comparison| !comparison.disk_is_emulated).peekable();
        if on_real_disk.peek().is_some() && on_real_disk.all(|comparison| comparison.effect != Effect::Higher) {
            text.push_str(
                " On a disk whose sync is fast there is little to share or to wait for; published were disks that turn.",
            );
        }
        text
    }

    /// How much of the first configuration's throughput the second and the third keep, at the highest client count of each
    /// workload.
    fn cost(&self, figures: &[Figure], words: CostWords) -> String {
        let CostWords { what, of, before: before_words, after: after_words } = words;
        let figure = |workload: &str, position: usize| {
            let name = self.configurations.get(position)?.name;
            let candidates =
                figures.iter().filter(|figure| figure.workload == workload && figure.configuration == name);
            candidates.max_by_key(|figure| figure.clients)
        };
        let sentences = self.workloads.iter().filter_map(|workload| {
            let name = workload.name();
            let since = figure(name, 2)?;
            let (after, clients) = (since.ratio?, since.clients);
            let Some((old, before)) = figure(name, 1).and_then(|figure| Some((figure, figure.ratio?))) else {
                return Some(format!("{name} with {clients} clients: {what} reaches {after:.2} of {of}."));
            };
            let shows = match effect(old, since) {
                Effect::Higher => "the effect shows here",
                Effect::Same => "the effect is within the noise here",
                Effect::Lower => "the effect does not show here: it is slower",
            };
            Some(format!(
                "{name} with {clients} clients: {what} reaches {before:.2} of {of} {before_words}, {after:.2} {after_words}; {shows}."
            ))
        });
        let text = sentences.collect::<Vec<_>>().join(" ");
        if text.is_empty() { NOTHING.to_owned() } else { text }
    }

    /// Describes the savings of groups and cohorts at the commit log's latch, and the gain in throughput, at the highest client count
    /// of each workload.
    fn latch(&self, figures: &[Figure]) -> String {
        let sentences = self.workloads.iter().filter_map(|workload| {
            let of_workload = figures.iter().filter(|figure| figure.workload == workload.name());
            let clients = of_workload.clone().map(|figure| figure.clients).max()?;
            let of = |position: usize| {
                let name = self.configurations.get(position)?.name;
                of_workload.clone().find(|figure| figure.clients == clients && figure.configuration == name)
            };
            let (each, group, cohort) = (of(0)?, of(1)?, of(2)?);
            let latch = [each.clog_latch?, group.clog_latch?, cohort.clog_latch?];
            let [exclusive, blocked] =
                [latch.map(|latch| latch.exclusive), latch.map(|latch| 1000.0 * latch.blocked)];
            let shows = |place: usize, figure: &Figure| {
                let at_latch = is_fewer(exclusive[0], exclusive[place]) || is_fewer(blocked[0], blocked[place]);
                let in_throughput = match effect(each, figure) {
                    Effect::Higher => "higher",
                    Effect::Lower => "lower",
                    Effect::Same => "the same within the noise",
                };
                let latch =
                    if at_latch { "the effect shows at the latch" } else { "the effect does not show at the latch" };
                format!("{latch}, and throughput is {in_throughput}")
            };
            let ratio = |figure: &Figure| figure.ratio.unwrap_or_default();
            Some(format!(
                "{} with {clients} clients: for each transaction the latch is taken {:.2} times by each for itself, {:.2} in \
                 groups, {:.2} by cohorts; {:.1}, {:.1} and {:.1} of a thousand sleep for it. Groups reach {:.2} of the \
                 throughput: {}. Cohorts reach {:.2}: {}.",
                workload.name(),
                exclusive[0],
                exclusive[1],
                exclusive[2],
                blocked[0],
                blocked[1],
                blocked[2],
                ratio(group),
                shows(1, group),
                ratio(cohort),
                shows(2, cohort),
            ))
        });
        if figures.is_empty() || figures.iter().any(|figure| figure.clog_latch.is_none()) {
            return "How another server sets status bits can be neither switched nor counted from here.".to_owned();
        }
        let mut text = sentences.collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return NOTHING.to_owned();
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        text.push_str(&format!(
            " The published machine had 64 cores; with {cores} here, at most {cores} threads are at the latch at a time."
        ));
        text
    }
}

/// The sentence for a server that has no "before" configuration.
fn alone(figures: &[Figure]) -> String {
    let mut names: Vec<String> = figures.iter().map(|figure| format!("\"{}\"", figure.configuration)).collect();
    names.sort();
    names.dedup();
    format!("Measured was {} alone: this server has nothing to set beside it.", names.join(" and "))
}

/// The figures that a comparison is of: before, and after.
fn sides<'f>(comparison: &Comparison, figures: &'f [Figure]) -> Option<(&'f Figure, &'f Figure)> {
    let of = |name: &str| {
        figures.iter().find(|figure| {
            (figure.configuration.as_str(), &figure.workload, &figure.disk, figure.clients)
                == (name, &comparison.workload, &comparison.disk, comparison.clients)
        })
    };
    of(&comparison.before).zip(of(&comparison.after))
}

/// Whether the latency that 99 of a hundred kept is another one.
fn latency_effect(comparison: &Comparison, figures: &[Figure]) -> Option<Effect> {
    let latency = |figure: &Figure| figure.rounds.iter().map(|round| round.latency_us_p99 as f64).collect::<Vec<_>>();
    sides(comparison, figures).map(|(before, after)| rounds_effect(&latency(before), &latency(after)))
}

/// Describes the latencies under an open load, where the throughput is given, for the comparison that stands for the experiment.
fn open_load(rate_tps: f64, figures: &[Figure], comparisons: &[Comparison]) -> String {
    let headline = comparisons.iter().find(|comparison| comparison.is_headline);
    let Some((comparison, (before, after))) = headline.and_then(|headline| Some((headline, sides(headline, figures)?)))
    else {
        return if figures.is_empty() { NOTHING.to_owned() } else { alone(figures) };
    };
    let latency = |figure: &Figure| {
        let overdue = match figure.overdue_percent {
            0.0 => String::new(),
            percent => format!(", and {percent:.1} % had not begun in time"),
        };
        format!(
            "\"{}\" takes {} us at the median and {} us in 99 of a hundred{overdue}",
            figure.configuration,
            number(figure.latency_us.p50 as f64),
            number(figure.latency_us.p99 as f64)
        )
    };
    format!(
        "Open load, {} transactions a second, {} from {} clients: {}; {}. Throughput is what arrives and says nothing here.",
        number(rate_tps),
        comparison.workload,
        comparison.clients,
        latency(before),
        latency(after)
    )
}

/// Compares the throughput of two figures, round by round.
fn effect(before: &Figure, after: &Figure) -> Effect {
    let tps = |figure: &Figure| figure.rounds.iter().map(|round| round.tps).collect::<Vec<_>>();
    rounds_effect(&tps(before), &tps(after))
}

/// A count fell by a quarter at least; less is not told from a count's drift.
fn is_fewer(before: f64, after: f64) -> bool {
    before > 0.0 && after <= 0.75 * before
}
