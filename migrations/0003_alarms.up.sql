-- Alarms: an agent's own wakes. The row is the durable timer; its slot in hand is (id, scheduled_for).
create table wakeful.alarms (
  bucket smallint not null check (bucket between 0 and 1023),
  id uuid not null,
  owner_did text not null,
  user_id text not null,
  -- Who is woken: an agent known here, or null for the wake URL.
  agent_id text,
  -- An extra wake of a recurring alarm (fire-now) is a hidden `once` beside it, gone when it has ended.
  parent_id uuid,
  label text not null default '',
  kind text not null check (kind in ('once', 'cron')),
  fire_at timestamptz,
  cron_expr text not null default '',
  timezone text not null default 'UTC',
  -- Where the grid of an `@every` begins.
  anchor_at timestamptz not null,
  next_fire_at timestamptz not null,
  conversation_id text not null default '',
  wake_message text not null default '',
  payload json not null default '{}',
  status text not null default 'active' check (status in ('active', 'fired', 'cancelled', 'failed')),
  idempotency_key text not null default '',
  max_failures int not null default 5 check (max_failures >= 1),
  failure_count int not null default 0 check (failure_count >= 0),
  last_error text not null default '' check (length(last_error) <= 2000),
  -- The slot in hand: its nominal instant, how many more were coalesced into it, attempts begun, and
  -- the id that every delivery of it carries.
  scheduled_for timestamptz not null,
  missed_count int not null default 0 check (missed_count >= 0),
  attempt int not null default 0 check (attempt >= 0),
  delivery_id uuid not null,
  -- When to look at it: the slot, the next attempt, or the end of the lease while a receiver is called.
  -- Null while its event waits for a turn (`in_flight`), and for ever once the alarm has ended.
  due_at timestamptz,
  in_flight uuid,
  claim_token uuid,
  claimed_at timestamptz,
  traceparent text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  last_fired_at timestamptz,
  primary key (bucket, id),
  check (case kind when 'once' then fire_at is not null and cron_expr = '' else cron_expr <> '' end),
  check (case when status = 'active' then (due_at is null) = (in_flight is not null)
              else due_at is null and in_flight is null end),
  check (claim_token is null or due_at is not null),
  check (parent_id is null or kind = 'once')
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
create index alarms_due_idx on wakeful.alarms (due_at) where due_at is not null and agent_id is not null;
create index alarms_wake_due_idx on wakeful.alarms (due_at) where due_at is not null and agent_id is null;
create unique index alarms_idempotency_idx on wakeful.alarms (bucket, owner_did, idempotency_key)
  where idempotency_key <> '';
create unique index alarms_in_flight_idx on wakeful.alarms (bucket, in_flight) where in_flight is not null;
create index alarms_parent_idx on wakeful.alarms (bucket, parent_id) where parent_id is not null;
create index alarms_owner_idx on wakeful.alarms (bucket, owner_did, created_at desc, id desc)
  where parent_id is null;
-- For those who see everybody's: a list of all, and an alarm by its id alone.
create index alarms_created_idx on wakeful.alarms (created_at desc, id desc) where parent_id is null;
create index alarms_id_idx on wakeful.alarms (id);

-- What an installation keeps for itself, such as the secret it signs outgoing calls with.
create table wakeful.settings (
  key text primary key,
  value text not null,
  created_at timestamptz not null
);
