-- A key bound to one agent sees only the rows of that agent: `wakeful.agent` names it, empty for everybody else. Rows that do not
-- say whose agent they are of in a column or in their session key get one; a policy that reads another table is refused by distributed databases.
alter table wakeful.work add column agent_id text;
update wakeful.work set agent_id = nullif(split_part(notify_session, ':', 2), '') where notify_session is not null;
alter table wakeful.work_outputs add column agent_id text;
update wakeful.work_outputs o set agent_id = w.agent_id from wakeful.work w
  where w.bucket = o.bucket and w.id = o.work_id and w.agent_id is not null;
alter table wakeful.intent_executions add column agent_id text;
update wakeful.intent_executions set agent_id = nullif(split_part(session_key, ':', 2), '') where session_key is not null;
update wakeful.intent_executions x set agent_id = i.agent_id from wakeful.scheduled_intents i
  where i.bucket = x.bucket and i.id = x.intent_id and x.agent_id is null and i.agent_id is not null;
alter table wakeful.missed add column agent_id text;
update wakeful.missed m set agent_id = a.agent_id from wakeful.alarms a where a.bucket = m.bucket and a.id = m.trigger_id and m.kind = 'alarm';
update wakeful.missed m set agent_id = i.agent_id from wakeful.scheduled_intents i where i.bucket = m.bucket and i.id = m.trigger_id and m.kind = 'intent';
update wakeful.missed m set agent_id = w.agent_id from wakeful.work w where w.bucket = m.bucket and w.id = m.trigger_id and m.kind = 'work';

create policy agent on wakeful.alarms as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', agent_id));
create policy agent on wakeful.sessions as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', agent_id));
create policy agent on wakeful.scheduled_intents as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', agent_id));
create policy agent on wakeful.budgets as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', agent_id));
create policy agent on wakeful.work as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', agent_id));
create policy agent on wakeful.work_outputs as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', agent_id));
create policy agent on wakeful.intent_executions as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', agent_id));
create policy agent on wakeful.missed as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', agent_id));
create policy agent on wakeful.events as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', split_part(session_key, ':', 2)));
create policy agent on wakeful.turns as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', split_part(session_key, ':', 2)));
create policy agent on wakeful.effects as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', split_part(session_key, ':', 2)));
create policy agent on wakeful.autonomy_timers as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', split_part(session_key, ':', 2)));
create policy agent on wakeful.deliveries as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', split_part(session_key, ':', 2)));
create policy agent on wakeful.parked as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', split_part(session_key, ':', 2)));
create policy agent on wakeful.questions as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', split_part(session_key, ':', 2)));
create policy agent on wakeful.link_codes as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', split_part(session_key, ':', 2)));
create policy agent on wakeful.checkpoints as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', split_part(thread_id, ':', 2)));
create policy agent on wakeful.checkpoint_blobs as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', split_part(thread_id, ':', 2)));
create policy agent on wakeful.checkpoint_writes as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', split_part(thread_id, ':', 2)));
create policy agent on wakeful.langgraph_crons as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', assistant_id));
create policy agent on wakeful.alarm_wakes as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') = '');
create policy agent on wakeful.subscriptions as restrictive to wakeful_owner using (coalesce(current_setting('wakeful.agent', true), '') in ('', split_part(principal, ':', 2)));
