-- The ledger reads what other tables hold. What they did not hold: the slots of alarms that were delivered by a call.
create table wakeful.alarm_wakes (
  bucket smallint not null check (bucket between 0 and 1023),
  -- One slot's, whatever the number of its attempts.
  delivery_id uuid not null,
  alarm_id uuid not null,
  user_id text collate "C" not null,
  name text not null,
  scheduled_for timestamptz not null,
  missed_count int not null default 0 check (missed_count >= 0),
  attempts int not null check (attempts >= 1),
  status text not null check (status in ('taken', 'failed', 'retrying')),
  error text check (length(error) <= 2000),
  created_at timestamptz not null,
  finished_at timestamptz not null,
  primary key (bucket, delivery_id),
  check ((status = 'taken') or error is not null)
) with (fillfactor = 90);
-- Those over everybody's rows have a condition that is always true: a question about one person or one trigger does not
-- say it, so the planner cannot answer by walking through everybody's.
create index alarm_wakes_created_idx on wakeful.alarm_wakes (created_at, delivery_id) where attempts >= 1;
create index alarm_wakes_user_idx on wakeful.alarm_wakes (bucket, user_id, created_at, delivery_id);
create index alarm_wakes_alarm_idx on wakeful.alarm_wakes (alarm_id, created_at, delivery_id);

alter table wakeful.alarm_wakes enable row level security, force row level security; grant select, insert, update, delete on wakeful.alarm_wakes to wakeful_owner; create policy engine on wakeful.alarm_wakes to wakeful_engine using (true); create policy owner on wakeful.alarm_wakes to wakeful_owner using (user_id = current_setting('wakeful.owner', true));

-- Slots in the order of time: everybody's, one person's, one trigger's.
create index events_slot_idx on wakeful.events (created_at, id) where scheduled_for is not null and seq >= 1;
create index events_user_slot_idx on wakeful.events (bucket, split_part(session_key, ':', 1), created_at, id)
  where scheduled_for is not null;
create index events_trigger_slot_idx on wakeful.events (trigger_id, created_at, id) where scheduled_for is not null;

-- Looks at intents that led to no event.
create index executions_check_idx on wakeful.intent_executions (executed_at, id)
  where event_seq is null and repeats >= 1;

create index timers_cancelled_idx on wakeful.autonomy_timers (updated_at, id)
  where status = 'cancelled' and created_at > '-infinity';
create index timers_cancelled_id_idx on wakeful.autonomy_timers (id) where status = 'cancelled';
create index alarms_cancelled_idx on wakeful.alarms (updated_at, id) where status = 'cancelled' and max_failures >= 1;
create index alarms_cancelled_user_idx on wakeful.alarms (bucket, user_id, updated_at, id) where status = 'cancelled';
