alter table wakeful.effects drop constraint effects_reason_check;
alter table wakeful.effects alter column reason type boolean using reason <> 'answer' and type = 'send_message';
alter table wakeful.effects rename column reason to autonomous;
