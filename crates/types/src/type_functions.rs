//! The functions that `pg_type` names: input, output and the like of the built-in types.
//!
//! Nobody calls them by name, but clients compare and join their numbers.

use base::Oid;

/// The number of a type's function.
pub fn oid_of(name: &str) -> Option<Oid> {
    FUNCTIONS.binary_search_by(|(known, _)| (*known).cmp(name)).ok().map(|place| Oid(FUNCTIONS[place].1))
}

/// The name of a type's function.
pub fn name_of(oid: Oid) -> Option<&'static str> {
    FUNCTIONS.iter().find(|(_, number)| *number == oid.0).map(|(name, _)| *name)
}

/// All of them.
pub fn all() -> impl Iterator<Item = (&'static str, Oid)> {
    FUNCTIONS.iter().map(|(name, oid)| (*name, Oid(*oid)))
}

/// Whether PostgreSQL calls a type's function stable rather than immutable: what it gives depends on settings, on the clock or
/// on the catalog.
pub fn is_stable(name: &str) -> bool {
    const OF_NAMES: [&str; 2] = ["in", "out"];
    if let Some(rest) = name.strip_prefix("reg") {
        return OF_NAMES.iter().any(|end| rest.ends_with(end));
    }
    STABLE.binary_search(&name).is_ok()
}

#[rustfmt::skip]
const STABLE: &[&str] = &[
    "aclitemin", "aclitemout", "anyarray_out", "anyarray_recv", "anyarray_send", "anycompatiblearray_out",
    "anycompatiblearray_recv", "anycompatiblearray_send", "anyenum_out", "array_in", "array_out", "array_recv",
    "array_send", "array_typanalyze", "bpcharrecv", "bpcharsend", "cash_in", "cash_out", "cstring_recv", "cstring_send", "date_in", "date_out",
    "domain_in", "domain_recv", "enum_in", "enum_out", "enum_recv", "enum_send",
    "interval_in", "interval_out", "namerecv", "namesend", "pg_node_tree_recv", "pg_node_tree_send", "record_in",
    "record_out", "record_recv", "record_send", "textrecv", "textsend", "time_in", "timestamp_in", "timestamp_out",
    "timestamptz_in", "timestamptz_out", "timetz_in", "ts_typanalyze", "varcharrecv", "varcharsend",
];

