-- Intents: a person's standing wishes, maybe with a condition, and the record of every check. Names, types and
-- limits of the first columns are those that workers outside rely on; ours stand beside them.

-- One row for each person; its lock makes the limit on enabled intents hold under concurrency.
create table wakeful.people (
  bucket smallint not null check (bucket between 0 and 1023),
  user_id varchar(64) collate "C" not null,
  created_at timestamptz not null,
  primary key (bucket, user_id)
);

create table wakeful.scheduled_intents (
  bucket smallint not null check (bucket between 0 and 1023),
  id uuid not null,
  user_id varchar(64) collate "C" not null,
  intent_name varchar(256) not null,
  description text,
  trigger_type varchar(32) not null,
  trigger_schedule json,
  trigger_condition json,
  action_type varchar(64) not null default 'notify',
  action_context text not null,
  action_priority varchar(16) not null default 'normal',
  next_check timestamptz,
  last_checked timestamptz,
  last_executed timestamptz,
  execution_count int not null default 0 check (execution_count >= 0),
  last_execution_status varchar(32),
  last_execution_error text,
  last_message_id varchar(128),
  enabled boolean not null default true,
  expires_at timestamptz,
  max_executions int check (max_executions >= 1),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by varchar(64),
  metadata json not null default '{}',
  timezone text not null default 'UTC',
  -- Run by us when an agent is named; served to outside workers otherwise.
  agent_id text,
  thread_id text,
  -- Where the grid of an interval begins.
  anchor_at timestamptz not null,
  -- An outside worker's lease.
  claim_token uuid,
  claimed_until timestamptz,
  -- Our own fire: the slot's event until its turn commits, and the slot it stands for.
  in_flight uuid,
  scheduled_for timestamptz,
  missed_count int not null default 0 check (missed_count >= 0),
  -- The edge: whether the condition held when last seen, and when it last fired.
  was_met boolean not null default false,
  -- The newest price taken into account: an older one that arrives later says nothing.
  seen_at timestamptz,
  -- What became true while the fire before was still in flight: it fires when that has settled.
  again json,
  -- The headline, event or entry that the slot in flight is about, or that was tried last.
  fact text collate "C",
  -- How long the check took that led to the slot in flight.
  evaluation_ms int,
  -- The meter: checks made, and those that needed no agent. Fires are `execution_count`.
  checks bigint not null default 0,
  calls_avoided bigint not null default 0,
  -- The execution row that repeated checks with nothing new keep up to date.
  quiet_execution uuid,
  quiet_reason text,
  traceparent text,
  primary key (bucket, id),
  constraint chk_trigger_type check (
    trigger_type in ('cron', 'interval', 'once', 'price', 'silence', 'event', 'calendar', 'news')),
  constraint chk_action_type check (
    action_type in ('notify', 'check_in', 'briefing', 'analysis', 'reminder')),
  constraint chk_priority check (action_priority in ('low', 'normal', 'high', 'critical')),
  check ((claim_token is null) = (claimed_until is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create index idx_intents_user_enabled on wakeful.scheduled_intents (user_id, enabled) where enabled = true;
-- Two readers, two indexes: what outside workers ask for, and what our own clock takes.
create index idx_intents_pending on wakeful.scheduled_intents (next_check)
  where enabled = true and next_check is not null and agent_id is null;
create index intents_due_idx on wakeful.scheduled_intents (next_check)
  where enabled = true and next_check is not null and agent_id is not null and in_flight is null;
-- What has expired unseen is taken out of the readers' way.
create index intents_expiring_idx on wakeful.scheduled_intents (expires_at)
  where enabled = true and expires_at is not null and agent_id is null;
create index idx_intents_type on wakeful.scheduled_intents (user_id, trigger_type);
create index intents_user_idx on wakeful.scheduled_intents (user_id, created_at desc, id desc);
create unique index intents_in_flight_idx on wakeful.scheduled_intents (bucket, in_flight) where in_flight is not null;
create index intents_id_idx on wakeful.scheduled_intents (id);

-- What each of our own intents waits for: a ticker, the first word of a keyword, or a calendar. A signal reads
-- only the rows of its own keys.
create table wakeful.intent_watches (
  bucket smallint not null,
  intent_id uuid not null,
  kind text not null check (kind in ('price', 'news', 'event', 'calendar')),
  key text collate "C" not null,
  user_id varchar(64) collate "C" not null,
  primary key (bucket, intent_id, kind, key),
  foreign key (bucket, intent_id) references wakeful.scheduled_intents (bucket, id) on delete cascade
);
create index intent_watches_key_idx on wakeful.intent_watches (kind, key, user_id);

-- Each headline, event or calendar entry fires an intent once.
create table wakeful.intent_used (
  bucket smallint not null,
  intent_id uuid not null,
  key text collate "C" not null,
  used_at timestamptz not null,
  primary key (bucket, intent_id, key),
  foreign key (bucket, intent_id) references wakeful.scheduled_intents (bucket, id) on delete cascade
);

create table wakeful.intent_executions (
  bucket smallint not null,
  id uuid not null,
  -- Kept when the intent is deleted: it loses its link, not its row.
  intent_id uuid,
  user_id varchar(64) collate "C" not null,
  executed_at timestamptz not null,
  trigger_type varchar(32) not null,
  trigger_data json,
  status varchar(32) not null check (status in ('success', 'failed', 'gate_blocked', 'condition_not_met')),
  gate_result json,
  message_id varchar(128),
  message_preview text,
  evaluation_ms int,
  generation_ms int,
  delivery_ms int,
  error_message text,
  -- The slot, and where it became an event.
  scheduled_for timestamptz,
  session_key text collate "C",
  event_seq int,
  -- The report of an outside worker's claim, once, and what it was answered: the same again when it comes again.
  claim_token uuid,
  answer json,
  -- Checks with nothing new are counted here instead of adding rows.
  repeats int not null default 1 check (repeats >= 1),
  last_seen_at timestamptz,
  primary key (bucket, id),
  foreign key (bucket, intent_id) references wakeful.scheduled_intents (bucket, id) on delete set null (intent_id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
create index idx_executions_intent on wakeful.intent_executions (bucket, intent_id, executed_at desc, id desc);
create index idx_executions_user on wakeful.intent_executions (user_id, executed_at desc);
create unique index executions_claim_idx on wakeful.intent_executions (bucket, intent_id, claim_token)
  where claim_token is not null;

-- Facts from outside that conditions look at; for one person, or for everybody (user_id null).
create table wakeful.signals (
  id uuid primary key,
  kind text not null check (kind in ('price', 'news', 'event', 'calendar')),
  user_id varchar(64) collate "C",
  -- Ticker, event name or calendar uid; what makes the fact the same one when a source tells it again.
  key text collate "C" not null,
  fact text collate "C" not null,
  payload json not null,
  at timestamptz not null,
  ends_at timestamptz,
  traceparent text,
  created_at timestamptz not null
);
-- The newest price of a ticker, and the facts of late or to come; those for everybody and each person's apart.
create index signals_key_idx on wakeful.signals (kind, key, coalesce(user_id, ''), at);
create index signals_at_idx on wakeful.signals (kind, coalesce(user_id, ''), at);
create unique index signals_fact_idx on wakeful.signals (kind, coalesce(user_id, ''), fact);
create index signals_created_idx on wakeful.signals (created_at);

-- When each outside source of facts is asked next, and what its server said to remember. A due table: one process
-- at a time asks, under a lease, and a restart goes on where the last process stopped.
create table wakeful.source_polls (
  bucket smallint not null check (bucket between 0 and 1023),
  -- Kind, host and a hash: a source's URL may hold a secret, so it is not kept.
  key text collate "C" not null,
  kind text not null,
  due_at timestamptz not null,
  claim_token uuid,
  claimed_at timestamptz,
  etag text,
  last_modified text,
  -- The facts it showed last time, each with its instant.
  told json,
  failures int not null default 0 check (failures >= 0),
  last_error text,
  last_ok_at timestamptz,
  -- When its whole answer was last read, not only found unchanged.
  read_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (bucket, key)
);
create index source_polls_due_idx on wakeful.source_polls (due_at);
