//! Charts as SVG: lines over x, and bars.
//!
//! A chart is a string to be put into a page. It has a view box and no size, so that it is as wide as the page lets it be. Its colours are
//! the page's: text and axes have `currentColor`, and series *n* has the CSS variable `--series-n` (1 to [`COLOURS`]). Where the page does
//! not set that variable, the series has a colour that shows on light and dark. Series differ by their marks too, not by colour alone. The
//! title is for readers who can't see the chart; all others read the page's caption. Texts may contain anything: they are escaped.
//!
//! Points that can't be drawn (not a number, not positive on a logarithmic axis) are left out.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use thousands::Separable;

/// How many series have a colour of their own.
pub const COLOURS: usize = 6;
/// Colours where the page sets none; each is readable on white and on black.
const FALLBACK: [&str; COLOURS] = ["#3b7dd8", "#d9730d", "#2f9e62", "#b04fc4", "#c9485b", "#7d8590"];

/// Width of a chart in its own units; a text of 14 units is readable when it is shrunk to a phone's width.
const WIDTH: u32 = 400;
const TEXT_SIZE: u32 = 14;
/// Estimated width of a letter; a drawing without fonts can't know.
const LETTER: f64 = 0.58 * TEXT_SIZE as f64;
const LINE: u32 = 20;

/// How an axis runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps; the y axis begins at zero.
    #[default]
    Linear,
    /// Equal factors; only what is above zero is drawn.
    Logarithmic,
}

/// An axis.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// The quantity and its unit.
    pub label: String,
    /// The scale.
    pub scale: Scale,
    /// The positions of the marks, and their texts. If there are none, the axis has marks at round numbers.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), ..Axis::default() }
    }

    /// A logarithmic axis.
    pub fn logarithmic(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), scale: Scale::Logarithmic, ..Axis::default() }
    }

    /// With marks at these values.
    #[must_use]
    pub fn marked_at(mut self, values: impl IntoIterator<Item = f64>) -> Axis {
        self.ticks = values.into_iter().map(|value| (value, number(value))).collect();
        self
    }

    /// With these marks.
    #[must_use]
    pub fn with_ticks(mut self, ticks: Vec<(f64, String)>) -> Axis {
        self.ticks = ticks;
        self
    }
}

/// A point of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where on the x axis.
    pub x: f64,
    /// Where on the y axis.
    pub y: f64,
    /// The lowest and the highest that `y` is a median of.
    pub spread: Option<(f64, f64)>,
}

impl Point {
    /// A point without spread.
    pub fn new(x: f64, y: f64) -> Point {
        Point { x, y, spread: None }
    }
}

/// A line.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// Its points, in the order in which they are joined.
    pub points: Vec<Point>,
}

/// Lines over x.
#[derive(Clone, Debug)]
pub struct LineChart {
    /// The title, for screen readers.
    pub title: String,
    /// The axis below.
    pub x: Axis,
    /// The axis at the left.
    pub y: Axis,
    /// The lines. Those beyond [`COLOURS`] repeat the colours.
    pub series: Vec<Series>,
}

/// A bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The text at the bar's left.
    pub name: String,
    /// Its length.
    pub value: f64,
    /// The lowest and the highest that `value` is a median of.
    pub spread: Option<(f64, f64)>,
    /// The bar's series, which decides its colour; from 0.
    pub series: usize,
    /// The text at the bar's end. If it is empty, the value is shown.
    pub label: String,
}

/// Bars that lie, in groups with a heading each.
#[derive(Clone, Debug)]
pub struct BarChart {
    /// The title, for screen readers.
    pub title: String,
    /// The axis below.
    pub axis: Axis,
    /// Where bars begin: zero, or one for ratios on a logarithmic axis.
    pub baseline: f64,
    /// Headings, which may be empty, and the bars below them.
    pub groups: Vec<(String, Vec<Bar>)>,
}

/// A number for people: with separators, and no more digits than it needs.
pub fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 0.1 => 2,
        size if size >= 0.01 => 3,
        _ => 4,
    };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    text.separate_with_commas()
}

