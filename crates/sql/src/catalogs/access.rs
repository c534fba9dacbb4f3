//! Access rules, authenticated connections and roles: `pg_hba_file_rules`, `pg_stat_ssl`, `pg_shadow`, `pg_group`.

use std::sync::Arc;

use base::Result;
use base::access::{AccessRules, AddressPattern};
use base::settings::Id;
use plan::privileges;
use schema::catalog::{Catalog, RoleDef};
use types::{Value, oids};

use super::Equal;
use super::objects::{roles, settings_array, timestamp};
use super::rows::{NULL, row, text_array};
use crate::session_defaults;
use crate::state::session_of;
use executor::Run;

/// `pg_hba_file_rules`: those of `hba_rules`, numbered as they stand there.
pub fn pg_hba_file_rules(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let rules = AccessRules::parse(session_of(run).instance.database().settings().get(Id::HbaRules).as_text())?;
    let rows = rules.0.iter().zip(1i32..).map(|(rule, number)| {
        let (address, netmask) = match rule.address {
            None => (NULL, NULL),
            Some(AddressPattern::All) => (Value::text("all"), NULL),
            Some(AddressPattern::Network(network)) => {
                (Value::text(network.network().to_string()), Value::text(network.netmask().to_string()))
            }
        };
        row![
            number,
            rule.connection.name(),
            text_array(rule.databases.iter().map(ToString::to_string)),
            text_array(rule.users.iter().map(ToString::to_string)),
            address,
            netmask,
            rule.demand.method.name(),
            match rule.demand.certificate.option() {
                Some(option) => text_array([option.to_owned()].into_iter()),
                None => NULL,
            },
            NULL,
        ]
    });
    Ok(rows.collect())
}

/// `pg_stat_ssl`
pub fn pg_stat_ssl(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let sessions = session_of(run).instance.sessions();
    let rows = sessions.iter().filter(|info| super::monitoring::shows_session(run, info)).map(|info| {
        let (version, cipher) = info.encryption.unzip();
        let bits = cipher.map(|cipher| if cipher.contains("128") { 128i32 } else { 256 });
        row![info.pid, info.encryption.is_some(), version, cipher, bits, NULL, NULL, NULL]
    });
    Ok(rows.collect())
}

/// `pg_shadow`: roles that may log in, with the verifiers of their passwords; for superusers.
pub fn pg_shadow(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    Ok(users(run.catalog.catalog(), |role| role.password.as_deref().into()))
}

/// Roles that may log in, as `pg_user` and `pg_shadow` show them: they differ in the password.
pub(super) fn users(catalog: &Catalog, password: impl Fn(&RoleDef) -> Value) -> Vec<Vec<Value>> {
    let row = |role: &Arc<RoleDef>| {
        row![
            role.name.as_str(),
            role.oid,
            role.create_database,
            role.superuser,
            role.replication,
            super::objects::bypasses_row_security(role),
            password(role),
            timestamp(role.valid_until),
            settings_array(&role.settings),
        ]
    };
    roles(catalog).iter().filter(|role| role.login).map(row).collect()
}

/// `pg_group`: roles that may not log in, with their members.
pub fn pg_group(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let roles = roles(run.catalog.catalog());
    let rows = roles.iter().filter(|role| !role.login).map(|group| {
        let members = roles.iter().filter(|role| role.member_of.contains(&group.oid));
        row![
            group.name.as_str(),
            group.oid,
            Value::array(oids::OID, members.map(|member| Value::Oid(member.oid.0)).collect::<Vec<_>>()),
        ]
    });
    Ok(rows.collect())
}

/// `pg_default_acl`
pub fn pg_default_acl(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = run.catalog.catalog();
    let rows = privileges::default_acls(catalog).into_iter().map(|(oid, of, acl)| {
        let items = privileges::shown(catalog, &acl).iter().map(Value::text).collect();
        row![oid, of.role, of.schema, Value::Char(of.letter() as u8), Value::array(oids::ACLITEM, items)]
    });
    Ok(rows.collect())
}

/// `pg_db_role_setting`
pub fn pg_db_role_setting(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let all = session_defaults::all(run.catalog.catalog());
    Ok(all.iter().map(|(of, settings)| row![of.database, of.role, settings_array(settings)]).collect())
}
