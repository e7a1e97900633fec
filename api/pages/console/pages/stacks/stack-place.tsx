import { useState } from 'react';
import { post } from '../../api/api-client.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { SelectField, TextField } from '../../ui/field.js';
import { Notice } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import n from '../new/new.module.css';
import { useWorkspaceId } from '../page.js';

export function useEnvironments(workspaceId: string): { value: string; text: string }[] | undefined {
  const { data } = useGet('/workspaces/{workspaceId}/projects', { path: { workspaceId } });
  return data?.projects.flatMap((project) =>
    project.environments.map(({ id, name }) => ({ value: id, text: `${project.name} / ${name}` })),
  );
}

export function usePlace(initialName: string) {
  const [name, setName] = useState(initialName);
  const [chosen, choose] = useState('');
  const environments = useEnvironments(useWorkspaceId());
  const environmentId = chosen || environments?.[0]?.value;
  return { stackName: name.trim(), environmentId, environments, name, setName, choose };
}

export function StackPlace({
  place: { environments, environmentId, name, setName, choose },
  project,
  refusal,
  onChange = () => undefined,
}: {
  place: ReturnType<typeof usePlace>;
  /** Name for a new project. If the workspace has no environment, a button offers to create that project. */
  project: string;
  refusal: string | null;
  /** Called before a change of the name or of the environment. */
  onChange?: () => void;
}) {
  const before = (set: (value: string) => void) => (value: string) => {
    onChange();
    set(value);
  };
  const path = { workspaceId: useWorkspaceId() };
  const add = useWrite(() =>
    post('/workspaces/{workspaceId}/projects', { path, body: { name: project, color: 'blue' } }),
  );
  return (
    <>
      <div className={n.two}>
        <TextField
          label="Name of the stack"
          hint="Lower-case letters, digits and -"
          value={name}
          onChange={before(setName)}
        />
        <SelectField
          label="Environment"
          options={environments ?? []}
          value={environmentId ?? ''}
          onChange={before(choose)}
        />
      </div>
      {environments?.length === 0 ? (
        <Notice tone="plain" title="There is no environment yet">
          <div className={u.actions}>
            <Button refusal={refusal} pending={add.isPending} onClick={() => add.mutate()}>
              Create the project {project}
            </Button>
          </div>
        </Notice>
      ) : null}
    </>
  );
}
