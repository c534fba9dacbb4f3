//! Conditions: what a handler catches, and what RAISE can name.

use base::{SqlState, sqlstate};

/// Whether a condition covers `state`. It is the name of a condition or of a class, or an SQLSTATE, which may be that of a class.
pub(super) fn catches(name: &str, state: SqlState) -> bool {
    // PostgreSQL keeps OTHERS as this code.
    if name == "others" || name == "00000" {
        return state != sqlstate::QUERY_CANCELED && state != sqlstate::ASSERT_FAILURE;
    }
    let covers = |code: &str| code == state.as_str() || code.ends_with("000") && code.get(..2) == Some(state.class());
    covers(&name.to_ascii_uppercase()) || condition_states(name).any(|known| covers(known.as_str()))
}

/// The SQLSTATEs a condition's name stands for.
pub(super) fn condition_states(name: &str) -> impl Iterator<Item = SqlState> {
    let (upper, lower) = (name.to_ascii_uppercase(), name.to_ascii_lowercase());
    let raised = sqlstate::ALL.iter().filter(move |(known, _)| *known == upper).map(|(_, state)| *state);
    let others = NEVER_RAISED.iter().filter(move |(known, _)| *known == lower);
    raised.chain(others.map(|(_, code)| SqlState::new(code)))
}

