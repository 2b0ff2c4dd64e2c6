delete from wakeful.scheduled_intents where trigger_type = 'condition';
alter table wakeful.scheduled_intents drop constraint chk_trigger_type;
alter table wakeful.scheduled_intents add constraint chk_trigger_type
  check (trigger_type in ('cron', 'interval', 'once', 'price', 'silence', 'event', 'calendar', 'news'));
alter table wakeful.scheduled_intents drop column claimed_at;
alter table wakeful.scheduled_intents drop column observed_at;
alter table wakeful.scheduled_intents drop column observed;
drop table wakeful.hooks;
alter table wakeful.signals drop column data;
alter table wakeful.work drop column fired_local;
alter table wakeful.scheduled_intents drop column fired_local;
alter table wakeful.alarms drop column fired_local;
