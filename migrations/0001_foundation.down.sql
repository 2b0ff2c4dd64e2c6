drop table wakeful.idempotency_keys;