// Colours that are drawn with and then replaced by the page's: no series is drawn in these very shades.
const TEXT: RGBColor = RGBColor(1, 1, 1);
const GRID: RGBColor = RGBColor(2, 2, 2);

fn colour(series: usize) -> RGBColor {
    RGBColor(3, 3, (series % COLOURS) as u8)
}

fn font(anchor: HPos) -> TextStyle<'static> {
    // The backend divides a font's size by 1.24.
    let size = f64::from(TEXT_SIZE) * 1.24;
    ("sans-serif", size).into_font().color(&TEXT).pos(Pos::new(anchor, VPos::Center))
}

fn width_of(text: &str) -> u32 {
    (text.chars().count() as f64 * LETTER).ceil() as u32
}

/// `text`, cut so that it is no wider than `width`.
fn cut(text: &str, width: u32) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let letters = (f64::from(width) / LETTER) as usize;
    text.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

/// An axis with its range and marks found. Its coordinates are logarithms where it is logarithmic.
#[derive(Clone)]
struct Extent {
    scale: Scale,
    from: f64,
    to: f64,
    ticks: Vec<(f64, String)>,
}

impl Extent {
    /// The extent of `axis` with `values` on it, `pixels` long. `margin`: which part of it stays free at either end.
    fn new(axis: &Axis, values: impl Iterator<Item = f64>, margin: (f64, f64), pixels: u32) -> Extent {
        let scale = axis.scale;
        let drawn = values.filter_map(|value| place(scale, value));
        let (mut from, mut to) =
            drawn.fold((f64::INFINITY, f64::NEG_INFINITY), |(from, to), value| (from.min(value), to.max(value)));
        if from > to {
            (from, to) = (0.0, 1.0);
        }
        if to - from < 1e-9 * to.abs().max(1e-9) {
            let half = if scale == Scale::Logarithmic { 0.5 } else { to.abs().max(1.0) / 2.0 };
            (from, to) = (if from == 0.0 { 0.0 } else { from - half }, to + half);
        }
        let length = to - from;
        (from, to) = (from - margin.0 * length, to + margin.1 * length);
        let fitting = |given: &[(f64, String)]| fitting_ticks(scale, (from, to), pixels, given);
        let ticks = if axis.ticks.is_empty() {
            // Round numbers keep equal distances: if some don't fit, fewer of them are tried.
            let tries = [5, 4, 3, 2, 1].map(|steps| -> Vec<(f64, String)> {
                round_ticks(scale, from, to, steps).into_iter().map(|value| (value, number(value))).collect()
            });
            let best = tries.iter().find(|given| fitting(given).len() == given.len());
            fitting(best.unwrap_or(&tries[4]))
        } else {
            fitting(&axis.ticks)
        };
        Extent { scale, from, to, ticks }
    }

    fn place(&self, value: f64) -> Option<f64> {
        place(self.scale, value)
    }
}

