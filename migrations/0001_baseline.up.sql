-- The whole schema. `bucket`, a hash of the user, stands first in every key, so that the rows of one person can live on one node.

-- The rest of a role's rights stands with each table.
grant usage on schema wakeful to wakeful_owner;

-- Remote agents: programs elsewhere that take turns over signed HTTP calls. Few rows, read whole by every process.
create table wakeful.agents (
  -- The name that stands in session keys.
  id text collate "C" not null,
  url text not null,
  -- Kept as it is: it signs every call.
  secret text not null,
  timeout_ms int not null,
  -- Whose it is; null for everybody's.
  user_id text,
  -- False: what is meant for it waits until it is switched on again.
  enabled boolean not null default true,
  -- Set: it is gone, and its name is kept so that what still arrives for it fails at once instead of waiting for ever.
  removed_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint agents_pkey primary key (id),
  constraint agents_id_check check ((id ~ '^[A-Za-z0-9._@|+=~/-]{1,128}$') and id not in ('.', '..')),
  constraint agents_timeout_ms_check check (timeout_ms between 1000 and 600000)
);

-- The ledger reads what other tables hold. What they did not hold: the slots of alarms that were delivered by a call.
create table wakeful.alarm_wakes (
  bucket smallint not null,
  -- One slot's, whatever the number of its attempts.
  delivery_id uuid not null,
  alarm_id uuid not null,
  user_id text collate "C" not null,
  name text not null,
  scheduled_for timestamptz not null,
  missed_count int not null default 0,
  attempts int not null,
  status text not null,
  error text,
  created_at timestamptz not null,
  finished_at timestamptz not null,
  constraint alarm_wakes_pkey primary key (bucket, delivery_id),
  constraint alarm_wakes_attempts_check check (attempts >= 1),
  constraint alarm_wakes_bucket_check check (bucket between 0 and 1023),
  constraint alarm_wakes_check check ((status = 'taken') or (error is not null)),
  constraint alarm_wakes_error_check check (length(error) <= 2000),
  constraint alarm_wakes_missed_count_check check (missed_count >= 0),
  constraint alarm_wakes_status_check check (status in ('taken', 'failed', 'retrying'))
) with (fillfactor=90);
-- Those over everybody's rows have a condition that is always true: a question about one person or one trigger does not
-- say it, so the planner cannot answer by walking through everybody's.
create index alarm_wakes_created_idx on wakeful.alarm_wakes (created_at, delivery_id) where attempts >= 1;
create index alarm_wakes_user_idx on wakeful.alarm_wakes (bucket, user_id, created_at, delivery_id);
create index alarm_wakes_alarm_idx on wakeful.alarm_wakes (alarm_id, created_at, delivery_id);
alter table wakeful.alarm_wakes enable row level security, force row level security;
grant delete, insert, select, update on wakeful.alarm_wakes to wakeful_owner;
create policy engine on wakeful.alarm_wakes to wakeful_engine using (true);
create policy owner on wakeful.alarm_wakes to wakeful_owner using (user_id = current_setting('wakeful.owner', true));

-- Alarms: an agent's own wakes. The row is the durable timer; its slot in hand is (id, scheduled_for).
create table wakeful.alarms (
  bucket smallint not null,
  id uuid not null,
  owner_did text not null,
  user_id text not null,
  -- Who is woken: an agent known here, or null for the wake URL.
  agent_id text,
  -- An extra wake of a recurring alarm (fire-now) is a hidden `once` beside it, gone when it has ended.
  parent_id uuid,
  label text not null default '',
  kind text not null,
  fire_at timestamptz,
  cron_expr text not null default '',
  timezone text not null default 'UTC',
  -- Where the grid of an `@every` begins.
  anchor_at timestamptz not null,
  next_fire_at timestamptz not null,
  conversation_id text not null default '',
  wake_message text not null default '',
  payload json not null default '{}',
  status text not null default 'active',
  idempotency_key text not null default '',
  max_failures int not null default 5,
  failure_count int not null default 0,
  last_error text not null default '',
  -- The slot in hand: its nominal instant, how many more were coalesced into it, attempts begun, and
  -- the id that every delivery of it carries.
  scheduled_for timestamptz not null,
  missed_count int not null default 0,
  attempt int not null default 0,
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
  -- What becomes of times that passed while nobody looked.
  catch_up text not null default 'once',
  catch_up_within_seconds int,
  -- What becomes of questions that are asked when nobody watches.
  unattended text not null default 'ask',
  lineage text,
  constraint alarms_pkey primary key (bucket, id),
  constraint alarms_attempt_check check (attempt >= 0),
  constraint alarms_bucket_check check (bucket between 0 and 1023),
  constraint alarms_catch_up_check check (catch_up in ('once', 'skip', 'all')),
  constraint alarms_check check (case kind when 'once' then ((fire_at is not null) and (cron_expr = '')) else (cron_expr <> '') end),
  constraint alarms_check1 check (case when (status = 'active') then ((due_at is null) = (in_flight is not null)) else ((due_at is null) and (in_flight is null)) end),
  constraint alarms_check2 check ((claim_token is null) or (due_at is not null)),
  constraint alarms_check3 check ((parent_id is null) or (kind = 'once')),
  constraint alarms_failure_count_check check (failure_count >= 0),
  constraint alarms_kind_check check (kind in ('once', 'cron')),
  constraint alarms_last_error_check check (length(last_error) <= 2000),
  constraint alarms_max_failures_check check (max_failures >= 1),
  constraint alarms_missed_count_check check (missed_count >= 0),
  constraint alarms_status_check check (status in ('active', 'fired', 'cancelled', 'failed')),
  constraint alarms_unattended_check check (unattended in ('ask', 'default')),
  constraint alarms_within_check check (catch_up_within_seconds >= 1)
) with (autovacuum_vacuum_scale_factor=0.05, fillfactor=80);
create index alarms_due_idx on wakeful.alarms (due_at) where (due_at is not null) and (agent_id is not null);
create index alarms_wake_due_idx on wakeful.alarms (due_at) where (due_at is not null) and (agent_id is null);
create unique index alarms_idempotency_idx on wakeful.alarms (bucket, owner_did, idempotency_key) where idempotency_key <> '';
create unique index alarms_in_flight_idx on wakeful.alarms (bucket, in_flight) where in_flight is not null;
create index alarms_parent_idx on wakeful.alarms (bucket, parent_id) where parent_id is not null;
create index alarms_owner_idx on wakeful.alarms (bucket, owner_did, created_at desc, id desc) where parent_id is null;
-- For those who see everybody's: a list of all, and an alarm by its id alone.
create index alarms_created_idx on wakeful.alarms (created_at desc, id desc) where parent_id is null;
create index alarms_id_idx on wakeful.alarms (id);
create index alarms_cancelled_idx on wakeful.alarms (updated_at, id) where (status = 'cancelled') and (max_failures >= 1);
create index alarms_cancelled_user_idx on wakeful.alarms (bucket, user_id, updated_at, id) where status = 'cancelled';
alter table wakeful.alarms enable row level security, force row level security;
grant delete, insert, select, update on wakeful.alarms to wakeful_owner;
create policy engine on wakeful.alarms to wakeful_engine using (true);
create policy owner on wakeful.alarms to wakeful_owner using (user_id = current_setting('wakeful.owner', true));

