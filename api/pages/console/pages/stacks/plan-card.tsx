import { Navigate } from '@tanstack/react-router';
import { useState } from 'react';
import { post } from '../../api/api-client.js';
import type { Schemas } from '../../api/types.js';
import { useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { WriteForm } from '../../ui/form.js';
import { ErrorNotice } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import n from '../new/new.module.css';
import { PlanView } from './plan-view.js';
import t from './stacks.module.css';

interface Planned {
  workspaceId: string;
  stackName: string;
  environmentId: string | undefined;
  plan: Schemas['StackPlan'];
  document: string;
  /** `service.KEY` → value of a secret that the user entered before the plan, in a template's form. */
  values?: Record<string, string>;
}

/** Asks for secrets that have no value, and for the stack's name if something is deleted or replaced. */
export function PlanCard({
  workspaceId,
  stackName,
  environmentId,
  plan,
  document,
  values = {},
  refusal,
  showDocument = false,
}: Planned & { refusal: string | null; showDocument?: boolean }) {
  const { changes, deploys, warnings, destructive, release, hash } = plan;
  const [secrets, setSecrets] = useState<Record<string, string>>({});
  const [asked, setAsked] = useState(false);
  const apply = useWrite(
    () =>
      post('/workspaces/{workspaceId}/stacks/{stackName}/apply', {
        path: { workspaceId, stackName },
        body: {
          document,
          planHash: hash,
          values: { ...values, ...secrets },
          environmentId,
          confirmDestructive: destructive ? stackName : undefined,
        },
      }),
    // Removes the values of secrets from memory.
    () => setSecrets({}),
  );
  if (apply.data !== undefined) {
    return (
      <Navigate
        to="/w/$workspaceId/stacks/$stackName/applies/$applyId"
        params={{ workspaceId, stackName, applyId: apply.data.apply.id }}
        // The document was applied, so leaving the page loses no input.
        ignoreBlocker
      />
    );
  }
  const isEmpty = changes.length + deploys.length === 0;
  const isReady = plan.secrets.every((name) => (secrets[name] ?? '') !== '');
  const failed = apply.error ? <ErrorNotice title="The plan was not applied" error={apply.error} /> : null;
  return (
    <section className={`${u.card} ${u.cardBody} ${u.stack} ${t.plan}`} aria-label="Plan" ref={bringIntoView}>
      <h2>{isEmpty ? 'Nothing to change' : 'What will change'}</h2>
      {isEmpty ? (
        <p>An apply records this document as the stack’s: what is changed by hand later is its drift.</p>
      ) : null}
      <PlanView changes={changes} warnings={warnings} deploys={deploys} release={release} />
      {showDocument ? (
        <details className={n.more}>
          <summary>ranvier.yaml</summary>
          <pre className={`${u.mono} ${u.tableWrap}`}>{document}</pre>
        </details>
      ) : null}
      <WriteForm
        className={u.stack}
        write={{ ...apply, mutate: () => (destructive ? setAsked(true) : apply.mutate()) }}
        ready={isReady}
      >
        {plan.secrets.map((name) => (
          <TextField
            key={name}
            label={`The value of ${name}`}
            hint="A secret without a value. It is stored sealed and never shown."
            type="password"
            autoComplete="new-password"
            required
            value={secrets[name] ?? ''}
            onChange={(text) => setSecrets({ ...secrets, [name]: text })}
          />
        ))}
        {asked ? null : failed}
        <div className={u.actions}>
          <Button
            look={destructive ? 'danger' : 'primary'}
            type="submit"
            refusal={refusal}
            pending={apply.isPending}
            disabled={!isReady}
          >
            {destructive ? 'Apply…' : 'Apply'}
          </Button>
        </div>
      </WriteForm>
      <ConfirmDialog
        title={`Apply this to ${stackName}?`}
        name={stackName}
        action="Apply"
        open={asked}
        onClose={() => setAsked(false)}
        onConfirm={() => apply.mutate()}
        write={apply}
      >
        What is deleted or replaced cannot be restored.
      </ConfirmDialog>
    </section>
  );
}

/** Scrolls to a new plan, which appears below the form and often outside the window. */
function bringIntoView(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: 'nearest' });
}