impl Ranged for Extent {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (low, high): (i32, i32)) -> i32 {
        low + ((value - self.from) / (self.to - self.from) * f64::from(high - low)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.iter().map(|(place, _)| *place).collect()
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Extent {
    fn format_ext(&self, value: &f64) -> String {
        self.ticks.iter().find(|(place, _)| place == value).map(|(_, text)| text.clone()).unwrap_or_default()
    }
}

/// Where a value lies on an axis; nowhere if it can't be drawn.
fn place(scale: Scale, value: f64) -> Option<f64> {
    let place = match scale {
        Scale::Linear => value,
        Scale::Logarithmic => value.log10(),
    };
    place.is_finite().then_some(place)
}

/// Those of `given` that are within the range of coordinates and whose texts don't touch the one before on an axis of so many pixels.
fn fitting_ticks(scale: Scale, (from, to): (f64, f64), pixels: u32, given: &[(f64, String)]) -> Vec<(f64, String)> {
    let mut ticks: Vec<(f64, String)> = Vec::new();
    let mut free_from = f64::NEG_INFINITY;
    for (value, text) in given {
        let Some(place) = place(scale, *value).filter(|place| (from..=to).contains(place)) else { continue };
        let (at, half) = ((place - from) / (to - from) * f64::from(pixels), f64::from(width_of(text)) / 2.0);
        if at - half >= free_from {
            free_from = at + half + LETTER;
            ticks.push((place, text.clone()));
        }
    }
    ticks
}

/// Round numbers between two coordinates, at most about `steps` of them; on a logarithmic axis 1, 2 and 5 of each power of ten, or the powers alone if
/// these are many.
fn round_ticks(scale: Scale, from: f64, to: f64, steps: u32) -> Vec<f64> {
    if scale == Scale::Linear {
        let rough = (to - from) / f64::from(steps);
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let (first, last) = ((from / step).ceil() as i64, (to / step).floor() as i64);
        return (first..=last).map(|count| count as f64 * step).collect();
    }
    let powers = from.floor() as i32..=to.ceil() as i32;
    let inside = |value: &f64| (from..=to).contains(&value.log10());
    let all: Vec<f64> =
        powers.flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10f64.powi(power))).filter(inside).collect();
    if all.len() <= 7 && steps > 3 {
        return all;
    }
    let is_power = |value: &f64| (value.log10() - value.log10().round()).abs() < 1e-9;
    all.into_iter().filter(is_power).collect()
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws, where drawing can't fail.
macro_rules! draw {
    ($drawing:expr) => {
        $drawing.expect("drawing into a string can't fail")
    };
}

/// Draws a spread: a line, upright or lying, with a short one across either end.
fn whisker(area: &Area, low: (i32, i32), high: (i32, i32), colour: RGBColor) {
    let (across, along) = if low.0 == high.0 { (4, 0) } else { (0, 4) };
    let end = |(x, y): (i32, i32)| [(x - across, y - along), (x + across, y + along)];
    for line in [[low, high], end(low), end(high)] {
        draw!(area.draw(&PathElement::new(line, colour.stroke_width(1))));
    }
}

/// Draws the mark of a series.
fn mark(area: &Area, series: usize, (x, y): (i32, i32)) {
    let style = colour(series).filled();
    match series % 5 {
        0 => draw!(area.draw(&Circle::new((x, y), 4, style))),
        1 => draw!(area.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], style))),
        2 => draw!(area.draw(&Polygon::new([(x, y - 5), (x + 5, y + 4), (x - 5, y + 4)], style))),
        3 => draw!(area.draw(&Polygon::new([(x, y - 5), (x + 5, y), (x, y + 5), (x - 5, y)], style))),
        _ => draw!(area.draw(&Polygon::new([(x, y + 5), (x + 5, y - 4), (x - 5, y - 4)], style))),
    }
}

/// Makes an SVG of so many units' height. Drawing into a string can't fail, as the backend's error type cannot say.
fn make(title: &str, height: u32, draw: impl FnOnce(&Area)) -> String {
    let mut drawn = String::new();
    {
        let area = SVGBackend::with_string(&mut drawn, (WIDTH, height)).into_drawing_area();
        draw(&area);
        area.present().expect("drawing into a string can't fail");
    }
    let body = drawn.split_once('>').map_or("", |(_, rest)| rest);
    let mut body = body.replace("\"#010101\"", "\"currentColor\"").replace("\"#020202\"", "\"currentColor\"");
    for (place, fallback) in FALLBACK.iter().enumerate() {
        body = body.replace(&format!("\"#0303{place:02X}\""), &format!("\"var(--series-{}, {fallback})\"", place + 1));
    }
    let escaped = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{escaped}\">\n\
         <title>{escaped}</title>{body}"
    )
}

