-- Work: tasks with a frequency, and one output for each run of them. Status lives on outputs alone.
create table wakeful.work (
  bucket smallint not null check (bucket between 0 and 1023),
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
  run_count int not null default 0 check (run_count >= 0),
  traceparent text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (bucket, id),
  check (is_active = (next_run_at is not null)),
  check (frequency_cron is not null or not is_active)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
create index work_due_idx on wakeful.work (next_run_at) where is_active and in_flight is null;
create index work_user_idx on wakeful.work (bucket, user_id, created_at desc, id desc);
-- For those who see everybody's: a list of all, and a work by its id alone.
create index work_created_idx on wakeful.work (created_at desc, id desc);
create index work_id_idx on wakeful.work (id);

create table wakeful.work_outputs (
  bucket smallint not null,
  id uuid not null,
  work_id uuid not null,
  user_id text collate "C" not null,
  run_number int not null check (run_number >= 1),
  title text,
  content text,
  output_type text not null default 'text' check (output_type in ('text', 'file')),
  metadata json not null default '{}',
  file_url text,
  file_format text,
  file_name text,
  file_bytes int,
  -- Where the file is kept; the address it is served at says nothing of it.
  file_key text,
  status text not null default 'pending' check (status in ('pending', 'running', 'completed', 'failed')),
  started_at timestamptz,
  completed_at timestamptz,
  error_message text check (length(error_message) <= 2000),
  -- The event this run is, and the fence of whatever is written about it.
  event_id uuid not null,
  -- The slot of the schedule; null for a run that was asked for.
  slot timestamptz,
  scheduled_for timestamptz not null,
  missed_count int not null default 0 check (missed_count >= 0),
  attempt int not null default 0 check (attempt >= 0),
  progress real check (progress between 0 and 1),
  progress_note text,
  traceparent text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (bucket, id),
  unique (bucket, work_id, run_number),
  foreign key (bucket, work_id) references wakeful.work (bucket, id) on delete cascade,
  check ((status in ('completed', 'failed')) = (completed_at is not null)),
  check ((status = 'failed') = (error_message is not null)),
  check ((output_type = 'file') = (file_key is not null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create unique index work_outputs_slot_idx on wakeful.work_outputs (bucket, work_id, slot) where slot is not null;
create unique index work_outputs_event_idx on wakeful.work_outputs (bucket, event_id);
-- How many runs of one work wait.
create index work_outputs_live_idx on wakeful.work_outputs (bucket, work_id) where status in ('pending', 'running');
