-- A promoted timer goes, so that its row is hardly ever rewritten: full pages, and half as many of them to read in a burst.
alter table wakeful.autonomy_timers set (fillfactor = 100);
