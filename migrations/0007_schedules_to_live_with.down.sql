drop table wakeful.hooks;
alter table wakeful.signals drop column data;
alter table wakeful.work drop column fired_local;
alter table wakeful.scheduled_intents drop column fired_local;
alter table wakeful.alarms drop column fired_local;
