-- Sessions: an ordered log of events, turns over them, checkpoints, effects and timers.
-- `bucket` (a stable hash of the user) stands first in every key, so that all rows of one person
-- can live together on one node of a distributed PostgreSQL. Keys compare bytewise (collate "C"): index
-- look-ups are cheaper, and the sessions of one user are one range of the primary key.

create table wakeful.sessions (
  bucket smallint not null check (bucket between 0 and 1023),
  session_key text collate "C" not null,
  user_id text not null,
  agent_id text not null,
  thread_id text not null,
  last_seq int not null default 0,
  done_seq int not null default 0,
  last_user_seq int not null default 0,
  last_user_at timestamptz,
  checkpoint_id text,
  consecutive_autonomous_msgs int not null default 0 check (consecutive_autonomous_msgs >= 0),
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
  primary key (bucket, session_key),
  check (done_seq between 0 and last_seq),
  check (due_at is not null or done_seq = last_seq)
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);
create index sessions_due_idx on wakeful.sessions (due_at) where due_at is not null;
create index sessions_created_idx on wakeful.sessions (created_at, session_key);

create table wakeful.events (
  bucket smallint not null,
  session_key text collate "C" not null,
  seq int not null check (seq >= 1),
  id uuid not null,
  type text not null check (type in ('user_message', 'timer', 'tool_result', 'alarm', 'intent', 'work')),
  payload json not null,
  client_id text,
  -- The slot this event stands for, where a trigger made it.
  trigger_id uuid,
  scheduled_for timestamptz,
  traceparent text,
  created_at timestamptz not null,
  primary key (bucket, session_key, seq)
);
create unique index events_client_idx on wakeful.events (bucket, session_key, client_id)
  where client_id is not null;

create table wakeful.turns (
  bucket smallint not null,
  session_key text collate "C" not null,
  event_seq int not null,
  attempt int not null,
  event_id uuid not null,
  status text not null check (status in ('committed', 'failed', 'retrying')),
  started_at timestamptz not null,
  finished_at timestamptz not null,
  error text,
  checkpoint_id text,
  effect_ids uuid[] not null default '{}',
  verdicts json not null default '[]',
  primary key (bucket, session_key, event_seq, attempt),
  check ((status = 'committed') = (error is null))
);

create table wakeful.effects (
  bucket smallint not null,
  session_key text collate "C" not null,
  -- Order within the session: the event's seq and the effect's ordinal in its turn.
  position bigint not null,
  id uuid not null,
  checkpoint_id text not null,
  type text not null check (type in ('send_message', 'schedule_timer')),
  payload json not null,
  dedupe_key text not null,
  status text not null check (status in ('pending', 'executing', 'completed', 'failed')),
  channel text not null,
  event_seq int not null,
  autonomous boolean not null,
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
  -- Stronger than uniqueness of dedupe_key, which is a hash over session, event, ordinal, type and payload:
  -- two effects with one dedupe_key would have one position.
  primary key (bucket, session_key, position),
  check (due_at is null or status in ('pending', 'executing'))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
create index effects_undelivered_idx on wakeful.effects (bucket, session_key, position)
  where status in ('pending', 'executing');
create index effects_due_idx on wakeful.effects (due_at) where due_at is not null;

create table wakeful.autonomy_timers (
  bucket smallint not null,
  id uuid not null,
  session_key text collate "C" not null,
  timer_id text collate "C" not null,
  fire_at timestamptz not null,
  payload json,
  status text not null check (status in ('pending', 'promoted', 'cancelled')),
  traceparent text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (bucket, session_key, timer_id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
create index timers_due_idx on wakeful.autonomy_timers (fire_at) where status = 'pending';

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
  primary key (bucket, thread_id, checkpoint_ns, checkpoint_id)
);

create table wakeful.checkpoint_blobs (
  bucket smallint not null,
  thread_id text collate "C" not null,
  checkpoint_ns text collate "C" not null default '',
  channel text collate "C" not null,
  version text collate "C" not null,
  type text not null,
  blob bytea,
  primary key (bucket, thread_id, checkpoint_ns, channel, version)
);

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
  primary key (bucket, thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);
