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
  primary key (bucket, id),
  constraint questions_bucket_check check (bucket between 0 and 1023),
  constraint questions_status_check check (status in ('open', 'answered', 'defaulted', 'cancelled')),
  constraint questions_by_check check (answered_by in ('person', 'default', 'unattended')),
  constraint questions_due_check check (due_at is null or status = 'open'),
  constraint questions_answer_check check ((status in ('answered', 'defaulted')) = (answer is not null and answered_by is not null))
) with (fillfactor = 80);
create index questions_due_idx on wakeful.questions (due_at) where due_at is not null;
-- Looked at by every message of the session's person.
create index questions_open_idx on wakeful.questions (bucket, session_key) where status = 'open';
create index questions_user_idx on wakeful.questions (bucket, user_id, created_at desc, id desc);
create index questions_newest_idx on wakeful.questions (created_at desc, id desc);
-- The ledger's: what has ended, by person and for all.
create index questions_ended_idx on wakeful.questions (bucket, user_id, updated_at desc, id desc) where status in ('answered', 'cancelled');
create index questions_all_ended_idx on wakeful.questions (updated_at desc, id desc) where status in ('answered', 'cancelled');
create index questions_id_idx on wakeful.questions (id);
alter table wakeful.questions enable row level security, force row level security; grant select, insert, update, delete on wakeful.questions to wakeful_owner; create policy engine on wakeful.questions to wakeful_engine using (true); create policy owner on wakeful.questions to wakeful_owner using (user_id = current_setting('wakeful.owner', true));

-- What becomes of questions that are asked when nobody watches.
alter table wakeful.alarms add column unattended text not null default 'ask';
alter table wakeful.alarms add constraint alarms_unattended_check check (unattended in ('ask', 'default'));
alter table wakeful.scheduled_intents add column unattended text not null default 'ask';
alter table wakeful.scheduled_intents add constraint intents_unattended_check check (unattended in ('ask', 'default'));
