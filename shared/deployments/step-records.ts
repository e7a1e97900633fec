/** Returns SQL for a deployment's steps, in which the running step ends now. */
export function endedSteps(): string {
  return `(select coalesce(jsonb_agg(case when step ->> 'finishedAt' is null
             then jsonb_set(step, '{finishedAt}', to_jsonb(${isoNow()})) else step end order by position), '[]'::jsonb)
             from jsonb_array_elements(steps) with ordinality as s(step, position))`;
}

/** Returns SQL for a deployment's steps, in which the running step ends and the step `name` starts. */
export function stepsWith(name: string): string {
  return `${endedSteps()} || jsonb_build_array(jsonb_build_object('name', '${name}', 'startedAt', ${isoNow()}, 'finishedAt', null))`;
}

function isoNow(): string {
  return `to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
