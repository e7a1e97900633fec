import { useState } from 'react';
import { patch, post, remove } from '../../api/api-client.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ListCard } from '../../ui/card.js';
import { ConfirmDialog, Dialog, DialogForm, useConfirmation } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { AddForm, useFields } from '../../ui/form.js';
import { Empty, Skeleton } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { useChangeRefusal, useServicePath } from '../services/service-shell.js';
import w from '../workspace/workspace.module.css';
import p from './volumes.module.css';

type Volume = Schemas['Volume'];

const PATH = '/workspaces/{workspaceId}/services/{serviceId}/volumes';
const ONE = `${PATH}/{volumeId}` as const;
const GIGABYTE = 1_000_000_000;

export function VolumesPage() {
  const path = useServicePath();
  const refusal = useChangeRefusal();
  const [growing, setGrowing] = useState<Volume | null>(null);
  const query = useGet(PATH, { path });
  const { ask, target, dialog } = useConfirmation(({ id, name }: Volume) =>
    remove(ONE, { path: { ...path, volumeId: id }, body: { confirm: name } }),
  );
  return (
    <>
      <ListCard
        query={query}
        skeleton={<Skeleton rows={2} height={60} />}
        items={({ volumes }) => volumes}
        empty={
          <Empty title="No volumes yet">
            A volume keeps files through deployments and restarts. A service with a volume runs one replica.
          </Empty>
        }
        add={<AddVolume refusal={refusal} />}
      >
        {(volume) => (
          <Row volume={volume} refusal={refusal} onGrow={() => setGrowing(volume)} onLeave={() => ask(volume)} />
        )}
      </ListCard>
      {growing === null ? null : <GrowDialog volume={growing} onClose={() => setGrowing(null)} />}
      <ConfirmDialog {...dialog} title={`Delete ${target?.name}?`} name={target?.name ?? ''} action="Delete">
        All files in it are deleted permanently. If a running service uses the volume, suspend the service first.
      </ConfirmDialog>
    </>
  );
}

function Row({
  volume,
  refusal,
  onGrow,
  onLeave,
}: {
  volume: Volume;
  refusal: string | null;
  onGrow: () => void;
  onLeave: () => void;
}) {
  const { name, mountPath, usedBytes, sizeGb, host } = volume;
  const used = (usedBytes / GIGABYTE).toFixed(2);
  return (
    <li className={p.volume}>
      <strong>{name}</strong>
      <code>{mountPath}</code>
      <span className={u.dim}>
        {host === null ? `${sizeGb} GB, mounted by the next deployment` : `${used} of ${sizeGb} GB used, on ${host}`}
      </span>
      <div className={u.actions}>
        <Button small refusal={refusal} aria-label={`Resize ${name}`} onClick={onGrow}>
          Resize
        </Button>
        <Button small refusal={refusal} aria-label={`Delete ${name}`} onClick={onLeave}>
          Delete
        </Button>
      </div>
    </li>
  );
}

function GrowDialog({ volume, onClose }: { volume: Volume; onClose: () => void }) {
  const path = useServicePath();
  const [size, setSize] = useState(String(volume.sizeGb));
  const sizeGb = Number(size);
  const ready = Number.isInteger(sizeGb) && sizeGb > volume.sizeGb;
  const grow = useWrite(() => patch(ONE, { path: { ...path, volumeId: volume.id }, body: { sizeGb } }), onClose);
  return (
    <Dialog title={`Resize ${volume.name}`} open onClose={onClose}>
      <DialogForm write={grow} ready={ready} action="Resize" failure="The size was not changed" onClose={onClose}>
        <TextField
          label="Size in GB"
          hint="A volume cannot shrink."
          type="number"
          min={volume.sizeGb}
          value={size}
          onChange={setSize}
        />
      </DialogForm>
    </Dialog>
  );
}

function AddVolume({ refusal }: { refusal: string | null }) {
  const path = useServicePath();
  const { values, set, field } = useFields({ name: '', mountPath: '', size: '1' });
  const body = { name: values.name.trim(), mountPath: values.mountPath.trim(), sizeGb: Number(values.size) };
  const add = useWrite(
    () => post(PATH, { path, body }),
    () => set({ name: '', mountPath: '' }),
  );
  return (
    <AddForm
      className={`${w.add} ${p.add}`}
      write={add}
      ready={body.name !== '' && body.mountPath !== '' && Number.isInteger(body.sizeGb) && body.sizeGb > 0}
      refusal={refusal}
      action="Add volume"
      failure="The volume was not added"
    >
      <TextField label="Name" placeholder="uploads" {...field('name')} />
      <TextField label="Mount path" placeholder="/data" {...field('mountPath')} />
      <TextField label="Size in GB" type="number" min={1} {...field('size')} />
    </AddForm>
  );
}
