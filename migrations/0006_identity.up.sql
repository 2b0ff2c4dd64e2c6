-- Who may come in, what they changed, and whose rows they may see. The roles named here are made by the process
-- before this file runs, since SQL has no `create role if not exists`.

create table wakeful.api_keys (
  id uuid primary key,
  -- SHA-256 of the whole key, which is shown once and kept nowhere.
  hash bytea not null check (length(hash) = 32),
  role text not null check (role in ('admin', 'service', 'agent', 'user', 'worker')),
  user_id text,
  agent_id text,
  owner_did text,
  -- A token that an agent got for a signed challenge has the rights of this key, and ends with it.
  parent_id uuid references wakeful.api_keys (id) on delete cascade,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null,
  check ((owner_did is null) = (user_id is null)),
  check (case when role in ('admin', 'service') then user_id is null
              when role in ('agent', 'user') then user_id is not null else true end),
  check (agent_id is null or role = 'agent'),
  check (parent_id is null or (role = 'agent' and expires_at is not null))
);
create index api_keys_created_idx on wakeful.api_keys (created_at desc, id desc) where parent_id is null;
create index api_keys_did_idx on wakeful.api_keys (owner_did, created_at desc) where role = 'agent' and parent_id is null;
create index api_keys_parent_idx on wakeful.api_keys (parent_id) where parent_id is not null;

-- A nonce is deleted by the first attempt to use it, whatever comes of that.
create table wakeful.auth_challenges (
  hash bytea primary key,
  did text not null,
  expires_at timestamptz not null
);
create index auth_challenges_expiry_idx on wakeful.auth_challenges (expires_at);

create table wakeful.tickets (
  hash bytea primary key,
  -- The key it was asked for with; null where that was no key of ours.
  key_id uuid,
  actor json not null,
  expires_at timestamptz not null
);
create index tickets_expiry_idx on wakeful.tickets (expires_at);

create table wakeful.audit_log (
  bucket smallint not null check (bucket between 0 and 1023),
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
  primary key (bucket, id)
);
create index audit_log_at_idx on wakeful.audit_log (at desc, id desc);