/// PostgreSQL's names for classes and for codes that no error of Cohort's has, or not by this name. A function may raise them.
const NEVER_RAISED: &[(&str, &str)] = &[
    ("sql_statement_not_yet_complete", "03000"),
    ("connection_exception", "08000"),
    ("connection_does_not_exist", "08003"),
    ("sqlclient_unable_to_establish_sqlconnection", "08001"),
    ("sqlserver_rejected_establishment_of_sqlconnection", "08004"),
    ("transaction_resolution_unknown", "08007"),
    ("triggered_action_exception", "09000"),
    ("locator_exception", "0F000"),
    ("invalid_locator_specification", "0F001"),
    ("invalid_role_specification", "0P000"),
    ("diagnostics_exception", "0Z000"),
    ("stacked_diagnostics_accessed_without_active_handler", "0Z002"),
    ("escape_character_conflict", "2200B"),
    ("indicator_overflow", "22022"),
    ("invalid_argument_for_width_bucket_function", "2201G"),
    ("invalid_character_value_for_cast", "22018"),
    ("invalid_escape_character", "22019"),
    ("invalid_escape_octet", "2200D"),
    ("nonstandard_use_of_escape_character", "22P06"),
    ("invalid_indicator_parameter_value", "22010"),
    ("invalid_tablesample_argument", "2202H"),
    ("invalid_tablesample_repeat", "2202G"),
    ("invalid_use_of_escape_character", "2200C"),
    ("most_specific_type_mismatch", "2200G"),
    ("null_value_no_indicator_parameter", "22002"),
    ("sequence_generator_limit_exceeded", "2200H"),
    ("trim_error", "22027"),
    ("unterminated_c_string", "22024"),
    ("zero_length_character_string", "2200F"),
    ("floating_point_exception", "22P01"),
    ("not_an_xml_document", "2200L"),
    ("invalid_xml_document", "2200M"),
    ("invalid_xml_content", "2200N"),
    ("invalid_xml_comment", "2200S"),
    ("invalid_xml_processing_instruction", "2200T"),
    ("duplicate_json_object_key_value", "22030"),
    ("invalid_argument_for_sql_json_datetime_function", "22031"),
    ("invalid_json_text", "22032"),
    ("invalid_sql_json_subscript", "22033"),
    ("more_than_one_sql_json_item", "22034"),
    ("no_sql_json_item", "22035"),
    ("non_numeric_sql_json_item", "22036"),
    ("non_unique_keys_in_a_json_object", "22037"),
    ("singleton_sql_json_item_required", "22038"),
    ("sql_json_array_not_found", "22039"),
    ("sql_json_member_not_found", "2203A"),
    ("sql_json_number_not_found", "2203B"),
    ("sql_json_object_not_found", "2203C"),
    ("too_many_json_array_elements", "2203D"),
    ("too_many_json_object_members", "2203E"),
    ("sql_json_scalar_required", "2203F"),
    ("sql_json_item_cannot_be_cast_to_target_type", "2203G"),
    ("exclusion_violation", "23P01"),
    ("branch_transaction_already_active", "25002"),
    ("held_cursor_requires_same_isolation_level", "25008"),
    ("inappropriate_access_mode_for_branch_transaction", "25003"),
    ("inappropriate_isolation_level_for_branch_transaction", "25004"),
    ("no_active_sql_transaction_for_branch_transaction", "25005"),
    ("schema_and_data_statement_mixing_not_supported", "25007"),
    ("dependent_privilege_descriptors_still_exist", "2B000"),
    ("sql_routine_exception", "2F000"),
    ("modifying_sql_data_not_permitted", "2F002"),
    ("prohibited_sql_statement_attempted", "2F003"),
    ("reading_sql_data_not_permitted", "2F004"),
    ("external_routine_exception", "38000"),
    ("containing_sql_not_permitted", "38001"),
    ("modifying_sql_data_not_permitted", "38002"),
    ("prohibited_sql_statement_attempted", "38003"),
    ("reading_sql_data_not_permitted", "38004"),
    ("external_routine_invocation_exception", "39000"),
    ("invalid_sqlstate_returned", "39001"),
    ("null_value_not_allowed", "39004"),
    ("trigger_protocol_violated", "39P01"),
    ("srf_protocol_violated", "39P02"),
    ("event_trigger_protocol_violated", "39P03"),
    ("savepoint_exception", "3B000"),
    ("transaction_rollback", "40000"),
    ("transaction_integrity_constraint_violation", "40002"),
    ("syntax_error_or_access_rule_violation", "42000"),
    ("indeterminate_collation", "42P22"),
    ("operator_intervention", "57000"),
    ("database_dropped", "57P04"),
    ("idle_session_timeout", "57P05"),
    ("system_error", "58000"),
    ("snapshot_too_old", "72000"),
    ("fdw_error", "HV000"),
    ("fdw_column_name_not_found", "HV005"),
    ("fdw_dynamic_parameter_value_needed", "HV002"),
    ("fdw_function_sequence_error", "HV010"),
    ("fdw_inconsistent_descriptor_information", "HV021"),
    ("fdw_invalid_attribute_value", "HV024"),
    ("fdw_invalid_column_name", "HV007"),
    ("fdw_invalid_column_number", "HV008"),
    ("fdw_invalid_data_type", "HV004"),
    ("fdw_invalid_data_type_descriptors", "HV006"),
    ("fdw_invalid_descriptor_field_identifier", "HV091"),
    ("fdw_invalid_handle", "HV00B"),
    ("fdw_invalid_option_index", "HV00C"),
    ("fdw_invalid_option_name", "HV00D"),
    ("fdw_invalid_string_length_or_buffer_length", "HV090"),
    ("fdw_invalid_string_format", "HV00A"),
    ("fdw_invalid_use_of_null_pointer", "HV009"),
    ("fdw_too_many_handles", "HV014"),
    ("fdw_out_of_memory", "HV001"),
    ("fdw_no_schemas", "HV00P"),
    ("fdw_option_name_not_found", "HV00J"),
    ("fdw_reply_handle", "HV00K"),
    ("fdw_schema_not_found", "HV00Q"),
    ("fdw_table_not_found", "HV00R"),
    ("fdw_unable_to_create_execution", "HV00L"),
    ("fdw_unable_to_create_reply", "HV00M"),
    ("fdw_unable_to_establish_connection", "HV00N"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_cover_codes_names_and_classes() {
        assert!(catches("unique_violation", sqlstate::UNIQUE_VIOLATION));
        assert!(catches("integrity_constraint_violation", sqlstate::UNIQUE_VIOLATION));
        assert!(catches("23505", sqlstate::UNIQUE_VIOLATION));
        assert!(catches("23000", sqlstate::UNIQUE_VIOLATION) && !catches("22000", sqlstate::UNIQUE_VIOLATION));
        assert!(catches("operator_intervention", sqlstate::QUERY_CANCELED));
        assert!(catches("transaction_rollback", sqlstate::SERIALIZATION_FAILURE));
        for others in ["others", "00000"] {
            assert!(catches(others, sqlstate::UNIQUE_VIOLATION));
            assert!(catches(others, sqlstate::SERIALIZATION_FAILURE));
            assert!(catches(others, sqlstate::DEADLOCK_DETECTED));
            assert!(!catches(others, sqlstate::QUERY_CANCELED));
        }
        assert!(!catches("division_by_zero", sqlstate::UNIQUE_VIOLATION));
    }
    #[test]
    fn every_name_has_its_code() {
        for (name, code) in NEVER_RAISED {
            assert!(condition_states(name).any(|state| state == SqlState::new(code)), "{name}");
        }
    }
}