create table wakeful.api_keys (
  id uuid not null,
  -- SHA-256 of the whole key, which is shown once and kept nowhere.
  hash bytea not null,
  role text not null,
  user_id text,
  agent_id text,
  owner_did text,
  -- A token that an agent got for a signed challenge has the rights of this key, and ends with it.
  parent_id uuid,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null,
  constraint api_keys_pkey primary key (id),
  constraint api_keys_check check ((owner_did is null) = (user_id is null)),
  constraint api_keys_check1 check (case when role in ('admin', 'service') then (user_id is null) when role in ('agent', 'user') then (user_id is not null) else true end),
  constraint api_keys_check2 check ((agent_id is null) or (role = 'agent')),
  constraint api_keys_check3 check ((parent_id is null) or ((role = 'agent') and (expires_at is not null))),
  constraint api_keys_hash_check check (length(hash) = 32),
  constraint api_keys_parent_id_fkey foreign key (parent_id) references wakeful.api_keys(id) on delete cascade,
  constraint api_keys_role_check check (role in ('admin', 'service', 'agent', 'user', 'worker'))
);
create index api_keys_created_idx on wakeful.api_keys (created_at desc, id desc) where parent_id is null;
create index api_keys_did_idx on wakeful.api_keys (owner_did, created_at desc) where (role = 'agent') and (parent_id is null);
create index api_keys_parent_idx on wakeful.api_keys (parent_id) where parent_id is not null;
-- Whose alarms are those that an agent sets in a turn: the newest key made for it says so.
create index api_keys_agent_idx on wakeful.api_keys (user_id, agent_id);

create table wakeful.audit_log (
  bucket smallint not null,
  id uuid not null,
  at timestamptz not null,
  actor_key text,
  actor_role text not null,
  -- Whom the credentials stand for, or whom an admin acted for; null: nobody in particular.
  actor_user text,
  acted_for boolean not null,
  operation text not null,
  object_id text,
  -- Whose it was; null where it belongs to nobody, such as a key.
  owner text,
  request_id text not null,
  summary text not null,
  constraint audit_log_pkey primary key (bucket, id),
  constraint audit_log_bucket_check check (bucket between 0 and 1023)
);
create index audit_log_at_idx on wakeful.audit_log (at desc, id desc);
alter table wakeful.audit_log enable row level security, force row level security;
grant insert on wakeful.audit_log to wakeful_owner;
create policy engine on wakeful.audit_log to wakeful_engine using (true);
create policy owner on wakeful.audit_log for insert to wakeful_owner with check (owner = current_setting('wakeful.owner', true));

-- A nonce is deleted by the first attempt to use it, whatever comes of that.
create table wakeful.auth_challenges (
  hash bytea not null,
  did text not null,
  expires_at timestamptz not null,
  constraint auth_challenges_pkey primary key (hash)
);
create index auth_challenges_expiry_idx on wakeful.auth_challenges (expires_at);

create table wakeful.autonomy_timers (
  bucket smallint not null,
  id uuid not null,
  session_key text collate "C" not null,
  timer_id text collate "C" not null,
  fire_at timestamptz not null,
  payload json,
  status text not null,
  traceparent text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Where a trigger comes from: depth, root and origin in one text (core/limits/lineage.ts), carried into each event it becomes.
  lineage text,
  constraint autonomy_timers_pkey primary key (bucket, session_key, timer_id),
  constraint autonomy_timers_status_check check (status in ('pending', 'promoted', 'cancelled'))
) with (autovacuum_vacuum_scale_factor=0.05, fillfactor=100);
create index timers_due_idx on wakeful.autonomy_timers (fire_at) where status = 'pending';
create index timers_cancelled_idx on wakeful.autonomy_timers (updated_at, id) where (status = 'cancelled') and (created_at > '-infinity'::timestamptz);
create index timers_cancelled_id_idx on wakeful.autonomy_timers (id) where status = 'cancelled';
alter table wakeful.autonomy_timers enable row level security, force row level security;
grant delete, insert, select, update on wakeful.autonomy_timers to wakeful_owner;
create policy engine on wakeful.autonomy_timers to wakeful_engine using (true);
create policy owner on wakeful.autonomy_timers to wakeful_owner using (split_part(session_key, ':', 1) = current_setting('wakeful.owner', true));

-- What a person and agent have used up on a day. Written in batches, and only where there is much to count or usage was reported.
create table wakeful.budgets (
  bucket smallint not null,
  user_id varchar(128) collate "C" not null,
  agent_id varchar(128) collate "C" not null,
  -- In UTC.
  day date not null,
  -- Of what agents set themselves, or what came from outside.
  fires int not null default 0,
  -- As agents report them.
  calls int not null default 0,
  tokens bigint not null default 0,
  usd float8 not null default 0,
  -- The limit that was reached first, and when its person was told.
  over_limit text,
  told_at timestamptz,
  updated_at timestamptz not null,
  constraint budgets_pkey primary key (bucket, user_id, agent_id, day),
  constraint budgets_bucket_check check (bucket between 0 and 1023),
  constraint budgets_over_check check (over_limit in ('depth', 'pending', 'fires', 'calls', 'usd', 'origin'))
) with (fillfactor=80);
create index budgets_day_idx on wakeful.budgets (day);
alter table wakeful.budgets enable row level security, force row level security;
grant delete, insert, select, update on wakeful.budgets to wakeful_owner;
create policy engine on wakeful.budgets to wakeful_engine using (true);
create policy owner on wakeful.budgets to wakeful_owner using ((user_id)::text = current_setting('wakeful.owner', true));

-- One process at a time reads an account of a channel; where it is, is known only after what it read is durable.
create table wakeful.channel_readers (
  channel text collate "C" not null,
  account text collate "C" not null,
  cursor text,
  claim_token uuid,
  leased_until timestamptz,
  updated_at timestamptz not null,
  constraint channel_readers_pkey primary key (channel, account)
);

create table wakeful.checkpoint_blobs (
  bucket smallint not null,
  thread_id text collate "C" not null,
  checkpoint_ns text collate "C" not null default '',
  channel text collate "C" not null,
  version text collate "C" not null,
  type text not null,
  blob bytea,
  constraint checkpoint_blobs_pkey primary key (bucket, thread_id, checkpoint_ns, channel, version)
);
alter table wakeful.checkpoint_blobs enable row level security, force row level security;
grant delete, insert, select, update on wakeful.checkpoint_blobs to wakeful_owner;
create policy engine on wakeful.checkpoint_blobs to wakeful_engine using (true);
create policy owner on wakeful.checkpoint_blobs to wakeful_owner using (split_part(thread_id, ':', 1) = current_setting('wakeful.owner', true));