-- Row-level security beneath every query. Operations for one owner run as `wakeful_owner` with that owner set; the
-- engine, whose commits carry many owners, runs as whoever connects, a member of `wakeful_engine`. FORCE, so that owning
-- the tables is no way around it. For another owned table copy one line and say where its owner stands.
grant usage on schema wakeful to wakeful_owner;
alter table wakeful.sessions enable row level security, force row level security; grant select, insert, update, delete on wakeful.sessions to wakeful_owner; create policy engine on wakeful.sessions to wakeful_engine using (true); create policy owner on wakeful.sessions to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
alter table wakeful.alarms enable row level security, force row level security; grant select, insert, update, delete on wakeful.alarms to wakeful_owner; create policy engine on wakeful.alarms to wakeful_engine using (true); create policy owner on wakeful.alarms to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
alter table wakeful.people enable row level security, force row level security; grant select, insert, update, delete on wakeful.people to wakeful_owner; create policy engine on wakeful.people to wakeful_engine using (true); create policy owner on wakeful.people to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
alter table wakeful.scheduled_intents enable row level security, force row level security; grant select, insert, update, delete on wakeful.scheduled_intents to wakeful_owner; create policy engine on wakeful.scheduled_intents to wakeful_engine using (true); create policy owner on wakeful.scheduled_intents to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
alter table wakeful.intent_watches enable row level security, force row level security; grant select, insert, update, delete on wakeful.intent_watches to wakeful_owner; create policy engine on wakeful.intent_watches to wakeful_engine using (true); create policy owner on wakeful.intent_watches to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
alter table wakeful.intent_executions enable row level security, force row level security; grant select, insert, update, delete on wakeful.intent_executions to wakeful_owner; create policy engine on wakeful.intent_executions to wakeful_engine using (true); create policy owner on wakeful.intent_executions to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
alter table wakeful.work enable row level security, force row level security; grant select, insert, update, delete on wakeful.work to wakeful_owner; create policy engine on wakeful.work to wakeful_engine using (true); create policy owner on wakeful.work to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
alter table wakeful.work_outputs enable row level security, force row level security; grant select, insert, update, delete on wakeful.work_outputs to wakeful_owner; create policy engine on wakeful.work_outputs to wakeful_engine using (true); create policy owner on wakeful.work_outputs to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
alter table wakeful.events enable row level security, force row level security; grant select, insert, update, delete on wakeful.events to wakeful_owner; create policy engine on wakeful.events to wakeful_engine using (true); create policy owner on wakeful.events to wakeful_owner using (split_part(session_key, ':', 1) = current_setting('wakeful.owner', true));
alter table wakeful.turns enable row level security, force row level security; grant select, insert, update, delete on wakeful.turns to wakeful_owner; create policy engine on wakeful.turns to wakeful_engine using (true); create policy owner on wakeful.turns to wakeful_owner using (split_part(session_key, ':', 1) = current_setting('wakeful.owner', true));
alter table wakeful.effects enable row level security, force row level security; grant select, insert, update, delete on wakeful.effects to wakeful_owner; create policy engine on wakeful.effects to wakeful_engine using (true); create policy owner on wakeful.effects to wakeful_owner using (split_part(session_key, ':', 1) = current_setting('wakeful.owner', true));
alter table wakeful.autonomy_timers enable row level security, force row level security; grant select, insert, update, delete on wakeful.autonomy_timers to wakeful_owner; create policy engine on wakeful.autonomy_timers to wakeful_engine using (true); create policy owner on wakeful.autonomy_timers to wakeful_owner using (split_part(session_key, ':', 1) = current_setting('wakeful.owner', true));
alter table wakeful.checkpoints enable row level security, force row level security; grant select, insert, update, delete on wakeful.checkpoints to wakeful_owner; create policy engine on wakeful.checkpoints to wakeful_engine using (true); create policy owner on wakeful.checkpoints to wakeful_owner using (split_part(thread_id, ':', 1) = current_setting('wakeful.owner', true));
alter table wakeful.checkpoint_blobs enable row level security, force row level security; grant select, insert, update, delete on wakeful.checkpoint_blobs to wakeful_owner; create policy engine on wakeful.checkpoint_blobs to wakeful_engine using (true); create policy owner on wakeful.checkpoint_blobs to wakeful_owner using (split_part(thread_id, ':', 1) = current_setting('wakeful.owner', true));
alter table wakeful.checkpoint_writes enable row level security, force row level security; grant select, insert, update, delete on wakeful.checkpoint_writes to wakeful_owner; create policy engine on wakeful.checkpoint_writes to wakeful_engine using (true); create policy owner on wakeful.checkpoint_writes to wakeful_owner using (split_part(thread_id, ':', 1) = current_setting('wakeful.owner', true));
-- The rest says in its own way whose it is.
alter table wakeful.intent_used enable row level security, force row level security; grant select, insert, update, delete on wakeful.intent_used to wakeful_owner; create policy engine on wakeful.intent_used to wakeful_engine using (true); create policy owner on wakeful.intent_used to wakeful_owner using (exists (select 1 from wakeful.scheduled_intents i where i.bucket = intent_used.bucket and i.id = intent_used.intent_id));
alter table wakeful.idempotency_keys enable row level security, force row level security; grant select, insert, update, delete on wakeful.idempotency_keys to wakeful_owner; create policy engine on wakeful.idempotency_keys to wakeful_engine using (true); create policy owner on wakeful.idempotency_keys to wakeful_owner using (case when starts_with(owner, 'did:matrix:') then split_part(owner, ':', 3) when starts_with(owner, 'user:') then split_part(owner, ':', 2) end = current_setting('wakeful.owner', true));
-- A signal may be for everybody: then all may read it, and no owner writes it.
alter table wakeful.signals enable row level security, force row level security; grant select, insert, update, delete on wakeful.signals to wakeful_owner; create policy engine on wakeful.signals to wakeful_engine using (true); create policy owner on wakeful.signals to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
create policy everybody on wakeful.signals for select to wakeful_owner using (user_id is null);
-- Owners add to the audit log what they did, and cannot read it.
alter table wakeful.audit_log enable row level security, force row level security; grant insert on wakeful.audit_log to wakeful_owner; create policy engine on wakeful.audit_log to wakeful_engine using (true); create policy owner on wakeful.audit_log for insert to wakeful_owner with check (owner = current_setting('wakeful.owner', true));
