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
-- Each row is rewritten twice for a turn, in its page where there is room: of a burst the first versions are not swept before the second come.
alter table wakeful.sessions set (fillfactor = 50);
alter table wakeful.autonomy_timers set (fillfactor = 60);
alter table wakeful.sessions drop constraint sessions_check1;
alter table wakeful.sessions add constraint sessions_found_check check (due_at is not null or done_seq = last_seq or claim_token is not null);
