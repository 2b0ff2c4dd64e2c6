drop index wakeful.api_keys_agent_idx;

grant update, delete on wakeful.events to wakeful_owner;

drop index wakeful.effects_undelivered_idx;
create index effects_undelivered_idx on wakeful.effects (bucket, session_key, position)
  where status in ('pending', 'executing');
alter table wakeful.effects drop column delivered_by, drop column delivered_at;
