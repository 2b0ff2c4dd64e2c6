truncate wakeful.leases;
alter table wakeful.leases drop column ids, add column buckets smallint[] not null, add column keys text[] not null;
create index leases_due_idx on wakeful.leases (ends_at) where ends_at is not null;
insert into wakeful.attempts (bucket, session_key, event_seq, attempt, event_id, status, started_at, finished_at, checkpoint_id, effect_ids, verdicts)
  select bucket, session_key, event_seq, attempt, event_id, status, started_at, finished_at, checkpoint_id, effect_ids, verdicts
  from wakeful.turns t where not exists (select 1 from wakeful.attempts a
    where a.bucket = t.bucket and a.session_key = t.session_key and a.event_seq = t.event_seq and a.attempt = t.attempt);
drop view wakeful.turns;
alter table wakeful.attempts rename constraint attempts_pkey to turns_pkey;
alter table wakeful.attempts rename constraint attempts_cause_check to turns_cause_check;
alter table wakeful.attempts rename constraint attempts_check to turns_check;
alter table wakeful.attempts rename constraint attempts_failed_check to turns_failed_check;
alter table wakeful.attempts rename constraint attempts_status_check to turns_status_check;
alter table wakeful.attempts rename to turns;
alter table wakeful.events drop column ended_at, drop column verdicts, drop column checkpoint_id;
update wakeful.sessions set leased_until = null, claim_token = null, claimed_at = null where in_flight is not null;
alter table wakeful.sessions drop column in_flight;
