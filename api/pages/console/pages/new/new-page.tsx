import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Service } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { parseEnv } from '../../ui/env-text.js';
import { AreaField, SelectField, TextField } from '../../ui/field.js';
import { WriteForm } from '../../ui/form.js';
import { KIND_TEXT, repositoryName } from '../../ui/source-text.js';
import { ErrorNotice } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { Page, useWorkspaceId } from '../page.js';
import { DetectionCard } from './detection-card.js';
import n from './new.module.css';
import { useDetection } from './use-detection.js';

const KINDS = (['web', 'static', 'private', 'worker', 'cron'] as const).map((value) => ({
  value,
  text: KIND_TEXT[value],
}));

export function NewPage() {
  const workspaceId = useWorkspaceId();
  const navigate = useNavigate();
  const refusal = useRefusal(workspaceId, 'developer');
  const [repository, setRepository] = useState('');
  const [name, setName] = useState<string | null>(null);
  const [branch, setBranch] = useState<string | null>(null);
  const [rootDirectory, setRootDirectory] = useState('');
  const [kind, setKind] = useState<Service['kind'] | null>(null);
  const [commands, setCommands] = useState({ buildCommand: '', startCommand: '', publishDirectory: '', schedule: '' });
  const [variables, setVariables] = useState('');

  const address = repository.trim();
  const found = useDetection(workspaceId, {
    repository: address,
    branch: branch?.trim() || 'main',
    rootDirectory: rootDirectory.trim(),
  });
  const suggested = nameOf(rootDirectory.trim() || repositoryName({ repository: address }));
  // Until the user enters a branch, the field shows `main`, or the repository's default branch once it is known.
  const shownBranch = branch ?? found.detection?.branch ?? 'main';
  const shownKind = kind ?? found.detection?.kind ?? 'web';
  const { entries, problems } = parseEnv(variables);

  const create = useWrite(
    () =>
      post('/workspaces/{workspaceId}/services', {
        path: { workspaceId },
        body: {
          name: (name ?? suggested).trim(),
          kind: shownKind,
          deploy: true,
          configuration: {
            repository: address,
            branch: shownBranch.trim(),
            ...Object.fromEntries(
              Object.entries({ rootDirectory, ...commands })
                .map(([key, value]) => [key, value.trim()])
                .filter(([, value]) => value !== ''),
            ),
          },
          variables: entries.length > 0 ? entries : undefined,
        },
      }),
    ({ service: { id, deploymentId } }) => {
      setVariables('');
      const params = { workspaceId, serviceId: id };
      return deploymentId === null
        ? navigate({ to: '/w/$workspaceId/s/$serviceId', params })
        : navigate({ to: '/w/$workspaceId/s/$serviceId/d/$deploymentId', params: { ...params, deploymentId } });
    },
  );
  const command = (key: keyof typeof commands, label: string, placeholder: string, hint?: string) => (
    <TextField
      label={label}
      hint={hint}
      placeholder={placeholder}
      value={commands[key]}
      onChange={(text) => setCommands({ ...commands, [key]: text })}
    />
  );
  return (
    <Page
      title="New service"
      aside={
        <Link to="/w/$workspaceId/templates" params={{ workspaceId }}>
          Start from a template
        </Link>
      }
    >
      <WriteForm className={n.form} write={create} ready={address !== ''}>
        <TextField
          label="Repository URL"
          hint="HTTPS or SSH. For a private repository use https://user:token@host/…, which is stored encrypted, or the deploy key of the workspace."
          placeholder="https://github.com/owner/name"
          autoFocus
          value={repository}
          onChange={setRepository}
        />
        <DetectionCard {...found} address={address} onApplication={setRootDirectory} rootDirectory={rootDirectory} />
        {address === '' ? null : (
          <>
            <div className={n.two}>
              <TextField label="Name" value={name ?? suggested} onChange={setName} />
              <TextField label="Branch" value={shownBranch} onChange={setBranch} />
            </div>
            <details className={n.more}>
              <summary>Advanced</summary>
              <div className={n.two}>
                <SelectField
                  label="Kind"
                  hint="A web service answers requests; a background worker and a private service have no public URL"
                  options={KINDS}
                  value={shownKind}
                  onChange={setKind}
                />
                <TextField label="Root directory" placeholder="." value={rootDirectory} onChange={setRootDirectory} />
                {command('buildCommand', 'Build command', found.detection?.buildCommand || 'detected')}
                {shownKind === 'static'
                  ? command('publishDirectory', 'Publish directory', found.detection?.publishDirectory || 'detected')
                  : command('startCommand', 'Start command', found.detection?.startCommand || 'detected')}
                {shownKind === 'cron'
                  ? command('schedule', 'Schedule', '0 * * * *', 'Minute, hour, day, month, weekday')
                  : null}
              </div>
              <AreaField
                label="Variables"
                hint={
                  entries.length === 0
                    ? 'One KEY=value per line, as in a .env file'
                    : entries.length === 1
                      ? 'One variable'
                      : `${entries.length} variables`
                }
                error={problems[0]}
                value={variables}
                onChange={setVariables}
              />
            </details>
          </>
        )}
        {create.error ? <ErrorNotice title="The service was not created" error={create.error} /> : null}
        <div className={u.actions}>
          <Button
            look="primary"
            type="submit"
            pending={create.isPending}
            refusal={refusal}
            disabled={address === '' || problems.length > 0}
          >
            {create.isPending ? 'Queueing…' : 'Deploy'}
          </Button>
          {address !== '' && found.detecting ? (
            <span className={u.dim}>You can deploy without waiting for detection.</span>
          ) : null}
        </div>
      </WriteForm>
      {address === '' ? <DatabaseCard workspaceId={workspaceId} refusal={refusal} /> : null}
    </Page>
  );
}

function nameOf(text: string): string {
  return (
    text
      .split('/')
      .at(-1)
      ?.replace(/[^\p{L}\p{N} ._-]+/gu, '-')
      .slice(0, 60) ?? ''
  );
}

function DatabaseCard({ workspaceId, refusal }: { workspaceId: string; refusal: string | null }) {
  const { data } = useGet('/catalog', {}, { poll: false });
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const create = useWrite(
    (kind: Service['kind']) =>
      post('/workspaces/{workspaceId}/services', {
        path: { workspaceId },
        body: { name: name.trim() || kind, kind, deploy: true, configuration: {} },
      }),
    ({ service: { id } }) => navigate({ to: '/w/$workspaceId/s/$serviceId', params: { workspaceId, serviceId: id } }),
  );
  const kinds: { kind: Service['kind']; text: string; able: boolean | undefined }[] = [
    { kind: 'postgres', text: 'Create PostgreSQL', able: data?.capabilities.databases },
    { kind: 'redis', text: 'Create Redis', able: data?.capabilities.keyValueStores },
  ];
  const able = kinds.filter((one) => one.able);
  if (able.length === 0) return null;
  return (
    <section className={`${u.card} ${u.cardBody} ${u.stack}`} style={{ maxWidth: 720 }}>
      <h2>Or create a database</h2>
      <TextField label="Database name" value={name} onChange={setName} />
      <div className={u.actions}>
        {able.map(({ kind, text }) => (
          <Button key={kind} refusal={refusal} pending={create.isPending} onClick={() => create.mutate(kind)}>
            {text}
          </Button>
        ))}
      </div>
      {create.error ? <ErrorNotice title="The database was not created" error={create.error} /> : null}
    </section>
  );
}