create table wakeful.checkpoint_writes (
  bucket smallint not null,
  thread_id text collate "C" not null,
  checkpoint_ns text collate "C" not null default '',
  checkpoint_id text collate "C" not null,
  task_id text collate "C" not null,
  idx int not null,
  channel text not null,
  type text,
  blob bytea not null,
  task_path text not null default '',
  constraint checkpoint_writes_pkey primary key (bucket, thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);
alter table wakeful.checkpoint_writes enable row level security, force row level security;
grant delete, insert, select, update on wakeful.checkpoint_writes to wakeful_owner;
create policy engine on wakeful.checkpoint_writes to wakeful_engine using (true);
create policy owner on wakeful.checkpoint_writes to wakeful_owner using (split_part(thread_id, ':', 1) = current_setting('wakeful.owner', true));

-- LangGraph's three tables, ours to migrate; an agent that is a plain function uses the first alone.
create table wakeful.checkpoints (
  bucket smallint not null,
  thread_id text collate "C" not null,
  checkpoint_ns text collate "C" not null default '',
  checkpoint_id text collate "C" not null,
  parent_checkpoint_id text,
  type text,
  checkpoint json not null,
  metadata json not null default '{}',
  created_at timestamptz not null,
  constraint checkpoints_pkey primary key (bucket, thread_id, checkpoint_ns, checkpoint_id)
);
alter table wakeful.checkpoints enable row level security, force row level security;
grant delete, insert, select, update on wakeful.checkpoints to wakeful_owner;
create policy engine on wakeful.checkpoints to wakeful_engine using (true);
create policy owner on wakeful.checkpoints to wakeful_owner using (split_part(thread_id, ':', 1) = current_setting('wakeful.owner', true));

-- What a channel said of a message, once for each link and, where it was sent, for each part.
create table wakeful.deliveries (
  bucket smallint not null,
  session_key text collate "C" not null,
  position bigint not null,
  id uuid not null,
  link_id uuid not null,
  channel text not null,
  outcome text not null,
  -- The channel's own name for it; by this it is told later that it failed, or that somebody answers to it.
  provider_id text collate "C",
  error text,
  created_at timestamptz not null,
  constraint deliveries_pkey primary key (bucket, session_key, "position", id),
  constraint deliveries_outcome_check check (outcome in ('sent', 'closed', 'refused', 'gone', 'failed'))
);
create index deliveries_link_idx on wakeful.deliveries (bucket, link_id, provider_id);
alter table wakeful.deliveries enable row level security, force row level security;
grant delete, insert, select, update on wakeful.deliveries to wakeful_owner;
create policy engine on wakeful.deliveries to wakeful_engine using (true);
create policy owner on wakeful.deliveries to wakeful_owner using (split_part(session_key, ':', 1) = current_setting('wakeful.owner', true));

create table wakeful.effects (
  bucket smallint not null,
  session_key text collate "C" not null,
  -- Order within the session: the event's seq and the effect's ordinal in its turn.
  position bigint not null,
  id uuid not null,
  checkpoint_id text not null,
  type text not null,
  payload json not null,
  dedupe_key text not null,
  status text not null,
  channel text not null,
  event_seq int not null,
  reason text not null,
  origin json,
  attempt_count int not null default 0,
  last_attempt_at timestamptz,
  last_error text,
  -- For channels that push: when to try next; the end of the lease while trying.
  due_at timestamptz,
  claim_token uuid,
  claimed_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- The trace a message belongs to, so that its delivery needs no look at the event it came from, which may be gone by then.
  traceparent text,
  -- A pushed message is due until its chat has it, also when a socket has acknowledged it before: both show it.
  -- Long messages go out in parts: how many have. And how often a process died while pushing it.
  parts_sent int not null default 0,
  push_deaths int not null default 0,
  -- Which channel a message arrived by, and when; null before.
  delivered_by text,
  delivered_at timestamptz,
  constraint effects_pkey primary key (bucket, session_key, "position"),
  constraint effects_parts_sent_check check (parts_sent >= 0),
  constraint effects_push_deaths_check check (push_deaths >= 0),
  constraint effects_reason_check check (reason in ('answer', 'follow_up', 'promise', 'notice')),
  constraint effects_status_check check (status in ('pending', 'executing', 'completed', 'failed')),
  constraint effects_type_check check (type in ('send_message', 'schedule_timer'))
) with (autovacuum_vacuum_scale_factor=0.05, fillfactor=80);
create index effects_due_idx on wakeful.effects (due_at) where due_at is not null;
-- Which message of a session is the next to be pushed.
create index effects_push_idx on wakeful.effects (bucket, session_key, "position") where due_at is not null;
create index effects_undelivered_idx on wakeful.effects (bucket, session_key, "position") where status in ('pending', 'executing', 'failed');
alter table wakeful.effects enable row level security, force row level security;
grant delete, insert, select, update on wakeful.effects to wakeful_owner;
create policy engine on wakeful.effects to wakeful_engine using (true);
create policy owner on wakeful.effects to wakeful_owner using (split_part(session_key, ':', 1) = current_setting('wakeful.owner', true));

create table wakeful.events (
  bucket smallint not null,
  session_key text collate "C" not null,
  seq int not null,
  id uuid not null,
  type text not null,
  payload json not null,
  client_id text,
  -- The slot this event stands for, where a trigger made it.
  trigger_id uuid,
  scheduled_for timestamptz,
  traceparent text,
  created_at timestamptz not null,
  lineage text,
  constraint events_pkey primary key (bucket, session_key, seq),
  constraint events_seq_check check (seq >= 1),
  constraint events_type_check check (type in ('user_message', 'timer', 'tool_result', 'alarm', 'intent', 'work', 'digest'))
);
create unique index events_client_idx on wakeful.events (bucket, session_key, client_id) where client_id is not null;
-- Slots in the order of time: everybody's, one person's, one trigger's.
create index events_slot_idx on wakeful.events (created_at, id) where (scheduled_for is not null) and (seq >= 1);
create index events_user_slot_idx on wakeful.events (bucket, split_part(session_key, ':', 1), created_at, id) where scheduled_for is not null;
create index events_trigger_slot_idx on wakeful.events (trigger_id, created_at, id) where scheduled_for is not null;
alter table wakeful.events enable row level security, force row level security;
grant insert, select on wakeful.events to wakeful_owner;
create policy engine on wakeful.events to wakeful_engine using (true);
create policy owner on wakeful.events to wakeful_owner using (split_part(session_key, ':', 1) = current_setting('wakeful.owner', true));

-- Idempotency keys, kept for 24 hours. The body is `json`, not `jsonb`: it is replayed verbatim.
create table wakeful.idempotency_keys (
  owner text not null,
  key text not null,
  fingerprint text not null,
  status int,
  body json,
  created_at timestamptz not null,
  constraint idempotency_keys_pkey primary key (owner, key)
);
create index idempotency_keys_created_at on wakeful.idempotency_keys (created_at);
alter table wakeful.idempotency_keys enable row level security, force row level security;
grant delete, insert, select, update on wakeful.idempotency_keys to wakeful_owner;
create policy engine on wakeful.idempotency_keys to wakeful_engine using (true);
create policy owner on wakeful.idempotency_keys to wakeful_owner using (case when starts_with(owner, 'did:matrix:') then split_part(owner, ':', 3) when starts_with(owner, 'user:') then split_part(owner, ':', 2) else null::text end = current_setting('wakeful.owner', true));

-- Crons as LangGraph's clients know them: what each was made with, and the alarm that stands for it while it is enabled.
create table wakeful.langgraph_crons (
  bucket smallint not null,
  id uuid not null,
  owner_did text not null,
  user_id varchar(128) collate "C" not null,
  -- The agent that runs.
  assistant_id text not null,
  -- Null: a fresh thread each time.
  thread_id text,
  schedule text not null,
  timezone text,
  end_time timestamptz,
  -- What a run is given: input, config, context.
  payload json not null,
  metadata json not null,
  alarm_id uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint langgraph_crons_pkey primary key (bucket, id),
  constraint langgraph_crons_bucket_check check (bucket between 0 and 1023)
);
create index langgraph_crons_user_idx on wakeful.langgraph_crons (bucket, user_id, created_at desc, id desc);
create index langgraph_crons_id_idx on wakeful.langgraph_crons (id);
alter table wakeful.langgraph_crons enable row level security, force row level security;
grant delete, insert, select, update on wakeful.langgraph_crons to wakeful_owner;
create policy engine on wakeful.langgraph_crons to wakeful_engine using (true);
create policy owner on wakeful.langgraph_crons to wakeful_owner using ((user_id)::text = current_setting('wakeful.owner', true));

-- Sessions that were leased with the promotion of their timers, a batch to a row: how they are found where their process has died. While it
-- runs, such a session has no `due_at`: neither its beginning nor its end makes new entries in the indexes of sessions.
create table wakeful.leases (
  -- The fence of the sessions' leases.
  token uuid not null,
  -- When those that still run under it are marked as due, so that the end of their own leases is looked for.
  ends_at timestamptz not null,
  buckets smallint[] not null,
  keys text[] not null,
  constraint leases_pkey primary key (token)
);
create index leases_due_idx on wakeful.leases (ends_at) where ends_at is not null;

-- One-use codes by which an address proves whose it is; only their hashes are kept.
create table wakeful.link_codes (
  code_hash text collate "C" not null,
  bucket smallint not null,
  session_key text collate "C" not null,
  channel text collate "C" not null,
  person boolean not null,
  -- The address that used it: the same message, read again after a crash, finds its own work done.
  used_by text,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  constraint link_codes_pkey primary key (code_hash),
  constraint link_codes_bucket_check check (bucket between 0 and 1023)
);
create index link_codes_expiry_idx on wakeful.link_codes (expires_at);
alter table wakeful.link_codes enable row level security, force row level security;
grant delete, insert, select, update on wakeful.link_codes to wakeful_owner;
create policy engine on wakeful.link_codes to wakeful_engine using (true);
create policy owner on wakeful.link_codes to wakeful_owner using (split_part(session_key, ':', 1) = current_setting('wakeful.owner', true));

-- Where people are reached beside their sockets: a link is one address on one channel. What they write there goes into
-- `session_key`, and what that session says goes there; with `person` also what their other agents say unasked.
create table wakeful.links (
  bucket smallint not null,
  id uuid not null,
  user_id text collate "C" not null,
  session_key text collate "C" not null,
  channel text collate "C" not null,
  address text collate "C" not null,
  person boolean not null,
  -- The order in which a person's links are tried, lowest first.
  rank int not null,
  -- When they last wrote there.
  heard_at timestamptz,
  -- Set: the channel takes nothing more before they write again.
  closed_at timestamptz,
  -- Set: nobody is there any more. Kept to be shown.
  ended_at timestamptz,
  last_outcome text,
  last_error text,
  last_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint links_pkey primary key (bucket, id),
  constraint links_bucket_check check (bucket between 0 and 1023),
  constraint links_last_outcome_check check (last_outcome in ('sent', 'later', 'closed', 'refused', 'gone', 'failed'))
);
-- One address stands for one session, and a session has one address on each channel.
create unique index links_address_idx on wakeful.links (channel, address) where ended_at is null;
create unique index links_session_idx on wakeful.links (bucket, session_key, channel) where ended_at is null;
create index links_user_idx on wakeful.links (bucket, user_id);
alter table wakeful.links enable row level security, force row level security;
grant delete, insert, select, update on wakeful.links to wakeful_owner;
create policy engine on wakeful.links to wakeful_engine using (true);
create policy owner on wakeful.links to wakeful_owner using (user_id = current_setting('wakeful.owner', true));

-- The events of other MCP servers that we are subscribed to: what must be known before they call, and how far they told us.
create table wakeful.mcp_sources (
  -- Of the source it belongs to, and part of the address they call.
  key text collate "C" not null,
  -- Ours: written before they are asked, since their challenge comes within that question.
  secret text not null,
  -- Their name for it; null before they have answered.
  subscription_id text,
  cursor text,
  -- When it is renewed; null: it does not expire.
  renew_at timestamptz,
  -- They have ended it, and why.
  ended text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint mcp_sources_pkey primary key (key)
);

-- Slots that were given up because their time had passed: they became no event.
create table wakeful.missed (
  bucket smallint not null,
  id uuid not null,
  user_id varchar(128) collate "C" not null,
  kind text not null,
  trigger_id uuid not null,
  name text not null,
  -- The first of them, the last, and how many.
  scheduled_for timestamptz not null,
  last_for timestamptz not null,
  slots int not null,
  missed_at timestamptz not null,
  constraint missed_pkey primary key (bucket, id),
  constraint missed_bucket_check check (bucket between 0 and 1023),
  constraint missed_kind_check check (kind in ('alarm', 'intent', 'work')),
  constraint missed_slots_check check (slots >= 1)
);
create index missed_at_idx on wakeful.missed (missed_at, id) where slots >= 1;
create index missed_user_idx on wakeful.missed (bucket, user_id, missed_at, id);
create index missed_trigger_idx on wakeful.missed (trigger_id, missed_at, id);
alter table wakeful.missed enable row level security, force row level security;
grant delete, insert, select, update on wakeful.missed to wakeful_owner;
create policy engine on wakeful.missed to wakeful_engine using (true);
create policy owner on wakeful.missed to wakeful_owner using ((user_id)::text = current_setting('wakeful.owner', true));

-- Slots whose time came and whose moment did not. `id` is that of the event the slot had become; its trigger holds it on
-- (`held`), so that who cancels the trigger takes back the slot too. Rows stay as the record of what became of them.
create table wakeful.parked (
  bucket smallint not null,
  id uuid not null,
  user_id varchar(128) collate "C" not null,
  session_key text collate "C" not null,
  event_seq int not null,
  kind text not null,
  trigger_id uuid,
  scheduled_for timestamptz not null,
  name text not null,
  payload json not null,
  reason text not null,
  -- At a stated time, which quiet hours let through; of the highest priority, which all but muting does.
  timed boolean not null,
  critical boolean not null,
  held boolean not null,
  rule text not null,
  status text not null default 'waiting',
  -- Null unless it waits.
  release_at timestamptz,
  -- Released by the person: no rule holds it back again.
  asked boolean not null default false,
  -- The event it was released as, alone or with others.
  released_seq int,
  parked_at timestamptz not null,
  updated_at timestamptz not null,
  traceparent text,
  lineage text,
  constraint parked_pkey primary key (bucket, id),
  constraint parked_bucket_check check (bucket between 0 and 1023),
  constraint parked_kind_check check (kind in ('alarm', 'intent', 'work')),
  constraint parked_release_check check ((status = 'waiting') = (release_at is not null)),
  constraint parked_status_check check (status in ('waiting', 'released', 'expired', 'cancelled'))
) with (fillfactor=80);
create index parked_due_idx on wakeful.parked (release_at) where release_at is not null;
create index parked_user_idx on wakeful.parked (bucket, user_id, parked_at desc, id desc);
create index parked_event_idx on wakeful.parked (bucket, session_key, released_seq) where released_seq is not null;
alter table wakeful.parked enable row level security, force row level security;
grant delete, insert, select, update on wakeful.parked to wakeful_owner;
create policy engine on wakeful.parked to wakeful_engine using (true);
create policy owner on wakeful.parked to wakeful_owner using ((user_id)::text = current_setting('wakeful.owner', true));

-- One row for each person; its lock makes the limit on enabled intents hold under concurrency.
create table wakeful.people (
  bucket smallint not null,
  user_id varchar(128) collate "C" not null,
  created_at timestamptz not null,
  -- Manners: what a person has said of when, how often and by whom they want to be spoken to. A row without them costs nothing.
  timezone text,
  quiet_hours json not null default '[]',
  most_unasked_per_day int,
  paused_until timestamptz,
  muted_agents json not null default '[]',
  -- Whether any of these may hold something back: asked for in passing, by every commit that speaks unasked.
  mannered boolean not null default false,
  -- Messages that nobody asked for, on that day of the person's; counted under the lock of the row.
  unasked_day text,
  unasked_count int not null default 0,
  constraint people_pkey primary key (bucket, user_id),
  constraint people_bucket_check check (bucket between 0 and 1023),
  constraint people_count_check check (unasked_count >= 0),
  constraint people_most_check check (most_unasked_per_day >= 0)
);
alter table wakeful.people enable row level security, force row level security;
grant delete, insert, select, update on wakeful.people to wakeful_owner;
create policy engine on wakeful.people to wakeful_engine using (true);
create policy owner on wakeful.people to wakeful_owner using ((user_id)::text = current_setting('wakeful.owner', true));

-- Questions that agents ask people: each ends once, by their word, by its default when its time is over, or withdrawn.
create table wakeful.questions (
  bucket smallint not null,
  id uuid not null,
  user_id varchar(128) collate "C" not null,
  session_key text collate "C" not null,
  -- The event whose turn asked.
  event_seq int not null,
  text text not null,
  options json not null,
  default_answer text,
  until_at timestamptz,
  -- When its default is taken; null without one, and once it has ended.
  due_at timestamptz,
  payload json not null default '{}',
  status text not null default 'open',
  answer text,
  answered_by text,
  -- Born in a fire that nobody watches: its default was taken at once.
  unattended boolean not null default false,
  traceparent text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  lineage text,
  constraint questions_pkey primary key (bucket, id),
  constraint questions_answer_check check (status in ('answered', 'defaulted') = ((answer is not null) and (answered_by is not null))),
  constraint questions_bucket_check check (bucket between 0 and 1023),
  constraint questions_by_check check (answered_by in ('person', 'default', 'unattended')),
  constraint questions_due_check check ((due_at is null) or (status = 'open')),
  constraint questions_status_check check (status in ('open', 'answered', 'defaulted', 'cancelled'))
) with (fillfactor=80);
create index questions_due_idx on wakeful.questions (due_at) where due_at is not null;
-- Looked at by every message of the session's person.
create index questions_open_idx on wakeful.questions (bucket, session_key) where status = 'open';
create index questions_user_idx on wakeful.questions (bucket, user_id, created_at desc, id desc);
create index questions_newest_idx on wakeful.questions (created_at desc, id desc);
-- The ledger's: what has ended, by person and for all.
create index questions_ended_idx on wakeful.questions (bucket, user_id, updated_at desc, id desc) where status in ('answered', 'cancelled');
create index questions_all_ended_idx on wakeful.questions (updated_at desc, id desc) where status in ('answered', 'cancelled');
create index questions_id_idx on wakeful.questions (id);
alter table wakeful.questions enable row level security, force row level security;
grant delete, insert, select, update on wakeful.questions to wakeful_owner;
create policy engine on wakeful.questions to wakeful_engine using (true);
create policy owner on wakeful.questions to wakeful_owner using ((user_id)::text = current_setting('wakeful.owner', true));

create table wakeful.scheduled_intents (
  bucket smallint not null,
  id uuid not null,
  user_id varchar(128) collate "C" not null,
  intent_name varchar(256) not null,
  description text,
  trigger_type varchar(32) not null,
  trigger_schedule json,
  trigger_condition json,
  action_type varchar(64) not null default 'notify'::varchar,
  action_context text not null,
  action_priority varchar(16) not null default 'normal'::varchar,
  next_check timestamptz,
  last_checked timestamptz,
  last_executed timestamptz,
  execution_count int not null default 0,
  last_execution_status varchar(32),
  last_execution_error text,
  last_message_id varchar(128),
  enabled boolean not null default true,
  expires_at timestamptz,
  max_executions int,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by varchar(128),
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
  missed_count int not null default 0,
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
  catch_up text not null default 'once',
  catch_up_within_seconds int,
  unattended text not null default 'ask',
  lineage text,
  constraint scheduled_intents_pkey primary key (bucket, id),
  constraint chk_action_type check (action_type in ('notify', 'check_in', 'briefing', 'analysis', 'reminder')),
  constraint chk_priority check (action_priority in ('low', 'normal', 'high', 'critical')),
  constraint chk_trigger_type check (trigger_type in ('cron', 'interval', 'once', 'price', 'silence', 'event', 'calendar', 'news')),
  constraint intents_catch_up_check check (catch_up in ('once', 'skip', 'all')),
  constraint intents_unattended_check check (unattended in ('ask', 'default')),
  constraint intents_within_check check (catch_up_within_seconds >= 1),
  constraint scheduled_intents_bucket_check check (bucket between 0 and 1023),
  constraint scheduled_intents_check check ((claim_token is null) = (claimed_until is null)),
  constraint scheduled_intents_execution_count_check check (execution_count >= 0),
  constraint scheduled_intents_max_executions_check check (max_executions >= 1),
  constraint scheduled_intents_missed_count_check check (missed_count >= 0)
) with (autovacuum_vacuum_scale_factor=0.05, fillfactor=70);
create index idx_intents_user_enabled on wakeful.scheduled_intents (user_id, enabled) where enabled = true;
-- Two readers, two indexes: what outside workers ask for, and what our own clock takes.
create index idx_intents_pending on wakeful.scheduled_intents (next_check) where (enabled = true) and (next_check is not null) and (agent_id is null);
create index intents_due_idx on wakeful.scheduled_intents (next_check) where (enabled = true) and (next_check is not null) and (agent_id is not null) and (in_flight is null);
-- What has expired unseen is taken out of the readers' way.
create index intents_expiring_idx on wakeful.scheduled_intents (expires_at) where (enabled = true) and (expires_at is not null) and (agent_id is null);
create index idx_intents_type on wakeful.scheduled_intents (user_id, trigger_type);
create index intents_user_idx on wakeful.scheduled_intents (user_id, created_at desc, id desc);
create unique index intents_in_flight_idx on wakeful.scheduled_intents (bucket, in_flight) where in_flight is not null;
create index intents_id_idx on wakeful.scheduled_intents (id);
alter table wakeful.scheduled_intents enable row level security, force row level security;
grant delete, insert, select, update on wakeful.scheduled_intents to wakeful_owner;
create policy engine on wakeful.scheduled_intents to wakeful_engine using (true);
create policy owner on wakeful.scheduled_intents to wakeful_owner using ((user_id)::text = current_setting('wakeful.owner', true));

create table wakeful.intent_executions (
  bucket smallint not null,
  id uuid not null,
  -- Kept when the intent is deleted: it loses its link, not its row.
  intent_id uuid,
  user_id varchar(128) collate "C" not null,
  executed_at timestamptz not null,
  trigger_type varchar(32) not null,
  trigger_data json,
  status varchar(32) not null,
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
  repeats int not null default 1,
  last_seen_at timestamptz,
  cause text,
  constraint intent_executions_pkey primary key (bucket, id),
  constraint intent_executions_bucket_intent_id_fkey foreign key (bucket, intent_id) references wakeful.scheduled_intents(bucket, id) on delete set null (intent_id),
  constraint intent_executions_cause_check check (cause = 'expired'),
  constraint intent_executions_repeats_check check (repeats >= 1),
  constraint intent_executions_status_check check (status in ('success', 'failed', 'gate_blocked', 'condition_not_met'))
) with (autovacuum_vacuum_scale_factor=0.05, fillfactor=80);
create index idx_executions_intent on wakeful.intent_executions (bucket, intent_id, executed_at desc, id desc);
create index idx_executions_user on wakeful.intent_executions (user_id, executed_at desc);
create unique index executions_claim_idx on wakeful.intent_executions (bucket, intent_id, claim_token) where claim_token is not null;
-- Looks at intents that led to no event.
create index executions_check_idx on wakeful.intent_executions (executed_at, id) where (event_seq is null) and (repeats >= 1);
alter table wakeful.intent_executions enable row level security, force row level security;
grant delete, insert, select, update on wakeful.intent_executions to wakeful_owner;
create policy engine on wakeful.intent_executions to wakeful_engine using (true);
create policy owner on wakeful.intent_executions to wakeful_owner using ((user_id)::text = current_setting('wakeful.owner', true));

-- Each headline, event or calendar entry fires an intent once.
create table wakeful.intent_used (
  bucket smallint not null,
  intent_id uuid not null,
  key text collate "C" not null,
  used_at timestamptz not null,
  -- A row says itself whose it is: a policy that looks into another table is refused by distributed databases.
  user_id varchar(128) collate "C" not null,
  constraint intent_used_pkey primary key (bucket, intent_id, key),
  constraint intent_used_bucket_intent_id_fkey foreign key (bucket, intent_id) references wakeful.scheduled_intents(bucket, id) on delete cascade
);
alter table wakeful.intent_used enable row level security, force row level security;
grant delete, insert, select, update on wakeful.intent_used to wakeful_owner;
create policy engine on wakeful.intent_used to wakeful_engine using (true);
create policy owner on wakeful.intent_used to wakeful_owner using ((user_id)::text = current_setting('wakeful.owner', true));

-- What each of our own intents waits for: a ticker, the first word of a keyword, or a calendar. A signal reads
-- only the rows of its own keys.
create table wakeful.intent_watches (
  bucket smallint not null,
  intent_id uuid not null,
  kind text not null,
  key text collate "C" not null,
  user_id varchar(128) collate "C" not null,
  constraint intent_watches_pkey primary key (bucket, intent_id, kind, key),
  constraint intent_watches_bucket_intent_id_fkey foreign key (bucket, intent_id) references wakeful.scheduled_intents(bucket, id) on delete cascade,
  constraint intent_watches_kind_check check (kind in ('price', 'news', 'event', 'calendar'))
);
create index intent_watches_key_idx on wakeful.intent_watches (kind, key, user_id);
alter table wakeful.intent_watches enable row level security, force row level security;
grant delete, insert, select, update on wakeful.intent_watches to wakeful_owner;
create policy engine on wakeful.intent_watches to wakeful_engine using (true);
create policy owner on wakeful.intent_watches to wakeful_owner using ((user_id)::text = current_setting('wakeful.owner', true));

create table wakeful.sessions (
  bucket smallint not null,
  session_key text collate "C" not null,
  user_id text not null,
  agent_id text not null,
  thread_id text not null,
  last_seq int not null default 0,
  done_seq int not null default 0,
  last_user_seq int not null default 0,
  last_user_at timestamptz,
  checkpoint_id text,
  consecutive_autonomous_msgs int not null default 0,
  last_autonomous_at timestamptz,
  -- When the next turn may begin; null when nothing waits.
  due_at timestamptz,
  -- The lease has a column of its own, in no index: taking a session then rewrites its row in place.
  leased_until timestamptz,
  claim_token uuid,
  claimed_at timestamptz,
  attempt int not null default 0,
  deaths int not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Where the messages of a session are pushed, beside its sockets: `<channel>:<address>`, whichever channel that is. What
  -- chats were linked to is taken over; row-level security would hide it from the owner of the tables.
  pushed_to text,
  constraint sessions_pkey primary key (bucket, session_key),
  constraint sessions_bucket_check check (bucket between 0 and 1023),
  constraint sessions_check check ((done_seq >= 0) and (done_seq <= last_seq)),
  constraint sessions_consecutive_autonomous_msgs_check check (consecutive_autonomous_msgs >= 0),
  constraint sessions_found_check check ((due_at is not null) or (done_seq = last_seq) or (claim_token is not null))
) with (autovacuum_vacuum_scale_factor=0.05, fillfactor=50);
create index sessions_due_idx on wakeful.sessions (due_at) where due_at is not null;
create index sessions_created_idx on wakeful.sessions (created_at, session_key);
alter table wakeful.sessions enable row level security, force row level security;
grant delete, insert, select, update on wakeful.sessions to wakeful_owner;
create policy engine on wakeful.sessions to wakeful_engine using (true);
create policy owner on wakeful.sessions to wakeful_owner using (user_id = current_setting('wakeful.owner', true));

-- What an installation keeps for itself, such as the secret it signs outgoing calls with.
create table wakeful.settings (
  key text not null,
  value text not null,
  created_at timestamptz not null,
  constraint settings_pkey primary key (key)
);

-- Facts from outside that conditions look at; for one person, or for everybody (user_id null).
create table wakeful.signals (
  id uuid not null,
  kind text not null,
  user_id varchar(128) collate "C",
  -- Ticker, event name or calendar uid; what makes the fact the same one when a source tells it again.
  key text collate "C" not null,
  fact text collate "C" not null,
  payload json not null,
  at timestamptz not null,
  ends_at timestamptz,
  traceparent text,
  created_at timestamptz not null,
  constraint signals_pkey primary key (id),
  constraint signals_kind_check check (kind in ('price', 'news', 'event', 'calendar'))
);
-- The newest price of a ticker, and the facts of late or to come; those for everybody and each person's apart.
create index signals_key_idx on wakeful.signals (kind, key, coalesce(user_id, ''::character varying), at);
create index signals_at_idx on wakeful.signals (kind, coalesce(user_id, ''::character varying), at);
create unique index signals_fact_idx on wakeful.signals (kind, coalesce(user_id, ''::character varying), fact);
create index signals_created_idx on wakeful.signals (created_at);
alter table wakeful.signals enable row level security, force row level security;
grant delete, insert, select, update on wakeful.signals to wakeful_owner;
create policy engine on wakeful.signals to wakeful_engine using (true);
create policy everybody on wakeful.signals for select to wakeful_owner using (user_id is null);
create policy owner on wakeful.signals to wakeful_owner using ((user_id)::text = current_setting('wakeful.owner', true));

-- Whose rows are where, if not all in one place: the buckets of each slice. Kept in slice 0 alone; without rows there is one slice.
create table wakeful.slices (
  number int not null,
  first_bucket smallint not null,
  last_bucket smallint not null,
  -- Taken out of that slice, and on the way here: nobody serves these buckets before they have arrived.
  splits_from int,
  created_at timestamptz not null,
  constraint slices_pkey primary key (number),
  constraint slices_number check (number >= 0),
  constraint slices_range check (first_bucket between 0 and last_bucket and last_bucket <= 1023)
);

-- When each outside source of facts is asked next, and what its server said to remember. A due table: one process
-- at a time asks, under a lease, and a restart goes on where the last process stopped.
create table wakeful.source_polls (
  bucket smallint not null,
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
  failures int not null default 0,
  last_error text,
  last_ok_at timestamptz,
  -- When its whole answer was last read, not only found unchanged.
  read_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint source_polls_pkey primary key (bucket, key),
  constraint source_polls_bucket_check check (bucket between 0 and 1023),
  constraint source_polls_failures_check check (failures >= 0)
);
create index source_polls_due_idx on wakeful.source_polls (due_at);

-- What is stopped: a trigger, an agent, a person, or everything. Read by every process, from the first slice.
create table wakeful.stops (
  id uuid not null,
  level text not null,
  -- Null where everything is.
  target text collate "C",
  reason text not null,
  -- Whose credentials did it, by key or role.
  made_by text not null,
  created_at timestamptz not null,
  ended_at timestamptz,
  -- What became of what it held.
  ended text,
  ended_by text,
  constraint stops_pkey primary key (id),
  constraint stops_end_check check ((ended_at is null) = (ended is null)),
  constraint stops_ended_check check (ended in ('released', 'dropped')),
  constraint stops_level_check check (level in ('everything', 'agent', 'user', 'trigger')),
  constraint stops_target_check check ((level = 'everything') = (target is null))
);
create unique index stops_standing_idx on wakeful.stops (level, coalesce(target, ''::text)) where ended_at is null;
create index stops_created_idx on wakeful.stops (created_at desc, id desc);

-- Who outside is told of what happens (MCP Events): one row for each principal, address, name and arguments.
create table wakeful.subscriptions (
  bucket smallint not null,
  -- Derived from what makes it this subscription, so that asking again finds it.
  id uuid not null,
  -- Whose events they are.
  user_id text collate "C" not null,
  -- Whose credentials asked for it; a key that is revoked ends it.
  principal text collate "C" not null,
  key_id uuid,
  name text not null,
  arguments json not null,
  url text not null,
  -- The receiver's own; the old one signs beside the new one for a while.
  secret text not null,
  old_secret text,
  old_secret_until timestamptz,
  -- How far what happened was read.
  cursor text not null,
  -- Null: until it is ended.
  expires_at timestamptz,
  -- Nothing more is read for it; its last word is being delivered.
  ended_at timestamptz,
  -- Something was given up since the receiver last asked.
  truncated boolean not null default false,
  last_delivery_at timestamptz,
  last_error text,
  failed_since timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint subscriptions_pkey primary key (bucket, id),
  constraint subscriptions_bucket check (bucket between 0 and 1023),
  constraint subscriptions_old_secret check ((old_secret is null) = (old_secret_until is null))
);
create index subscriptions_user_idx on wakeful.subscriptions (bucket, user_id, created_at desc, id desc);
create index subscriptions_created_idx on wakeful.subscriptions (created_at desc, id desc);
alter table wakeful.subscriptions enable row level security, force row level security;
grant delete, insert, select, update on wakeful.subscriptions to wakeful_owner;
create policy engine on wakeful.subscriptions to wakeful_engine using (true);
create policy owner on wakeful.subscriptions to wakeful_owner using (user_id = current_setting('wakeful.owner', true));

-- What is on its way to them. A row is due until its receiver has taken it or it is given up; then it is gone.
create table wakeful.subscription_deliveries (
  bucket smallint not null,
  id uuid not null,
  subscription_id uuid not null,
  user_id text collate "C" not null,
  -- The same for all attempts, and for all subscriptions that are told of it.
  event_id text not null,
  body text not null,
  attempt int not null default 0,
  failure_count int not null default 0,
  due_at timestamptz not null,
  claim_token uuid,
  claimed_at timestamptz,
  created_at timestamptz not null,
  constraint subscription_deliveries_pkey primary key (bucket, id),
  constraint subscription_deliveries_attempt check ((attempt >= 0) and (failure_count >= 0)),
  constraint subscription_deliveries_subscription foreign key (bucket, subscription_id) references wakeful.subscriptions(bucket, id) on delete cascade
);
create index subscription_deliveries_due_idx on wakeful.subscription_deliveries (due_at);
create unique index subscription_deliveries_event_idx on wakeful.subscription_deliveries (bucket, subscription_id, event_id);
alter table wakeful.subscription_deliveries enable row level security, force row level security;
grant delete, insert, select, update on wakeful.subscription_deliveries to wakeful_owner;
create policy engine on wakeful.subscription_deliveries to wakeful_engine using (true);
create policy owner on wakeful.subscription_deliveries to wakeful_owner using (user_id = current_setting('wakeful.owner', true));

create table wakeful.tickets (
  hash bytea not null,
  -- The key it was asked for with; null where that was no key of ours.
  key_id uuid,
  actor json not null,
  expires_at timestamptz not null,
  constraint tickets_pkey primary key (hash)
);
create index tickets_expiry_idx on wakeful.tickets (expires_at);

create table wakeful.turns (
  bucket smallint not null,
  session_key text collate "C" not null,
  event_seq int not null,
  attempt int not null,
  event_id uuid not null,
  status text not null,
  started_at timestamptz not null,
  finished_at timestamptz not null,
  error text,
  checkpoint_id text,
  effect_ids uuid[] not null default '{}'::uuid[],
  verdicts json not null default '[]',
  -- Why a turn or a look did not get through, as a code: until now it was told by the words of the error alone. The columns are
  -- rewritten, not updated: row-level security hides these rows also from the owner of the table.
  cause text,
  constraint turns_pkey primary key (bucket, session_key, event_seq, attempt),
  constraint turns_cause_check check (cause in ('withdrawn', 'deleted', 'deaths', 'timeout', 'agent_error', 'over_budget', 'stopped')),
  constraint turns_check check ((status = 'committed') = (error is null)),
  constraint turns_failed_check check ((cause is null) = (error is null)),
  constraint turns_status_check check (status in ('committed', 'failed', 'retrying'))
);
alter table wakeful.turns enable row level security, force row level security;
grant delete, insert, select, update on wakeful.turns to wakeful_owner;
create policy engine on wakeful.turns to wakeful_engine using (true);
create policy owner on wakeful.turns to wakeful_owner using (split_part(session_key, ':', 1) = current_setting('wakeful.owner', true));

-- Work: tasks with a frequency, and one output for each run of them. Status lives on outputs alone.
create table wakeful.work (
  bucket smallint not null,
  id uuid not null,
  task text not null,
  agent_type text not null,
  parameters json not null default '{}',
  project_id text collate "C",
  user_id text collate "C" not null,
  -- "once", or the words it was asked for with; then what they mean: a cron expression or `@every …`.
  frequency text not null,
  frequency_cron text,
  timezone text not null default 'UTC',
  -- Where the grid of an `@every` begins.
  anchor_at timestamptz not null,
  is_active boolean not null,
  next_run_at timestamptz,
  last_run_at timestamptz,
  -- The event of the slot in hand until its turn commits: until then no further slot is taken.
  in_flight uuid,
  -- The newest slot taken; the next one lies after it, whatever the clock says.
  scheduled_for timestamptz,
  -- The newest run_number given.
  run_count int not null default 0,
  traceparent text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  catch_up text not null default 'once',
  catch_up_within_seconds int,
  -- Who is told of runs, and whether the last one failed: only the first failure of a row is told.
  notify boolean not null default true,
  notify_session text,
  failing boolean not null default false,
  lineage text,
  constraint work_pkey primary key (bucket, id),
  constraint work_bucket_check check (bucket between 0 and 1023),
  constraint work_catch_up_check check (catch_up in ('once', 'skip', 'all')),
  constraint work_check check (is_active = (next_run_at is not null)),
  constraint work_check1 check ((frequency_cron is not null) or (not is_active)),
  constraint work_run_count_check check (run_count >= 0),
  constraint work_within_check check (catch_up_within_seconds >= 1)
) with (autovacuum_vacuum_scale_factor=0.05, fillfactor=80);
create index work_due_idx on wakeful.work (next_run_at) where is_active and (in_flight is null);
create index work_user_idx on wakeful.work (bucket, user_id, created_at desc, id desc);
-- For those who see everybody's: a list of all, and a work by its id alone.
create index work_created_idx on wakeful.work (created_at desc, id desc);
create index work_id_idx on wakeful.work (id);
alter table wakeful.work enable row level security, force row level security;
grant delete, insert, select, update on wakeful.work to wakeful_owner;
create policy engine on wakeful.work to wakeful_engine using (true);
create policy owner on wakeful.work to wakeful_owner using (user_id = current_setting('wakeful.owner', true));

create table wakeful.work_outputs (
  bucket smallint not null,
  id uuid not null,
  work_id uuid not null,
  user_id text collate "C" not null,
  run_number int not null,
  title text,
  content text,
  output_type text not null default 'text',
  metadata json not null default '{}',
  file_url text,
  file_format text,
  file_name text,
  file_bytes int,
  -- Where the file is kept; the address it is served at says nothing of it.
  file_key text,
  status text not null default 'pending',
  started_at timestamptz,
  completed_at timestamptz,
  error_message text,
  -- The event this run is, and the fence of whatever is written about it.
  event_id uuid not null,
  -- The slot of the schedule; null for a run that was asked for.
  slot timestamptz,
  scheduled_for timestamptz not null,
  missed_count int not null default 0,
  attempt int not null default 0,
  progress real,
  progress_note text,
  traceparent text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint work_outputs_pkey primary key (bucket, id),
  constraint work_outputs_attempt_check check (attempt >= 0),
  constraint work_outputs_bucket_work_id_fkey foreign key (bucket, work_id) references wakeful.work(bucket, id) on delete cascade,
  constraint work_outputs_bucket_work_id_run_number_key UNIQUE (bucket, work_id, run_number),
  constraint work_outputs_check check (status in ('completed', 'failed') = (completed_at is not null)),
  constraint work_outputs_check1 check ((status = 'failed') = (error_message is not null)),
  constraint work_outputs_check2 check ((output_type = 'file') = (file_key is not null)),
  constraint work_outputs_error_message_check check (length(error_message) <= 2000),
  constraint work_outputs_missed_count_check check (missed_count >= 0),
  constraint work_outputs_output_type_check check (output_type in ('text', 'file')),
  constraint work_outputs_progress_check check ((progress >= (0)::double precision) and (progress <= (1)::double precision)),
  constraint work_outputs_run_number_check check (run_number >= 1),
  constraint work_outputs_status_check check (status in ('pending', 'running', 'completed', 'failed'))
) with (autovacuum_vacuum_scale_factor=0.05, fillfactor=70);
create unique index work_outputs_slot_idx on wakeful.work_outputs (bucket, work_id, slot) where slot is not null;
create unique index work_outputs_event_idx on wakeful.work_outputs (bucket, event_id);
-- How many runs of one work wait.
create index work_outputs_live_idx on wakeful.work_outputs (bucket, work_id) where status in ('pending', 'running');
alter table wakeful.work_outputs enable row level security, force row level security;
grant delete, insert, select, update on wakeful.work_outputs to wakeful_owner;
create policy engine on wakeful.work_outputs to wakeful_engine using (true);
create policy owner on wakeful.work_outputs to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
