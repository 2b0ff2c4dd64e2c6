-- What has a name that the columns of before cannot hold goes with this step.
delete from wakeful.scheduled_intents where length(user_id) > 64 or length(created_by) > 64;
delete from wakeful.intent_executions where length(user_id) > 64;
delete from wakeful.intent_watches where length(user_id) > 64;
delete from wakeful.people where length(user_id) > 64;
delete from wakeful.signals where length(user_id) > 64;
delete from wakeful.agents where id !~ '^[a-zA-Z0-9_-]{1,64}$';

drop policy owner on wakeful.people; alter table wakeful.people alter column user_id type varchar(64) collate "C"; create policy owner on wakeful.people to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
drop policy owner on wakeful.scheduled_intents; alter table wakeful.scheduled_intents alter column user_id type varchar(64) collate "C", alter column created_by type varchar(64); create policy owner on wakeful.scheduled_intents to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
drop policy owner on wakeful.intent_watches; alter table wakeful.intent_watches alter column user_id type varchar(64) collate "C"; create policy owner on wakeful.intent_watches to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
drop policy owner on wakeful.intent_executions; alter table wakeful.intent_executions alter column user_id type varchar(64) collate "C"; create policy owner on wakeful.intent_executions to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
drop policy owner on wakeful.signals; drop policy everybody on wakeful.signals; alter table wakeful.signals alter column user_id type varchar(64) collate "C"; create policy owner on wakeful.signals to wakeful_owner using (user_id = current_setting('wakeful.owner', true)); create policy everybody on wakeful.signals for select to wakeful_owner using (user_id is null);

alter table wakeful.agents drop constraint agents_id_check, add constraint agents_id_check check (id ~ '^[a-zA-Z0-9_-]{1,64}$');
