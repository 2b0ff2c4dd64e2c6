-- Why a message is there, in place of whether it was asked for. The column is rewritten, not updated: row-level security
-- hides these rows also from the owner of the table.
alter table wakeful.effects alter column autonomous type text using case
  when not autonomous then 'answer'
  when origin ->> 'kind' in ('alarm', 'intent') then 'promise'
  when origin ->> 'kind' = 'work' then 'notice'
  else 'follow_up' end;
alter table wakeful.effects rename column autonomous to reason;
alter table wakeful.effects add constraint effects_reason_check check (reason in ('answer', 'follow_up', 'promise', 'notice'));
