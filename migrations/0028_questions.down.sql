alter table wakeful.scheduled_intents drop column unattended;
alter table wakeful.alarms drop column unattended;
drop table wakeful.questions;
