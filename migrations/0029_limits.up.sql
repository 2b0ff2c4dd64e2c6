-- Where a trigger comes from: depth, root and origin in one text (core/limits/lineage.ts), carried into each event it becomes.
alter table wakeful.autonomy_timers add column lineage text;
alter table wakeful.alarms add column lineage text;
alter table wakeful.scheduled_intents add column lineage text;
alter table wakeful.work add column lineage text;
alter table wakeful.events add column lineage text;
alter table wakeful.parked add column lineage text;
alter table wakeful.questions add column lineage text;

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
  primary key (bucket, user_id, agent_id, day),
  constraint budgets_bucket_check check (bucket between 0 and 1023),
  constraint budgets_over_check check (over_limit in ('depth', 'pending', 'fires', 'calls', 'usd', 'origin'))
) with (fillfactor = 80);
create index budgets_day_idx on wakeful.budgets (day);
alter table wakeful.budgets enable row level security, force row level security; grant select, insert, update, delete on wakeful.budgets to wakeful_owner; create policy engine on wakeful.budgets to wakeful_engine using (true); create policy owner on wakeful.budgets to wakeful_owner using (user_id = current_setting('wakeful.owner', true));

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
  primary key (id),
  constraint stops_level_check check (level in ('everything', 'agent', 'user', 'trigger')),
  constraint stops_target_check check ((level = 'everything') = (target is null)),
  constraint stops_ended_check check (ended in ('released', 'dropped')),
  constraint stops_end_check check ((ended_at is null) = (ended is null))
);
create unique index stops_standing_idx on wakeful.stops (level, coalesce(target, '')) where ended_at is null;
create index stops_created_idx on wakeful.stops (created_at desc, id desc);

-- A turn that did not run, or was ended, by a limit or by a switch.
alter table wakeful.turns drop constraint turns_cause_check;
alter table wakeful.turns add constraint turns_cause_check check (cause in ('withdrawn', 'deleted', 'deaths', 'timeout', 'agent_error', 'over_budget', 'stopped'));
