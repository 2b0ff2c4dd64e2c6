drop index wakeful.wakes_failed_idx;
drop index wakeful.executions_failed_idx;
drop index wakeful.effects_failed_idx;
drop index wakeful.outputs_failed_idx;
drop index wakeful.attempts_failed_idx;
drop table wakeful.slot_marks;
drop index wakeful.sessions_seen_idx;
drop index wakeful.people_user_idx;
