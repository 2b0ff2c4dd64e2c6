-- Why a turn or a look did not get through, as a code: until now it was told by the words of the error alone. The columns are
-- rewritten, not updated: row-level security hides these rows also from the owner of the table.
alter table wakeful.turns add column cause text;
alter table wakeful.turns alter column cause type text using case
  when error is null then null
  when error ~ '^not run: the \w+ was cancelled before its turn began$' then 'withdrawn'
  when error ~ '^the \w+ was deleted while it ran$' then 'deleted'
  when error ~ '^given up: the process died \d+ times during this turn$' then 'deaths'
  when error ~ '^the agent took longer than \d+ ms$' then 'timeout'
  else 'agent_error' end;
alter table wakeful.turns
  add constraint turns_cause_check check (cause in ('withdrawn', 'deleted', 'deaths', 'timeout', 'agent_error')),
  add constraint turns_failed_check check ((cause is null) = (error is null));

alter table wakeful.intent_executions add column cause text;
alter table wakeful.intent_executions alter column cause type text using case
  when error_message = 'expires_at passed' and last_seen_at is not null and event_seq is null then 'expired' end;
alter table wakeful.intent_executions add constraint intent_executions_cause_check check (cause = 'expired');