impl LineChart {
    /// The chart.
    pub fn svg(&self) -> String {
        // The legend's entries flow from left to right, in as many rows as they need.
        let (mut x, mut row) = (0, 0);
        let mut entries = Vec::new();
        for (series, line) in self.series.iter().enumerate() {
            let name = cut(&line.name, WIDTH - 40);
            let width = 34 + width_of(&name);
            if x > 0 && x + width > WIDTH {
                (x, row) = (0, row + 1);
            }
            entries.push((x, row, series, name));
            x += width;
        }
        let legend_height = (row + 1) * LINE;
        let top = legend_height + LINE + 8;
        let height = top + 250;
        let all = || self.series.iter().flat_map(|series| &series.points);
        let values = all().flat_map(|point| {
            let (low, high) = point.spread.unwrap_or((point.y, point.y));
            [point.y, low, high]
        });
        let zero = (self.y.scale == Scale::Linear).then_some(0.0);
        let y = Extent::new(&self.y, values.chain(zero), (if zero.is_some() { 0.0 } else { 0.06 }, 0.06), 2000);
        let left = y.ticks.iter().map(|(_, text)| width_of(text)).max().unwrap_or(0) + 12;
        let x = Extent::new(&self.x, all().map(|point| point.x), (0.03, 0.03), WIDTH - left - 10);
        make(&self.title, height, |area| {
            for (x, row, series, name) in entries {
                let (x, y) = (x as i32, (row * LINE + LINE / 2) as i32);
                draw!(area.draw(&PathElement::new([(x, y), (x + 20, y)], colour(series).stroke_width(2))));
                mark(area, series, (x + 10, y));
                draw!(area.draw(&Text::new(name, (x + 25, y), font(HPos::Left))));
            }
            let label = cut(&self.y.label, WIDTH);
            draw!(area.draw(&Text::new(label, (0, (legend_height + LINE / 2) as i32), font(HPos::Left))));
            let mut chart = draw!(
                ChartBuilder::on(area)
                    .margin_top(top)
                    .margin_right(10)
                    .x_label_area_size(2 * LINE + 4)
                    .y_label_area_size(left)
                    .build_cartesian_2d(x.clone(), y.clone())
            );
            draw!(
                chart
                    .configure_mesh()
                    .axis_style(GRID.mix(0.5))
                    .bold_line_style(GRID.mix(0.15))
                    .light_line_style(TRANSPARENT)
                    .x_label_style(font(HPos::Center))
                    .y_label_style(font(HPos::Right))
                    .x_desc(self.x.label.as_str())
                    .axis_desc_style(font(HPos::Center))
                    .draw()
            );
            for (series, line) in self.series.iter().enumerate() {
                let points: Vec<(f64, f64)> =
                    line.points.iter().filter_map(|point| Some((x.place(point.x)?, y.place(point.y)?))).collect();
                for point in &line.points {
                    let at = |value: f64| Some(chart.backend_coord(&(x.place(point.x)?, y.place(value)?)));
                    if let Some((low, high)) = point.spread.and_then(|(low, high)| Some((at(low)?, at(high)?))) {
                        whisker(area, low, high, colour(series));
                    }
                }
                // A line of many points is told by its colour; marks would hide it.
                let has_marks = points.len() <= 24;
                draw!(chart.draw_series([PathElement::new(points.clone(), colour(series).stroke_width(2))]));
                for point in points.iter().filter(|_| has_marks) {
                    mark(area, series, chart.backend_coord(point));
                }
            }
        })
    }
}

