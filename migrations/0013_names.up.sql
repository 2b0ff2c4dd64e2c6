-- Names that people have elsewhere: e-mail addresses, `auth0|…`, `T1/U2`, up to 128 characters. A policy holds the type of the
-- columns it names, so it is made anew around each.
drop policy owner on wakeful.people; alter table wakeful.people alter column user_id type varchar(128) collate "C"; create policy owner on wakeful.people to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
drop policy owner on wakeful.scheduled_intents; alter table wakeful.scheduled_intents alter column user_id type varchar(128) collate "C", alter column created_by type varchar(128); create policy owner on wakeful.scheduled_intents to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
drop policy owner on wakeful.intent_watches; alter table wakeful.intent_watches alter column user_id type varchar(128) collate "C"; create policy owner on wakeful.intent_watches to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
drop policy owner on wakeful.intent_executions; alter table wakeful.intent_executions alter column user_id type varchar(128) collate "C"; create policy owner on wakeful.intent_executions to wakeful_owner using (user_id = current_setting('wakeful.owner', true));
drop policy owner on wakeful.signals; drop policy everybody on wakeful.signals; alter table wakeful.signals alter column user_id type varchar(128) collate "C"; create policy owner on wakeful.signals to wakeful_owner using (user_id = current_setting('wakeful.owner', true)); create policy everybody on wakeful.signals for select to wakeful_owner using (user_id is null);

alter table wakeful.agents drop constraint agents_id_check, add constraint agents_id_check check (id ~ '^[A-Za-z0-9._@|+=~/-]{1,128}$' and id not in ('.', '..'));
