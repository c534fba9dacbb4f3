//! The fields that templates of dates know.

use super::template::{Keyword, Part, parse};

/// How a name is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Case {
    Upper,
    Capital,
    Lower,
}

impl Case {
    /// `name`, which is written with a capital, written so.
    pub fn of(self, name: &str) -> String {
        match self {
            Case::Upper => name.to_ascii_uppercase(),
            Case::Capital => name.to_owned(),
            Case::Lower => name.to_ascii_lowercase(),
        }
    }
}

/// A field of a date.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DateField {
    Meridiem {
        upper: bool,
        dots: bool,
    },
    Era {
        upper: bool,
        dots: bool,
    },
    Century,
    DayName(Case),
    DayShort(Case),
    DayOfYear,
    Day,
    DayOfWeek,
    /// `FX`: what is read must have the template's widths.
    Exact,
    Fraction(u32),
    Hour24,
    Hour12,
    IsoDayOfYear,
    IsoDay,
    IsoWeek,
    IsoYear(u32),
    Julian,
    Minute,
    Month,
    MonthName(Case),
    MonthShort(Case),
    Millisecond,
    Microsecond,
    Offset,
    Quarter,
    Roman {
        upper: bool,
    },
    SecondOfDay,
    Second,
    ZoneHour,
    ZoneMinute,
    Zone {
        upper: bool,
    },
    WeekOfYear,
    WeekOfMonth,
    YearWithComma,
    Year(u32),
}

/// The calendar that a field belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Calendar {
    Gregorian,
    IsoWeeks,
}

impl DateField {
    /// Whether it is a number, which may run into the next one.
    pub fn is_number(self) -> bool {
        use DateField::*;
        !matches!(
            self,
            Meridiem { .. }
                | Era { .. }
                | DayName(_)
                | DayShort(_)
                | Exact
                | MonthName(_)
                | MonthShort(_)
                | Roman { .. }
                | Zone { .. }
                | Offset
                | ZoneHour
                | Fraction(_)
        )
    }

    /// The calendar it asks for.
    pub fn calendar(self) -> Option<Calendar> {
        use DateField::*;
        match self {
            IsoDayOfYear | IsoDay | IsoWeek | IsoYear(_) => Some(Calendar::IsoWeeks),
            DayOfYear
            | Day
            | DayOfWeek
            | Month
            | MonthName(_)
            | MonthShort(_)
            | Roman { .. }
            | WeekOfYear
            | WeekOfMonth
            | YearWithComma
            | Year(_) => Some(Calendar::Gregorian),
            _ => None,
        }
    }
}

const fn either(text: &'static str, id: DateField) -> Keyword<DateField> {
    Keyword { text, exact: false, id }
}

const fn exact(text: &'static str, id: DateField) -> Keyword<DateField> {
    Keyword { text, exact: true, id }
}

static KEYWORDS: &[Keyword<DateField>] = &[
    exact("A.D.", DateField::Era { upper: true, dots: true }),
    exact("a.d.", DateField::Era { upper: false, dots: true }),
    exact("B.C.", DateField::Era { upper: true, dots: true }),
    exact("b.c.", DateField::Era { upper: false, dots: true }),
    exact("A.M.", DateField::Meridiem { upper: true, dots: true }),
    exact("a.m.", DateField::Meridiem { upper: false, dots: true }),
    exact("P.M.", DateField::Meridiem { upper: true, dots: true }),
    exact("p.m.", DateField::Meridiem { upper: false, dots: true }),
    exact("AD", DateField::Era { upper: true, dots: false }),
    exact("ad", DateField::Era { upper: false, dots: false }),
    exact("BC", DateField::Era { upper: true, dots: false }),
    exact("bc", DateField::Era { upper: false, dots: false }),
    exact("AM", DateField::Meridiem { upper: true, dots: false }),
    exact("am", DateField::Meridiem { upper: false, dots: false }),
    exact("PM", DateField::Meridiem { upper: true, dots: false }),
    exact("pm", DateField::Meridiem { upper: false, dots: false }),
    either("CC", DateField::Century),
    exact("DAY", DateField::DayName(Case::Upper)),
    exact("Day", DateField::DayName(Case::Capital)),
    exact("day", DateField::DayName(Case::Lower)),
    either("DDD", DateField::DayOfYear),
    either("DD", DateField::Day),
    exact("DY", DateField::DayShort(Case::Upper)),
    exact("Dy", DateField::DayShort(Case::Capital)),
    exact("dy", DateField::DayShort(Case::Lower)),
    either("D", DateField::DayOfWeek),
    either("FF1", DateField::Fraction(1)),
    either("FF2", DateField::Fraction(2)),
    either("FF3", DateField::Fraction(3)),
    either("FF4", DateField::Fraction(4)),
    either("FF5", DateField::Fraction(5)),
    either("FF6", DateField::Fraction(6)),
    either("FX", DateField::Exact),
    either("HH24", DateField::Hour24),
    either("HH12", DateField::Hour12),
    either("HH", DateField::Hour12),
    either("IDDD", DateField::IsoDayOfYear),
    either("ID", DateField::IsoDay),
    either("IW", DateField::IsoWeek),
    either("IYYY", DateField::IsoYear(4)),
    either("IYY", DateField::IsoYear(3)),
    either("IY", DateField::IsoYear(2)),
    either("I", DateField::IsoYear(1)),
    either("J", DateField::Julian),
    either("MI", DateField::Minute),
    either("MM", DateField::Month),
    exact("MONTH", DateField::MonthName(Case::Upper)),
    exact("Month", DateField::MonthName(Case::Capital)),
    exact("month", DateField::MonthName(Case::Lower)),
    exact("MON", DateField::MonthShort(Case::Upper)),
    exact("Mon", DateField::MonthShort(Case::Capital)),
    exact("mon", DateField::MonthShort(Case::Lower)),
    either("MS", DateField::Millisecond),
    either("OF", DateField::Offset),
    either("Q", DateField::Quarter),
    exact("RM", DateField::Roman { upper: true }),
    exact("rm", DateField::Roman { upper: false }),
    either("SSSSS", DateField::SecondOfDay),
    either("SSSS", DateField::SecondOfDay),
    either("SS", DateField::Second),
    either("TZH", DateField::ZoneHour),
    either("TZM", DateField::ZoneMinute),
    exact("TZ", DateField::Zone { upper: true }),
    exact("tz", DateField::Zone { upper: false }),
    either("US", DateField::Microsecond),
    either("WW", DateField::WeekOfYear),
    either("W", DateField::WeekOfMonth),
    either("Y,YYY", DateField::YearWithComma),
    either("YYYY", DateField::Year(4)),
    either("YYY", DateField::Year(3)),
    either("YY", DateField::Year(2)),
    either("Y", DateField::Year(1)),
];

/// Roman numbers of months.
pub static ROMAN_MONTHS: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// The parts of a template for dates.
pub fn date_template(template: &str) -> Vec<Part<'_, DateField>> {
    parse(template, KEYWORDS, true)
}
