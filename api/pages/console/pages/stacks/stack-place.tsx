import { post } from '../../api/api-client.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { SelectField, TextField } from '../../ui/field.js';
import { Notice } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import n from '../new/new.module.css';

/** Returns the environments of a workspace, each with the name of its project; undefined until they are read. */
export function useEnvironments(workspaceId: string): { value: string; text: string }[] | undefined {
  const { data } = useGet('/workspaces/{workspaceId}/projects', { path: { workspaceId } });
  return data?.projects.flatMap((project) =>
    project.environments.map(({ id, name }) => ({ value: id, text: `${project.name} / ${name}` })),
  );
}

/** Asks for the name and the environment of a new stack. If there is no environment, offers to create a project. */
export function StackPlace({
  workspaceId,
  name,
  environments,
  environmentId,
  project,
  refusal,
  onName,
  onEnvironment,
}: {
  workspaceId: string;
  name: string;
  environments: { value: string; text: string }[] | undefined;
  environmentId: string | undefined;
  /** Name of the project that is created by the button shown if the workspace has no environment. */
  project: string;
  refusal: string | null;
  onName: (name: string) => void;
  onEnvironment: (id: string) => void;
}) {
  const add = useWrite(() =>
    post('/workspaces/{workspaceId}/projects', { path: { workspaceId }, body: { name: project, color: 'blue' } }),
  );
  return (
    <>
      <div className={n.two}>
        <TextField
          label="Name of the stack"
          hint="Lower-case letters, digits and -"
          value={name}
          onChange={(event) => onName(event.target.value)}
        />
        <SelectField
          label="Environment"
          options={environments ?? []}
          value={environmentId ?? ''}
          onChange={(event) => onEnvironment(event.target.value)}
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
