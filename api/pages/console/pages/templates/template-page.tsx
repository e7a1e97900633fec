import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Answer, OperationOf } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button, OutLink } from '../../ui/button.js';
import { SelectField, TextField } from '../../ui/field.js';
import { ErrorNotice, Loaded, Notice, Skeleton } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { WriteForm } from '../../ui/write-form.js';
import n from '../new/new.module.css';
import c from '../shell.module.css';
import { AppliedCard } from './applied-card.js';
import { PlanCard } from './plan-card.js';

type Template = Answer<OperationOf<'/templates/{templateName}', 'get'>>['template'];

/** One template: its questions, then the plan, then the apply. */
export function TemplatePage() {
  const { workspaceId, templateName } = useParams({ from: '/w/$workspaceId/templates/$templateName' });
  const query = useGet('/templates/{templateName}', { path: { templateName } }, { poll: false });
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
              {template.memoryMb} MiB of memory. <OutLink href={template.website}>Website</OutLink>{' '}
              <OutLink href={template.source}>Source</OutLink>
            </p>
            <Questions workspaceId={workspaceId} template={template} />
          </>
        )}
      </Loaded>
    </div>
  );
}

function Questions({ workspaceId, template }: { workspaceId: string; template: Template }) {
  const refusal = useRefusal(workspaceId, 'developer');
  const projects = useGet('/workspaces/{workspaceId}/projects', { path: { workspaceId } });
  const [name, setName] = useState(template.name);
  const [chosen, setChosen] = useState('');
  const [answers, setAnswers] = useState<Record<string, string>>({});
  const environments = (projects.data?.projects ?? []).flatMap((project) =>
    project.environments.map(({ id, name: own }) => ({ value: id, text: `${project.name} / ${own}` })),
  );
  const environmentId = chosen || environments[0]?.value;
  const answerTo = (question: Template['questions'][number]) => answers[question.name] ?? question.default;
  const given = template.questions.filter((question) => answerTo(question) !== '');
  const isReady =
    environmentId !== undefined && template.questions.every((one) => !one.required || answerTo(one) !== '');

  const addProject = useWrite(() =>
    post('/workspaces/{workspaceId}/projects', {
      path: { workspaceId },
      body: { name: template.title, color: 'blue' },
    }),
  );
  const plan = useWrite(() =>
    post('/workspaces/{workspaceId}/stacks/plan', {
      path: { workspaceId },
      body: {
        name: name.trim(),
        template: template.name,
        values: Object.fromEntries(given.map((question) => [question.name, answerTo(question)])),
        ...(environmentId === undefined ? {} : { environmentId }),
      },
    }),
  );
  const apply = useWrite(
    () =>
      post('/workspaces/{workspaceId}/stacks/{stackName}/apply', {
        path: { workspaceId, stackName: name.trim() },
        body: {
          document: plan.data?.document ?? '',
          planHash: plan.data?.plan.hash ?? '',
          values: Object.fromEntries(given.flatMap((one) => (one.secret ? [[one.name, answerTo(one)]] : []))),
          ...(environmentId === undefined ? {} : { environmentId }),
        },
      }),
    // The values of secrets leave the page.
    { onDone: () => setAnswers({}) },
  );
  /** What was planned is no longer what stands in the form. */
  const change = (work: () => void) => {
    plan.reset();
    apply.reset();
    work();
  };
  if (apply.data !== undefined) {
    return <AppliedCard workspaceId={workspaceId} stackName={name.trim()} applyId={apply.data.apply.id} />;
  }
  return (
    <>
      <WriteForm className={n.form} write={plan} ready={isReady}>
        <div className={n.two}>
          <TextField
            label="Name of the stack"
            value={name}
            onChange={(event) => change(() => setName(event.target.value))}
          />
          <SelectField
            label="Environment"
            options={environments}
            value={environmentId ?? ''}
            onChange={(event) => change(() => setChosen(event.target.value))}
          />
        </div>
        {projects.data !== undefined && environments.length === 0 ? (
          <Notice tone="plain" title="There is no environment yet">
            <div className={u.actions}>
              <Button refusal={refusal} pending={addProject.isPending} onClick={() => addProject.mutate()}>
                Create the project {template.title}
              </Button>
            </div>
          </Notice>
        ) : null}
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
            onChange={(event) => change(() => setAnswers({ ...answers, [question.name]: event.target.value }))}
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
        <PlanCard plan={plan.data.plan} document={plan.data.document ?? ''} refusal={refusal} apply={apply} />
      )}
    </>
  );
}
