import { useState } from 'react';
import { put } from '../../api/api-client.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { AreaField } from '../../ui/field.js';
import { WriteForm } from '../../ui/form.js';
import { ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { useServicePath } from '../services/service-shell.js';

type Rule = Schemas['Rule'];
type RuleInput = Schemas['RuleInput'];

const PATH = '/workspaces/{workspaceId}/services/{serviceId}/rules';
const EXAMPLE = `[
  { "type": "redirect", "from": "/old/:page", "to": "/new/:page" }
]`;

export function RulesCard({ refusal }: { refusal: string | null }) {
  const query = useGet(PATH, { path: useServicePath() });
  return (
    <Loaded query={query} skeleton={<Skeleton rows={1} height={160} />}>
      {({ rules }) => (
        <Card title="Rules">
          <div className={`${u.cardBody} ${u.stack}`}>
            <p className={u.dim}>
              Redirects, rewrites, headers, passwords, rate limits and maintenance, in order. They take effect within a
              second, without a deployment. A canary counts for the next deployment.
            </p>
            <RulesEditor key={JSON.stringify(rules)} rules={rules} refusal={refusal} />
          </div>
        </Card>
      )}
    </Loaded>
  );
}

function RulesEditor({ rules, refusal }: { rules: Rule[]; refusal: string | null }) {
  const path = useServicePath();
  const stored = rules.length === 0 ? '' : JSON.stringify(rules, null, 2);
  const [text, setText] = useState(stored);
  const parsed = parsedRules(text);
  const save = useWrite(() => put(PATH, { path, body: { rules: parsed ?? [] } }));
  const isChanged = text.trim() !== stored;
  return (
    <WriteForm className={u.stack} write={save} ready={parsed !== null && isChanged}>
      <AreaField
        label="Rules as JSON"
        hint="A user without a password keeps the one that is stored"
        error={parsed === null ? 'This is not a JSON list' : undefined}
        rows={Math.min(24, Math.max(6, text.split('\n').length))}
        placeholder={EXAMPLE}
        disabled={refusal !== null}
        value={text}
        onChange={setText}
      />
      {save.error ? <ErrorNotice title="The rules were not saved" error={save.error} /> : null}
      <div className={u.actions}>
        <Button type="submit" refusal={refusal} pending={save.isPending} disabled={parsed === null || !isChanged}>
          Save rules
        </Button>
      </div>
    </WriteForm>
  );
}

/** Parses a JSON list of rules. Returns null if the text is no JSON list. The API checks the rules themselves. */
function parsedRules(text: string): RuleInput[] | null {
  if (text.trim() === '') return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as RuleInput[]) : null;
  } catch {
    return null;
  }
}
