import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Answer, OperationOf } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button, OutLink } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { WriteForm } from '../../ui/form.js';
import { ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import n from '../new/new.module.css';
import c from '../shell.module.css';
import { PlanCard } from '../stacks/plan-card.js';
import { StackPlace, usePlace } from '../stacks/stack-place.js';

const PATH = '/workspaces/{workspaceId}/templates/{templateName}';
type Template = Answer<OperationOf<typeof PATH, 'get'>>['template'];

export function TemplatePage() {
  const { workspaceId, templateName } = useParams({ from: '/w/$workspaceId/templates/$templateName' });
  const query = useGet(PATH, { path: { workspaceId, templateName } }, { poll: false });
  return (
    <div className={c.page}>
      <Loaded query={query} skeleton={<Skeleton rows={4} height={60} />}>
        {({ template }) => (
          <>
            <div className={c.head}>
              <h1>{template.title}</h1>
              <Link to="/w/$workspaceId/templates" params={{ workspaceId }}>
                All templates
              </Link>
            </div>
            <p>
              {template.description}. Version {template.version},{' '}
              {template.checked === null ? 'not checked yet' : `checked on ${template.checked}`}, about{' '}
              {template.memoryMb} MiB of memory.
            </p>
            <div className={u.row}>
              <OutLink href={template.website}>Website</OutLink>
              <OutLink href={template.source}>Source</OutLink>
            </div>
            <Questions workspaceId={workspaceId} template={template} />
          </>
        )}
      </Loaded>
    </div>
  );
}

function Questions({ workspaceId, template }: { workspaceId: string; template: Template }) {
  const refusal = useRefusal(workspaceId, 'developer');
  const [answers, setAnswers] = useState<Record<string, string>>({});
  const place = usePlace(template.name.replace(/^.*\./, ''));
  const { stackName, environmentId } = place;
  const answerTo = (question: Template['questions'][number]) => answers[question.name] ?? question.default;
  const given = template.questions.filter((question) => answerTo(question) !== '');
  const isReady =
    environmentId !== undefined && template.questions.every((one) => !one.required || answerTo(one) !== '');

  const plan = useWrite(() =>
    post('/workspaces/{workspaceId}/stacks/plan', {
      path: { workspaceId },
      body: {
        name: stackName,
        template: template.name,
        values: Object.fromEntries(given.map((question) => [question.name, answerTo(question)])),
        environmentId,
      },
    }),
  );
  return (
    <>
      <WriteForm className={n.form} write={plan} ready={isReady}>
        {/* A change discards the plan, which no longer matches the form. */}
        <StackPlace place={place} project={template.title} refusal={refusal} onChange={plan.reset} />
        {template.questions.map((question) => (
          <TextField
            key={question.name}
            label={question.label}
            hint={question.help === '' ? undefined : question.help}
            placeholder={question.secret ? undefined : question.example}
            type={question.secret ? 'password' : 'text'}
            autoComplete={question.secret ? 'new-password' : 'off'}
            inputMode={question.type === 'number' ? 'numeric' : undefined}
            required={question.required}
            value={answerTo(question)}
            onChange={(text) => {
              plan.reset();
              setAnswers({ ...answers, [question.name]: text });
            }}
          />
        ))}
        {plan.error ? <ErrorNotice title="This cannot be planned" error={plan.error} /> : null}
        <div className={u.actions}>
          <Button
            look={plan.data === undefined ? 'primary' : 'plain'}
            type="submit"
            refusal={refusal}
            pending={plan.isPending}
            disabled={!isReady}
          >
            Show the plan
          </Button>
        </div>
      </WriteForm>
      {plan.data === undefined ? null : (
        <PlanCard
          workspaceId={workspaceId}
          stackName={stackName}
          environmentId={environmentId}
          plan={plan.data.plan}
          document={plan.data.document ?? ''}
          values={Object.fromEntries(given.flatMap((one) => (one.secret ? [[one.name, answerTo(one)]] : [])))}
          refusal={refusal}
          showDocument
        />
      )}
    </>
  );
}
