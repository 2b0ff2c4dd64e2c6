drop table wakeful.slices;
drop policy owner on wakeful.intent_used;
create policy owner on wakeful.intent_used to wakeful_owner using (exists (select 1 from wakeful.scheduled_intents i where i.bucket = intent_used.bucket and i.id = intent_used.intent_id));
alter table wakeful.intent_used drop column user_id;
