//! The zone abbreviations that date input knows: those of PostgreSQL's default set.

/// The meaning of an abbreviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abbreviation {
    /// Seconds east of UTC, standard time.
    Standard(i32),
    /// Seconds east of UTC, daylight saving time included.
    Daylight(i32),
    /// The offset that this zone has at the given time.
    Zone(&'static str),
}

use Abbreviation::{Daylight, Standard, Zone};

/// The abbreviation's meaning; any case.
pub fn zone_abbreviation(name: &str) -> Option<Abbreviation> {
    let mut key = [0_u8; 8];
    let key = key.get_mut(..name.len())?;
    key.copy_from_slice(name.as_bytes());
    key.make_ascii_lowercase();
    let index = ABBREVIATIONS.binary_search_by(|(name, _)| name.as_bytes().cmp(key)).ok()?;
    Some(ABBREVIATIONS[index].1)
}

/// All abbreviations, in lower case and in order.
#[rustfmt::skip]
pub static ABBREVIATIONS: &[(&str, Abbreviation)] = &[
    ("acdt", Daylight(37800)), ("acsst", Daylight(37800)), ("acst", Standard(34200)), ("act", Standard(-18000)),
    ("acwst", Standard(31500)), ("adt", Daylight(-10800)), ("aedt", Daylight(39600)), ("aesst", Daylight(39600)),
    ("aest", Standard(36000)), ("aft", Standard(16200)), ("akdt", Daylight(-28800)), ("akst", Standard(-32400)),
    ("almst", Daylight(25200)), ("almt", Standard(21600)), ("amst", Zone("Asia/Yerevan")), ("amt", Standard(-14400)),
    ("anast", Zone("Asia/Anadyr")), ("anat", Zone("Asia/Anadyr")), ("arst", Zone("America/Argentina/Buenos_Aires")),
    ("art", Zone("America/Argentina/Buenos_Aires")), ("ast", Standard(-14400)), ("awsst", Daylight(32400)),
    ("awst", Standard(28800)), ("azost", Daylight(0)), ("azot", Standard(-3600)), ("azst", Zone("Asia/Baku")),
    ("azt", Zone("Asia/Baku")), ("bdst", Daylight(7200)), ("bdt", Standard(21600)), ("bnt", Standard(28800)),
    ("bort", Standard(28800)), ("bot", Standard(-14400)), ("bra", Standard(-10800)), ("brst", Daylight(-7200)),
    ("brt", Standard(-10800)), ("bst", Daylight(3600)), ("btt", Standard(21600)), ("cadt", Daylight(37800)),
    ("cast", Standard(34200)), ("cct", Standard(28800)), ("cdt", Daylight(-18000)), ("cest", Daylight(7200)),
    ("cet", Standard(3600)), ("cetdst", Daylight(7200)), ("chadt", Daylight(49500)), ("chast", Standard(45900)),
    ("chut", Standard(36000)), ("ckt", Zone("Pacific/Rarotonga")), ("clst", Daylight(-10800)),
    ("clt", Zone("America/Santiago")), ("cot", Standard(-18000)), ("cst", Standard(-21600)), ("cxt", Standard(25200)),
    ("davt", Zone("Antarctica/Davis")), ("ddut", Standard(36000)), ("easst", Zone("Pacific/Easter")),
    ("east", Zone("Pacific/Easter")), ("eat", Standard(10800)), ("edt", Daylight(-14400)), ("eest", Daylight(10800)),
    ("eet", Standard(7200)), ("eetdst", Daylight(10800)), ("egst", Daylight(0)), ("egt", Standard(-3600)),
    ("est", Standard(-18000)), ("fet", Standard(10800)), ("fjst", Daylight(46800)), ("fjt", Standard(43200)),
    ("fkst", Zone("Atlantic/Stanley")), ("fkt", Zone("Atlantic/Stanley")), ("fnst", Daylight(-3600)),
    ("fnt", Standard(-7200)), ("galt", Standard(-21600)), ("gamt", Standard(-32400)), ("gest", Zone("Asia/Tbilisi")),
    ("get", Zone("Asia/Tbilisi")), ("gft", Standard(-10800)), ("gilt", Standard(43200)), ("gmt", Standard(0)),
    ("gyt", Zone("America/Guyana")), ("hkt", Standard(28800)), ("hst", Standard(-36000)), ("ict", Standard(25200)),
    ("idt", Daylight(10800)), ("iot", Zone("Indian/Chagos")), ("irkst", Zone("Asia/Irkutsk")),
    ("irkt", Zone("Asia/Irkutsk")), ("irt", Standard(12600)), ("ist", Standard(7200)), ("jayt", Standard(32400)),
    ("jst", Standard(32400)), ("kdt", Daylight(36000)), ("kgst", Daylight(21600)), ("kgt", Zone("Asia/Bishkek")),
    ("kost", Zone("Pacific/Kosrae")), ("krast", Zone("Asia/Krasnoyarsk")), ("krat", Zone("Asia/Krasnoyarsk")),
    ("kst", Standard(32400)), ("lhdt", Zone("Australia/Lord_Howe")), ("lhst", Standard(37800)),
    ("ligt", Standard(36000)), ("lint", Zone("Pacific/Kiritimati")), ("lkt", Zone("Asia/Colombo")),
    ("magst", Zone("Asia/Magadan")), ("magt", Zone("Asia/Magadan")), ("mart", Standard(-34200)),
    ("mawt", Zone("Antarctica/Mawson")), ("mdt", Daylight(-21600)), ("mest", Daylight(7200)),
    ("mesz", Daylight(7200)), ("met", Standard(3600)), ("metdst", Daylight(7200)), ("mez", Standard(3600)),
    ("mht", Standard(43200)), ("mmt", Standard(23400)), ("mpt", Standard(36000)), ("msd", Daylight(14400)),
    ("msk", Zone("Europe/Moscow")), ("mst", Standard(-25200)), ("must", Daylight(18000)), ("mut", Standard(14400)),
    ("mvt", Standard(18000)), ("myt", Standard(28800)), ("ndt", Daylight(-9000)), ("nft", Standard(-12600)),
    ("novst", Zone("Asia/Novosibirsk")), ("novt", Zone("Asia/Novosibirsk")), ("npt", Standard(20700)),
    ("nst", Standard(-12600)), ("nut", Zone("Pacific/Niue")), ("nzdt", Daylight(46800)), ("nzst", Standard(43200)),
    ("nzt", Standard(43200)), ("omsst", Zone("Asia/Omsk")), ("omst", Zone("Asia/Omsk")), ("pdt", Daylight(-25200)),
    ("pet", Standard(-18000)), ("petst", Zone("Asia/Kamchatka")), ("pett", Zone("Asia/Kamchatka")),
    ("pgt", Standard(36000)), ("pht", Standard(28800)), ("pkst", Daylight(21600)), ("pkt", Standard(18000)),
    ("pmdt", Daylight(-7200)), ("pmst", Standard(-10800)), ("pont", Standard(39600)), ("pst", Standard(-28800)),
    ("pwt", Standard(32400)), ("pyst", Daylight(-10800)), ("pyt", Zone("America/Asuncion")), ("ret", Standard(14400)),
    ("sadt", Daylight(37800)), ("sast", Standard(7200)), ("sct", Standard(14400)), ("sgt", Zone("Asia/Singapore")),
    ("taht", Standard(-36000)), ("tft", Standard(18000)), ("tjt", Standard(18000)), ("tkt", Zone("Pacific/Fakaofo")),
    ("tmt", Zone("Asia/Ashgabat")), ("tot", Standard(46800)), ("trut", Standard(36000)), ("tvt", Standard(43200)),
    ("uct", Standard(0)), ("ulast", Daylight(32400)), ("ulat", Zone("Asia/Ulaanbaatar")), ("ut", Standard(0)),
    ("utc", Standard(0)), ("uyst", Daylight(-7200)), ("uyt", Standard(-10800)), ("uzst", Daylight(21600)),
    ("uzt", Standard(18000)), ("vet", Zone("America/Caracas")), ("vlast", Zone("Asia/Vladivostok")),
    ("vlat", Zone("Asia/Vladivostok")), ("volt", Zone("Europe/Volgograd")), ("vut", Standard(39600)),
    ("wadt", Daylight(28800)), ("wakt", Standard(43200)), ("wast", Standard(25200)), ("wat", Standard(3600)),
    ("wdt", Daylight(32400)), ("wet", Standard(0)), ("wetdst", Daylight(3600)), ("wft", Standard(43200)),
    ("wgst", Daylight(-7200)), ("wgt", Standard(-10800)), ("xjt", Standard(21600)), ("yakst", Zone("Asia/Yakutsk")),
    ("yakt", Zone("Asia/Yakutsk")), ("yapt", Standard(36000)), ("yekst", Daylight(21600)),
    ("yekt", Zone("Asia/Yekaterinburg")), ("z", Standard(0)), ("zulu", Standard(0)),
];
