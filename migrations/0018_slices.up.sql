-- A row says itself whose it is: a policy that looks into another table is refused by distributed databases.
alter table wakeful.intent_used add column user_id varchar(128) collate "C";
update wakeful.intent_used u set user_id = i.user_id from wakeful.scheduled_intents i where i.bucket = u.bucket and i.id = u.intent_id;
alter table wakeful.intent_used alter column user_id set not null;
drop policy owner on wakeful.intent_used;
create policy owner on wakeful.intent_used to wakeful_owner using (user_id = current_setting('wakeful.owner', true));

-- Whose rows are where, if not all in one place: the buckets of each slice. Kept in slice 0 alone; without rows there is one slice.
create table wakeful.slices (
  number int primary key,
  first_bucket smallint not null,
  last_bucket smallint not null,
  -- Taken out of that slice, and on the way here: nobody serves these buckets before they have arrived.
  splits_from int,
  created_at timestamptz not null,
  constraint slices_number check (number >= 0),
  constraint slices_range check (first_bucket between 0 and last_bucket and last_bucket <= 1023)
);
