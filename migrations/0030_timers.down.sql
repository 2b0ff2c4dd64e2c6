alter table wakeful.autonomy_timers set (fillfactor = 60);
