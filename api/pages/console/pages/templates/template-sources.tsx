import { post, remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ListCard } from '../../ui/card.js';
import { FieldsDisabled, TextField } from '../../ui/field.js';
import { useFields, WriteForm } from '../../ui/form.js';
import { Empty, ErrorNotice, Skeleton } from '../../ui/states.js';
import { Status } from '../../ui/status.js';
import u from '../../ui/ui.module.css';
import t from './templates.module.css';

const PATH = '/workspaces/{workspaceId}/template-sources';
type Source = Schemas['TemplateSource'];

export function TemplateSources({ workspaceId }: { workspaceId: string }) {
  const refusal = useRefusal(workspaceId, 'developer');
  const query = useGet(
    PATH,
    { path: { workspaceId }, query: { limit: 50 } },
    { working: ({ templateSources }) => templateSources.some(({ state }) => state === 'reading') },
  );
  return (
    <ListCard
      title="Your own templates"
      query={query}
      skeleton={<Skeleton rows={1} height={90} />}
      items={({ templateSources }) => templateSources}
      empty={
        <Empty title="No repository yet">
          Files in the folder .ranvier/templates of a repository become templates of this workspace.
        </Empty>
      }
      add={<AddSource workspaceId={workspaceId} refusal={refusal} />}
    >
      {(source) => <SourceRow workspaceId={workspaceId} source={source} refusal={refusal} />}
    </ListCard>
  );
}

function SourceRow({ workspaceId, source, refusal }: { workspaceId: string; source: Source; refusal: string | null }) {
  const path = { workspaceId, templateSourceId: source.id };
  const refresh = useWrite(() => post(`${PATH}/{templateSourceId}/refresh`, { path }));
  const end = useWrite(() => remove(`${PATH}/{templateSourceId}`, { path }));
  const error = refresh.error ?? end.error;
  return (
    <li className={t.source}>
      <div className={u.row}>
        <strong>{source.name}</strong>
        <Status {...statusOf(source)} />
      </div>
      <p className={u.dim}>
        {source.repository} · {source.branch}
        {source.commitSha === null ? '' : ` · ${source.commitSha.slice(0, 7)}`}
      </p>
      {source.problems.map(({ file, message }) => (
        <p key={file}>
          <code>{file}</code>: {message}
        </p>
      ))}
      {error ? <ErrorNotice title="This was refused" error={error} /> : null}
      <div className={u.row}>
        <Button
          small
          refusal={refusal}
          pending={refresh.isPending || source.state === 'reading'}
          aria-label={`Refresh ${source.name}`}
          onClick={() => refresh.mutate()}
        >
          Refresh
        </Button>
        <Button
          small
          refusal={refusal}
          pending={end.isPending}
          aria-label={`Remove ${source.name}`}
          onClick={() => end.mutate()}
        >
          Remove
        </Button>
      </div>
    </li>
  );
}

function statusOf({ state, error, templates }: Source) {
  if (state === 'reading') return { tone: 'busy', children: 'Reading the repository' } as const;
  if (state === 'failed') return { tone: 'bad', children: error } as const;
  return { tone: 'good', children: templates.length === 1 ? '1 template' : `${templates.length} templates` } as const;
}

function AddSource({ workspaceId, refusal }: { workspaceId: string; refusal: string | null }) {
  const { values, set, field } = useFields({ name: '', repository: '' });
  const body = { name: values.name.trim(), repository: values.repository.trim() };
  const add = useWrite(
    () => post(PATH, { path: { workspaceId }, body }),
    () => set({ name: '', repository: '' }),
  );
  const ready = body.name !== '' && body.repository !== '';
  return (
    <WriteForm className={t.add} write={add} ready={ready}>
      <FieldsDisabled value={refusal !== null}>
        <TextField label="Name" hint="The first part of its templates' names" placeholder="team" {...field('name')} />
        <TextField
          label="Repository"
          placeholder="https://git.example.com/team/templates.git"
          {...field('repository')}
        />
      </FieldsDisabled>
      {add.error ? <ErrorNotice title="This cannot be added" error={add.error} /> : null}
      <div className={u.actions}>
        <Button type="submit" refusal={refusal} pending={add.isPending} disabled={!ready}>
          Add a repository
        </Button>
      </div>
    </WriteForm>
  );
}
