drop table wakeful.subscription_deliveries;
drop table wakeful.subscriptions;
