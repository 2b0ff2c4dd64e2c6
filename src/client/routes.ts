/**
 * Every operation as a route; all that the client knows of the server at run time. Written by
 * `UPDATE_ROUTES=1 npx vitest run test/client/routes.test.ts`, which also fails when it is out of date.
 */
import type { OperationName } from './call.ts'

export const ROUTES: Readonly<Record<OperationName, string> & Record<string, string>> = {
  post_message: 'POST /v1/sessions/{session_key}/messages creates',
  post_tool_result: 'POST /v1/sessions/{session_key}/tool-results creates',
  list_sessions: 'GET /v1/sessions',
  get_session: 'GET /v1/sessions/{session_key}',
  list_events: 'GET /v1/sessions/{session_key}/events',
  list_effects: 'GET /v1/sessions/{session_key}/effects',
  list_turns: 'GET /v1/sessions/{session_key}/turns',
  put_timer: 'PUT /v1/sessions/{session_key}/timers/{timer_id}',
  cancel_timer: 'DELETE /v1/sessions/{session_key}/timers/{timer_id}',
  list_timers: 'GET /v1/sessions/{session_key}/timers',
  set_alarm: 'POST /v1/alarms creates',
  list_alarms: 'GET /v1/alarms',
  get_alarm: 'GET /v1/alarms/{id}',
  cancel_alarm: 'DELETE /v1/alarms/{id}',
  fire_alarm_now: 'POST /v1/alarms/{id}/fire-now creates',
  preview_schedule: 'POST /v1/schedules/preview',
  examine: 'GET /v1/doctor',
}
