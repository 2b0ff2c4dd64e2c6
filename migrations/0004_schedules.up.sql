-- A schedule is a timer, an alarm, an intent or work under a name that is unique for its person and agent (a timer's in its session).
-- The writes of all kinds take the person's lock, so that a name is in one table at a time; each index only guards its own.
alter table wakeful.alarms add column name text not null default '';
alter table wakeful.alarms add column priority text not null default 'normal';
alter table wakeful.alarms add column paused_at timestamptz;
alter table wakeful.alarms add column follows_zone boolean not null default false;
alter table wakeful.alarms add constraint alarms_priority_check check (priority in ('low', 'normal', 'high', 'critical'));
alter table wakeful.alarms drop constraint alarms_status_check;
alter table wakeful.alarms add constraint alarms_status_check check (status in ('active', 'paused', 'fired', 'cancelled', 'failed'));
alter table wakeful.scheduled_intents add column name text not null default '';
alter table wakeful.scheduled_intents add column paused_at timestamptz;
alter table wakeful.scheduled_intents add column follows_zone boolean not null default false;
alter table wakeful.work add column name text not null default '';
alter table wakeful.work add column paused_at timestamptz;
alter table wakeful.work add column follows_zone boolean not null default false;
-- Work that runs once may wait for its time.
alter table wakeful.work drop constraint work_check1;
alter table wakeful.autonomy_timers drop constraint autonomy_timers_status_check;
alter table wakeful.autonomy_timers add constraint autonomy_timers_status_check check (status in ('pending', 'paused', 'promoted', 'cancelled'));
create unique index alarms_name_idx on wakeful.alarms (bucket, user_id, coalesce(agent_id, ''), name)
  where name <> '' and status <> 'cancelled' and parent_id is null;
create unique index intents_name_idx on wakeful.scheduled_intents (bucket, user_id, coalesce(agent_id, ''), name) where name <> '';
create unique index work_name_idx on wakeful.work (bucket, user_id, coalesce(agent_id, ''), name) where name <> '';
-- Why slots were given up.
alter table wakeful.missed add column rule text not null default 'catch_up';
alter table wakeful.missed add constraint missed_rule_check check (rule in ('catch_up', 'paused'));
