alter table wakeful.turns drop constraint turns_cause_check;
-- Rewritten, not updated: row-level security hides these rows also from the owner of the table.
alter table wakeful.turns alter column cause type text using case when cause in ('over_budget', 'stopped') then 'agent_error' else cause end;
alter table wakeful.turns add constraint turns_cause_check check (cause in ('withdrawn', 'deleted', 'deaths', 'timeout', 'agent_error'));
drop table wakeful.stops;
drop table wakeful.budgets;
alter table wakeful.questions drop column lineage;
alter table wakeful.parked drop column lineage;
alter table wakeful.events drop column lineage;
alter table wakeful.work drop column lineage;
alter table wakeful.scheduled_intents drop column lineage;
alter table wakeful.alarms drop column lineage;
alter table wakeful.autonomy_timers drop column lineage;
