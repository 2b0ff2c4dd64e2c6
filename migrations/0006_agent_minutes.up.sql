-- Of agents with a limit per minute: how many turns have begun in the last minute in which one did, in all processes. In the first shard.
create table wakeful.agent_minutes (
  agent_id varchar(128) collate "C" not null,
  minute timestamptz not null,
  begun int not null,
  constraint agent_minutes_pkey primary key (agent_id)
);
