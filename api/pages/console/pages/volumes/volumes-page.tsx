import { useState } from 'react';
import { patch, post, remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog, Dialog, DialogFoot } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { Empty, ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { WriteForm } from '../../ui/write-form.js';
import { changeRefusal, useService, useServicePath } from '../services/service-shell.js';
import w from '../workspace/workspace.module.css';
import p from './volumes.module.css';

type Volume = Schemas['Volume'];

const PATH = '/workspaces/{workspaceId}/services/{serviceId}/volumes';
const ONE = `${PATH}/{volumeId}` as const;
const GIGABYTE = 1_000_000_000;

export function VolumesPage() {
  const path = useServicePath();
  const service = useService();
  const role = useRefusal(path.workspaceId, 'developer');
  const refusal = role ?? changeRefusal(service);
  const [leaving, setLeaving] = useState<Volume | null>(null);
  const [growing, setGrowing] = useState<Volume | null>(null);
  const query = useGet(PATH, { path });
  const end = useWrite(
    ({ id, name }: Volume) => remove(ONE, { path: { ...path, volumeId: id }, body: { confirm: name } }),
    {
      onDone: () => setLeaving(null),
    },
  );
  return (
    <>
      <Loaded query={query} skeleton={<Skeleton rows={2} height={60} />}>
        {({ volumes }) => (
          <section className={u.card}>
            {volumes.length === 0 ? (
              <Empty title="No volumes yet">
                A volume keeps files through deployments and restarts. A service with a volume runs one replica.
              </Empty>
            ) : (
              <ul>
                {volumes.map((volume) => (
                  <Row
                    key={volume.id}
                    volume={volume}
                    refusal={refusal}
                    onGrow={() => setGrowing(volume)}
                    onLeave={() => setLeaving(volume)}
                  />
                ))}
              </ul>
            )}
            <AddVolume refusal={refusal} />
          </section>
        )}
      </Loaded>
      {growing === null ? null : <GrowDialog volume={growing} onClose={() => setGrowing(null)} />}
      <ConfirmDialog
        title={`Delete ${leaving?.name}?`}
        name={leaving?.name ?? ''}
        action="Delete"
        open={leaving !== null}
        onClose={() => setLeaving(null)}
        onConfirm={() => leaving && end.mutate(leaving)}
        write={end}
      >
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
  const grow = useWrite(() => patch(ONE, { path: { ...path, volumeId: volume.id }, body: { sizeGb } }), {
    onDone: onClose,
  });
  return (
    <Dialog title={`Resize ${volume.name}`} open onClose={onClose}>
      <WriteForm write={grow} ready={ready} className={u.stack}>
        <TextField
          label="Size in GB"
          hint="A volume cannot shrink."
          type="number"
          min={volume.sizeGb}
          value={size}
          onChange={(event) => setSize(event.target.value)}
        />
        {grow.error ? <ErrorNotice title="The size was not changed" error={grow.error} /> : null}
        <DialogFoot>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={!ready} pending={grow.isPending}>
            Resize
          </Button>
        </DialogFoot>
      </WriteForm>
    </Dialog>
  );
}

function AddVolume({ refusal }: { refusal: string | null }) {
  const path = useServicePath();
  const [name, setName] = useState('');
  const [mountPath, setMountPath] = useState('');
  const [size, setSize] = useState('1');
  const body = { name: name.trim(), mountPath: mountPath.trim(), sizeGb: Number(size) };
  const ready = body.name !== '' && body.mountPath !== '' && Number.isInteger(body.sizeGb) && body.sizeGb > 0;
  const add = useWrite(() => post(PATH, { path, body }), {
    onDone: () => {
      setName('');
      setMountPath('');
    },
  });
  const disabled = refusal !== null;
  return (
    <WriteForm className={`${w.add} ${p.add}`} write={add} ready={ready}>
      <TextField
        label="Name"
        placeholder="uploads"
        disabled={disabled}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <TextField
        label="Mount path"
        placeholder="/data"
        disabled={disabled}
        value={mountPath}
        onChange={(event) => setMountPath(event.target.value)}
      />
      <TextField
        label="Size in GB"
        type="number"
        min={1}
        disabled={disabled}
        value={size}
        onChange={(event) => setSize(event.target.value)}
      />
      <Button type="submit" refusal={refusal} pending={add.isPending} disabled={!ready}>
        Add volume
      </Button>
      {add.error ? <ErrorNotice title="The volume was not added" error={add.error} /> : null}
    </WriteForm>
  );
}
