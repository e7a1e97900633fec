import { useState } from 'react';
import { post } from '../../api/api-client.js';
import type { Service } from '../../api/types.js';
import { useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { SelectField, TextField } from '../../ui/field.js';
import { ErrorNotice } from '../../ui/states.js';
import { WriteForm } from '../../ui/write-form.js';
import e from '../hooks/endpoints.module.css';
import { METRICS, type Metric, metricOf } from './alert-text.js';

const EVERY = { value: '', text: 'Every service' };

export function AddAlert({
  workspaceId,
  refusal,
  services,
}: {
  workspaceId: string;
  refusal: string | null;
  services: readonly Service[];
}) {
  const [metric, setMetric] = useState<Metric>('errors');
  const [above, setAbove] = useState('5');
  const [minutes, setMinutes] = useState('5');
  const [serviceId, setServiceId] = useState('');
  const body = {
    metric,
    above: Number(above),
    forMinutes: Number(minutes),
    ...(serviceId === '' ? {} : { serviceId }),
  };
  const add = useWrite(() => post('/workspaces/{workspaceId}/alerts', { path: { workspaceId }, body }));
  const ready = above.trim() !== '' && Number.isFinite(body.above) && Number.isInteger(body.forMinutes);
  const disabled = refusal !== null;
  return (
    <WriteForm className={`${e.add} ${e.wide}`} write={add} ready={ready}>
      <SelectField
        label="Watch"
        options={METRICS}
        disabled={disabled}
        value={metric}
        onChange={(event) => {
          const chosen = metricOf(event.target.value);
          if (chosen === undefined) return;
          setMetric(chosen.value);
          setAbove(chosen.usual);
        }}
      />
      <TextField
        label={metric === 'certificate' ? 'Fewer than' : 'Above'}
        hint={metricOf(metric)?.unit}
        inputMode="decimal"
        disabled={disabled}
        value={above}
        onChange={(event) => setAbove(event.target.value)}
      />
      <TextField
        label="For minutes"
        inputMode="numeric"
        disabled={disabled}
        value={minutes}
        onChange={(event) => setMinutes(event.target.value)}
      />
      <SelectField
        label="Service"
        options={[EVERY, ...services.map(({ id, name }) => ({ value: id, text: name }))]}
        disabled={disabled}
        value={serviceId}
        onChange={(event) => setServiceId(event.target.value)}
      />
      <Button type="submit" refusal={refusal} pending={add.isPending} disabled={!ready}>
        Add alert rule
      </Button>
      {add.error ? <ErrorNotice title="The alert rule was not added" error={add.error} /> : null}
    </WriteForm>
  );
}