/// Names and numbers, by name.
#[rustfmt::skip]
const FUNCTIONS: &[(&str, u32)] = &[
    ("aclitemin", 1031), ("aclitemout", 1032), ("any_in", 2294), ("any_out", 2295), ("anyarray_in", 2296),
    ("anyarray_out", 2297), ("anyarray_recv", 2502), ("anyarray_send", 2503), ("anycompatible_in", 5086),
    ("anycompatible_out", 5087), ("anycompatiblearray_in", 5088), ("anycompatiblearray_out", 5089),
    ("anycompatiblearray_recv", 5090), ("anycompatiblearray_send", 5091), ("anycompatiblenonarray_in", 5092),
    ("anycompatiblenonarray_out", 5093), ("anyelement_in", 2312), ("anyelement_out", 2313), ("anyenum_in", 3504),
    ("anyenum_out", 3505), ("anynonarray_in", 2777), ("anynonarray_out", 2778), ("array_in", 750), ("array_out", 751),
    ("array_recv", 2400), ("array_send", 2401), ("array_subscript_handler", 6179), ("array_typanalyze", 3816),
    ("bit_in", 1564), ("bit_out", 1565), ("bit_recv", 2456), ("bit_send", 2457), ("bittypmodin", 2919),
    ("bittypmodout", 2920), ("boolin", 1242), ("boolout", 1243), ("boolrecv", 2436), ("boolsend", 2437),
    ("bpcharin", 1044), ("bpcharout", 1045), ("bpcharrecv", 2430), ("bpcharsend", 2431), ("bpchartypmodin", 2913),
    ("bpchartypmodout", 2914), ("byteain", 1244), ("byteaout", 31), ("bytearecv", 2412), ("byteasend", 2413),
    ("cash_in", 886), ("cash_out", 887), ("cash_recv", 2492), ("cash_send", 2493), ("charin", 1245), ("charout", 33),
    ("charrecv", 2434), ("charsend", 2435), ("cidin", 52), ("cidout", 53), ("cidr_in", 1267), ("cidr_out", 1427),
    ("cidr_recv", 2498), ("cidr_send", 2499), ("cidrecv", 2442), ("cidsend", 2443), ("cstring_in", 2292),
    ("cstring_out", 2293), ("cstring_recv", 2500), ("cstring_send", 2501), ("date_in", 1084), ("date_out", 1085),
    ("date_recv", 2468), ("date_send", 2469), ("domain_in", 2597), ("domain_recv", 2598), ("enum_in", 3506),
    ("enum_out", 3507), ("enum_recv", 3532), ("enum_send", 3533), ("event_trigger_in", 3594),
    ("event_trigger_out", 3595), ("float4in", 200), ("float4out", 201), ("float4recv", 2424), ("float4send", 2425),
    ("float8in", 214), ("float8out", 215), ("float8recv", 2426), ("float8send", 2427), ("index_am_handler_in", 326),
    ("index_am_handler_out", 327), ("inet_in", 910), ("inet_out", 911), ("inet_recv", 2496), ("inet_send", 2497),
    ("int2in", 38), ("int2out", 39), ("int2recv", 2404), ("int2send", 2405), ("int2vectorin", 40),
    ("int2vectorout", 41), ("int2vectorrecv", 2410), ("int2vectorsend", 2411), ("int4in", 42), ("int4out", 43),
    ("int4recv", 2406), ("int4send", 2407), ("int8in", 460), ("int8out", 461), ("int8recv", 2408), ("int8send", 2409),
    ("internal_in", 2304), ("internal_out", 2305), ("interval_in", 1160), ("interval_out", 1161),
    ("interval_recv", 2478), ("interval_send", 2479), ("intervaltypmodin", 2903), ("intervaltypmodout", 2904),
    ("json_in", 321), ("json_out", 322), ("json_recv", 323), ("json_send", 324), ("jsonb_in", 3806),
    ("jsonb_out", 3804), ("jsonb_recv", 3805), ("jsonb_send", 3803), ("jsonb_subscript_handler", 6098),
    ("language_handler_in", 2302), ("language_handler_out", 2303), ("macaddr8_in", 4110), ("macaddr8_out", 4111),
    ("macaddr8_recv", 3446), ("macaddr8_send", 3447), ("macaddr_in", 436), ("macaddr_out", 437), ("macaddr_recv", 2494),
    ("macaddr_send", 2495), ("namein", 34), ("nameout", 35), ("namerecv", 2422), ("namesend", 2423),
    ("numeric_in", 1701), ("numeric_out", 1702), ("numeric_recv", 2460), ("numeric_send", 2461),
    ("numerictypmodin", 2917), ("numerictypmodout", 2918), ("oidin", 1798), ("oidout", 1799), ("oidrecv", 2418),
    ("oidsend", 2419), ("oidvectorin", 54), ("oidvectorout", 55), ("oidvectorrecv", 2420), ("oidvectorsend", 2421),
    ("pg_lsn_in", 3229), ("pg_lsn_out", 3230), ("pg_lsn_recv", 3238), ("pg_lsn_send", 3239), ("pg_node_tree_in", 195),
    ("pg_node_tree_out", 196), ("pg_node_tree_recv", 197), ("pg_node_tree_send", 198),
    ("raw_array_subscript_handler", 6180), ("record_in", 2290), ("record_out", 2291), ("record_recv", 2402),
    ("record_send", 2403), ("regclassin", 2218), ("regclassout", 2219), ("regclassrecv", 2452), ("regclasssend", 2453),
    ("regcollationin", 4193), ("regcollationout", 4194), ("regcollationrecv", 4196), ("regcollationsend", 4197),
    ("regconfigin", 3736), ("regconfigout", 3737), ("regconfigrecv", 3738), ("regconfigsend", 3739),
    ("regdictionaryin", 3771), ("regdictionaryout", 3772), ("regdictionaryrecv", 3773), ("regdictionarysend", 3774),
    ("regnamespacein", 4084), ("regnamespaceout", 4085), ("regnamespacerecv", 4087), ("regnamespacesend", 4088),
    ("regoperatorin", 2216), ("regoperatorout", 2217), ("regoperatorrecv", 2450), ("regoperatorsend", 2451),
    ("regoperin", 2214), ("regoperout", 2215), ("regoperrecv", 2448), ("regopersend", 2449), ("regprocedurein", 2212),
    ("regprocedureout", 2213), ("regprocedurerecv", 2446), ("regproceduresend", 2447), ("regprocin", 44),
    ("regprocout", 45), ("regprocrecv", 2444), ("regprocsend", 2445), ("regrolein", 4098), ("regroleout", 4092),
    ("regrolerecv", 4094), ("regrolesend", 4095), ("regtypein", 2220), ("regtypeout", 2221), ("regtyperecv", 2454),
    ("regtypesend", 2455), ("table_am_handler_in", 267), ("table_am_handler_out", 268), ("textin", 46), ("textout", 47),
    ("textrecv", 2414), ("textsend", 2415), ("tidin", 48), ("tidout", 49), ("tidrecv", 2438), ("tidsend", 2439),
    ("time_in", 1143), ("time_out", 1144), ("time_recv", 2470), ("time_send", 2471), ("timestamp_in", 1312),
    ("timestamp_out", 1313), ("timestamp_recv", 2474), ("timestamp_send", 2475), ("timestamptypmodin", 2905),
    ("timestamptypmodout", 2906), ("timestamptz_in", 1150), ("timestamptz_out", 1151), ("timestamptz_recv", 2476),
    ("timestamptz_send", 2477), ("timestamptztypmodin", 2907), ("timestamptztypmodout", 2908), ("timetypmodin", 2909),
    ("timetypmodout", 2910), ("timetz_in", 1350), ("timetz_out", 1351), ("timetz_recv", 2472), ("timetz_send", 2473),
    ("timetztypmodin", 2911), ("timetztypmodout", 2912), ("trigger_in", 2300), ("trigger_out", 2301),
    ("ts_typanalyze", 3688), ("unknownin", 109), ("unknownout", 110), ("unknownrecv", 2416), ("unknownsend", 2417),
    ("uuid_in", 2952), ("uuid_out", 2953), ("uuid_recv", 2961), ("uuid_send", 2962), ("varbit_in", 1579),
    ("varbit_out", 1580), ("varbit_recv", 2458), ("varbit_send", 2459), ("varbittypmodin", 2902),
    ("varbittypmodout", 2921), ("varcharin", 1046), ("varcharout", 1047), ("varcharrecv", 2432), ("varcharsend", 2433),
    ("varchartypmodin", 2915), ("varchartypmodout", 2916), ("void_in", 2298), ("void_out", 2299), ("void_recv", 3120),
    ("void_send", 3121), ("xid8in", 5070), ("xid8out", 5081), ("xid8recv", 5082), ("xid8send", 5083), ("xidin", 50),
    ("xidout", 51), ("xidrecv", 2440), ("xidsend", 2441),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_for_looking_up() {
        assert!(FUNCTIONS.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(oid_of("array_in"), Some(Oid(750)));
        assert_eq!(name_of(Oid(2400)), Some("array_recv"));
        assert_eq!(oid_of("no_such_in"), None);
    }
}
