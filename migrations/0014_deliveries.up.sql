-- Which channel a message arrived by, and when; null before.
alter table wakeful.effects add column delivered_by text, add column delivered_at timestamptz;
-- What a channel refused for good is still for a reader who connects.
drop index wakeful.effects_undelivered_idx;
create index effects_undelivered_idx on wakeful.effects (bucket, session_key, position)
  where status in ('pending', 'executing', 'failed');

-- What has happened is not changed by whom it happened to.
revoke update, delete on wakeful.events from wakeful_owner;

-- Whose alarms are those that an agent sets in a turn: the newest key made for it says so.
create index api_keys_agent_idx on wakeful.api_keys (user_id, agent_id);