impl BarChart {
    /// The chart.
    pub fn svg(&self) -> String {
        const BAR: u32 = 16;
        const ROW: u32 = 22;
        let bars = || self.groups.iter().flat_map(|(_, bars)| bars);
        let left = bars().map(|bar| width_of(&bar.name)).max().unwrap_or(0).min(WIDTH * 2 / 5) + 8;
        let label = |bar: &Bar| if bar.label.is_empty() { number(bar.value) } else { bar.label.clone() };
        let right = bars().map(|bar| width_of(&label(bar))).max().unwrap_or(0) + 10;
        let headings = self.groups.iter().filter(|(heading, _)| !heading.is_empty()).count() as u32;
        let body = headings * (LINE + 6) + bars().count() as u32 * ROW + 8;
        let height = body + 2 * LINE + 4;
        let length = WIDTH.saturating_sub(left + right).max(60);
        let values = bars().flat_map(|bar| {
            let (low, high) = bar.spread.unwrap_or((bar.value, bar.value));
            [bar.value, low, high]
        });
        let extent = Extent::new(&self.axis, values.chain([self.baseline]), (0.0, 0.0), length);
        let ends = (left as i32, (left + length) as i32);
        let across = |value: f64| extent.place(value).map(|at| extent.map(&at, ends));
        make(&self.title, height, |area| {
            let marks: Vec<i32> = extent.ticks.iter().map(|(at, _)| extent.map(at, ends)).collect();
            for ((_, text), x) in extent.ticks.iter().zip(&marks) {
                draw!(area.draw(&Text::new(text.clone(), (*x, (body + LINE / 2) as i32), font(HPos::Center))));
            }
            let under = (left as i32 + length as i32 / 2, (body + LINE + LINE / 2) as i32);
            draw!(area.draw(&Text::new(cut(&self.axis.label, WIDTH), under, font(HPos::Center))));
            let base = across(self.baseline).unwrap_or(left as i32);
            let mut y = 4;
            for (heading, bars) in &self.groups {
                if !heading.is_empty() {
                    let bold = font(HPos::Left);
                    let bold = TextStyle { font: bold.font.style(FontStyle::Bold), ..bold };
                    draw!(area.draw(&Text::new(cut(heading, WIDTH), (0, y + 6 + LINE as i32 / 2), bold)));
                    y += LINE as i32 + 6;
                }
                let upright = |x: i32| [(x, y - 2), (x, y + 2 + (bars.len() * ROW as usize) as i32)];
                for x in &marks {
                    draw!(area.draw(&PathElement::new(upright(*x), GRID.mix(0.15))));
                }
                draw!(area.draw(&PathElement::new(upright(base), GRID.mix(0.6))));
                for bar in bars {
                    let middle = y + ROW as i32 / 2;
                    let name = cut(&bar.name, left - 8);
                    draw!(area.draw(&Text::new(name, (left as i32 - 8, middle), font(HPos::Right))));
                    if let Some(end) = across(bar.value) {
                        let half = BAR as i32 / 2;
                        let corners = [(base.min(end), middle - half), (base.max(end), middle + half)];
                        draw!(area.draw(&Rectangle::new(corners, colour(bar.series).filled())));
                        let mut reach = base.max(end);
                        if let Some((low, high)) =
                            bar.spread.and_then(|(low, high)| Some((across(low)?, across(high)?)))
                        {
                            whisker(area, (low, middle), (high, middle), TEXT);
                            reach = reach.max(high);
                        }
                        draw!(area.draw(&Text::new(label(bar), (reach + 6, middle), font(HPos::Left))));
                    }
                    y += ROW as i32;
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(scale: Scale) -> LineChart {
        LineChart {
            title: "a <b> & \"c\"".to_owned(),
            x: Axis::logarithmic("clients").marked_at([1.0, 8.0, 32.0, 128.0]),
            y: Axis { label: "transactions a second <i>".to_owned(), scale, ticks: Vec::new() },
            series: vec![
                Series {
                    name: "off</svg><script>alert(1)</script>".to_owned(),
                    points: vec![Point::new(1.0, 100.0), Point::new(8.0, 110.0), Point::new(32.0, f64::NAN)],
                },
                Series {
                    name: "on".to_owned(),
                    points: vec![
                        Point { spread: Some((80.0, 120.0)), ..Point::new(1.0, 100.0) },
                        Point { spread: Some((2000.0, 2600.0)), ..Point::new(32.0, 2500.0) },
                        Point::new(0.0, -3.0),
                    ],
                },
            ],
        }
    }

    fn texts(svg: &str) -> Vec<&str> {
        svg.split("<text")
            .skip(1)
            .filter_map(|rest| rest.split_once('>')?.1.split_once("</text>"))
            .map(|(text, _)| text.trim())
            .collect()
    }

    #[test]
    fn a_chart_takes_its_colours_from_the_page_and_escapes_its_texts() {
        let svg = chart(Scale::Linear).svg();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("viewBox") && !svg.contains(" width=\"400\""));
        assert!(svg.contains("var(--series-1, ") && svg.contains("var(--series-2, ") && svg.contains("currentColor"));
        assert!(!svg.contains("#0101") && !svg.contains("#0202") && !svg.contains("#0303"), "{svg}");
        assert!(svg.contains("<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"));
        assert!(!svg.contains("<script") && !svg.contains("<i>") && svg.matches("</svg>").count() == 1);
    }

    #[test]
    fn the_axes_say_round_numbers_or_what_they_are_told() {
        let svg = chart(Scale::Linear).svg();
        let texts = texts(&svg);
        for text in ["1", "8", "32", "on", "clients", "0", "1,000", "2,000"] {
            assert!(texts.contains(&text), "{text} is missing: {texts:?}");
        }
        // No line reaches so far.
        assert!(!texts.contains(&"128"));
        assert_eq!(round_ticks(Scale::Logarithmic, 0.0, 2.0, 5), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(round_ticks(Scale::Logarithmic, 0.0, 4.0, 5), [1.0, 10.0, 100.0, 1000.0, 10000.0]);
        assert_eq!(round_ticks(Scale::Linear, 0.0, 1.0, 5), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out() {
        let svg = chart(Scale::Logarithmic).svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        // Marks: two of each line, and one of each in the legend.
        assert_eq!(svg.matches("<circle").count(), 3);
        for series in [vec![], vec![Series { name: String::new(), points: vec![Point::new(5.0, 0.0)] }]] {
            let svg = LineChart { series, ..chart(Scale::Logarithmic) }.svg();
            assert!(svg.trim_end().ends_with("</svg>"));
        }
    }

    #[test]
    fn bars_are_named_and_as_long_as_their_values() {
        let bar = |name: &str, value: f64, series: usize| Bar {
            name: name.to_owned(),
            value,
            spread: Some((value * 0.9, value * 1.1)),
            series,
            label: String::new(),
        };
        let chart = BarChart {
            title: "bars".to_owned(),
            axis: Axis::linear("tps"),
            baseline: 0.0,
            groups: vec![
                ("insert".to_owned(), vec![bar("before", 1000.0, 0), bar("after & <later>", 12345.0, 1)]),
                (String::new(), vec![bar("nothing", f64::INFINITY, 2)]),
            ],
        };
        let svg = chart.svg();
        for text in ["insert", "before", "after &amp; &lt;later&gt;", "1,000", "12,345", "nothing"] {
            assert!(texts(&svg).contains(&text), "{text} is missing: {:?}", texts(&svg));
        }
        let width = |series: usize| -> f64 {
            let marker = format!("fill=\"var(--series-{series}, ");
            let rectangle = svg.split("<rect").find(|part| part.contains(&marker)).unwrap();
            rectangle.split_once("width=\"").unwrap().1.split_once('"').unwrap().0.parse().unwrap()
        };
        assert!((width(2) / width(1) - 12.345).abs() < 1.0, "{} {}", width(1), width(2));
        let ratios = BarChart { axis: Axis::logarithmic("ratio"), baseline: 1.0, ..chart };
        assert!(ratios.svg().trim_end().ends_with("</svg>"));
        let empty = BarChart { groups: Vec::new(), ..ratios };
        assert!(empty.svg().trim_end().ends_with("</svg>"));
    }

    #[test]
    fn numbers_have_separators_and_few_digits() {
        let texts = [0.0, 0.5, 0.0123, 1.0, 12.34, 999.9, 1234567.0, -2500.0].map(number);
        assert_eq!(texts, ["0", "0.5", "0.012", "1", "12.3", "1,000", "1,234,567", "-2,500"]);
    }
}
