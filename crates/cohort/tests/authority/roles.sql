create role new_role
create role new_role superuser
create role new_role createrole createdb
create role new_role replication
create role new_role bypassrls
create role new_role in role power
create role new_role in role grp
create role new_role in role plain_role
create role new_role in role pg_read_server_files
create role new_role in role pg_execute_server_program
create role new_role in role owner
create role new_role in role new_role
create role new_role in role missing
create role new_role in group power
create role new_role role stranger
create role new_role role power
create role new_role role stranger admin creator
create role new_role admin stranger
create role new_role superuser role stranger
create role new_role superuser admin stranger
create role new_role role current_user
create user new_role in role power
create group new_role user stranger
create role pg_new
alter role plain_role superuser
alter role plain_role createrole
alter role plain_role createdb
alter role plain_role replication
alter role plain_role bypassrls
alter role plain_role password 'x'
alter role plain_role login
alter role plain_role connection limit 5
alter role plain_role valid until 'infinity'
alter role power nosuperuser
alter role power password 'x'
alter role power login
alter role replicator password 'x'
alter role replicator noreplication
alter role current_user password 'x'
alter role current_user createrole
alter role current_user superuser
alter role current_user connection limit 5
alter role session_user password 'x'
alter role stranger password 'x'
alter role owner password 'x'
alter role pg_monitor login
alter role pg_monitor superuser
alter role missing login
alter group grp add user stranger
alter group power add user stranger
alter group grp drop user grp_member
alter role plain_role set work_mem = '1MB'
alter role power set work_mem = '1MB'
alter role current_user set work_mem = '1MB'
alter role all set work_mem = '1MB'
alter role plain_role in database postgres set work_mem = '1MB'
alter role plain_role set session_replication_role = 'replica'
alter role plain_role set log_statement = 'all'
alter role plain_role reset all
alter role plain_role rename to plain_role_2
alter role power rename to power_2
alter role grp rename to grp_2
alter role owner rename to owner_2
alter role pg_monitor rename to monitor
drop role plain_role
drop role power
drop role replicator
drop role grp
drop role owner
drop role current_user
drop role pg_monitor
drop role if exists missing
drop role missing
grant grp to stranger
grant grp to stranger with admin option
grant grp to current_user
grant power to stranger
grant power to current_user
grant owner to stranger
grant owner to stranger granted by owner
grant plain_role to stranger
grant plain_role to stranger granted by postgres
grant grp, plain_role to stranger
grant pg_read_server_files to current_user
grant pg_execute_server_program to stranger
grant pg_database_owner to stranger
grant stranger to pg_database_owner
grant missing to stranger
grant grp to missing
grant stranger to stranger
grant grp to grp_member
grant grp_member to grp
grant grp to public
revoke grp from grp_member
revoke grp from admin
revoke admin option for grp from admin
revoke grp from stranger
revoke admin option for grp from stranger
revoke power from stranger
revoke owner from member
revoke owner from member granted by owner
select pg_has_role('admin', 'grp', 'member with admin option'), pg_has_role('admin', 'grp', 'usage with grant option'), pg_has_role('stranger', 'grp', 'member'), pg_has_role('grp', 'grp', 'member with admin option'), pg_has_role('super', 'grp', 'member with admin option'), pg_has_role('creator', 'grp', 'member with admin option')
select pg_has_role('grp', 'member with admin option'), pg_has_role('owner', 'usage'), pg_has_role('owner', 'member')
select roleid::regrole, member::regrole, admin_option from pg_auth_members where roleid = 'grp'::regrole order by 2
set role owner
set role grp
set role power
set role stranger
set role none
set local role owner; select current_user
set role pg_monitor
set session authorization stranger; select current_user, session_user
set session authorization postgres; select current_user, session_user
set session authorization default
set session authorization stranger; set session authorization postgres
set session authorization stranger; reset session authorization; select session_user
!set session authorization stranger; discard all; select session_user, current_user
!set role owner; discard all; select session_user, current_user
!reset session authorization
!reset role
!set session authorization stranger; reset all; select session_user
!reset session authorization
select current_setting('is_superuser')
select current_setting('role')
reassign owned by owner to stranger
reassign owned by owner to current_user
reassign owned by current_user to owner
drop owned by owner
drop owned by power
drop owned by plain_role
comment on role plain_role is 'x'
comment on role power is 'x'
comment on database postgres is 'x'
security label on role plain_role is 'x'
grant set on parameter log_statement to stranger
