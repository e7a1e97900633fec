import { useDeferredValue, useState } from 'react';
import type { LogLine } from '../../api/types.js';
import { SelectField, TextField } from '../../ui/field.js';
import { useService, useServicePath } from '../services/service-shell.js';
import { LogView } from './log-view.js';
import l from './logs.module.css';

const SOURCES = [
  { value: '', text: 'All sources' },
  { value: 'runtime', text: 'Application' },
  { value: 'build', text: 'Builds' },
  { value: 'system', text: 'Platform' },
];

export function LogsPage() {
  const path = useServicePath();
  const { status } = useService();
  const [typed, setTyped] = useState('');
  const search = useDeferredValue(typed.trim());
  const [source, setSource] = useState('');
  const filter = { search, ...(source === '' ? {} : { source: source as LogLine['source'] }) };
  return (
    <>
      <div className={l.filters}>
        <TextField
          label="Search"
          type="search"
          maxLength={200}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <SelectField
          label="Source"
          options={SOURCES}
          value={source}
          onChange={(event) => setSource(event.target.value)}
        />
      </div>
      <LogView path={path} filter={filter} working={status === 'deploying'} title="Log" tall />
    </>
  );
}
