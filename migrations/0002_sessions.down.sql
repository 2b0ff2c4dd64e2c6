drop table wakeful.checkpoint_writes;
drop table wakeful.checkpoint_blobs;
drop table wakeful.checkpoints;
drop table wakeful.autonomy_timers;
drop table wakeful.effects;
drop table wakeful.turns;
drop table wakeful.events;
drop table wakeful.sessions;
