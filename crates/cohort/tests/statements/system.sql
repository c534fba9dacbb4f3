-- ALTER SYSTEM: what it refuses, and what it says.
alter system set work_mem = '5MB';
show work_mem;
alter system set work_mem to default;
alter system reset work_mem;
alter system reset all;
alter system set no_such_setting = 1;
alter system reset no_such_setting;
alter system set server_version = '1';
alter system set transaction_isolation = 'serializable';
alter system set work_mem = 'much';
alter system set enable_seqscan = 'perhaps';
alter system set deadlock_timeout = '-5s';
begin;
alter system set work_mem = '5MB';
rollback;
