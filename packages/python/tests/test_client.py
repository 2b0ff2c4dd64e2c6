"""The client against a running server, at WAKEFUL_URL with the key WAKEFUL_KEY."""

import os
import unittest

from wakeful import Wakeful, WakefulError

USER = "py"


class Client(unittest.TestCase):
    def setUp(self):
        self.wakeful = Wakeful(os.environ["WAKEFUL_URL"], key=os.environ["WAKEFUL_KEY"], act_as=USER)

    def test_schedules(self):
        schedules = self.wakeful.schedules
        made = schedules.set("standup", every="weekday at 8:30", note="plan", timezone="Europe/Berlin", agent_id="bot")
        self.assertEqual((made["kind"], made["status"], made["user_id"]), ("alarm", "active", USER))
        self.assertEqual(schedules.set("nap", in_="2 hours", note="rest", agent_id="bot")["kind"], "alarm")
        self.assertEqual({each["name"] for each in schedules.each(kind="alarm")}, {"standup", "nap"})
        self.assertIn("9:30", schedules.update("standup", every="weekday at 9:30")["description"])
        self.assertEqual(schedules.pause("standup")["status"], "paused")
        self.assertEqual(schedules.resume("standup")["status"], "active")
        schedules.cancel("standup")
        schedules.cancel("nap")
        with self.assertRaises(WakefulError) as refused:
            schedules.run("standup")
        self.assertEqual(refused.exception.status, 404)
        with self.assertRaises(WakefulError) as wrong:
            schedules.set("x", agent_id="bot", note="y")
        self.assertEqual(wrong.exception.status, 422)
        self.assertTrue(wrong.exception.errors)

    def test_messages(self):
        key = f"{USER}:bot:a/b"
        event = self.wakeful.messages.post(key, "hello", id="m1")
        self.assertEqual((event["seq"], event["payload"]), (1, {"text": "hello"}))
        self.assertEqual(self.wakeful.messages.post(key, "hello", id="m1")["id"], event["id"])
        self.assertEqual([each["seq"] for each in self.wakeful.messages.events(key)], [1])
        self.assertIsInstance(list(self.wakeful.messages.sent(key)), list)

    def test_alarms(self):
        alarms = self.wakeful.alarms
        made = alarms.set("call Ben", schedule="tomorrow at 9am", agent_id="bot", payload={"n": 1})
        self.assertEqual(alarms.get(made["id"])["payload"], {"n": 1})
        self.assertEqual(alarms.update(made["id"], label="Ben")["label"], "Ben")
        self.assertIn(made["id"], [each["id"] for each in alarms.each(status="active")])
        self.assertEqual(alarms.cancel(made["id"])["status"], "cancelled")

    def test_people(self):
        people = self.wakeful.people
        self.assertEqual(people.set(USER, timezone="Asia/Tokyo")["timezone"], "Asia/Tokyo")
        self.assertIsNotNone(people.pause(USER, "in 2 hours")["paused_until"])
        self.assertIsNone(people.end_pause(USER)["paused_until"])
        self.assertEqual(people.get(USER)["timezone_known"], True)
        self.assertEqual([each["user_id"] for each in people.each(q=USER)], [USER])


if __name__ == "__main__":
    unittest.main()
