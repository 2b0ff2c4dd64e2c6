drop table wakeful.settings;
drop table wakeful.alarms;
