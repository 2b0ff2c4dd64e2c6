-- Public words: parked → deferred, slice → shard, manners → preferences, a stop is resumed. Texts in rows that hold the old words follow.
alter table wakeful.parked rename to deferred;
alter table wakeful.deferred rename column parked_at to deferred_at;
alter table wakeful.deferred rename constraint parked_pkey to deferred_pkey;
alter table wakeful.deferred rename constraint parked_bucket_check to deferred_bucket_check;
alter table wakeful.deferred rename constraint parked_kind_check to deferred_kind_check;
alter table wakeful.deferred rename constraint parked_release_check to deferred_release_check;
alter table wakeful.deferred rename constraint parked_status_check to deferred_status_check;
alter index wakeful.parked_due_idx rename to deferred_due_idx;
alter index wakeful.parked_event_idx rename to deferred_event_idx;
alter index wakeful.parked_user_idx rename to deferred_user_idx;
alter table wakeful.slices rename to shards;
alter table wakeful.shards rename constraint slices_pkey to shards_pkey;
alter table wakeful.shards rename constraint slices_number to shards_number;
alter table wakeful.shards rename constraint slices_range to shards_range;
update wakeful.settings set key = replace(key, 'gone_to_slice_', 'gone_to_shard_') where key like 'gone_to_slice_%';
alter table wakeful.people rename column mannered to has_preferences;
alter table wakeful.stops drop constraint stops_ended_check;
update wakeful.stops set ended = 'resumed' where ended = 'released';
alter table wakeful.stops add constraint stops_ended_check check (ended in ('resumed', 'dropped'));
update wakeful.turns set verdicts = replace(verdicts::text, '"parked":', '"deferred":')::json where verdicts::text like '%"parked":%';
update wakeful.events set payload = replace(payload::text, '"parked":{"from":', '"deferred":{"from":')::json
  where type in ('alarm', 'intent', 'work') and payload::text like '%"parked":{"from":%';
