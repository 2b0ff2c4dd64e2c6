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
alter table wakeful.langgraph_crons enable row level security, force row level security; grant select, insert, update, delete on wakeful.langgraph_crons to wakeful_owner; create policy engine on wakeful.langgraph_crons to wakeful_engine using (true); create policy owner on wakeful.langgraph_crons to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
